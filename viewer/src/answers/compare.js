/* compare.js - several runs side by side: bytes at the peak, peaks, times; the first is the base. */
import { categoriesOf } from '../words/colours.js';
import { areToldByLines } from './differences.js';
import { peakWord } from '../run/peak.js';
import { endedEarly, sitesAtPeak } from '../run/run.js';
import { formatPlural } from '../words/text.js';

const SHOWN_LINES = 8;

/**
 * @typedef {object} Row
 * @property {string} label
 * @property {string} category its name, or ""
 * @property {'bytes' | 'ms'} unit
 * @property {number[]} values one per run; NaN: none
 * @property {number[]} ratios to the base; NaN: none, as for a run that ended early
 *
 * @typedef {{title: string, rows: Row[]}} Section
 */

/**
 * @param {import('../run/run.js').Run[]} runs
 * @param {string} label
 * @param {string} category
 * @param {'bytes' | 'ms'} unit
 * @param {(run: import('../run/run.js').Run) => number} valueOf
 * @returns {Row}
 */
function makeRow(runs, label, category, unit, valueOf) {
  const values = runs.map((run) => (unit === 'ms' || run.isRecorded ? valueOf(run) : NaN));
  const ended = runs.map(endedEarly);
  const ratios = values.map((value, i) =>
    values[0] > 0 && !ended[0] && !ended[i] ? value / values[0] : NaN,
  );
  return { label, category, unit, values, ratios };
}

/**
 * The lines with most bytes in any run, and the others together.
 * @param {import('../run/run.js').Run[]} runs
 * @returns {Row[]}
 */
function lineRows(runs) {
  const sums = runs.map((run) => {
    /** @type {Map<string, number>} */
    const ofLine = new Map();
    for (const { label, bytes } of sitesAtPeak(run)) ofLine.set(label, (ofLine.get(label) ?? 0) + bytes);
    return ofLine;
  });
  const most = (/** @type {string} */ line) => Math.max(...sums.map((ofLine) => ofLine.get(line) ?? 0));
  const lines = [...new Set(sums.flatMap((ofLine) => [...ofLine.keys()]))].sort((a, b) => most(b) - most(a));
  const bytesOf = (/** @type {import('../run/run.js').Run} */ run, /** @type {string[]} */ some) =>
    some.reduce((sum, line) => sum + (sums[runs.indexOf(run)].get(line) ?? 0), 0);
  const rest = lines.slice(SHOWN_LINES);
  const rows = lines
    .slice(0, SHOWN_LINES)
    .map((line) => makeRow(runs, line, '', 'bytes', (run) => bytesOf(run, [line])));
  if (rest.length > 0)
    rows.push(
      makeRow(runs, formatPlural(rest.length, 'other line'), '', 'bytes', (run) => bytesOf(run, rest)),
    );
  return rows;
}

/**
 * @param {import('../run/run.js').Run[]} runs
 * @returns {Section[]}
 */
export function compareRuns(runs) {
  const ofCategory = (/** @type {import('../run/run.js').Run} */ run, /** @type {string} */ name) =>
    run.peak.categories.find((c) => c.key === name)?.bytes ?? 0;
  const isByLine = areToldByLines(runs);
  const categories = categoriesOf(runs.map((run) => run.snapshot))
    .map((name) => makeRow(runs, name, name, 'bytes', (run) => ofCategory(run, name)))
    .filter((row) => row.values.some((value) => value > 0));
  const sections = [
    isByLine
      ? { title: `Alive at the ${peakWord(...runs)}, by line`, rows: lineRows(runs) }
      : { title: `Alive at the ${peakWord(...runs)}`, rows: categories },
    {
      title: peakWord(...runs).replace(/^./, (c) => c.toUpperCase()),
      rows: [
        makeRow(runs, 'allocated', '', 'bytes', (run) => run.peak.bytes),
        makeRow(runs, 'requested', '', 'bytes', (run) => run.peak.requestedBytes),
        makeRow(runs, 'reserved, largest', '', 'bytes', (run) => run.reserved.maxBytes),
      ],
    },
  ];
  const phases = [...new Set(runs.flatMap((run) => run.timing.map((phase) => phase.name)))];
  const meanOf = (/** @type {import('../run/run.js').Run} */ run, /** @type {string} */ name) =>
    run.timing.find((phase) => phase.name === name)?.statistics.mean ?? NaN;
  if (phases.length > 0) {
    const rows = phases.map((name) => makeRow(runs, name, '', 'ms', (run) => meanOf(run, name)));
    sections.push({ title: 'Time, mean', rows });
  }
  return sections;
}
