// The page of one run: what matters first.

function figures(data) {
  const run = data.run;
  const rows = [
    run.env_steps && ["steps per second", format.rate(run.steps_per_s)],
    run.return_last !== null && ["return, last tenth", format.any(Number(run.return_last.toPrecision(4))), run.evaluation_last !== null && `evaluation ${format.any(Number(run.evaluation_last.toPrecision(4)))}`],
    ["training loop", format.seconds(run.loop_s), run.wall_s > run.loop_s * 1.02 && `of ${format.seconds(run.wall_s)}`],
    run.env_steps && ["environment steps", format.count(run.env_steps), run.episodes && `${format.count(run.episodes)} episodes`],
    run.gradient_steps && ["gradient steps", format.count(run.gradient_steps), run.batch_size && `batch size ${run.sequences_per_batch ? `${format.count(run.sequences_per_batch)} x ${format.count(run.sequence_length)}` : format.count(run.batch_size)}`],
    run.memory_peak_mb && ["peak memory", format.megabytes(run.memory_peak_mb)],
    ["device", run.device, run.processes > 1 && `${run.processes} processes`],
  ].filter(Boolean);
  return h("div", { class: "figures" }, rows.map(([label, value, more]) =>
    h("div", { class: "figure" }, h("div", { class: "value" }, value), h("div", { class: "label" }, label, more ? h("small", null, more) : null))));
}

// A library's version, and how much of what hotloop looks for it does not have.
function libraryText(facts) {
  if (!facts || typeof facts !== "object") return format.any(facts);
  const missing = (facts.missing || []).length;
  return (facts.version === "unknown" ? "version unknown" : format.any(facts.version)) + (missing ? ` (${missing} target${missing === 1 ? "" : "s"} not found)` : "");
}

function machine(data) {
  const { facts: known, cost, run } = data;
  const exit = data.ending || "normally";
  const notes = [
    known.native === false && `Measured with the pure-Python twin: ${known.why_twin}.`,
    known.damaged > 0 && `${known.damaged} damaged lines of the capture were skipped.`,
    ...Object.entries(known.failures).map(([name, error]) => `The hook ${name} failed and was disabled: ${error}`),
  ].filter(Boolean);
  return [
    h("div", { class: "facts" },
      facts("Run", [["command", h("span", { class: "mono" }, run.command.join(" "))], ["started", run.started && new Date(run.started * 1000).toLocaleString()], ["ended", exit], ["stopped after", known.stop_after], ["start-up", format.seconds(run.startup_s)], ["after the loop", format.seconds(run.after_s)], ["steps per episode", run.steps_per_episode && format.rate(run.steps_per_episode)], ["gradient steps per step", run.updates_per_step && Number(run.updates_per_step.toPrecision(3))]]),
      facts("Machine", [["host", known.host], ["platform", known.platform], ["cores", known.cores], ["device", run.device], ["Python", known.python]]),
      facts("Libraries", Object.entries(known.libraries).map(([name, facts]) => [name, libraryText(facts)])),
      facts("Counted", Object.entries(known.counters).map(([name, value]) => [name.replaceAll("_", " "), format.count(value)])),
      facts("Overhead and coverage", [["share of the loop", format.percent(cost.share)], ["regions", `${format.count(cost.regions)} of ${cost.region_ns.toFixed(0)} ns`], ["sampler", format.seconds(cost.sampler_s)], ["recorder", format.seconds(cost.recorder_s)], ...(cost.device_s ? [["GPU recordings", format.seconds(cost.device_s)]] : []), ["excluded from these figures", cost.corrected ? "yes" : "no"], ["explained", format.percent(data.accounting.explained)], ["inferred", format.percent(data.accounting.inferred)], ["unexplained", format.percent(data.accounting.unexplained)], ["hotloop", known.version]])),
    notes.length > 0 && h("p", { class: "small muted", style: { "margin-top": "18px" } }, notes.join(" ")),
  ];
}

function reportPage(data) {
  colors = data.colors;
  const rows = phaseRows(data);
  const resolve = (name) => {
    const found = rows.filter((row) => row.path === name || row.name === name).sort((a, b) => b.total_s - a.total_s)[0];
    return found ? found.path : null;
  };
  const flame = data.trees.length > 0 && flameView(data);
  const phases = rows.length > 0 && phasesTable(data, rows);
  const sampled = "Sampled " + (data.facts.samples_per_second || 100) + " times per second; sorted by own time.";
  const parts = [
    ["findings", "Findings", findingsSection(data, resolve)],
    flame && ["breakdown", "Breakdown", section("breakdown", `Where the ${format.seconds(data.run.loop_s)} of the loop went`, data.run.critical_path ? "Categories: shares of the critical path. Boxes: host time, in which a phase may wait for kernels of another." : "Phases are timed exactly, the functions inside them sampled. Width is time.", categoryBar(data), flame.element)],
    data.course.points.length > 1 && ["timeline", "Timeline", section("timeline", "Over time", "Marks above are evaluations, checkpoints and compilations. Drag to zoom.", timelineView(data))],
    data.returns && data.returns.curve.length > 1 && ["returns", "Returns", section("returns", "Return", "Sum of rewards per training episode: mean, and the middle 80% of the episodes. Dots are evaluations.", returnsView(data))],
    data.run_table.length > 0 && ["across", "Across processes", section("across", "The loop across processes", "Waiting is replaced by the work of the processes it waited for.", runTable(data))],
    data.processes.rows.length > 1 && ["processes", "Processes", section("processes", "Processes side by side", "Busy is time in phases other than waiting. The limits of a process add up to its time.", processesView(data))],
    phases && ["phases", "Phases", section("phases", "Every phase", "Times are those of the training loop, without hotloop's own cost.", phases)],
    data.functions.length > 0 && ["functions", "Functions", section("functions", "Hot functions", sampled, functionsTable(data))],
    data.exact.length > 0 && ["exact", "Exact", section("exact", "Functions by cumulative time", "Timed exactly, by cProfile.", exactTable(data))],
    data.imports.length > 0 && ["imports", "Imports", section("imports", "Imports before the loop", "Time of each import statement of the program, including everything it imports indirectly (sampled).", importsTable(data))],
    ["run", "Run", section("run", "This run", null, machine(data))],
  ].filter(Boolean);
  const when = data.run.started && new Date(data.run.started * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  replace(document.getElementById("page"),
    topBar(data.name, parts.map(([id, label]) => [id, label])),
    h("p", { class: "command" }, data.run.command.join(" ")), when && h("p", { class: "when" }, when),
    data.verdict.starvation && h("p", { class: "starved", role: "note" }, data.verdict.starvation), h("h1", null, data.verdict.headline), data.ending && h("p", { class: "ending" }, data.ending), h("p", { class: "basis" }, data.verdict.details.join(" ")), figures(data), parts.map((part) => part[2]));
  if (flame) flame.listeners.push((path) => phases && phases.mark(path));
  place.listeners = [];
  onPlace((values) => {
    if (flame) flame.show(values);
    if (phases) {
      phases.mark(values.phase);
      if (values.sort) phases.querySelector("table").sortBy(values.sort);
    }
  });
  return () => {
    const { phase, at, process, finding } = place.values;
    const target = finding ? "finding-" + finding : phase || at || process ? "breakdown" : null;
    const element = target && document.getElementById(target);
    if (element) element.scrollIntoView();
  };
}
