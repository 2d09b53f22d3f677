/* index.js - the index that makes drawing a million blocks cheap: the total of every state, a pyramid that
 * finds the largest total in any range of states, and checkpoints of the blocks alive.
 */
import { NO_BLOCK } from './subjects.js';

const PYRAMID_BASE = 16;
export const CHECKPOINT_STATES = 2048;

/**
 * @typedef {object} Checkpoint blocks alive in one state, sorted by category, then birth
 * @property {Int32Array} block
 * @property {Int32Array} from per category, the position of its first block; one more at the end
 *
 * @typedef {object} MemoryIndex
 * @property {import('./blocks.js').Blocks} blocks
 * @property {number} nStates
 * @property {Float64Array} totals allocated bytes per state
 * @property {Int32Array[]} pyramid per level and group of 16: the first state with the largest total
 * @property {Checkpoint[]} checkpoints of state 0, 2048, 4096, ...
 * @property {number} peakState first state with most allocated bytes
 */

/**
 * @param {import('./blocks.js').Blocks} blocks
 * @returns {Float64Array}
 */
function buildTotals(blocks) {
  const { act, bytes } = blocks;
  const totals = new Float64Array(act.length + 1);
  const { diedState, replaced, nAtStart } = blocks;
  let total = 0;
  let next = 0;
  for (let b = 0; b < nAtStart; b++) if (diedState[b] > 0) total += bytes[b];
  totals[0] = total;
  for (let e = 0; e < act.length; e++) {
    const a = act[e];
    if (a > NO_BLOCK) total += a >= 0 ? bytes[a] : -bytes[~a];
    if (next < replaced.length && diedState[replaced[next]] === e + 1) total -= bytes[replaced[next++]];
    totals[e + 1] = total;
  }
  return totals;
}

/**
 * @param {Float64Array} totals
 * @returns {Int32Array[]}
 */
export function buildPyramid(totals) {
  /** @type {Int32Array[]} */
  const pyramid = [];
  for (let below = /** @type {Int32Array | null} */ (null), length = totals.length; length > 1;) {
    const level = new Int32Array(Math.ceil(length / PYRAMID_BASE));
    for (let group = 0; group < level.length; group++) {
      let best = -1;
      let bestTotal = -1;
      const end = Math.min(length, (group + 1) * PYRAMID_BASE);
      for (let i = group * PYRAMID_BASE; i < end; i++) {
        const state = below === null ? i : below[i];
        if (totals[state] > bestTotal) {
          best = state;
          bestTotal = totals[state];
        }
      }
      level[group] = best;
    }
    pyramid.push(level);
    below = level;
    length = level.length;
  }
  return pyramid;
}

/**
 * Removes the blocks that are dead in a state.
 * @param {number[]} list of blocks
 * @param {Int32Array} diedState
 * @param {number} state
 */
function dropDead(list, diedState, state) {
  let n = 0;
  for (let i = 0; i < list.length; i++) if (diedState[list[i]] > state) list[n++] = list[i];
  list.length = n;
}

/**
 * @param {import('./blocks.js').Blocks} blocks
 * @returns {Checkpoint[]}
 */
function buildCheckpoints(blocks) {
  const { act, category, nCategories, diedState, nAtStart } = blocks;
  const checkpoints = [];
  /** @type {number[][]} per category, in order of birth; dead ones are dropped at the next checkpoint */
  const alive = Array.from({ length: nCategories }, () => []);
  for (let b = 0; b < nAtStart; b++) alive[category[b]].push(b);
  for (let state = 0; state <= act.length; state++) {
    if (state > 0 && act[state - 1] >= 0) alive[category[act[state - 1]]].push(act[state - 1]);
    if (state % CHECKPOINT_STATES !== 0) continue;
    const from = new Int32Array(nCategories + 1);
    for (let c = 0; c < nCategories; c++) {
      dropDead(alive[c], diedState, state);
      from[c + 1] = from[c] + alive[c].length;
    }
    const block = new Int32Array(from[nCategories]);
    alive.forEach((list, c) => block.set(list, from[c]));
    checkpoints.push({ block, from });
  }
  return checkpoints;
}

/**
 * @param {import('./blocks.js').Blocks} blocks
 * @returns {MemoryIndex}
 */
export function buildIndex(blocks) {
  const totals = buildTotals(blocks);
  const index = {
    blocks,
    nStates: totals.length,
    totals,
    pyramid: buildPyramid(totals),
    checkpoints: buildCheckpoints(blocks),
    peakState: 0,
  };
  index.peakState = largestState(index, 0, totals.length);
  return index;
}

/**
 * The first state with the largest total among lo <= s < hi (not empty).
 * @param {{totals: Float64Array, pyramid: Int32Array[]}} index
 * @param {number} lo
 * @param {number} hi
 */
export function largestState(index, lo, hi) {
  const { totals, pyramid } = index;
  let best = lo;
  const visit = (/** @type {number} */ state) => {
    if (totals[state] > totals[best] || (totals[state] === totals[best] && state < best)) best = state;
  };
  let a = lo;
  let b = hi;
  let level = -1;
  while (b - a > 2 * PYRAMID_BASE && level + 1 < pyramid.length) {
    const at = (/** @type {number} */ i) => (level < 0 ? i : pyramid[level][i]);
    const aUp = Math.ceil(a / PYRAMID_BASE);
    const bUp = Math.floor(b / PYRAMID_BASE);
    for (let i = a; i < aUp * PYRAMID_BASE; i++) visit(at(i));
    for (let i = bUp * PYRAMID_BASE; i < b; i++) visit(at(i));
    a = aUp;
    b = bUp;
    level++;
  }
  for (let i = a; i < b; i++) visit(level < 0 ? i : pyramid[level][i]);
  return best;
}

/**
 * The blocks alive in a state, sorted by category, then birth: bottom first in the picture.
 * @param {MemoryIndex} index
 * @param {number} state
 * @returns {number[]}
 */
export function aliveAt(index, state) {
  const { act, category, nCategories, diedState } = index.blocks;
  const base = Math.floor(state / CHECKPOINT_STATES);
  const checkpoint = index.checkpoints[base];
  /** @type {number[][]} */
  const alive = Array.from({ length: nCategories }, (_, c) =>
    Array.from(checkpoint.block.subarray(checkpoint.from[c], checkpoint.from[c + 1])).filter(
      (b) => diedState[b] > state,
    ),
  );
  for (let e = base * CHECKPOINT_STATES; e < state; e++) {
    if (act[e] >= 0 && diedState[act[e]] > state) alive[category[act[e]]].push(act[e]);
  }
  return alive.flat();
}
