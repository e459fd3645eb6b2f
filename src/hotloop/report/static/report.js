// The page of one run: what matters first.

function figures(data) {
  const run = data.run;
  const rows = [
    run.env_steps && ["steps per second", format.rate(run.steps_per_s)],
    ["training loop", format.seconds(run.loop_s), run.wall_s > run.loop_s * 1.02 && `of ${format.seconds(run.wall_s)}`],
    run.env_steps && ["environment steps", format.count(run.env_steps), run.episodes && `${format.count(run.episodes)} episodes`],
    run.gradient_steps && ["gradient steps", format.count(run.gradient_steps), run.batch_size && `of ${format.any(run.batch_size)} rows`],
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
  return (facts.version === "unknown" ? "version unknown" : format.any(facts.version)) + (missing ? ` (${missing} place${missing === 1 ? "" : "s"} not found)` : "");
}

function machine(data) {
  const { facts: known, cost, run } = data;
  const exit = run.exit.reason ? `${run.exit.reason}${run.exit.code !== undefined ? ` (${run.exit.code})` : ""}` : run.finished ? "in good order" : "no end: killed, or still running";
  const notes = [
    known.native === false && `Measured with the pure-Python twin: ${known.why_twin}.`,
    known.damaged > 0 && `${known.damaged} damaged lines of the capture were skipped.`,
    ...Object.entries(known.failures).map(([name, error]) => `The hook ${name} failed and was switched off: ${error}`),
  ].filter(Boolean);
  return [
    h("div", { class: "facts" },
      facts("Run", [["command", h("span", { class: "mono" }, run.command.join(" "))], ["began", run.started && new Date(run.started * 1000).toLocaleString()], ["ended", exit], ["stopped after", known.stop_after], ["start-up", format.seconds(run.startup_s)], ["after the loop", format.seconds(run.after_s)], ["steps per episode", run.steps_per_episode && format.rate(run.steps_per_episode)], ["gradient steps per step", run.updates_per_step && Number(run.updates_per_step.toPrecision(3))]]),
      facts("Machine", [["host", known.host], ["platform", known.platform], ["cores", known.cores], ["device", run.device], ["Python", known.python]]),
      facts("Libraries", Object.entries(known.libraries).map(([name, facts]) => [name, libraryText(facts)])),
      facts("Counted", Object.entries(known.counters).map(([name, value]) => [name.replaceAll("_", " "), format.count(value)])),
      facts("What measuring cost", [["share of the loop", format.percent(cost.share)], ["regions", `${format.count(cost.regions)} of ${cost.region_ns.toFixed(0)} ns`], ["sampler", format.seconds(cost.sampler_s)], ["recorder", format.seconds(cost.recorder_s)], ["taken out of these figures", cost.corrected ? "yes" : "no"], ["in named phases", format.percent(data.coverage)], ["unexplained", format.percent(data.unexplained)], ["hotloop", known.version]])),
    notes.length > 0 && h("p", { class: "small muted", style: { "margin-top": "18px" } }, notes.join(" ")),
  ];
}

function reportPage(data) {
  colours = data.colours;
  const rows = phaseRows(data);
  const resolve = (name) => {
    const found = rows.filter((row) => row.path === name || row.name === name).sort((a, b) => b.total_s - a.total_s)[0];
    return found ? found.path : null;
  };
  const flame = data.trees.length > 0 && flameView(data);
  const phases = rows.length > 0 && phasesTable(data, rows);
  const sampled = "Sampled " + (data.facts.samples_per_second || 100) + " times a second, the most of their own time first.";
  const parts = [
    ["findings", "Findings", findingsSection(data, resolve)],
    flame && ["breakdown", "Breakdown", section("breakdown", `Where the ${format.seconds(data.run.loop_s)} of the loop went`, "Phases are timed exactly, the functions inside them sampled. Width is time.", categoryBar(data), flame.element)],
    data.course.points.length > 1 && ["timeline", "Timeline", section("timeline", "As it went", "Start-up and what follows the loop are shaded; marks above are evaluations, checkpoints and compilations.", timelineView(data))],
    data.processes.rows.length > 1 && ["processes", "Processes", section("processes", "Processes side by side", "Busy is time in phases other than waiting.", processesView(data))],
    phases && ["phases", "Phases", section("phases", "Every phase", "Times are of the training loop, without what measuring cost.", phases)],
    data.functions.length > 0 && ["functions", "Functions", section("functions", "Hot functions", sampled, functionsTable(data))],
    data.exact.length > 0 && ["exact", "Exact", section("exact", "Functions by cumulative time", "Timed exactly, by cProfile.", exactTable(data))],
    ["run", "Run", section("run", "This run", null, machine(data))],
  ].filter(Boolean);
  const when = data.run.started && new Date(data.run.started * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  replace(document.getElementById("page"),
    topBar(data.name, parts.map(([id, label]) => [id, label])),
    h("p", { class: "command" }, data.run.command.join(" ")), when && h("p", { class: "when" }, when),
    h("h1", null, data.verdict), figures(data), parts.map((part) => part[2]));
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
