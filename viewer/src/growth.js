/* growth.js - whether memory grows from step to step, by the rule of the command line
 * (snapshot/explain/growth.h): most of at least five named steps leave blocks of one line of the program that
 * are never freed.
 */
import { lineText, representativeFrames } from './frames.js';
import { stepText } from './steps.js';
import { formatBytes } from './text.js';

const LEAST_STEPS = 5; // fewer say nothing about growth
const LEAST_KEEPING = 5; // steps that keep something of a line
const LEAST_OF_STACK = 3; // of these, for one exact call stack
const LEAST_BYTES = 65536; // a step, where all steps together keep less than a hundredth of the peak
const GROWING_LINES = 2; // in words
/** What a healthy program keeps, or makes when it first needs it. */
const STATE = new Set(['parameter', 'gradient', 'optimizer_state', 'workspace', 'weight_copy', 'buffer']);

/**
 * @typedef {import('./run.js').Run} Run
 * @typedef {import('./steps.js').Step} Step
 *
 * @typedef {object} Growing a line of the program of which most steps keep more
 * @property {number} site the frame that stands for it
 * @property {number} stack of its first block
 * @property {number} bytes kept at the end of the last measured step
 * @property {number} nSteps in which they were allocated
 * @property {number} first place of the first of these among the measured steps
 * @property {number} last place of the last
 */

/**
 * The first of the sorted numbers that is not below the value.
 * @param {number[]} sorted
 * @param {number} value
 */
