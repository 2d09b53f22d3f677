/* peak.js - sums the blocks alive in one state by category; the sums add up exactly to the allocated bytes.
 */
import { CERTAINTY_NAMES } from '../words/format_names.js';
import { aliveAt } from './index.js';

/**
 * @typedef {{key: string, bytes: number, count: number}} CategorySum the blocks of one category
 *
 * @typedef {object} Breakdown
 * @property {number} state
 * @property {number} bytes
 * @property {number} requestedBytes
 * @property {number} count
 * @property {CategorySum[]} categories the categories that have blocks, by number
 * @property {number[] | null} certainties bytes by how their category became known, as CERTAINTY_NAMES; null:
 *   the file does not say
 */

/**
 * What the highest point of the runs is called: where a history was cut, their peak is not known; a file
 * without a history has one instant.
 * @param {...{snapshot: {nDropped: number, events?: {count: number}}}} runs of ranks: without events
 */
export function peakWord(...runs) {
  if (runs.every(({ snapshot }) => snapshot.events?.count === 0)) return 'time the file was written';
  return runs.some(({ snapshot }) => snapshot.nDropped > 0) ? 'highest kept' : 'peak';
}

/**
 * @param {import('./index.js').MemoryIndex} index
 * @param {readonly string[]} categories of the snapshot
 * @param {number} state
 * @returns {Breakdown}
 */
export function breakdownAt(index, categories, state) {
  const { category, certainty, bytes, requestedBytes } = index.blocks;
  const sums = categories.map((key) => ({ key, bytes: 0, count: 0 }));
  const whole = { bytes: 0, requestedBytes: 0, count: 0 };
  const certainties = certainty === null ? null : CERTAINTY_NAMES.map(() => 0);
  for (const b of aliveAt(index, state)) {
    sums[category[b]].bytes += bytes[b];
    sums[category[b]].count++;
    if (certainties !== null && certainty !== null) certainties[certainty[b]] += bytes[b];
    whole.bytes += bytes[b];
    whole.requestedBytes += requestedBytes[b];
    whole.count++;
  }
  return { state, ...whole, categories: sums.filter(({ count }) => count > 0), certainties };
}

/**
 * The frames of a call stack, innermost first.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} stack -1: none
 * @returns {{function: string, place: string}[]} place "file:line", or ""
 */
export function stackFrames(snapshot, stack) {
  const { stacks, frames, strings } = snapshot;
  const list = [];
  for (let s = stack; s >= 0; s = stacks.parent[s]) {
    const f = stacks.frame[s];
    const file = frames.file[f] < 0 ? '' : strings[frames.file[f]];
    list.push({
      function: frames.function[f] < 0 ? '??' : strings[frames.function[f]],
      place: frames.line[f] > 0 ? `${file}:${frames.line[f]}` : file,
    });
  }
  return list;
}
