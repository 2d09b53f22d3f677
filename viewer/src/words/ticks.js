/* ticks.js - places the ticks of an axis. */

/**
 * Ticks of bytes up to maxBytes: at multiples of a power of two, so that labels are 256 MiB, 1 GiB, ...
 * @param {number} maxBytes
 * @param {number} maxTicks at most this many, besides the first
 * @param {number} [minBytes] the axis begins at
 * @returns {{ticks: number[], step: number}}
 */
export function byteTicks(maxBytes, maxTicks, minBytes = 0) {
  if (!(maxBytes > minBytes) || maxTicks < 1) return { ticks: [minBytes], step: 1 };
  let step = 1;
  while (Math.floor((maxBytes - minBytes) / step) > maxTicks) step *= 2;
  const ticks = [];
  for (let value = Math.ceil(minBytes / step) * step; value <= maxBytes; value += step) ticks.push(value);
  return { ticks, step };
}

/**
 * Ticks at 1, 2 or 5 times a power of ten within [lo, hi]; at least `minStep` apart.
 * @param {number} lo
 * @param {number} hi
 * @param {number} maxTicks
 * @param {number} [minStep]
 * @returns {{ticks: number[], step: number}}
 */
export function decimalTicks(lo, hi, maxTicks, minStep = 0) {
  const span = hi - lo;
  if (!(span > 0) || maxTicks < 1) return { ticks: [], step: 0 };
  const rough = Math.max(span / maxTicks, minStep);
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((f) => f * power >= rough * (1 - 1e-9)) ?? 10;
  const step = factor * power;
  const ticks = [];
  for (let i = Math.ceil(lo / step - 1e-9) + 0; i * step <= hi + step * 1e-9; i++) ticks.push(i * step);
  return { ticks, step };
}

/**
 * The label of a time tick, in a unit for the whole axis and with decimals for the step.
 * @param {number} ns
 * @param {number} step ns between ticks
 * @param {number} hi ns at the axis' end
 */
export function timeTickText(ns, step, hi) {
  const [unit, size] =
    hi >= 1e9 && step >= 1e6 ? ['s', 1e9] : step >= 1e4 ? ['ms', 1e6] : step >= 10 ? ['µs', 1e3] : ['ns', 1];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(ns / size).toFixed(decimals)} ${unit}`;
}
