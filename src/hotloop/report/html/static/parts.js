// Parts that every page of the family uses: a section, a choice, a table that sorts.

let colors = {};

// What `phases.py` calls time outside every phase.
const NO_PHASE = "(in no phase)";

function colorOf(category) {
  return colors[category] || colors.Custom;
}

// Phases of one category have its color in different strengths.
function shades(bands) {
  const seen = {};
  return bands.map(({ category }) => {
    if (category === "other phases") return "#b9aeb4";
    const nth = seen[category] = (seen[category] ?? -1) + 1;
    return nth === 0 ? colorOf(category) : `color-mix(in oklab, ${colorOf(category)} ${Math.max(100 - nth * 24, 40)}%, ${nth % 2 ? "#30363d" : "#ffffff"})`;
  });
}

function section(id, title, note, ...content) {
  return h("section", { id, "aria-labelledby": id + "-title" },
    h("div", { class: "head" }, h("h2", { id: id + "-title" }, title), note && h("p", { class: "note" }, note)),
    content);
}

let watchSections = null;
addEventListener("scroll", () => { if (watchSections) watchSections(); }, { passive: true });

function topBar(name, sections) {
  const links = sections.map(([id, label]) => h("a", { href: "#" + id }, label));
  const watch = () => {
    let current = -1;
    sections.forEach(([id], index) => {
      const element = document.getElementById(id);
      if (element && element.getBoundingClientRect().top < 90) current = index;
    });
    links.forEach((link, index) => index === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current"));
  };
  watchSections = watch;
  return h("div", { class: "top" }, h("span", { class: "brand" }, "hotloop"),
    h("nav", { "aria-label": "Sections" }, links), themeButton());
}

// A few ways to look at the same thing; `choices` are [value, label].
function choice(label, choices, value, changed) {
  const buttons = choices.map(([each, text]) => h("button", { type: "button", "aria-pressed": String(each === value), on: { click: () => choose(each) } }, text));
  function choose(chosen) {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(choices[index][0] === chosen)));
    changed(chosen);
  }
  const element = h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
  element.choose = choose;
  return element;
}

// Columns are {key, title, number, cell(row), sort(row), first}; rows stay in their own order until
// a column is asked for. With `first`, only that many are shown until all are asked for.
function table(columns, rows, options = {}) {
  const body = h("tbody");
  const heads = columns.map((column) => h("th", { scope: "col", class: column.number ? "number" : null, title: column.help || null },
    column.sort ? h("button", { type: "button", on: { click: () => sortBy(column) } }, column.title) : h("span", null, column.title)));
  let by = null, down = true, first = options.first || Infinity;
  const made = new Map();
  function element(row, index) {
    if (!made.has(row)) {
      made.set(row, h("tr", options.row ? options.row(row, index) : null,
        columns.map((column) => h("td", { class: column.number ? "number" : null }, column.cell(row)))));
    }
    return made.get(row);
  }
  function draw() {
    let shown = rows;
    if (by) {
      const value = (row) => by.sort(row);
      shown = [...rows].sort((one, other) => {
        const [a, b] = [value(one), value(other)];
        if (a === b) return 0;
        if (a === null || a === undefined) return 1;
        if (b === null || b === undefined) return -1;
        return (a < b ? -1 : 1) * (down ? -1 : 1);
      });
    }
    heads.forEach((head, index) => columns[index] === by ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
    replace(body, shown.slice(0, first).map(element));
    if (options.sorted) options.sorted(by);
  }
  function sortBy(column) {
    // Numbers from the largest, words from A; again turns around, and once more is the first order.
    if (by !== column) { by = column; down = !!column.number; }
    else if (down === !!column.number) down = !down;
    else by = null;
    if (options.chosen) options.chosen(by ? by.key : null);
    draw();
  }
  draw();
  const whole = h("table", { class: "data" }, options.caption && h("caption", { class: "small muted" }, options.caption), h("thead", null, h("tr", null, heads)), body);
  whole.sortBy = (key) => {
    const column = columns.find((each) => each.key === key);
    if (column && by !== column) { by = column; down = !!column.number; draw(); }
  };
  const scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.label || "Table" }, whole);
  if (rows.length <= first) return scroll;
  const more = h("button", { class: "plain more", type: "button", on: { click: () => { first = Infinity; more.remove(); draw(); } } }, `Show all ${rows.length}`);
  return h("div", null, scroll, more);
}

function shareBar(share, color, text) {
  return h("div", { class: "share" }, h("span", { class: "track" },
    h("span", { class: "bar", style: { width: Math.max(0, Math.min(share, 1)) * 100 + "%", "--color": color } })), text);
}

function facts(title, rows) {
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return known.length > 0 && h("div", null, h("h3", null, title), h("dl", null, known.map(([label, value]) => [h("dt", null, label), h("dd", null, value)])));
}

function copyLine(text) {
  const button = h("button", { class: "plain", type: "button", on: { click: copy } }, "Copy");
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(button.previousSibling);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  }
  return h("div", { class: "copy" }, h("code", null, text), button);
}
