// Numbers for people, as units.py writes them.

const format = {
  three(value) {
    if (value >= 99.95) return value.toFixed(0);
    return value.toFixed(value >= 9.995 ? 1 : 2);
  },
  seconds(value) {
    if (value === null || value === undefined) return "–";
    const two = (number) => String(Math.trunc(number)).padStart(2, "0");
    if (value >= 3600) return `${Math.trunc(value / 3600)} h ${two((value % 3600) / 60)} min`;
    if (value >= 120) return `${Math.trunc(value / 60)} min ${two(value % 60)} s`;
    for (const [factor, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
      if (value >= factor * 0.9995) return `${format.three(value / factor)} ${unit}`;
    }
    return value > 0 ? `${(value * 1e9).toFixed(0)} ns` : "0 s";
  },
  // A mark of an axis: 10 s, not 10.0 s.
  mark(text) {
    return text.replace(/\.0+(?=\D|$)/, "");
  },
  percent(share) {
    return share === null || share === undefined ? "–" : share > 0 && share < 0.0005 ? "<0.1%" : (share * 100).toFixed(1) + "%";
  },
  count(value) {
    if (value === null || value === undefined) return "–";
    return value.toFixed(0).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  },
  megabytes(value) {
    if (value === null || value === undefined) return "–";
    return value >= 1000 ? (value / 1000).toFixed(2) + " GB" : value.toFixed(0) + " MB";
  },
  rate(value) {
    if (value === null || value === undefined) return "–";
    return value >= 1000 || Number.isInteger(value) ? format.count(value) : format.three(value);
  },
  times(gain) {
    const digits = (value) => value.toFixed(value < 2 ? 2 : value < 10 ? 1 : 0);
    const low = digits(gain.low), high = digits(gain.high);
    return low === high ? `${low}×` : `${low}–${high}×`;
  },
  // A figure of a finding's evidence, which may be anything.
  any(value) {
    if (typeof value === "number") {
      if (Number.isInteger(value)) return Math.abs(value) >= 10000 ? format.count(value) : String(value);
      return Math.abs(value) >= 1000 ? format.count(value) : String(Number(value.toPrecision(3)));
    }
    if (Array.isArray(value)) return value.map(format.any).join(", ");
    if (value && typeof value === "object") return Object.entries(value).map(([key, each]) => `${key} ${format.any(each)}`).join(", ");
    return String(value);
  },
};

function shortFile(file) {
  return file.replaceAll("\\", "/").split("/").slice(-2).join("/");
}
