// The return over time, environment steps or gradient steps: mean, and the middle 80% of episodes.

const RETURN_AXES = { s: ["Time", format.seconds], env_steps: ["Environment steps", format.count], gradient_steps: ["Gradient steps", format.count] };

function returnsView(data) {
  const { curve, evaluation_curve: evaluations } = data.returns;
  const HEIGHT = 240, TOP = 14, BOTTOM = 40, LEFT = 72, RIGHT = 18;
  const known = Object.keys(RETURN_AXES).filter((name) => curve[curve.length - 1][name] > 0);
  let axis = "s";
  const svg = s("svg", { role: "img", "aria-label": "Mean return over the run" });
  const chart = h("div", { class: "chart returns" }, svg);

  function draw() {
    const width = Math.max(chart.clientWidth, 260);
    const [title, text] = RETURN_AXES[axis];
    const values = [...curve, ...evaluations].flatMap((point) => [point.mean, point.p10, point.p90]);
    let low = Math.min(...values), high = Math.max(...values);
    if (!(high > low)) [low, high] = [low - 1, high + 1];
    const most = Math.max(...[...curve, ...evaluations].map((point) => point[axis]));
    const x = (value) => LEFT + value / most * (width - LEFT - RIGHT);
    const y = (value) => TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM);
    const word = (left, top, content, anchor) => s("text", { x: left, y: top, "text-anchor": anchor }, content);
    const path = (points, key) => points.map((point, nth) => `${nth ? "L" : "M"}${x(point[axis]).toFixed(1)} ${y(point[key]).toFixed(1)}`).join("");
    const elements = ticksBetween(low, high, 5).flatMap((tick) => [s("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }), word(LEFT - 8, y(tick) + 4, format.any(Number(tick.toPrecision(6))), "end")]);
    niceTicks(most, Math.max(Math.floor(width / 140), 2)).forEach((tick) => elements.push(word(x(tick), HEIGHT - 22, format.mark(text(tick)), "middle")));
    elements.push(word((LEFT + width - RIGHT) / 2, HEIGHT - 4, title, "middle"));
    elements.push(s("path", { class: "band", d: path(curve, "p90") + path([...curve].reverse(), "p10").replace("M", "L") + "Z" }));
    elements.push(s("path", { class: "line", d: path(curve, "mean") }));
    for (const point of evaluations) elements.push(s("circle", { class: "evaluated", cx: x(point[axis]), cy: y(point.mean), r: 4 }));
    svg.setAttribute("height", HEIGHT);
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    replace(svg, elements);
  }
  new ResizeObserver(draw).observe(chart);
  const modes = choice("Over what", known.map((name) => [name, RETURN_AXES[name][0]]), axis, (chosen) => { axis = chosen; draw(); });
  return h("div", null, h("div", { class: "tools" }, modes), chart);
}
