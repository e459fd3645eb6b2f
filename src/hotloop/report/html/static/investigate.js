// The page of an investigation.

function claimRows(hypotheses) {
  return hypotheses.map((each) => ({
    label: each.name, estimate: each.measured && each.measured.estimate, low: each.measured && each.measured.low, high: each.measured && each.measured.high,
    expected: [each.expected.low, each.expected.high], text: each.measured_text, verdict: each.verdict, in_words: each.verdict, more: each.claim,
    tip: [["expected", each.expected.text], ["confidence", each.confidence], ["measured", each.measured_text || "–"], ["verdict", each.verdict_text]],
  }));
}

function claimCard(each, index) {
  const pairs = each.is_slope ? `${each.pairs} rounds` : `${each.pairs} pairs`;
  return h("article", { class: "finding claim " + (TONES[each.verdict] || "neutral"), id: "hypothesis-" + (index + 1) },
    h("div", { class: "meta" }, h("span", { class: "kind" }, each.verdict), each.changes_training && "an experiment only: it changes the training"),
    h("header", null, h("h3", null, each.name), each.measured_text && h("div", { class: "gain" }, each.measured_text, h("small", null, `expected ${each.expected.text}, ${each.confidence} confidence`))),
    h("p", { class: "fix" }, each.claim),
    h("dl", null, [["change", h("code", null, each.change)], ["verdict", each.verdict_text], each.pairs && ["measured in", pairs]].filter(Boolean).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    each.comparison && each.comparison.work_notes.length > 0 && sentences(each.comparison.work_notes, "fix muted small"),
    each.comparison && h("details", null, h("summary", null, "Phase by phase"), comparisonChart(each.comparison), comparisonBars(each.comparison)));
}

function investigatePage(data) {
  const { goal, together } = data;
  const gains = data.hypotheses.filter((each) => !each.is_slope), slopes = data.hypotheses.filter((each) => each.is_slope);
  const rows = claimRows(gains);
  if (together.comparison && together.of.length > 1) {
    const whole = together.comparison.rows[0];
    rows.push({ label: "together", estimate: whole.ratio.estimate, low: whole.ratio.low, high: whole.ratio.high, text: together.text, verdict: whole.verdict, in_words: whole.in_words, strong: true, more: together.of.join(", "), tip: [["measured", together.text]] });
  }
  const count = (verdict) => data.hypotheses.filter((each) => each.verdict === verdict).length;
  const figures = [
    together.text && ["times faster", together.text.split(" (")[0], together.of.join(", "), "good"],
    goal.minimum !== null && [`minimum goal, ${goal.minimum}×`, goal.minimum_met, null, TONES[goal.minimum_met] || "doubt"],
    goal.stretch !== null && [`stretch goal, ${goal.stretch}×`, goal.stretch_met, null, TONES[goal.stretch_met] || "doubt"],
    data.baseline_s && ["baseline", format.seconds(data.baseline_s), "per step"],
    ["hypotheses", String(data.hypotheses.length), `${count("confirmed")} confirmed, ${count("refuted")} refuted`],
  ];
  const marks = [[goal.minimum, "minimum"], [goal.stretch, "stretch"]].filter(([value]) => value !== null);
  experimentPage("investigate", data.baseline, data, data.goal_sentences, figures, () => [
    rows.length > 0 && ["claims", "Claims", section("claims", "Expected and measured", "Speedup over the baseline: the pale bar is the expected range, the dot with its line the measurement.", intervalChart(rows, { middle: 1, marks, label: "Expected and measured gains" }))],
    slopes.length > 0 && ["delays", "Delays", section("delays", "Effect of delays", "How much of an added delay shows up in the total time: 1 is on the critical path, 0 is hidden behind other work.", intervalChart(claimRows(slopes), { even: true, middle: 0, marks: [[1, "critical path"]], label: "Slopes of time over delay" }))],
    data.hypotheses.length > 0 && ["hypotheses", "Hypotheses", section("hypotheses", "One by one", "In the order of the experiments.", data.hypotheses.map(claimCard))],
    together.comparison && together.of.length > 1 && ["together", "Together", section("together", "Everything that was confirmed", together.of.join(", "), comparisonChart(together.comparison), comparisonBars(together.comparison))],
    ["runs", "Runs", section("runs", "This investigation", null, h("p", { class: "small muted" }, "Its record"), copyLine(data.to_open), sentences(data.small_print, "print small muted"))],
  ]);
}

investigatePage(pageData());