function placeOf(sorted, value) {
  let lo = 0;
  let hi = sorted.length;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (sorted[middle] < value) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/**
 * The line of the program to which the blocks of each stack count; -1: to none, because an optimizer's own
 * code made them.
 * @param {import('./format.js').Snapshot} snapshot
 */
function sitesOfStacks(snapshot) {
  const { stacks, frames, strings } = snapshot;
  const representative = representativeFrames(snapshot);
  const isOptimizer = Array.from(frames.file, (file) =>
    file < 0 ? false : strings[file].replaceAll('\\', '/').includes('torch/optim/'),
  );
  return (/** @type {number} */ stack) => {
    for (let s = stack; s >= 0 && stacks.frame[s] !== representative[stack]; s = stacks.parent[s])
      if (isOptimizer[stacks.frame[s]]) return -1;
    return stack < 0 ? -1 : representative[stack];
  };
}

/**
 * The line of each block that counts; -1: it does not.
 * @param {Run} run
 * @returns {(block: number) => number}
 */
function sitesOfBlocks({ snapshot, index: { blocks } }) {
  const siteOf = sitesOfStacks(snapshot);
  /** @type {Map<number, number>} */
  const known = new Map();
  return (block) => {
    const stack = blocks.stack[block];
    if (stack < 0 || STATE.has(snapshot.categories[blocks.category[block]])) return -1;
    const site = known.get(stack) ?? siteOf(stack);
    known.set(stack, site);
    return site;
  };
}

/**
 * The place of the measured step in which each block was allocated that is there at the end of the last; -1.
 * @param {Run} run
 * @param {Step[]} steps
 * @param {number[]} measured numbers of steps
 * @param {(block: number) => number} siteOf
 */
function keptPlaces({ index: { blocks } }, steps, measured, siteOf) {
  const firsts = steps.map(({ first }) => first);
  const end = steps[measured[measured.length - 1]].last + 1; // a state
  const placeOfStep = new Map(measured.map((step, place) => [step, place]));
  return Int32Array.from({ length: blocks.count }, (_, block) => {
    const born = blocks.bornState[block];
    const isKept = born > 0 && born <= end && end < blocks.diedState[block];
    return isKept && siteOf(block) >= 0 ? (placeOfStep.get(placeOf(firsts, born) - 1) ?? -1) : -1;
  });
}

/**
 * What each line keeps, of call stacks that keep something of several steps.
 * @param {Run} run
 * @param {Int32Array} places
 * @param {(block: number) => number} siteOf
 */
function keptLines({ index: { blocks } }, places, siteOf) {
  /** @type {Map<number, Set<number>>} */
  const byStack = new Map();
  places.forEach((place, block) => {
    if (place < 0) return;
    const of = byStack.get(blocks.stack[block]) ?? new Set();
    byStack.set(blocks.stack[block], of.add(place));
  });
  /** @type {Map<number, Growing>} */
  const lines = new Map();
  places.forEach((place, block) => {
    const stack = blocks.stack[block];
    if (place < 0 || (byStack.get(stack)?.size ?? 0) < LEAST_OF_STACK) return;
    const site = siteOf(block);
    const line = lines.get(site) ?? { site, stack, bytes: 0, nSteps: 0, first: place, last: -1 };
    if (line.last !== place) line.nSteps++;
    line.last = place;
    line.bytes += blocks.bytes[block];
    lines.set(site, line);
  });
  return [...lines.values()];
}

/**
 * Whether the bytes of the line rise in most steps since the first that keeps any, and those of the device
 * with them.
 * @param {Run} run
 * @param {number[]} ends states
 * @param {(block: number) => number} siteOf
 * @param {Growing} line
 */
function rises({ index: { blocks, totals } }, ends, siteOf, { site, first, bytes }) {
  const at = new Float64Array(ends.length + 1);
  for (let b = 0; b < blocks.count; b++) {
    if (siteOf(b) !== site) continue;
    at[placeOf(ends, blocks.bornState[b])] += blocks.bytes[b];
    at[placeOf(ends, blocks.diedState[b])] -= blocks.bytes[b];
  }
  for (let p = 1; p < ends.length; p++) at[p] += at[p - 1];
  const last = ends.length - 1;
  const from = Math.max(0, first - 1);
  let nRises = 0;
  for (let p = from + 1; p <= last; p++) if (at[p] > at[p - 1]) nRises++;
  const half = Math.trunc(bytes / 2);
  return (
    2 * nRises > last - from && at[last] - at[from] >= half && totals[ends[last]] - totals[ends[from]] >= half
  );
}

/**
 * @param {Run} run
 * @param {Step[]} steps
 * @param {number[]} measured numbers of steps
 */
function growingLines(run, steps, measured) {
  const { totals } = run.index;
  const ends = measured.map((step) => steps[step].last + 1);
  const siteOf = sitesOfBlocks(run);
  const least = Math.trunc(totals.reduce((most, bytes) => Math.max(most, bytes), 0) / 100);
  const n = ends.length;
  return keptLines(run, keptPlaces(run, steps, measured, siteOf), siteOf)
    .filter((line) => {
      const nSince = n - line.first;
      const isMuch = line.bytes >= least || Math.trunc(line.bytes / nSince) >= LEAST_BYTES;
      const isOften = line.nSteps >= LEAST_KEEPING && 2 * line.nSteps > nSince && line.last + 2 >= n;
      return isMuch && isOften && rises(run, ends, siteOf, line);
    })
    .sort((a, b) => b.bytes - a.bytes || a.site - b.site);
}

/**
 * "by 6.00 MiB a step at append_loss (metrics.py:17), in 60 of 60 steps since step 0"; "": nothing grows, or
 * it is not known.
 * @param {Run} run
 * @param {import('./steps.js').Steps} found
 */
export function growthText(run, { source, steps }) {
  const measured = steps.flatMap(({ isWarmup, isOpen }, step) => (isWarmup || isOpen ? [] : [step]));
  if (source === 'inferred' || measured.length < LEAST_STEPS) return '';
  return growingLines(run, steps, measured)
    .slice(0, GROWING_LINES)
    .map(({ stack, bytes, nSteps, first }) => {
      const nSince = measured.length - first;
      return (
        `by ${formatBytes(Math.trunc(bytes / nSince))} a step at ${lineText(run.snapshot, stack)}, in ${nSteps} of ` +
        `${nSince} ${nSince === 1 ? 'step' : 'steps'} since ${stepText(steps[measured[first]])}`
      );
    })
    .join(' and ');
}
