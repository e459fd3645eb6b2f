// Estimates with their intervals, one under the other on one axis: what is sure, and what is not.

const TONES = {
  "faster": "good", "slower": "bad", "no difference": "even", "cannot tell": "doubt", "not comparable": "neutral",
  "confirmed": "good", "a ceiling": "even", "refuted": "bad", "could not be tried": "neutral", "met": "good", "not met": "bad",
};
// An interval whose ends differ by more than this factor is not drawn: it would flatten the others.
const ANYTHING = 10;

// A scale from a figure to a share of the width, with the marks of its axis.
function intervalScale(rows, options) {
  const [to, back] = options.even ? [(value) => value, (value) => value] : [Math.log, Math.exp];
  const values = [...(options.include || [])];
  for (const row of rows) {
    const known = row.low !== null && row.high !== null && (options.even || row.high <= ANYTHING * row.low);
    values.push(row.estimate, ...(known ? [row.low, row.high] : []), ...(row.expected || []));
  }
  const finite = values.filter((value) => Number.isFinite(value) && (options.even || value > 0)).map(to);
  let low = Math.min(...finite), high = Math.max(...finite);
  const room = Math.max((high - low) * 0.06, options.even ? 0.05 : 0.01);
  [low, high] = [low - room, high + room];
  const at = (value) => (to(value) - low) / (high - low);
  const ticks = options.even ? ticksBetween(low, high, 5) : factorTicks(back(low), back(high), (high - low) / 7, [1]);
  return { at, ticks, inside: (value) => Math.max(0, Math.min(1, at(value))) };
}

const percents = (share) => (share * 100).toFixed(2) + "%";

// Rows are {label, estimate, low, high, text, verdict, in_words, expected, tip, more}. `options`: even
// (not a scale of factors), middle (what means no change), margin, marks ([value, name]), label.
function intervalChart(rows, options) {
  const drawn = rows.filter((row) => row.estimate !== null && row.estimate !== undefined);
  const marks = options.marks || [];
  const scale = drawn.length > 0 && intervalScale(drawn, { ...options, include: [options.middle, ...(options.margin ? [1 + options.margin, 1 / (1 + options.margin)] : []), ...marks.map(([value]) => value)] });
  const span = (low, high, kind) => h("i", { class: kind, style: { left: percents(scale.inside(low)), width: percents(Math.max(scale.inside(high) - scale.inside(low), 0)) } });
  const line = (value, kind) => h("i", { class: kind, style: { left: percents(scale.at(value)) } });
  const elements = rows.map((row) => {
    const known = row.estimate !== null && row.estimate !== undefined && scale;
    const low = known && (row.low === null ? -Infinity : scale.at(row.low)), high = known && (row.high === null ? Infinity : scale.at(row.high));
    const track = h("span", { class: "track", "aria-hidden": "true" },
      scale && options.margin && span(1 / (1 + options.margin), 1 + options.margin, "margin"),
      scale && marks.map(([value]) => line(value, "goal")), scale && line(options.middle, "middle"),
      scale && row.expected && span(row.expected[0], row.expected[1] === null ? Infinity : row.expected[1], "expected"),
      known && row.low !== null && h("i", { class: "whisker" + (low < 0 ? " from-left" : "") + (high > 1 ? " to-right" : ""), style: { left: percents(Math.max(low, 0)), width: percents(Math.max(Math.min(high, 1) - Math.max(low, 0), 0)) } }),
      known && line(row.estimate, "dot"));
    const element = h("div", { class: "row " + (TONES[row.verdict] || "even") + (row.strong ? " strong" : ""), role: "listitem", tabindex: "0", "data-name": row.label },
      h("span", { class: "name" }, row.label), track, h("span", { class: "text" }, row.text || "–"), h("span", { class: "verdict" }, row.in_words || ""));
    return withTip(element, () => tipContent(row.label, row.more, row.tip), `${row.label}: ${row.text || ""} ${row.in_words || ""}`);
  });
  elements.forEach((element, index) => element.addEventListener("keydown", (event) => {
    const next = elements[index + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] || NaN)];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }));
  // Near an end, a word is put where there is room for it.
  const word = (value, text) => h("b", { class: scale.at(value) > 0.88 ? "end" : scale.at(value) < 0.06 ? "start" : null, style: { left: percents(scale.at(value)) } }, text);
  const said = rows.some((row) => row.in_words);
  const axis = scale && h("div", { class: "row axis", "aria-hidden": "true" }, h("span", { class: "name" }), h("span", { class: "track" },
    scale.ticks.map((tick) => word(tick, options.tick ? options.tick(tick) : String(Number(tick.toPrecision(3)))))), h("span", { class: "text" }), h("span", { class: "verdict" }));
  const heads = scale && marks.length > 0 && h("div", { class: "row axis heads", "aria-hidden": "true" }, h("span", { class: "name" }), h("span", { class: "track" },
    marks.map(([value, name]) => word(value, name))), h("span", { class: "text" }), h("span", { class: "verdict" }));
  return h("div", { class: "intervals" + (said ? "" : " bare"), role: "list", "aria-label": options.label }, heads, elements, axis);
}

// What a step is made of, one bar under the other on one scale. `bars` are {name, text, parts}, and a
// part {label, category, seconds}; a bar may be a link to somewhere.
function stackedBars(bars, label, step) {
  const most = Math.max(...bars.map((bar) => bar.parts.reduce((sum, part) => sum + part.seconds, 0)), 1e-12);
  const tints = shades(bars[0] ? bars[0].parts : []);
  const seen = (part) => bars.some((bar) => bar.parts.some((other) => other.label === part.label && other.seconds >= most * 0.003));
  return h("div", { class: "stacks", role: "group", "aria-label": label },
    bars.map((bar) => h("div", { class: "stack" }, h("span", { class: "name" }, bar.name),
      h("span", { class: "parts" }, bar.parts.map((part, index) => part.seconds >= most * 0.0005 && withTip(
        h("button", { type: "button", style: { width: percents(part.seconds / most), "--color": tints[index] } }),
        () => tipContent(part.label, `${bar.name}, per ${step}`, [["own time", format.seconds(part.seconds), tints[index]], ...(part.tip || [])]),
        `${bar.name}: ${part.label} ${format.seconds(part.seconds)} per ${step}`))),
      h("span", { class: "text" }, bar.text))),
    bars[0] && h("div", { class: "legend", "aria-hidden": "true" }, bars[0].parts.map((part, index) => seen(part)
      && h("span", null, h("span", { class: "dot", style: { "--color": tints[index] } }), part.label))));
}
