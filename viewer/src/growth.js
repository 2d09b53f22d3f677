/* growth.js - whether memory grows from step to step, by the rule of the command line (snapshot/growth.h):
 * most of at least five named steps leave blocks of one line of the program behind that are never freed.
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
 * The line of the program to which the blocks of each stack count; -1: to none, because an optimizer's own code
 * made them.
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
 * @param {Run} run
 * @param {Step[]} all
 * @param {number[]} measured numbers of steps
 */
function growingLines({ snapshot, index }, all, measured) {
  const { blocks, totals } = index;
  const ends = measured.map((step) => all[step].last + 1); // states
  const firsts = all.map(({ first }) => first);
  const lastEnd = ends[ends.length - 1];
  const siteOf = sitesOfStacks(snapshot);
  /** @type {Map<number, number>} */
  const known = new Map();
  const siteOfBlock = (/** @type {number} */ b) => {
    const stack = blocks.stack[b];
    if (stack < 0 || STATE.has(snapshot.categories[blocks.category[b]])) return -1;
    if (!known.has(stack)) known.set(stack, siteOf(stack));
    return known.get(stack) ?? -1;
  };
  const placeOfStep = new Map(measured.map((step, place) => [step, place]));
  const keptIn = (/** @type {number} */ b) => {
    const born = blocks.bornState[b];
    const isKept = born > 0 && born <= lastEnd && lastEnd < blocks.diedState[b];
    if (!isKept || siteOfBlock(b) < 0) return -1;
    return placeOfStep.get(placeOf(firsts, born) - 1) ?? -1;
  };
  /** @type {Map<number, {nSteps: number, last: number}>} */
  const byStack = new Map();
  for (let b = 0; b < blocks.count; b++) {
    const place = keptIn(b);
    if (place < 0) continue;
    const at = byStack.get(blocks.stack[b]) ?? { nSteps: 0, last: -1 };
    if (at.last !== place) at.nSteps++;
    at.last = place;
    byStack.set(blocks.stack[b], at);
  }
  /** @type {Map<number, Growing>} */
  const lines = new Map();
  for (let b = 0; b < blocks.count; b++) {
    const place = keptIn(b);
    const stack = blocks.stack[b];
    if (place < 0 || (byStack.get(stack)?.nSteps ?? 0) < LEAST_OF_STACK) continue;
    const site = siteOfBlock(b);
    const line = lines.get(site) ?? { site, stack, bytes: 0, nSteps: 0, first: place, last: -1 };
    if (line.last !== place) line.nSteps++;
    line.last = place;
    line.bytes += blocks.bytes[b];
    lines.set(site, line);
  }
  /** @param {Growing} line its bytes at the end of each measured step */
  const bytesAtEnds = ({ site }) => {
    const change = new Float64Array(ends.length + 1);
    for (let b = 0; b < blocks.count; b++) {
      if (siteOfBlock(b) !== site) continue;
      change[placeOf(ends, blocks.bornState[b])] += blocks.bytes[b];
      change[placeOf(ends, blocks.diedState[b])] -= blocks.bytes[b];
    }
    for (let p = 1; p < ends.length; p++) change[p] += change[p - 1];
    return change;
  };
  const peak = totals.reduce((most, bytes) => Math.max(most, bytes), 0);
  const n = ends.length;
  /** @param {Growing} line */
  const grows = (line) => {
    const nSince = n - line.first;
    const isMuch = line.bytes >= Math.trunc(peak / 100) || Math.trunc(line.bytes / nSince) >= LEAST_BYTES;
    if (line.nSteps < LEAST_KEEPING || 2 * line.nSteps <= nSince || line.last + 2 < n || !isMuch) return false;
    const at = bytesAtEnds(line);
    const from = Math.max(0, line.first - 1);
    let nRises = 0;
    for (let p = from + 1; p < n; p++) if (at[p] > at[p - 1]) nRises++;
    const half = Math.trunc(line.bytes / 2);
    return (
      2 * nRises > n - 1 - from &&
      at[n - 1] - at[from] >= half &&
      totals[ends[n - 1]] - totals[ends[from]] >= half
    );
  };
  return [...lines.values()].filter(grows).sort((a, b) => b.bytes - a.bytes || a.site - b.site);
}

/**
 * "by 6.00 MiB a step at append_loss (metrics.py:17), in 60 of 60 steps since step 0"; "": nothing grows, or it
 * is not known.
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
