/* compare.js - several runs side by side: bytes at the peak, peaks, times; the first is the base.
 */
import { CATEGORIES } from './colours.js';
import { endedEarly } from './run.js';

/**
 * @typedef {object} Row
 * @property {string} label
 * @property {string} category name in CATEGORIES, or ""
 * @property {'bytes' | 'ms'} unit
 * @property {number[]} values one per run; NaN: none
 * @property {number[]} ratios to the base; NaN: none, also where a run ended before its time
 *
 * @typedef {{title: string, rows: Row[]}} Section
 */

/** @param {import('./run.js').Run[]} runs @returns {Section[]} */
export function compareRuns(runs) {
  const ended = runs.map(endedEarly);
  /** @param {string} label @param {string} category @param {'bytes' | 'ms'} unit @param {number[]} values @returns {Row} */
  const row = (label, category, unit, values) => ({ label, category, unit, values,
    ratios: values.map((value, i) => (values[0] > 0 && !ended[0] && !ended[i] ? value / values[0] : NaN)) });
  const ofCategory = (/** @type {import('./run.js').Run} */ run, /** @type {string} */ name) =>
    run.peak.categories.find((c) => c.key === name)?.bytes ?? 0;
  const categories = CATEGORIES.map((name) => row(name, name, 'bytes', runs.map((run) => ofCategory(run, name))))
    .filter((r) => r.values.some((value) => value > 0));
  const sections = [
    { title: 'Alive at the peak', rows: categories },
    { title: 'Peak', rows: [
      row('allocated', '', 'bytes', runs.map((run) => run.peak.bytes)),
      row('requested', '', 'bytes', runs.map((run) => run.peak.requestedBytes)),
      row('reserved, largest', '', 'bytes', runs.map((run) => run.reserved.maxBytes)),
    ] },
  ];
  const phases = [...new Set(runs.flatMap((run) => run.timing.map((phase) => phase.name)))];
  if (phases.length > 0) {
    sections.push({ title: 'Time, mean', rows: phases.map((name) => row(name, '', 'ms', runs.map((run) =>
      run.timing.find((phase) => phase.name === name)?.statistics.mean ?? NaN))) });
  }
  return sections;
}

/** The scale that all runs share: bytes at the top. @param {import('./run.js').Run[]} runs */
export function sharedScale(runs) {
  let top = 1;
  for (const run of runs) {
    top = Math.max(top, run.index.totals[run.index.peakState], run.reserved.maxBytes);
    for (const oom of run.snapshot.oom) top = Math.max(top, Math.min(run.index.totals[oom.event + 1] + oom.requestedBytes, 1.5 * run.reserved.maxBytes));
  }
  const used = top;
  for (const run of runs) if (run.capacityBytes <= 1.5 * used) top = Math.max(top, run.capacityBytes);
  return top * 1.07;
}
