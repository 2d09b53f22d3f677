/* step_period.js - steps of a recording that names none, from the period of its allocations. The command line
 * has the same rule (docs/explain.md).
 */
import { ACTION } from './subjects.js';

const LEAST_PERIODS = 3; // fewer may repeat by chance
const LEAST_ALLOCS = 4; // of a period
const CANDIDATES = 16; // periods that are tried
const NO_STACK_SITE = -1; // the site of an allocation without a call stack, in a recording that has stacks

/**
 * @typedef {object} Sequence the allocations of a device
 * @property {Float64Array} sites call stack, or bytes where there are no stacks
 * @property {Int32Array} rows events
 * @property {number} count
 * @property {boolean} hasStacks most of them have one
 * @property {boolean} hasAny at least one has
 *
 * @typedef {{period: number, begin: number, end: number}} Run allocations that repeat: each from begin + period
 *   to end - 1 is as the one a period before
 *
 * @typedef {object} Inferred
 * @property {{first: number, last: number, isOpen: boolean}[]} steps events; open: the recording ends within it
 * @property {number} nAllocs of a step
 * @property {number} share of the allocations that repeat
 */

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} device
 * @returns {Sequence}
 */
function readSequence({ events, subjects }, device) {
  const { action, act, stack, count: nEvents } = events;
  const isOurs = (/** @type {number} */ e) => action[e] === ACTION.ALLOC && events.device[e] === device;
  let count = 0;
  let nStacks = 0;
  for (let e = 0; e < nEvents; e++) {
    if (!isOurs(e)) continue;
    count++;
    if (stack[e] >= 0) nStacks++;
  }
  const hasStacks = nStacks > Math.floor(count / 2);
  const sites = new Float64Array(count);
  const rows = new Int32Array(count);
  let n = 0;
  for (let e = 0; e < nEvents; e++) {
    if (!isOurs(e)) continue;
    rows[n] = e;
    sites[n++] = hasStacks ? (stack[e] >= 0 ? stack[e] : NO_STACK_SITE) : subjects.bytes[act[e]];
  }
  return { sites, rows, count, hasStacks, hasAny: nStacks > 0 };
}

/**
 * The distances between allocations of one site that span most of the sequence, the widest first.
 * @param {Sequence} sequence
 */
function candidatesOf({ sites, count }) {
  /** @type {Map<number, number>} */
  const lastOf = new Map();
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (let i = 0; i < count; i++) {
    const distance = i - (lastOf.get(sites[i]) ?? i);
    if (distance >= LEAST_ALLOCS && distance <= count / LEAST_PERIODS)
      counts.set(distance, (counts.get(distance) ?? 0) + 1);
    lastOf.set(sites[i], i);
  }
  return [...counts]
    .map(([period, n]) => ({ period, nAllocs: period * n }))
    .sort((a, b) => b.nAllocs - a.nAllocs || a.period - b.period)
    .slice(0, CANDIDATES)
    .map(({ period }) => period);
}

/**
 * @param {Sequence} sequence
 * @param {number} period
 * @returns {Run}
 */
function longestRun({ sites, count }, period) {
  const best = { period, begin: 0, end: 0 };
  let begin = 0;
  for (let i = period; i < count; i++) {
    if (sites[i] !== sites[i - period]) begin = i - period + 1;
    else if (i + 1 - begin > best.end - best.begin) Object.assign(best, { begin, end: i + 1 });
  }
  return best;
}

/**
 * Whether everything that a period's Python code allocates is called by the same line of a module's forward,
 * or of PyTorch's own code: then it is a layer. The frames of PyTorch's unwinder may be out of order, so that
 * stacks are sets here. The threads of autograd have no Python code and do not count; a period without any
 * Python code is a layer of a backward pass.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Sequence} sequence
 * @param {Run} run
 */
