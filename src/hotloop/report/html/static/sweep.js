// The page of a sweep.

function settingMarks(setting) {
  return setting.marks.map((mark) => h("span", { class: "mark quiet" }, mark));
}

function settingTip(data, setting) {
  const parts = data.phases.map(([name, category], index) => [name, format.seconds(setting.own[index]), colorOf(category), setting.own[index]]).filter((row) => row[3] >= setting.step_s * 0.005);
  return tipContent(setting.name, `${setting.runs} run${setting.runs === 1 ? "" : "s"}`, [
    ["steps per second", setting.rate], [`per ${data.step}`, format.seconds(setting.step_s)], ["time of a run", format.seconds(setting.loop_s)],
    setting.memory_mb !== null && ["peak memory", format.megabytes(setting.memory_mb)], setting.efficiency !== null && ["efficiency", format.percent(setting.efficiency)], ...parts,
  ].filter(Boolean));
}

function settingsTable(data) {
  const number = (key, title, text, help) => ({ key, title, help, number: true, cell: (row) => text(row[key]), sort: (row) => row[key] });
  const some = (key) => data.settings.some((row) => row[key] !== null);
  const columns = [
    ...Object.keys(data.vary).map((name, index) => ({ key: "value-" + index, title: name, number: true, cell: (row) => h("span", { class: "long", title: row.values[index] }, row.values[index]), sort: (row) => Number.isFinite(Number(row.values[index])) ? Number(row.values[index]) : row.values[index] })),
    { key: "rate", title: "Steps per second", number: true, cell: (row) => [row.rate, settingMarks(row)], sort: (row) => row.steps_per_s },
    number("step_s", `Per ${data.step}`, format.seconds), number("loop_s", "Time of a run", format.seconds),
    some("memory_mb") && number("memory_mb", "Peak memory", format.megabytes),
    some("efficiency") && number("efficiency", "Efficiency", format.percent, "Steps per second for each unit of the setting, relative to the smallest"),
    ...data.phases.map(([name], index) => ({ key: "phase-" + index, title: name, number: true, cell: (row) => format.seconds(row.own[index]), sort: (row) => row.own[index] })),
  ].filter(Boolean);
  return table(columns, data.settings, { label: "Every setting" });
}

function expectationTable(data, expected) {
  const text = expected.quantity === "steps_per_s" ? (value) => format.rate(value) + " steps/s" : format.seconds;
  const columns = [
    { key: "value", title: expected.variable, number: true, cell: (row) => row.value, sort: (row) => Number(row.value) },
    { key: "expected", title: "Expected", number: true, cell: (row) => text(row.expected), sort: (row) => row.expected },
    { key: "actual", title: "Actual", number: true, cell: (row) => text(row.actual), sort: (row) => row.actual },
    { key: "said", title: "Result", cell: (row) => row.in_words, sort: (row) => row.times_slower.estimate },
  ];
  return h("div", { class: "block" }, h("h3", null, "Expected: " + expected.meaning), sentences(expected.sentences, "lead"), table(columns, expected.rows.slice(1), { label: "Expected and actual" }));
}

function growthChart(data, growth) {
  const rows = growth.rows.map((row, index) => ({
    ...row, strong: index === 0, verdict: "", more: `scales as ${growth.variable} to the power of`, tip: [["exponent", row.text]],
  }));
  return h("div", { class: "block" }, data.growths.length > 1 && h("h3", null, growth.variable), intervalChart(rows, { even: true, middle: 0, marks: [[1, "in proportion"]], label: `How time per step scales with ${growth.variable}`, tick: (tick) => String(Number(tick.toFixed(2))) }));
}

function sweepPage(data) {
  const best = data.settings.find((each) => each.marks.includes("fastest"));
  const figures = [
    best && ["fastest", best.name, `${best.rate} steps/s`],
    data.axis.knee !== null && ["knee", `${data.axis.name}=${data.axis.knee}`, data.stop_after ? "larger values bring little more" : "larger values take more than their share"],
    data.growths.length > 0 && data.growths[0].rows.length > 0 && [`power of ${data.growths[0].variable}`, data.growths[0].rows[0].text.split(" (")[0], `time per ${data.step} scales as`],
    ["settings", String(data.settings.length), `${data.rounds} round${data.rounds === 1 ? "" : "s"}`],
  ];
  const bars = data.settings.map((setting) => ({
    name: setting.name, text: format.seconds(setting.step_s), parts: data.phases.map(([label, category], index) => ({ label, category, seconds: setting.own[index] })),
  }));
  experimentPage("sweep", data.command, data, data.sentences, figures, () => [
    ["speed", "Speed", section("speed", `Speed as ${data.axis.name} changes`, `${data.design}. Points are medians; lines on them are 95% intervals. Both scales are logarithmic.`, scalingChart(data, (setting) => settingTip(data, setting)))],
    data.expect.length > 0 && ["expected", "Expected", section("expected", "Expected and actual", null, data.expect.map((expected) => expectationTable(data, expected)))],
    ["time", "Time", section("time", `Time per ${data.step}, by phase`, "Each phase's own time, as the median of the runs.", stackedBars(bars, "Time per step by phase", data.step))],
    data.growths.some((growth) => growth.rows.length > 0) && ["growth", "Growth", section("growth", "What grows with it", "The power with which the time per step grows: 0 means independent, 1 means proportional.", data.growths.map((growth) => growthChart(data, growth)))],
    ["table", "Table", section("table", "Every setting", null, settingsTable(data))],
    ["runs", "Runs", section("runs", "These runs", null, h("p", { class: "small muted" }, "To open one of them"), copyLine(data.to_open), sentences(data.small_print, "print small muted"))],
  ]);
}

sweepPage(pageData());
