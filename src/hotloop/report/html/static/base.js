// Elements, the tooltip, the theme and the part of the address after '#'. Text from a program only
// ever becomes a text node or an attribute that holds text.

// Removes control and direction characters; line ends stay.
const clean = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(2)) {
    if (child !== null && child !== undefined && child !== false) element.append(typeof child === "string" ? clean(child) : child);
  }
  return element;
}

const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

function replace(element, ...children) {
  element.replaceChildren(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// -- tooltip --

const tip = h("div", { class: "tip", role: "tooltip", id: "tip" });
document.body.append(tip);

function tipContent(title, sub, rows) {
  return [
    h("b", null, title),
    sub && h("div", { class: "sub" }, sub),
    rows && rows.length > 0 && h("table", null, rows.map(([label, value, color]) =>
      h("tr", null, h("td", null, color && h("span", { class: "dot", style: { "--color": color } }), label), h("td", null, value)))),
  ];
}

// What the tooltip belongs to if the keyboard asked for it: it stays there while the page scrolls.
let tipAnchor = null;
let tipScroll = 0;

function showTip(content, x, y) {
  tipAnchor = null;
  tipScroll = scrollY;
  replace(tip, content);
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth - 8 ? x - box.width - 14 : x + 14;
  const top = y + 18 + box.height > innerHeight - 8 ? y - box.height - 12 : y + 18;
  tip.style.left = Math.max(8, Math.min(left, innerWidth - box.width - 8)) + "px";
  tip.style.top = Math.max(8, top) + "px";
  tip.classList.add("shown");
}

function hideTip() {
  tip.classList.remove("shown");
  tipAnchor = null;
}

function showTipAt(element, content) {
  const box = element.getBoundingClientRect();
  showTip(content, box.left + Math.min(box.width / 2, 60), box.bottom - 12);
  tipAnchor = () => showTipAt(element, content);
}

// The same words for a pointer, for the keyboard and for a screen reader.
function withTip(element, content, label) {
  if (label) element.setAttribute("aria-label", label);
  element.addEventListener("pointermove", (event) => showTip(content(), event.clientX, event.clientY));
  element.addEventListener("pointerleave", hideTip);
  element.addEventListener("focus", () => {
    if (element.matches(":focus-visible")) showTipAt(element, content());
  });
  element.addEventListener("blur", hideTip);
  return element;
}

addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
addEventListener("scroll", () => {
  if (scrollY === tipScroll) return;
  if (tipAnchor) tipAnchor();
  else hideTip();
}, { passive: true });

// -- theme --

const THEME = "hotloop-theme";

function remember(key, value) {
  try { localStorage.setItem(key, value); } catch { /* a page from a file may not keep anything */ }
}

function recall(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

function themeNow() {
  return document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function themeButton() {
  const known = recall(THEME);
  if (known === "dark" || known === "light") document.documentElement.dataset.theme = known;
  const button = h("button", { class: "theme", type: "button" });
  const draw = () => {
    const next = themeNow() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to the ${next} theme`);
    button.title = `${next} theme`;
    replace(button, next === "dark"
      ? s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: "M20 14.2A8 8 0 0 1 9.8 4 8 8 0 1 0 20 14.2Z" }))
      : s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("circle", { cx: 12, cy: 12, r: 4 }),
        s("path", { d: "M12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4" })));
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = themeNow() === "dark" ? "light" : "dark";
    remember(THEME, themeNow());
    draw();
  });
  draw();
  return button;
}

// -- the part of the address after '#': '#timeline' is a section, '#phase=collect/env.step&sort=self_s' a view --

const place = { values: {}, listeners: [] };

function readPlace() {
  const text = location.hash.slice(1);
  place.values = {};
  if (!text.includes("=")) return;
  for (const pair of text.split("&")) {
    const [key, value] = pair.split("=");
    try { place.values[key] = decodeURIComponent(value || ""); } catch { /* not ours */ }
  }
}

function goTo(change, silent) {
  const values = { ...place.values, ...change };
  const text = Object.entries(values).filter(([, value]) => value)
    .map(([key, value]) => `${key}=${encodeURIComponent(value).replaceAll("%2F", "/")}`).join("&");
  if (text === location.hash.slice(1)) return;
  if (silent) {
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
    place.values = values;
  } else {
    location.hash = text;
  }
}

function onPlace(listener) {
  place.listeners.push(listener);
  listener(place.values);
}

readPlace();
addEventListener("hashchange", () => {
  readPlace();
  for (const listener of place.listeners) listener(place.values);
});
