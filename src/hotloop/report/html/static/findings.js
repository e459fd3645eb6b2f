// What to change: each cause with its evidence, its place and its fix.

// One scale of severity, the same words as in the text report.
const SEVERITIES = { critical: "Critical", warning: "Warning", info: "Info", healthy: "Healthy" };

function findingCard(finding, resolve, headline) {
  const kind = finding.proof && finding.proof.verdict === "refuted" ? "Refuted" : SEVERITIES[finding.severity] || finding.severity;
  const path = resolve(finding.phase);
  const proof = finding.proof, measured = finding.measured_gain != null && proof;
  const gains = !measured && finding.severity !== "healthy" && !finding.is_of_run && finding.gain && finding.gain.high > 1.005;
  const ofRun = !measured && finding.severity !== "healthy" && finding.is_of_run && finding.run_gain;
  return h("article", { class: "finding " + finding.severity, id: "finding-" + finding.id },
    h("div", { class: "meta" }, h("span", { class: "kind" }, kind), h("a", { href: "#finding=" + finding.id }, finding.id),
      finding.phase && [" in ", path === null ? h("span", null, finding.phase) : h("a", { href: "#phase=" + encodeURIComponent(path).replaceAll("%2F", "/") }, finding.phase)]),
    h("header", null, headline.includes(finding.title) ? h("h3", null, "The fix") : h("h3", null, prose(finding.title)),
      measured && h("div", { class: "gain" }, format.times({ low: proof.gain, high: proof.gain }) + " faster, measured", h("small", null, `${proof.low.toFixed(2)} to ${proof.high.toFixed(2)} with ${proof.fix}, ${proof.verdict}; predicted ${format.times(finding.gain)}`)),
      gains && h("div", { class: "gain" }, format.times(finding.gain) + " faster", h("small", null, (finding.ceiling > finding.gain.high + 0.005 ? format.times({ low: finding.ceiling, high: finding.ceiling }) + " at most, " : "") + finding.confidence + " confidence")),
      ofRun && h("div", { class: "gain" }, format.times(finding.run_gain) + " faster", h("small", null, "the whole run, " + finding.confidence + " confidence"))),
    finding.fix && h("p", { class: "fix" }, prose(finding.fix)),
    finding.learning && h("p", { class: "fix muted small" }, "Effect on learning: ", prose(finding.learning)),
    (finding.where || []).length > 0 && h("p", { class: "places" }, "at ", finding.where.slice(0, 3).map((each, index) =>
      [index > 0 && ", ", h("code", { title: each.file }, each.place), " in " + each.function])),
    finding.patch && h("div", { class: "code" }, h("div", null, h("span", null, "The change"), h("pre", null, finding.patch))),
    !finding.patch && (finding.before || finding.after) && h("div", { class: "code" },
      finding.before && h("div", null, h("span", null, "An example"), h("pre", null, finding.before)),
      finding.after && h("div", null, h("span", null, "Instead"), h("pre", null, finding.after))),
    finding.evidence.length > 0 && h("dl", { "aria-label": "Evidence" }, finding.evidence.map(([label, text]) =>
      h("div", null, h("dt", null, label), h("dd", null, text)))),
    finding.verify && verifyWith(...finding.verify.split("  # ")));
}

// What has to be done before a command is read first, not behind it.
function verifyWith(command, before) {
  return [h("p", { class: "check" }, "To verify" + (before ? `, ${before}` : "")), copyLine(command)];
}

// Advice with code between backticks.
function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? h("code", null, part) : part));
}

function findingsSection(data, resolve) {
  const content = data.findings.length > 0
    ? data.findings.map((finding) => findingCard(finding, resolve, data.verdict.headline))
    : h("p", { class: "none" }, "No known cause of slow training matched. That is not an all-clear: the breakdown below shows where the time went.");
  return section("findings", data.findings.length > 0 ? "What to change" : "Findings", null, content);
}
