// Where the marks of an axis stand.

function niceTicks(most, count) {
  if (!(most > 0)) return [0];
  const raw = most / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * power >= raw) * power;
  const ticks = [];
  for (let value = 0; value <= most * 1.0001; value += step) ticks.push(value);
  return ticks;
}

// Round numbers between two others, on an even scale.
function ticksBetween(low, high, count) {
  if (!(high > low)) return [low];
  const step = niceTicks(high - low, count)[1] || high - low;
  const ticks = [];
  for (let value = Math.ceil(low / step) * step; value <= high * 1.0000001; value += step) ticks.push(Number(value.toPrecision(12)));
  return ticks;
}

// The same on a scale of factors; the roundest first, and none nearer to another than `gap`.
function factorTicks(low, high, gap, first = []) {
  const found = [];
  const far = (value) => found.every((other) => Math.abs(Math.log(value / other)) >= gap);
  const add = (value) => { if (value >= low && value <= high && far(value)) found.push(value); };
  first.forEach(add);
  for (const digits of [[1], [5], [2], [3], [1.5], [1.2, 8], [1.1, 9], [1.05, 1.3, 4, 7, 9.5]]) {
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) digits.forEach((digit) => add(Number((digit * 10 ** power).toPrecision(3))));
  }
  return found.sort((a, b) => a - b);
}
