// The figures of every phase, and the hot functions.

const FIRST_FUNCTIONS = 20;

function phaseRows(data) {
  return data.phases.rows.map((row) => Object.fromEntries(data.phases.columns.map((name, index) => [name, row[index]])));
}

function phasesTable(data, rows) {
  const steps = data.run.env_steps > 0;
  let inTree = true;
  const name = (row) => h("span", { style: { "padding-left": (inTree ? row.depth * 16 : 0) + "px" } },
    h("span", { class: "dot", style: { "--color": colorOf(row.category) } }),
    h("a", { href: "#phase=" + encodeURIComponent(row.path).replaceAll("%2F", "/") }, row.name),
    row.thread !== "main" && h("span", { class: "mark quiet" }, row.thread),
    row.how !== "named" && h("span", { class: "mark quiet", title: "Not named by a library: " + row.how }, row.how === "shape" ? "by shape" : row.how));
  const seconds = (key, title, help) => ({ key, title, help, number: true, cell: (row) => row.calls || key === "total_s" || key === "self_s" || key === "step_s" ? format.seconds(row[key]) : "–", sort: (row) => row[key] });
  const some = (key) => rows.some((row) => row[key] !== null);
  const columns = [
    { key: "name", title: "Phase", cell: name, sort: (row) => row.name },
    { key: "share", title: "Share", cell: (row) => shareBar(row.share, colorOf(row.category), format.percent(row.share)), sort: (row) => row.share, number: true },
    seconds("total_s", some("device_s") ? "Host time" : "Total"), seconds("self_s", "Own", "Without the phases inside it"),
    some("device_s") && { key: "device_s", title: "Device time", help: "Kernels launched here and below; recorded from time to time and scaled to the loop", number: true, cell: (row) => row.device_s === null ? "–" : format.seconds(row.device_s), sort: (row) => row.device_s },
    steps && seconds("step_s", "Per step", "Per environment step"),
    { key: "calls", title: "Calls", number: true, cell: (row) => row.calls ? format.count(row.calls) : "–", sort: (row) => row.calls },
    seconds("mean_s", "Mean"), seconds("p50_s", "Median"), seconds("p99_s", "99%", "99 of 100 calls are faster"), seconds("max_s", "Longest"),
    some("python_share") && { key: "python_share", title: "Python", help: "Share of its own time in Python code; the rest is native code or waiting", number: true, cell: (row) => row.python_share === null ? "–" : format.percent(row.python_share), sort: (row) => row.python_share },
    some("waiting_share") && { key: "waiting_share", title: "Waiting", number: true, cell: (row) => row.waiting_share === null ? "–" : format.percent(row.waiting_share), sort: (row) => row.waiting_share },
    some("cpu_peak_mb") && { key: "cpu_peak_mb", title: "Memory", number: true, cell: (row) => format.megabytes(row.cpu_peak_mb), sort: (row) => row.cpu_peak_mb },
    some("gpu_peak_mb") && { key: "gpu_peak_mb", title: "GPU memory", number: true, cell: (row) => format.megabytes(row.gpu_peak_mb), sort: (row) => row.gpu_peak_mb },
  ].filter(Boolean);
  const element = table(columns, rows, {
    label: "Phases", row: (row) => ({ "data-path": row.path }), chosen: (key) => goTo({ sort: key || "" }, true),
    sorted: (by) => {
      if (inTree === !by) return;
      inTree = !by;
      element.querySelectorAll("tbody tr").forEach((line) => {
        const row = rows.find((each) => each.path === line.dataset.path);
        line.querySelector("td > span").style.paddingLeft = (inTree ? row.depth * 16 : 0) + "px";
      });
    },
  });
  element.mark = (path) => element.querySelectorAll("tbody tr").forEach((line) => line.classList.toggle("chosen", !!path && line.dataset.path === path));
  return element;
}

function functionsTable(data) {
  const how = (row) => row.states || "–";
  const where = (row) => `${row.process === "main" ? "" : `${row.process}: `}${row.phase.split("/").pop() || NO_PHASE}`;
  const category = Object.fromEntries(phaseRows(data).map((row) => [row.path, row.category]));
  const groups = [...new Set(data.functions.map((row) => row.group))];
  const columns = [
    { key: "function", title: "Function", cell: (row) => [h("code", { class: "long", title: row.function }, row.function), row.of_program && h("span", { class: "mark quiet" }, "yours")], sort: (row) => row.function },
    { key: "place", title: "Line", cell: (row) => h("code", { class: "muted long", title: row.file }, row.place), sort: (row) => row.place },
    { key: "phase", title: "In", cell: (row) => [h("span", { class: "dot", style: { "--color": colorOf(category[row.phase] || NO_PHASE) } }), where(row)], sort: where },
    { key: "share", title: "Share", number: true, cell: (row) => format.percent(row.share), sort: (row) => row.share },
    { key: "self", title: "Own", number: true, cell: (row) => format.seconds(row.self_s), sort: (row) => row.self_s },
    { key: "total", title: "Total", help: "With the functions it calls", number: true, cell: (row) => format.seconds(row.total_s), sort: (row) => row.total_s },
    { key: "samples", title: "Samples", number: true, cell: (row) => format.count(row.samples), sort: (row) => row.samples },
    { key: "how", title: "Spent in", cell: how, sort: how },
  ];
  const of = (group) => table(columns, data.functions.filter((row) => row.group === group), { label: "Functions", first: FIRST_FUNCTIONS });
  if (groups.length < 2) return of(groups[0]);
  const body = h("div", null, of(groups[0]));
  const chosen = choice("Functions of", groups.map((group) => [group, group]), groups[0], (group) => replace(body, of(group)));
  return h("div", null, h("div", { class: "tools", style: { "margin-bottom": "10px" } }, chosen), body);
}

function importsTable(data) {
  return table([
    { key: "statement", title: "Import", cell: (row) => [h("code", { class: "long", title: row.statement }, row.statement || row.place), row.inside && h("div", { class: "small" }, row.inside), row.remedy && h("div", { class: "small muted", style: { "white-space": "normal", "max-width": "46em" } }, row.remedy)], sort: (row) => row.statement },
    { key: "place", title: "Line", cell: (row) => h("code", { class: "muted long", title: row.place }, row.place), sort: (row) => row.place },
    { key: "seconds", title: "Time", number: true, cell: (row) => format.seconds(row.seconds), sort: (row) => row.seconds },
    { key: "share", title: "Share", number: true, cell: (row) => format.percent(row.share), sort: (row) => row.share },
  ], data.imports, { label: "Imports" });
}

function exactTable(data) {
  return table([
    { key: "function", title: "Function", cell: (row) => h("code", { class: "long", title: String(row.function) }, String(row.function)), sort: (row) => String(row.function) },
    { key: "place", title: "Line", cell: (row) => h("code", { class: "muted long", title: String(row.file) }, `${shortFile(String(row.file))}:${row.line}`), sort: (row) => String(row.file) },
    { key: "total", title: "Cumulative", number: true, cell: (row) => format.seconds(row.total_s), sort: (row) => row.total_s },
    { key: "self", title: "Own", number: true, cell: (row) => format.seconds(row.self_s), sort: (row) => row.self_s },
    { key: "calls", title: "Calls", number: true, cell: (row) => format.count(row.calls), sort: (row) => row.calls },
  ], data.exact, { label: "Functions, timed exactly", first: FIRST_FUNCTIONS });
}
