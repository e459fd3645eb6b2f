// The breakdown: a tree of boxes from the loop over phases down to functions and lines.

const ROW = 24;
const NARROWEST = 4;
// Levels drawn below the one that is open; opening one shows what is below it.
const DEEPEST = 14;

// A tree as it is stored: rows of numbers, with every text said once.
function readTree(stored) {
  const text = (index) => stored.texts[index];
  function read(row, parent, at) {
    const isFunction = row.length > 8;
    const node = {
      kind: isFunction ? "function" : parent ? "phase" : "root", name: text(row[0]), category: text(row[1]), path: text(row[2]),
      total: row[3], self: row[4], hidden: row[5], parent, at, calls: isFunction ? null : row[7],
    };
    if (isFunction) Object.assign(node, { file: text(row[7]), line: row[8], own: row[9] === 1, skipped: row[10], waiting: row[11], lines: row[12] });
    node.inside = row[6].map((each, index) => read(each, node, at === "" ? String(index) : `${at}.${index}`));
    return node;
  }
  return { group: stored.group, processes: stored.processes, whole: stored.whole_s, root: read(stored.root, null, "") };
}

function* walk(node) {
  yield node;
  for (const each of node.inside) yield* walk(each);
}

function flameView(data) {
  const trees = data.trees.map(readTree);
  let tree = trees[0], zoomed = tree.root, selected = tree.root, query = "";
  const crumbs = h("div", { class: "crumbs", "aria-label": "Where the view is" });
  const area = h("div", { class: "flame", role: "tree", "aria-label": "Phases and functions, by the time in them" });
  const detail = h("div", { class: "detail", "aria-live": "polite" });
  const search = h("input", { class: "field", type: "search", placeholder: "Find a phase or function", "aria-label": "Find a phase or function", on: { input: () => { query = search.value.toLowerCase(); draw(); } } });
  const groups = trees.length > 1 && choice("Process", trees.map((each) => [each.group, each.group]), tree.group, (group) => {
    if (group !== tree.group) goTo({ process: group === "main" ? "" : group, phase: "", at: "" });
  });
  const share = (node) => node.kind === "root" ? 1 : node.total / tree.whole;
  const boxes = new Map();

  function describe(node) {
    const rows = [["share", format.percent(share(node))], ["time", format.seconds(node.kind === "root" ? tree.whole : node.total)], ["own time", format.seconds(node.self)]];
    if (node.kind === "phase" && tree === trees[0] && data.run.env_steps) rows.push(["per environment step", format.seconds(node.total / data.run.env_steps)]);
    if (node.calls) rows.push(["calls", format.count(node.calls)], ["per call", format.seconds(node.total / node.calls)]);
    if (node.waiting > 0.005) rows.push(["waiting", format.percent(node.waiting)]);
    if (node.hidden > 0) rows.push(["too small to draw", format.seconds(node.hidden)]);
    return rows;
  }

  function subtitle(node) {
    if (node.kind === "function") return `${shortFile(node.file)}:${node.line}` + (node.skipped ? `, below ${node.skipped} that only call` : "");
    return node.kind === "phase" ? node.category : `${tree.processes > 1 ? tree.group + " together" : "the main process"}`;
  }

  function boxElement(node, x, width, depth) {
    const matches = !query || node.name.toLowerCase().includes(query) || (node.file || "").toLowerCase().includes(query);
    const element = h("button", {
      type: "button", role: "treeitem", "aria-level": depth + 1, tabindex: node === selected ? "0" : "-1", "data-path": node.path, "data-kind": node.kind,
      class: `box ${node.kind}${node.own ? " own" : ""}${node === selected ? " selected" : ""}${matches ? "" : " faded"}`,
      style: { left: x + "px", top: depth * ROW + "px", width: Math.max(width - 0.5, 1) + "px", "--color": colorOf(node.category) },
      on: { click: () => choose(node), focus: () => select(node) },
    }, width > 34 && node.name, width > 110 && h("small", null, format.percent(share(node))));
    boxes.set(node, element);
    return withTip(element, () => tipContent(node.name, subtitle(node), describe(node)), `${node.name}, ${format.percent(share(node))}, ${format.seconds(node.total)}`);
  }

  function draw() {
    boxes.clear();
    const whole = area.clientWidth || 1000;
    const elements = [];
    let deepest = 0;
    (function place(node, x, width, depth) {
      deepest = Math.max(deepest, depth);
      elements.push(boxElement(node, x, width, depth));
      const sum = node.inside.reduce((total, each) => total + each.total, 0);
      const scale = width / Math.max(node.total, sum);
      for (const each of node.inside) {
        const wide = each.total * scale;
        if (wide >= NARROWEST && depth < DEEPEST) place(each, x, wide, depth + 1);
        x += wide;
      }
    })(zoomed, 0, whole, 0);
    area.style.height = (deepest + 1) * ROW + "px";
    replace(area, elements);
    if (!boxes.has(selected)) selected = zoomed;
    boxes.get(selected).tabIndex = 0;
    drawCrumbs();
    drawDetail();
  }

  function drawCrumbs() {
    const above = [];
    for (let node = zoomed.parent; node; node = node.parent) above.unshift(node);
    replace(crumbs, above.map((node) => [h("button", { type: "button", on: { click: () => choose(node) } }, node.name), " › "]),
      above.length > 0 ? zoomed.name : "Click a box to zoom in. Arrow keys move, Enter zooms in, Escape zooms out.");
  }

  function drawDetail() {
    const node = selected;
    replace(detail, h("h3", null, node.name), h("p", { class: "small muted mono" }, node.kind === "function" ? `${node.file}:${node.line}` : subtitle(node)),
      h("div", { class: "rows" }, describe(node).map(([label, value]) => h("div", null, h("span", null, label), value))),
      node.lines && node.lines.length > 0 && h("div", { class: "lines" }, node.lines.map(([line, seconds]) => [
        h("code", null, "line " + line), h("span", { class: "bar", style: { width: Math.min(seconds / node.total, 1) * 100 + "%", "--color": colorOf(node.category) } }),
        h("span", { class: "muted" }, `${format.percent(seconds / node.total)} of it, ${format.seconds(seconds)}`)])));
  }

  function select(node) {
    const before = boxes.get(selected);
    if (before) { before.classList.remove("selected"); before.tabIndex = -1; }
    selected = node;
    const now = boxes.get(node);
    if (now) { now.classList.add("selected"); now.tabIndex = 0; }
    drawDetail();
  }

  function choose(node) {
    const target = node === zoomed && node.parent ? node.parent : node;
    const kept = document.activeElement && area.contains(document.activeElement);
    zoomed = selected = target;
    goTo({ phase: target.path, at: target.kind === "function" ? target.at : "", process: tree === trees[0] ? "" : tree.group }, true);
    draw();
    for (const listener of view.listeners) listener(target.path);
    if (kept) boxes.get(selected).focus();
  }

  area.addEventListener("keydown", (event) => {
    const beside = (step) => {
      const all = selected.parent ? selected.parent.inside.filter((each) => boxes.has(each)) : [];
      return selected === zoomed ? null : all[all.indexOf(selected) + step];
    };
    const steps = {
      ArrowDown: () => selected.inside.find((each) => boxes.has(each)), ArrowUp: () => selected === zoomed ? null : selected.parent,
      ArrowRight: () => beside(1), ArrowLeft: () => beside(-1), Home: () => zoomed,
    };
    if (event.key === "Escape" && zoomed.parent) { event.preventDefault(); choose(zoomed.parent); }
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = steps[event.key]();
    if (next && boxes.has(next)) boxes.get(next).focus();
  });

  function show(values) {
    const wanted = trees.find((each) => each.group === (values.process || "main")) || trees[0];
    const all = [...walk(wanted.root)];
    const target = (values.at && all.find((each) => each.at === values.at && each.path === values.phase))
      || (values.phase && all.find((each) => each.kind === "phase" && each.path === values.phase)) || wanted.root;
    if (groups && wanted !== tree) groups.querySelectorAll("button").forEach((button, index) => button.setAttribute("aria-pressed", String(trees[index] === wanted)));
    tree = wanted;
    zoomed = selected = target;
    draw();
  }

  const view = {
    element: h("div", null, h("div", { class: "tools", style: { "margin-bottom": "8px" } }, groups, search), crumbs, area, detail),
    listeners: [], show, draw,
  };
  let width = 0;
  new ResizeObserver(() => {
    if (area.clientWidth === width) return;
    width = area.clientWidth;
    draw();
  }).observe(view.element);
  return view;
}

function categoryBar(data) {
  const rows = data.categories.filter(([, share]) => share > 0.0005);
  return [
    h("div", { class: "categories", role: "group", "aria-label": "Share of the loop by category" }, rows.map(([name, share]) =>
      withTip(h("button", { type: "button", style: { "flex-grow": String(share), "--color": colorOf(name) }, class: share > 0.07 ? "named" : null }, share > 0.07 && `${name} ${format.percent(share)}`),
        () => tipContent(name, null, [["of the loop", format.percent(share)], ["time", format.seconds(share * data.run.loop_s)]]), `${name} ${format.percent(share)} of the loop`))),
    h("div", { class: "legend", "aria-hidden": "true" }, rows.map(([name, share]) =>
      h("span", null, h("span", { class: "dot", style: { "--color": colorOf(name) } }), `${name} ${format.percent(share)}`))),
  ];
}
