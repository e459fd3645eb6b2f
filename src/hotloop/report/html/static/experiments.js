// What the pages of comparisons, sweeps and investigations share.

function figureRow(rows) {
  return h("div", { class: "figures" }, rows.filter(Boolean).map(([label, value, more, tone]) =>
    h("div", { class: "figure" + (tone ? " " + tone : "") }, h("div", { class: "value" }, value), h("div", { class: "label" }, label, more ? h("small", null, more) : null))));
}

function sentences(lines, kind) {
  return lines.length > 0 && h("div", { class: kind }, lines.map((line) => h("p", null, line)));
}

// Sections are [id, name in the top bar, element]; what a run of this kind has none of is left out.
function experimentPage(name, command, data, lead, figures, sections) {
  colors = data.colors;
  const parts = sections().filter(Boolean);
  replace(document.getElementById("page"), topBar(name, parts.map(([id, label]) => [id, label])),
    h("p", { class: "command" }, command), h("h1", null, data.headline), sentences(lead, "lead"), figureRow(figures), parts.map((part) => part[2]));
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) target.scrollIntoView();
}

// The rows of a comparison, each as an interval.
function comparisonRows(comparison) {
  return comparison.rows.map((row, index) => ({
    label: row.label, estimate: row.ratio.estimate, low: row.ratio.low, high: row.ratio.high, text: row.text, verdict: row.verdict, in_words: row.in_words,
    strong: index === 0, more: `per ${comparison.step}`,
    tip: [[comparison.names[0], format.seconds(row.first_s)], [comparison.names[1], format.seconds(row.second_s)], ["times faster", row.text || "–"], ["verdict", row.in_words]],
  }));
}

function comparisonChart(comparison) {
  return intervalChart(comparisonRows(comparison), { middle: 1, margin: comparison.margin, label: "How many times faster, with intervals" });
}

function comparisonBars(comparison) {
  const bars = comparison.names.map((name, side) => ({
    name, text: format.seconds(comparison.whole_s[side]),
    parts: comparison.parts.map(([label, category, ...seconds]) => ({
      label, category, seconds: seconds[side], tip: [[comparison.names[1 - side], format.seconds(seconds[1 - side])]],
    })),
  }));
  return stackedBars(bars, `Time per ${comparison.step}, by phase`, comparison.step);
}

const pageData = () => JSON.parse(document.getElementById("data").textContent);
