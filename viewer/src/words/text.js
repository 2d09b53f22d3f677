/* text.js - formats bytes, times, counts and names for people. */
import { BUILT_IN } from './category_table.js';
import { CERTAINTY_NAMES } from './format_names.js';

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/**
 * A number with commas between groups of three digits.
 * @param {number} n
 */
export function formatCount(n) {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/**
 * "1.50 GiB", "512 B": exact below 1 KiB, two decimals above.
 * @param {number} nBytes
 */
export function formatBytes(nBytes) {
  let value = Math.abs(nBytes);
  let unit = 0;
  while (value >= (unit === 0 ? 1024 : 1023.995) && unit < BYTE_UNITS.length - 1) {
    // not "1024.00 MiB"
    value /= 1024;
    unit++;
  }
  const sign = nBytes < 0 ? '−' : '';
  return `${sign}${unit === 0 ? value : value.toFixed(2)} ${BYTE_UNITS[unit]}`;
}

/**
 * "1,572,864 B".
 * @param {number} nBytes
 */
export function formatExactBytes(nBytes) {
  return `${formatCount(nBytes)} B`;
}

/**
 * A binary tick such as "256 MiB" or "1.5 GiB", without needless decimals; of ticks that lie close together,
 * "12,289 MiB", so that they differ.
 * @param {number} nBytes
 * @param {number} [step] bytes between ticks
 */
export function formatTickBytes(nBytes, step = Infinity) {
  let value = nBytes;
  let unit = 0;
  for (let apart = step; value >= 1024 && apart >= 128 && unit < BYTE_UNITS.length - 1; apart /= 1024) {
    value /= 1024;
    unit++;
  }
  const [whole, decimals = ''] = String(Number(value.toFixed(3))).split('.');
  return `${formatCount(Number(whole))}${decimals === '' ? '' : `.${decimals}`} ${BYTE_UNITS[unit]}`;
}

/**
 * Three significant digits, never in exponents.
 * @param {number} value
 */
function threeDigits(value) {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/**
 * "1 event", "1,234 events".
 * @param {number} count
 * @param {string} word of one
 */
export function formatPlural(count, word) {
  return `${formatCount(count)} ${word}${count === 1 ? '' : 's'}`;
}

/**
 * "12.3 ms", "640 ns", "1.20 s".
 * @param {number} ns
 */
export function formatDuration(ns) {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${threeDigits(ns / 1e3)} µs`;
  if (ns < 1e9) return `${threeDigits(ns / 1e6)} ms`;
  return `${threeDigits(ns / 1e9)} s`;
}

/**
 * Milliseconds to four digits: "1,234", "123.4", "12.34", "1.234".
 * @param {number} ms
 */
export function formatMs(ms) {
  if (ms >= 1000) return formatCount(ms);
  return ms >= 100 ? ms.toFixed(1) : ms >= 10 ? ms.toFixed(2) : ms.toFixed(3);
}

/**
 * "1,620.14 ± 0.32 ms": both with the decimals that show two digits of the deviation, but not below 1 ns.
 * @param {number} mean
 * @param {number} std ms, -1: there is none
 */
export function formatMeanStd(mean, std) {
  if (std < 0) return `${formatMs(mean)} ms`;
  // Half a nanosecond: rounding in the sums of a forecast leaves less than that.
  if (!(std >= 0.5e-6)) return `${formatMs(mean)} ± 0 ms`;
  const decimals = Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(std))));
  const [whole, part] = mean.toFixed(decimals).split('.');
  return `${formatCount(Number(whole))}${part ? `.${part}` : ''} ± ${std.toFixed(decimals)} ms`;
}

/**
 * Splits off the first sentence, up to a full stop or semicolon; the dot of "2.7B" does not end it.
 * @param {string} text
 * @returns {[string, string]}
 */
export function splitSentence(text) {
  const end = /[.!?;](?=\s)|\n/.exec(text);
  const at = end === null ? text.length : end.index + 1;
  return [text.slice(0, at).trim(), text.slice(at).trim()];
}

/**
 * Text whose lines do not break between number and unit.
 * @param {string} text
 */
export function unbroken(text) {
  return text.replace(/(\d) (?=[KMGTP]?i?B\b)/g, '$1\u00a0');
}

/**
 * "12.3 %".
 * @param {number} share 0..1
 */
export function formatShare(share) {
  return share > 0 && share < 0.001 ? '<0.1 %' : `${(share * 100).toFixed(1)} %`;
}

/**
 * "1.93×", "0.025×".
 * @param {number} ratio
 */
export function formatRatio(ratio) {
  return Number.isFinite(ratio)
    ? `${ratio >= 100 ? formatCount(ratio) : ratio >= 0.1 ? ratio.toFixed(2) : Number(ratio.toPrecision(2))}×`
    : '–';
}

const CATEGORY_TEXTS = new Map([
  ...BUILT_IN.map(({ name, text }) => /** @type {[string, string]} */ ([name, text])),
  ['parameter_or_older', 'parameters or older'], // what the rules add to the built-in ones
]);

/**
 * A category's name in a sentence.
 * @param {string} name
 */
export function categoryText(name) {
  return CATEGORY_TEXTS.get(name) ?? name;
}

/**
 * The same with how the category became known: "activations (by rule)".
 * @param {string} name
 * @param {number} [certainty] index in CERTAINTY_NAMES; undefined: the file does not say
 */
export function certainCategoryText(name, certainty = 0) {
  return certainty === 0 ? categoryText(name) : `${categoryText(name)} (${CERTAINTY_NAMES[certainty]})`;
}

/**
 * Bytes by how their category became known, in one line; "" if the file does not say.
 * @param {number[] | null} certainties as CERTAINTY_NAMES
 */
export function certaintiesText(certainties) {
  return (certainties ?? [])
    .map((bytes, certainty) => `${formatBytes(bytes)} ${CERTAINTY_NAMES[certainty]}`)
    .reverse()
    .join(', ');
}

/**
 * Shortens names to the parts that differ: drops the hyphenated parts that all names begin or end with.
 * @param {string[]} names
 * @returns {string[]} the names themselves if one would become empty
 */
export function distinctParts(names) {
  const split = names.map((name) => name.split('-'));
  const shared = (/** @type {string[][]} */ lists) => {
    let n = 0;
    while (lists.length > 0 && lists.every((list) => n < list.length - 1 && list[n] === lists[0][n])) n++;
    return n;
  };
  const front = shared(split);
  const back = shared(split.map((parts) => parts.slice(front).reverse()));
  const short = split.map((parts) => parts.slice(front, parts.length - back).join('-'));
  return names.length > 1 && new Set(short).size === names.length ? short : names;
}

/**
 * A tensor's name without the numbers of its layers: "layers.5.conv1" is "layers.*.conv1". Only a part
 * between dots that is a number means a layer; `tidemark compare` folds names in the same way.
 * @param {string} name
 */
export function namePattern(name) {
  return name.replace(/(^|\.)\d+(?=\.|$)/g, '$1*');
}

/**
 * True if a text is in a list.
 * @template {string} T
 * @param {readonly T[]} list
 * @param {string | null} text
 * @returns {text is T}
 */
export function isOneOf(list, text) {
  return text !== null && /** @type {readonly string[]} */ (list).includes(text);
}

/**
 * "layers 0–35", "layers 1, 5" or "layer 3".
 * @param {Set<number>} layers
 */
export function layersText(layers) {
  const sorted = [...layers].sort((a, b) => a - b);
  const n = sorted.length;
  if (n === 1) return `layer ${sorted[0]}`;
  if (sorted[n - 1] - sorted[0] === n - 1) return `layers ${sorted[0]}–${sorted[n - 1]}`;
  return n <= 3 ? `layers ${sorted.join(', ')}` : `${n} layers`;
}
