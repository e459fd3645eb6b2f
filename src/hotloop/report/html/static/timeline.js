// The run as it went: charts over one axis of time, with one cursor for all of them.

const LEFT = 58, RIGHT = 12;

function timeTicks(begin, end, count) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400];
  const step = steps.find((each) => (end - begin) / each <= count) || 86400;
  const ticks = [];
  for (let value = Math.ceil(begin / step) * step; value <= end; value += step) ticks.push(value);
  return ticks;
}

function clock(value) {
  if (value < 120) return `${Number(value.toFixed(1))} s`;
  if (value < 7200) return value % 60 < 1 ? `${Math.round(value / 60)} min` : `${Math.floor(value / 60)}:${String(Math.floor(value % 60)).padStart(2, "0")}`;
  return `${Number((value / 3600).toFixed(2))} h`;
}

function timelineView(data) {
  const run = data.course;
  const POINT = { bands: 2, part: 3, steps: 4, rate: 5, step: 6, memory: 7, peak: 8, cores: 9, gpu: 10, gpuMemory: 11 };
  const names = run.bands.map((band) => band.name);
  const whole = [run.begin_s, run.end_s];
  const loop = run.loop_end_s > run.loop_begin_s ? [Math.max(run.loop_begin_s, run.begin_s), Math.min(run.loop_end_s, run.end_s)] : whole;
  let mode = "time", at = null, shown = loop;
  const svg = s("svg", { role: "presentation" });
  const chart = h("div", { class: "chart", tabindex: "0", role: "slider", "aria-label": "Timeline; arrow keys move along it", "aria-valuemin": "0", "aria-valuemax": String(Math.max(run.points.length - 1, 0)) }, svg);
  const present = (index) => run.points.some((point) => point[index] !== null && point[index] !== undefined && point[index] !== 0);
  const modes = run.parts.length > 1 && choice("Phases by", [["time", "Share of time"], ["step", "Per environment step"]], mode, (value) => { mode = value; draw(); });
  const bandColors = shades(run.bands);
  const aside = run.end_s - run.begin_s - (loop[1] - loop[0]) > 0.005 * (run.end_s - run.begin_s);
  const range = aside && choice("Range", [["loop", "Loop only"], ["whole", "Whole run"]], "loop", (value) => zoom(value === "loop" ? loop : whole));
  const reset = h("button", { class: "plain", type: "button", hidden: true, on: { click: () => zoom(loop) } }, "Reset zoom");

  let x = () => 0, width = 0, cursor = null, chosen = null, dragged = null;

  function bandChart(top, height) {
    const parts = inRange(mode === "step" ? run.parts : run.points);
    const most = mode === "step" ? robustMost(parts.map((point) => point[POINT.bands].reduce((a, b) => a + b, 0))) : 1;
    const y = (value) => top + height - Math.min(value / most, 1) * height;
    const group = s("g", null);
    const ticks = mode === "step" ? niceTicks(most, 4) : [0, 0.25, 0.5, 0.75, 1];
    for (const tick of ticks) group.append(s("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }), label(LEFT - 8, y(tick) + 4, mode === "step" ? format.mark(format.seconds(tick)) : format.percent(tick).replace(".0", ""), "end"));
    const paths = names.map(() => "");
    for (const point of parts) {
      const left = x(point[0]), right = Math.max(x(point[1]) - (parts.length < width / 6 ? 0.7 : 0), left + 0.4);
      let below = 0;
      point[POINT.bands].forEach((value, index) => {
        if (value > 0) paths[index] += `M${left.toFixed(1)} ${y(below).toFixed(1)}H${right.toFixed(1)}V${y(below + value).toFixed(1)}H${left.toFixed(1)}Z`;
        below += value;
      });
    }
    paths.forEach((path, index) => group.append(s("path", { class: "band", d: path, fill: bandColors[index] })));
    return group;
  }

  function zoom(to) {
    const shortest = (run.end_s - run.begin_s) / 2000;
    if (to[1] - to[0] < shortest) return;
    shown = to;
    reset.hidden = to === loop || to === whole;
    draw();
  }

  const inRange = (points) => points.filter((point) => point[1] > shown[0] && point[0] < shown[1]);

  function curveChart(index, top, height, title, text, peak) {
    // Steps per second come per iteration where a program collects and learns in turns.
    const series = index === POINT.rate ? run.throughput.map(([begin, end, rate]) => { const point = []; point[0] = begin; point[1] = end; point[index] = rate; return point; }) : run.points;
    const points = inRange(series).filter((point) => point[index] !== null && point[index] !== undefined);
    const most = robustMost(points.map((point) => Math.max(point[index], peak ? point[peak] || 0 : 0)));
    const y = (value) => top + height - Math.min(value / most, 1) * height;
    const group = s("g", null);
    for (const tick of niceTicks(most, 2)) group.append(s("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }), label(LEFT - 8, y(tick) + 4, format.mark(text(tick)), "end"));
    let curve = "", under = "", high = "";
    points.forEach((point, number) => {
      const [left, right, value] = [x(point[0]).toFixed(1), x(point[1]).toFixed(1), y(point[index]).toFixed(1)];
      curve += `${number ? "L" : "M"}${left} ${value}H${right}`;
      under += `M${left} ${y(0).toFixed(1)}V${value}H${right}V${y(0).toFixed(1)}Z`;
      if (peak && point[peak]) high += `${high ? "L" : "M"}${left} ${y(point[peak]).toFixed(1)}H${right}`;
    });
    group.append(s("path", { class: "under", d: under }), s("path", { class: "curve", d: curve }));
    if (peak) group.append(s("path", { class: "peak", d: high }));
    group.append(label(LEFT, top - 7, title, "start", "title"));
    return group;
  }

  function label(left, top, text, anchor, kind) {
    return s("text", { x: left, y: top, "text-anchor": anchor || "start", class: kind || null }, text);
  }

  function backdrop(bottom) {
    const group = s("g", null);
    const strip = (from, to, kind, text) => {
      if (to <= from || to <= shown[0] || from >= shown[1]) return;
      group.append(s("rect", { class: kind, x: x(from), y: 26, width: Math.max(x(to) - x(from), 1), height: bottom - 26 }));
      if (text && x(to) - x(from) > text.length * 6 + 8) group.append(label(x(from) + 5, 18, text));
    };
    strip(run.begin_s, run.loop_begin_s, "aside", `start-up ${format.seconds(data.run.startup_s)}`);
    if (run.warm_up_s) strip(run.loop_begin_s, run.warm_up_s, "warm", "warm-up");
    if (data.run.after_s > 0.01) strip(run.loop_end_s, run.end_s, "aside", "after the loop");
    for (const [name, begin, end, seconds, calls] of run.events.filter((event) => event[2] >= shown[0] && event[1] <= shown[1])) {
      const mark = s("rect", { class: "event", x: x(begin), y: 20, width: Math.max(x(end) - x(begin), 2.5), height: 6, rx: 1, fill: colorOf(name === "compile" ? "Model" : "Logging"), tabindex: "0", role: "img" });
      group.append(withTip(mark, () => tipContent(name, `${clock(begin)} to ${clock(end)}`, [["time", format.seconds(seconds)], ["calls", format.count(calls)]]), `${name} at ${clock(begin)}, ${format.seconds(seconds)}`));
    }
    return group;
  }

  function draw() {
    width = Math.max(chart.clientWidth, 280);
    const span = Math.max(shown[1] - shown[0], 1e-9);
    x = (time) => LEFT + (Math.min(Math.max(time, shown[0]), shown[1]) - shown[0]) / span * (width - LEFT - RIGHT);
    const rows = [[POINT.rate, "Environment steps per second", format.rate, null], [POINT.memory, "Memory", format.megabytes, POINT.peak],
      [POINT.cores, "Cores busy", (value) => String(Number(value.toFixed(2))), null], [POINT.gpu, "GPU busy", format.percent, null],
      [POINT.gpuMemory, "GPU memory", format.megabytes, null]].filter(([index]) => present(index));
    const elements = [];
    let top = 30;
    elements.push(bandChart(top, 170));
    top += 170;
    for (const [index, title, text, peak] of rows) {
      elements.push(curveChart(index, top + 34, 64, title, text, peak));
      top += 98;
    }
    const axis = s("g", null, s("line", { class: "base", x1: LEFT, x2: width - RIGHT, y1: top + 0.5, y2: top + 0.5 }),
      timeTicks(shown[0], shown[1], Math.max(width / 110, 3)).map((tick) => label(x(tick), top + 18, clock(tick), x(tick) < LEFT + 20 ? "start" : x(tick) > width - 40 ? "end" : "middle")));
    cursor = s("line", { class: "cursor", y1: 26, y2: top, visibility: "hidden" });
    chosen = s("rect", { class: "chosen", y: 26, height: top - 26, visibility: "hidden" });
    svg.setAttribute("height", top + 26);
    svg.setAttribute("viewBox", `0 0 ${width} ${top + 26}`);
    replace(svg, backdrop(top), elements, axis, cursor, chosen);
  }

  function content(index) {
    const point = run.points[index];
    const rows = point[POINT.bands].map((share, band) => [names[band], format.percent(share), bandColors[band], share]).filter((row) => row[3] > 0.0005);
    if (point[POINT.steps]) rows.push(["steps per second", format.rate(point[POINT.rate])], ["time per step", format.seconds(point[POINT.step])]);
    if (point[POINT.memory] !== null) rows.push(["memory", format.megabytes(point[POINT.memory])]);
    if (point[POINT.cores]) rows.push(["cores busy", point[POINT.cores].toFixed(2)]);
    if (point[POINT.gpu] !== null) rows.push(["GPU busy", format.percent(point[POINT.gpu])]);
    if (point[POINT.gpuMemory] !== null) rows.push(["GPU memory", format.megabytes(point[POINT.gpuMemory])]);
    return tipContent(`${clock(point[0])} to ${clock(point[1])}`, { startup: "start-up", loop: "training loop", after: "after the loop" }[point[POINT.part]], rows);
  }

  function move(index, left, top) {
    at = Math.max(0, Math.min(index, run.points.length - 1));
    if (run.points[at][1] <= shown[0] || run.points[at][0] >= shown[1]) zoom(whole);
    const point = run.points[at];
    const middle = x((point[0] + point[1]) / 2);
    cursor.setAttribute("x1", middle);
    cursor.setAttribute("x2", middle);
    cursor.setAttribute("visibility", "visible");
    chart.setAttribute("aria-valuenow", String(at));
    chart.setAttribute("aria-valuetext", `${clock(point[0])}: ${format.rate(point[POINT.rate])} steps per second`);
    const box = chart.getBoundingClientRect();
    showTip(content(at), left === undefined ? box.left + middle : left, top === undefined ? box.top + 60 : top);
    if (left === undefined) tipAnchor = () => move(at);
  }

  function rest() {
    if (cursor) cursor.setAttribute("visibility", "hidden");
    hideTip();
  }

  const timeAt = (event) => {
    const part = (event.clientX - chart.getBoundingClientRect().left - LEFT) / (width - LEFT - RIGHT);
    return shown[0] + Math.min(Math.max(part, 0), 1) * (shown[1] - shown[0]);
  };
  chart.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType === "mouse") dragged = timeAt(event);
  });
  chart.addEventListener("pointermove", (event) => {
    if (event.target.classList.contains("event")) return;
    const time = timeAt(event);
    if (dragged !== null) {
      const [from, to] = [Math.min(dragged, time), Math.max(dragged, time)];
      chosen.setAttribute("x", x(from));
      chosen.setAttribute("width", x(to) - x(from));
      chosen.setAttribute("visibility", "visible");
    }
    const index = run.points.findIndex((point) => time <= point[1]);
    if (index >= 0) move(index, event.clientX, event.clientY);
  });
  addEventListener("pointerup", (event) => {
    if (dragged === null) return;
    const ends = [dragged, timeAt(event)].sort((a, b) => a - b);
    dragged = null;
    chosen.setAttribute("visibility", "hidden");
    if (x(ends[1]) - x(ends[0]) > 6) zoom(ends);
  });
  chart.addEventListener("dblclick", () => zoom(loop));
  chart.addEventListener("pointerleave", rest);
  chart.addEventListener("blur", rest);
  chart.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 };
    if (!(event.key in steps) || event.target !== chart) return;
    event.preventDefault();
    if (at === null) at = run.points.findIndex((point) => point[1] > shown[0]) - 1;
    move(at + steps[event.key]);
  });
  new ResizeObserver(draw).observe(chart);

  const legend = h("div", { class: "legend", "aria-hidden": "true" }, names.map((name, index) =>
    run.points.some((point) => point[POINT.bands][index] > 0)
      && h("span", null, h("span", { class: "dot", style: { "--color": bandColors[index] } }), name)));
  const folded = aside && run.loop_begin_s > 0.01 && h("span", { class: "small muted" }, `start-up ${format.seconds(data.run.startup_s)} folded`);
  return h("div", null, h("div", { class: "tools", style: { "margin-bottom": "10px" } }, modes, range, reset, folded), legend, chart);
}

// One slow window must not flatten all others: the scale ends a little above most of them.
function robustMost(values) {
  const ordered = values.filter((value) => value > 0).sort((a, b) => a - b);
  if (ordered.length === 0) return 1;
  const high = ordered[Math.floor((ordered.length - 1) * 0.95)];
  return Math.min(ordered[ordered.length - 1], high * 1.5) * 1.05;
}
