/* compare.js - several runs side by side: bytes at the peak, peaks, times, scales; the first is the base.
 */
import { categoriesOf } from './colours.js';
import { endedEarly } from './run.js';

const OWN_SCALE_SHARE = 1 / 8; // share of the common scale; a run below it would be a flat line

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
 * @param {import('./run.js').Run[]} runs
 * @param {string} label
 * @param {string} category
 * @param {'bytes' | 'ms'} unit
 * @param {(run: import('./run.js').Run) => number} valueOf
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
 * @param {import('./run.js').Run[]} runs
 * @returns {Section[]}
 */
export function compareRuns(runs) {
  const ofCategory = (/** @type {import('./run.js').Run} */ run, /** @type {string} */ name) =>
    run.peak.categories.find((c) => c.key === name)?.bytes ?? 0;
  const categories = categoriesOf(runs.map((run) => run.snapshot))
    .map((name) => makeRow(runs, name, name, 'bytes', (run) => ofCategory(run, name)))
    .filter((row) => row.values.some((value) => value > 0));
  const sections = [
    { title: 'Alive at the peak', rows: categories },
    {
      title: 'Peak',
      rows: [
        makeRow(runs, 'allocated', '', 'bytes', (run) => run.peak.bytes),
        makeRow(runs, 'requested', '', 'bytes', (run) => run.peak.requestedBytes),
        makeRow(runs, 'reserved, largest', '', 'bytes', (run) => run.reserved.maxBytes),
      ],
    },
  ];
  const phases = [...new Set(runs.flatMap((run) => run.timing.map((phase) => phase.name)))];
  const meanOf = (/** @type {import('./run.js').Run} */ run, /** @type {string} */ name) =>
    run.timing.find((phase) => phase.name === name)?.statistics.mean ?? NaN;
  if (phases.length > 0) {
    const rows = phases.map((name) => makeRow(runs, name, '', 'ms', (run) => meanOf(run, name)));
    sections.push({ title: 'Time, mean', rows });
  }
  return sections;
}

/**
 * The common scale of all runs, as the bytes at its top.
 * @param {import('./run.js').Run[]} runs
 */
export function sharedScale(runs) {
  let top = 1;
  for (const run of runs) {
    top = Math.max(top, run.index.totals[run.index.peakState], run.reserved.maxBytes);
    for (const oom of run.snapshot.oom)
      top = Math.max(
        top,
        Math.min(run.index.totals[oom.event + 1] + oom.requestedBytes, 1.5 * run.reserved.maxBytes),
      );
  }
  const used = top;
  for (const run of runs) if (run.capacityBytes <= 1.5 * used) top = Math.max(top, run.capacityBytes);
  return top * 1.07;
}

/**
 * Bytes at the top of each timeline: one scale for all, except that runs far below it get their own.
 * @param {import('./run.js').Run[]} runs
 * @returns {number[]}
 */
export function scalesOf(runs) {
  const common = sharedScale(runs);
  const isLow = runs.map(
    (run) =>
      run.isRecorded &&
      Math.max(run.index.totals[run.index.peakState], run.reserved.maxBytes) < common * OWN_SCALE_SHARE,
  );
  if (!isLow.includes(true) || !isLow.includes(false)) return runs.map(() => common);
  const own = scalesOf(runs.filter((_, i) => isLow[i]));
  return isLow.map((low) => (low ? /** @type {number} */ (own.shift()) : common));
}

/**
 * The note on a run's own scale; "" for the common one.
 * @param {number[]} scales
 * @param {number} i
 */
export function scaleNote(scales, i) {
  const common = Math.max(...scales);
  if (!(scales[i] < common)) return '';
  return `own scale: 1/${Math.round(common / scales[i])} of ${scales.every((scale, j) => j === i || scale === common) ? "the others'" : "the largest run's"}`;
}
