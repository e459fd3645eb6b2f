// What to change: each cause with its evidence, its place and its fix.

const EVIDENCE_WORDS = { share: "share of the loop", calls: "calls" };

function findingCard(finding, resolve) {
  const kind = { critical: "Critical", warning: "Worth changing", info: "Good to know", healthy: "Healthy" }[finding.severity] || finding.severity;
  const path = resolve(finding.phase);
  const evidence = Object.entries(finding.evidence || {});
  const gains = finding.severity !== "healthy" && finding.gain && finding.gain.high > 1.005;
  return h("article", { class: "finding " + finding.severity, id: "finding-" + finding.id },
    h("div", { class: "meta" }, h("span", { class: "kind" }, kind), h("a", { href: "#finding=" + finding.id }, finding.id),
      finding.phase && [" in ", path === null ? h("span", null, finding.phase) : h("a", { href: "#phase=" + encodeURIComponent(path).replaceAll("%2F", "/") }, finding.phase)]),
    h("header", null, h("h3", null, finding.title),
      gains && h("div", { class: "gain" }, format.times(finding.gain) + " faster", h("small", null, finding.confidence + " confidence"))),
    finding.fix && h("p", { class: "fix" }, finding.fix),
    finding.learning && h("p", { class: "fix muted small" }, "What it may do to learning: " + finding.learning),
    (finding.where || []).length > 0 && h("p", { class: "places" }, "at ", finding.where.slice(0, 3).map((each, index) =>
      [index > 0 && ", ", h("code", { title: each.file }, `${shortFile(each.file)}:${each.line}`), " in " + each.function])),
    (finding.before || finding.after) && h("div", { class: "code" },
      finding.before && h("div", null, h("span", null, "Now"), h("pre", null, finding.before)),
      finding.after && h("div", null, h("span", null, "Instead"), h("pre", null, finding.after))),
    evidence.length > 0 && h("dl", { "aria-label": "Evidence" }, evidence.map(([name, value]) =>
      h("div", null, h("dt", null, EVIDENCE_WORDS[name] || name.replace(/_(s|mb)$/, "").replaceAll("_", " ")), h("dd", null, evidenceText(name, value))))),
    finding.verify && [h("p", { class: "check" }, "To check it"), copyLine(finding.verify)]);
}

// Names say what a figure is: shares, seconds and megabytes are told by their words.
function evidenceText(name, value) {
  if (typeof value === "number") {
    if (/(^|_)share(_|$)/.test(name) && value >= 0 && value <= 1) return format.percent(value);
    if (/(^|_)(s|seconds)$/.test(name) && value >= 0) return format.seconds(value);
    if (/_mb$/.test(name)) return format.megabytes(value);
  }
  return format.any(value);
}

function shortFile(file) {
  return file.replaceAll("\\", "/").split("/").slice(-2).join("/");
}

function findingsSection(data, resolve) {
  const content = data.findings.length > 0
    ? data.findings.map((finding) => findingCard(finding, resolve))
    : h("p", { class: "none" }, "Nothing stands out: no known cause of slow training explains a large part of this run. The breakdown below says where its time went.");
  return section("findings", data.findings.length > 0 ? "What to change" : "Findings", null, content);
}
