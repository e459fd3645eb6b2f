// How a figure changes with a setting: points with their intervals on a scale of factors.

const QUANTITIES = {
  steps_per_s: ["Steps per second", format.rate], loop_s: ["Time of a run", format.seconds], step_s: ["Time per step", format.seconds], memory_mb: ["Peak memory", format.megabytes],
};

function scalingChart(data, settingTip) {
  const { axis, settings } = data;
  const HEIGHT = 300, TOP = 26, BOTTOM = 44, LEFT = 72, RIGHT = 18;
  const known = Object.keys(QUANTITIES).filter((name) => settings.every((each) => each[name] > 0));
  let quantity = known.includes(axis.quantity) ? axis.quantity : known[0];
  const svg = s("svg");
  const chart = h("div", { class: "chart scaling" }, svg);
  const values = [...new Set(settings.map((each) => each.values[0]))];
  if (axis.numeric) values.sort((a, b) => Number(a) - Number(b));
  const numbers = values.map(Number);
  const share = (value) => {
    const index = values.indexOf(value);
    if (values.length < 2) return 0.5;
    if (!axis.numeric) return (index + 0.5) / values.length;
    return 0.04 + 0.92 * Math.log(numbers[index] / numbers[0]) / Math.log(numbers[numbers.length - 1] / numbers[0]);
  };
  // Settings that differ in another variable only lie on one line.
  const lines = Object.values(settings.reduce((groups, each) => {
    (groups[JSON.stringify(each.values.slice(1))] ||= []).push(each);
    return groups;
  }, {}));
  lines.forEach((line) => line.sort((a, b) => share(a.values[0]) - share(b.values[0])));
  const names = Object.keys(data.vary).slice(1);
  const strength = (index) => lines.length < 2 ? "var(--accent)" : `color-mix(in oklab, var(--accent) ${100 - index / lines.length * 70}%, var(--critical))`;

  function draw() {
    const width = Math.max(chart.clientWidth, 260);
    const [, text] = QUANTITIES[quantity];
    const ideal = axis.in_proportion[quantity];
    const reach = settings.flatMap((each) => quantity === "steps_per_s" && each.low !== null ? [each.low, each.high, each[quantity]] : [each[quantity]]).concat(ideal || []);
    const low = Math.log(Math.min(...reach)), high = Math.log(Math.max(...reach)), room = Math.max((high - low) * 0.08, 0.05);
    const x = (value) => LEFT + share(value) * (width - LEFT - RIGHT);
    const y = (value) => TOP + (high + room - Math.log(value)) / (high - low + 2 * room) * (HEIGHT - TOP - BOTTOM);
    const word = (left, top, content, anchor, kind) => s("text", { x: left, y: top, "text-anchor": anchor, class: kind || null }, content);
    const elements = factorTicks(Math.exp(low - room), Math.exp(high + room), (high - low + 2 * room) / 6).flatMap((tick) => [
      s("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }), word(LEFT - 8, y(tick) + 4, text(tick), "end")]);
    let last = -Infinity;
    for (const value of values) {
      if (x(value) - last < Math.max(value.length * 7 + 8, 24)) continue;
      elements.push(word(x(value), HEIGHT - 24, value, "middle"));
      last = x(value);
    }
    elements.push(word((LEFT + width - RIGHT) / 2, HEIGHT - 5, axis.name, "middle", "title"));
    proportion.hidden = !ideal;
    if (ideal) {
      const ordered = settings.map((each, index) => [share(each.values[0]), x(each.values[0]), y(ideal[index])]).sort((a, b) => a[0] - b[0]);
      elements.push(s("path", { class: "ideal", d: ordered.map(([, left, top], index) => `${index ? "L" : "M"}${left.toFixed(1)} ${top.toFixed(1)}`).join("") }));
    }
    if (axis.knee !== null && values.includes(axis.knee)) {
      elements.push(s("line", { class: "knee", x1: x(axis.knee), x2: x(axis.knee), y1: TOP - 8, y2: HEIGHT - BOTTOM }),
        word(x(axis.knee), TOP - 12, "knee", share(axis.knee) > 0.9 ? "end" : "middle", "title"));
    }
    lines.forEach((line, index) => {
      const color = strength(index);
      elements.push(s("path", { class: "line", style: { stroke: color }, d: line.map((each, nth) => `${nth ? "L" : "M"}${x(each.values[0]).toFixed(1)} ${y(each[quantity]).toFixed(1)}`).join("") }));
      for (const each of line) {
        if (quantity === "steps_per_s" && each.low !== null) elements.push(s("line", { class: "error", style: { stroke: color }, x1: x(each.values[0]), x2: x(each.values[0]), y1: y(each.low), y2: y(each.high) }));
        const dot = s("circle", { class: "point", style: { fill: color }, cx: x(each.values[0]), cy: y(each[quantity]), r: 5.5, tabindex: "0", role: "img" });
        elements.push(withTip(dot, () => settingTip(each), `${each.name}: ${text(each[quantity])}`));
      }
    });
    svg.setAttribute("height", HEIGHT);
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    replace(svg, elements);
  }
  new ResizeObserver(draw).observe(chart);
  const modes = choice("What is shown", known.map((name) => [name, QUANTITIES[name][0]]), quantity, (chosen) => { quantity = chosen; draw(); });
  const proportion = h("span", null, h("span", { class: "key dashes" }), "in proportion to the smallest");
  const legend = h("div", { class: "legend", "aria-hidden": "true" }, names.length > 0 && lines.map((line, index) =>
    h("span", null, h("span", { class: "dot", style: { "--color": strength(index) } }), names.map((name, nth) => `${name}=${line[0].values[nth + 1]}`).join(" "))), proportion);
  return h("div", null, h("div", { class: "tools" }, modes), legend, chart);
}
