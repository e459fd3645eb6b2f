// The figures of every phase, and the hot functions.

const FIRST_FUNCTIONS = 20;

function phaseRows(data) {
  return data.phases.rows.map((row) => Object.fromEntries(data.phases.columns.map((name, index) => [name, row[index]])));
}

function phasesTable(data, rows) {
  const steps = data.run.env_steps > 0;
  let inTree = true;
  const name = (row) => h("span", { style: { "padding-left": (inTree ? row.depth * 16 : 0) + "px" } },
    h("span", { class: "dot", style: { "--colour": colourOf(row.category) } }),
    h("a", { href: "#phase=" + encodeURIComponent(row.path).replaceAll("%2F", "/") }, row.name),
    row.thread !== "main" && h("span", { class: "mark quiet" }, row.thread),
    row.how !== "named" && h("span", { class: "mark quiet", title: "Not named by a library: " + row.how }, row.how === "shape" ? "by shape" : row.how),
    row.marks.map((mark) => h("span", { class: "mark " + (mark === "SLOW" ? "slow" : mark.includes("MEMORY") ? "memory" : "") }, mark)));
  const seconds = (key, title, help) => ({ key, title, help, number: true, cell: (row) => row.calls || key === "total_s" || key === "self_s" || key === "step_s" ? format.seconds(row[key]) : "–", sort: (row) => row[key] });
  const some = (key) => rows.some((row) => row[key] !== null);
  const columns = [
    { key: "name", title: "Phase", cell: name, sort: (row) => row.name },
    { key: "share", title: "Share of the loop", cell: (row) => shareBar(row.share, colourOf(row.category), format.percent(row.share)), sort: (row) => row.share, number: true },
    seconds("total_s", some("device_s") ? "Host time" : "Total"), seconds("self_s", "Own", "Without the phases inside it"),
    some("device_s") && { key: "device_s", title: "Device time", help: "Kernels that were launched here and below; recorded now and then, scaled to the loop", number: true, cell: (row) => row.device_s === null ? "–" : format.seconds(row.device_s), sort: (row) => row.device_s },
    steps && seconds("step_s", "Per step", "For each environment step"),
    { key: "calls", title: "Calls", number: true, cell: (row) => row.calls ? format.count(row.calls) : "–", sort: (row) => row.calls },
    seconds("mean_s", "Mean"), seconds("p50_s", "Median"), seconds("p95_s", "95%", "19 of 20 calls are faster"), seconds("p99_s", "99%", "99 of 100 calls are faster"), seconds("max_s", "Longest"),
    some("python_share") && { key: "python_share", title: "Python", help: "Share of its own time in Python code; the rest is native code or waiting", number: true, cell: (row) => row.python_share === null ? "–" : format.percent(row.python_share), sort: (row) => row.python_share },
    some("waiting_share") && { key: "waiting_share", title: "Waiting", number: true, cell: (row) => row.waiting_share === null ? "–" : format.percent(row.waiting_share), sort: (row) => row.waiting_share },
    some("cpu_peak_mb") && { key: "cpu_peak_mb", title: "Memory", number: true, cell: (row) => format.megabytes(row.cpu_peak_mb), sort: (row) => row.cpu_peak_mb },
    some("gpu_peak_mb") && { key: "gpu_peak_mb", title: "GPU memory", number: true, cell: (row) => format.megabytes(row.gpu_peak_mb), sort: (row) => row.gpu_peak_mb },
    { key: "score", title: "Score", help: "40% share, 30% time per call, 15% memory, 15% GPU memory", number: true, cell: (row) => row.score.toFixed(1), sort: (row) => row.score },
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
  const how = (row) => {
    const [share, word] = [[row.python_share, "Python"], [row.native_share, "native"], [row.waiting_share, "waiting"]].sort((a, b) => b[0] - a[0])[0];
    return share > 0 ? `${word} ${format.percent(share)}` : "–";
  };
  const category = Object.fromEntries(phaseRows(data).map((row) => [row.path, row.category]));
  const columns = [
    { key: "function", title: "Function", cell: (row) => [h("code", { class: "long", title: row.function }, row.function), row.of_program && h("span", { class: "mark quiet" }, "yours")], sort: (row) => row.function },
    { key: "place", title: "Line", cell: (row) => h("code", { class: "muted long", title: row.file }, row.place), sort: (row) => row.place },
    { key: "phase", title: "In", cell: (row) => [h("span", { class: "dot", style: { "--colour": colourOf(category[row.phase] || "(in no phase)") } }), row.phase.split("/").pop() || "(in no phase)"], sort: (row) => row.phase },
    { key: "share", title: "Share", number: true, cell: (row) => format.percent(row.share), sort: (row) => row.share },
    { key: "self", title: "Own", number: true, cell: (row) => format.seconds(row.self_s), sort: (row) => row.self_s },
    { key: "total", title: "With what it calls", number: true, cell: (row) => format.seconds(row.total_s), sort: (row) => row.total_s },
    { key: "samples", title: "Samples", number: true, cell: (row) => format.count(row.samples), sort: (row) => row.samples },
    { key: "how", title: "Spent in", cell: how, sort: how },
  ];
  return table(columns, data.functions, { label: "Functions", first: FIRST_FUNCTIONS });
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