function isLayer({ frames, stacks, strings, events }, { rows }, run) {
  const isPython = (/** @type {number} */ f) =>
    frames.file[f] >= 0 && strings[frames.file[f]].endsWith('.py');
  const isInside = (/** @type {number} */ f) =>
    (frames.function[f] >= 0 && strings[frames.function[f]] === 'forward') ||
    strings[frames.file[f]].includes('/torch/');
  /** @type {Set<number> | null} such lines in all stacks */
  let common = null;
  for (let i = run.begin; i < run.begin + run.period; i++) {
    let hasPython = false;
    const found = new Set();
    for (let s = events.stack[rows[i]]; s >= 0; s = stacks.parent[s]) {
      const f = stacks.frame[s];
      if (!isPython(f)) continue;
      hasPython = true;
      if (isInside(f)) found.add(f);
    }
    if (!hasPython) continue;
    common = new Set([...found].filter((f) => common === null || common.has(f)));
    if (common.size === 0) return false;
  }
  return true;
}

/**
 * Whether most of the bytes that the run takes are still there behind it, or were there before.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Sequence} sequence
 * @param {Run} run
 * @param {Float64Array} totals allocated bytes per state
 */
function isOneWay({ events, subjects }, { rows }, run, totals) {
  let taken = 0;
  for (let i = run.begin; i < run.end; i++) taken += Math.floor(subjects.bytes[events.act[rows[i]]] / 2);
  const change = totals[rows[run.end - 1] + 1] - totals[rows[run.begin]];
  return change > taken || change < -taken;
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Sequence} sequence
 * @param {Float64Array} totals
 * @returns {Run | null} the longest run that is steps
 */
function bestRun(snapshot, sequence, totals) {
  const { sites, count } = sequence;
  /** @type {Run | null} */
  let best = null;
  for (const period of candidatesOf(sequence)) {
    const run = longestRun(sequence, period);
    const n = run.end - run.begin;
    const before = best === null ? 0 : best.end - best.begin;
    if (n < before || (n === before && best !== null && period >= best.period)) continue;
    if (n === 0 || n < LEAST_PERIODS * period || n < Math.floor(count / 2)) continue;
    if (sites.subarray(run.begin, run.begin + period).every((site) => site === sites[run.begin])) continue;
    const isOther =
      (sequence.hasAny && isLayer(snapshot, sequence, run)) ||
      (!sequence.hasStacks && isOneWay(snapshot, sequence, run, totals));
    if (!isOther) best = run;
  }
  return best;
}

/**
 * Where in a period the least is allocated, on average over the periods.
 * @param {Sequence} sequence
 * @param {Run} run
 * @param {Float64Array} totals
 */
function lowestPhase({ rows }, run, totals) {
  let lowest = 0;
  let least = Infinity;
  for (let phase = 0; phase < run.period; phase++) {
    let sum = 0;
    let n = 0;
    for (let i = run.begin + phase; i < run.end; i += run.period) {
      sum += totals[rows[i]];
      n++;
    }
    if (sum / n < least) {
      least = sum / n;
      lowest = phase;
    }
  }
  return lowest;
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} device
 * @param {Float64Array} totals allocated bytes of the device per state
 * @returns {Inferred | null} null: nothing repeats as steps do
 */
export function inferSteps(snapshot, device, totals) {
  const { events } = snapshot;
  const sequence = readSequence(snapshot, device);
  const { rows, count } = sequence;
  if (count < LEAST_PERIODS * LEAST_ALLOCS) return null;
  const run = bestRun(snapshot, sequence, totals);
  if (run === null) return null;
  const { period } = run;
  const endOf = (/** @type {number} */ i) => (i + period < count ? rows[i + period] : events.count);
  const nBehind = (/** @type {number} */ i) => {
    let n = 0;
    for (let e = rows[i + period - 1] + 1; e < endOf(i); e++) if (events.device[e] === device) n++;
    return n;
  };
  const steps = [];
  for (let i = run.begin + lowestPhase(sequence, run, totals); i + period <= run.end; i += period) {
    const isLast = i + period >= count && i >= run.begin + period;
    steps.push({ first: rows[i], last: endOf(i) - 1, isOpen: isLast && nBehind(i) < nBehind(i - period) });
  }
  return { steps, nAllocs: period, share: (run.end - run.begin) / count };
}
