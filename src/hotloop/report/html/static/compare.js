// The page of a comparison.

// Every pair: what its two runs took, in the order in which they were made.
function pairsChart(data) {
  const { first_s: first, second_s: second } = data.samples;
  const all = [...first, ...second], HEIGHT = 190, TOP = 12, BOTTOM = 26, LEFT = 64, RIGHT = 12;
  const low = Math.min(...all), high = Math.max(...all), room = Math.max((high - low) * 0.12, high * 0.004);
  const svg = s("svg", { role: "presentation" });
  const chart = h("div", { class: "chart pairs", tabindex: "0", role: "slider", "aria-label": "Pairs of runs; arrow keys move along them", "aria-valuemin": "1", "aria-valuemax": String(first.length) }, svg);
  let at = null, width = 0, cursor = null;
  const x = (index) => LEFT + (index + 0.5) / first.length * (width - LEFT - RIGHT);
  const y = (value) => TOP + (high + room - value) / (high - low + 2 * room) * (HEIGHT - TOP - BOTTOM);

  function draw() {
    width = Math.max(chart.clientWidth, 240);
    const every = Math.ceil(first.length / Math.max(Math.floor(width / 46), 1));
    cursor = s("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    svg.setAttribute("height", HEIGHT);
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    replace(svg, ticksBetween(low - room, high + room, 4).map((tick) => [s("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }), s("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, format.seconds(tick))]).flat(),
      cursor, first.map((value, index) => s("g", null,
        s("line", { class: "between", x1: x(index), x2: x(index), y1: y(value), y2: y(second[index]) }),
        s("rect", { class: "first", x: x(index) - 4, y: y(value) - 4, width: 8, height: 8 }), s("circle", { class: "second", cx: x(index), cy: y(second[index]), r: 4.5 }),
        index % every === 0 && s("text", { x: x(index), y: HEIGHT - 8, "text-anchor": "middle" }, String(index + 1)))));
  }
  function move(index, left, top) {
    at = Math.max(0, Math.min(index, first.length - 1));
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(at));
    cursor.setAttribute("visibility", "visible");
    chart.setAttribute("aria-valuenow", String(at + 1));
    chart.setAttribute("aria-valuetext", `pair ${at + 1}: ${data.names[0]} ${format.seconds(first[at])}, ${data.names[1]} ${format.seconds(second[at])}`);
    const box = chart.getBoundingClientRect();
    showTip(tipContent(`Pair ${at + 1}`, `per ${data.step}`, [[data.names[0], format.seconds(first[at])], [data.names[1], format.seconds(second[at])]]), left === undefined ? box.left + x(at) : left, top === undefined ? box.top + 40 : top);
    if (left === undefined) tipAnchor = () => move(at);
  }
  function rest() {
    if (cursor) cursor.setAttribute("visibility", "hidden");
    hideTip();
  }
  chart.addEventListener("pointermove", (event) => {
    const share = (event.clientX - chart.getBoundingClientRect().left - LEFT) / (width - LEFT - RIGHT);
    if (share >= 0 && share < 1) move(Math.floor(share * first.length), event.clientX, event.clientY);
  });
  chart.addEventListener("pointerleave", rest);
  chart.addEventListener("blur", rest);
  chart.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -1e9, End: 1e9 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    move((at === null ? -1 : at) + steps[event.key]);
  });
  new ResizeObserver(draw).observe(chart);
  return h("div", null, h("div", { class: "legend", "aria-hidden": "true" }, h("span", null, h("span", { class: "key first" }), data.names[0]), h("span", null, h("span", { class: "key second" }), data.names[1])), chart);
}

function comparisonTable(data) {
  const columns = [
    { key: "label", title: `Per ${data.step}`, cell: (row) => h("span", { class: "long", title: row.label }, row.label), sort: (row) => row.label },
    { key: "first", title: data.names[0], number: true, cell: (row) => format.seconds(row.first_s), sort: (row) => row.first_s },
    { key: "second", title: data.names[1], number: true, cell: (row) => format.seconds(row.second_s), sort: (row) => row.second_s },
    { key: "ratio", title: "Times faster", number: true, cell: (row) => row.text || "–", sort: (row) => row.ratio.estimate },
    { key: "verdict", title: "Verdict", cell: (row) => h("span", { class: "said " + (TONES[row.verdict] || "") }, row.in_words), sort: (row) => row.verdict },
  ];
  return table(columns, data.rows, { label: "Overall and by phase" });
}

function comparePage(data) {
  const [first, second] = data.names;
  const what = data.interleaved ? `${data.pairs} interleaved pair${data.pairs === 1 ? "" : "s"} of runs` : "two captures, not interleaved";
  const ratio = data.rows[0] && data.rows[0].text;
  const figures = [
    ratio && ["times faster", ratio.split(" (")[0], ratio.includes("(") && ratio.slice(ratio.indexOf("(") + 1, -1), TONES[data.verdict]],
    data.first_s !== null && [first, format.seconds(data.first_s), `per ${data.step}`],
    data.second_s !== null && [second, format.seconds(data.second_s), `per ${data.step}`],
    ["pairs of runs", data.interleaved ? String(data.pairs) : "–", data.interleaved ? "interleaved" : "two captures"],
    data.waited >= 0.01 && ["core taken by others", format.percent(data.waited), "excluded from these figures"],
  ];
  const commands = data.commands && data.commands.map((command, index) => [data.names[index], h("span", { class: "mono" }, command)]);
  experimentPage("compare", what, data, [data.because, ...data.work_notes].filter(Boolean), figures, () => [
    data.rows.length > 0 && data.pairs > 0 && ["verdicts", "Verdicts", section("verdicts", "How many times faster", `To the right of 1, ${second} is faster. The shaded band is ±${format.percent(data.margin)}: an interval inside it means no difference.`, comparisonChart(data))],
    data.parts.length > 0 && ["time", "Time", section("time", `Time per ${data.step}, by phase`, "Each phase's own time, as the median of the runs.", comparisonBars(data))],
    data.samples && data.samples.first_s.length > 1 && ["pairs", "Pairs", section("pairs", "Pair by pair", "Time per step of the two runs of each pair, in the order of the runs.", pairsChart(data))],
    data.pairs > 0 && ["table", "Table", section("table", "Every figure", null, comparisonTable(data))],
    ["runs", "Runs", section("runs", "These runs", null,
      commands && h("div", { class: "facts" }, facts("Commands", commands)),
      data.to_open && h("div", null, h("p", { class: "small muted", style: { "margin-top": "14px" } }, "To open one of them"), copyLine(data.to_open)),
      sentences(data.small_print, "print small muted"))],
  ]);
}

comparePage(pageData());
