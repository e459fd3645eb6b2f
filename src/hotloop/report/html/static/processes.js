// Processes side by side: how busy each was over time, and what it spent its time on.

const FIRST_PROCESSES = 12;

function processesView(data) {
  const { rows, categories } = data.processes;
  const list = h("div", { class: "strips", role: "table", "aria-label": "Processes" });
  const title = (text, kind) => h("div", { class: "cell title " + (kind || ""), role: "columnheader" }, text);

  function strip(row) {
    const cells = row.strip, wide = 100 / Math.max(cells.length, 1);
    let path = "";
    cells.forEach((share, index) => {
      if (share === null) return;
      path += `M${(index * wide).toFixed(2)} 24V${(23.2 - share * 22).toFixed(1)}H${((index + 1) * wide).toFixed(2)}V24Z`;
    });
    return s("svg", { viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true", class: "chart" },
      s("line", { class: "axis", x1: 0, x2: 100, y1: 23.7, y2: 23.7, "vector-effect": "non-scaling-stroke" }), s("path", { d: path, fill: "var(--accent)", opacity: ".55" }));
  }

  function rowElement(row) {
    const inPhases = row.phases.reduce((sum, [, share]) => sum + share, 0);
    const scale = Math.max(inPhases, 1);
    const cell = (content, kind) => h("div", { class: "cell " + (kind || ""), role: "cell" }, content);
    const content = () => tipContent(row.name, `process ${row.pid}` + (row.ended ? "" : ", no end (killed, or still running)"),
      [["time", format.seconds(row.wall_s)], ["in phases other than waiting", format.percent(row.busy)], ["peak memory", format.megabytes(row.memory_peak_mb)], ...row.limits.map((text) => [text.replace(/ \d+%$/, ""), text.match(/\d+%$/)[0]]),
        ...row.phases.map(([name, share]) => [name, format.percent(share), colorOf(categories[name])])]);
    const cells = [
      cell(h("span", { class: "name" }, row.name)), cell(strip(row)),
      cell(h("div", { class: "shares" }, row.phases.map(([name, share]) => h("i", { style: { width: share / scale * 100 + "%", "--color": colorOf(categories[name]) } }))), "wide"),
      cell(format.percent(row.busy), "number"), cell(h("span", { class: "limits" }, row.limits[0] || "–"), "wide"), cell(format.megabytes(row.memory_peak_mb), "number wide"),
    ];
    // Rows are laid out by the grid, so each cell carries the row's tooltip; the name takes focus.
    cells.forEach((each) => withTip(each, content));
    cells[0].tabIndex = 0;
    cells[0].setAttribute("aria-label", `${row.name}: ${format.percent(row.busy)} busy, ${format.megabytes(row.memory_peak_mb)}`);
    return h("div", { class: "row", role: "row" }, cells);
  }

  const head = h("div", { class: "row", role: "row" }, title("Process"), title("Busy over time"), title("Share of its time by phase", "wide"), title("Busy", "number"), title("Limited by", "wide"), title("Peak memory", "number wide"));
  replace(list, head, rows.slice(0, FIRST_PROCESSES).map(rowElement));
  const more = rows.length > FIRST_PROCESSES && h("button", { class: "plain more", type: "button", on: { click: () => {
    list.append(...rows.slice(FIRST_PROCESSES).map(rowElement));
    more.remove();
  } } }, `Show all ${rows.length} processes`);
  const legend = h("div", { class: "legend" }, data.processes.legend.map((category) => h("span", null, h("span", { class: "dot", style: { "--color": colorOf(category) } }), category)));
  return h("div", null, legend, list, more);
}

// The loop across processes: waiting replaced by the work of the processes it waited for.
function runTable(data) {
  const columns = [
    { key: "name", title: "Phase", cell: (row) => [h("span", { class: "dot", style: { "--color": colorOf(data.processes.categories[row.name] || NO_PHASE) } }), row.name], sort: (row) => row.name },
    { key: "who", title: "In", cell: (row) => row.who, sort: (row) => row.who },
    { key: "kind", title: "Spent", cell: (row) => row.kind, sort: (row) => row.kind },
    { key: "where", title: "Most of it at", cell: (row) => row.where && h("code", { class: "muted long", title: row.file }, row.where), sort: (row) => row.where },
    { key: "share", title: "Share", number: true, cell: (row) => format.percent(row.share), sort: (row) => row.share },
    { key: "seconds", title: "Time", number: true, cell: (row) => format.seconds(row.seconds), sort: (row) => row.seconds },
  ];
  return table(columns, data.run_table, { label: "The loop across processes" });
}
