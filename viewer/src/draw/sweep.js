/* sweep.js - follows the live blocks from state to state: bytes per group, or the blocks that are tall enough
 * to be seen and the sums between them.
 *
 * A picture asks for its columns from left to right. Between columns a sweep follows the events, or starts
 * again if that is cheaper. So the cost of a column depends neither on the events of the run nor on the
 * blocks alive.
 */
import { replacedAt } from '../run/blocks.js';
import { bornUpTo } from './order.js';
import { NO_BLOCK } from '../run/subjects.js';

const SCAN_PER_EVENT = 4; // births examined in the time of following one event

/**
 * @typedef {object} BandSweep
 * @property {Float64Array} sums bytes per group, hidden ones included
 * @property {Float64Array} picked picked bytes of these; without a picking the same array
 * @property {(state: number) => void} moveTo
 */

/**
 * @param {import('./stacking.js').Grouping} grouping
 * @param {import('./stacking.js').Picking | null} picking
 * @returns {BandSweep}
 */
export function makeBandSweep(grouping, picking) {
  const {
    groupOf,
    sumStates,
    run: {
      index: { nStates, blocks },
    },
  } = grouping;
  const { act, bytes } = blocks;
  const replaced = replacedAt(blocks);
  const nRows = Math.ceil(nStates / sumStates);
  const nGroups = grouping.sums.length / nRows;
  const isPicked = picking?.isPicked ?? null;
  const sums = new Float64Array(nGroups);
  const picked = picking === null ? sums : new Float64Array(nGroups);
  let now = -1;
  const add = (/** @type {number} */ b, /** @type {number} */ sign) => {
    sums[groupOf[b]] += sign * bytes[b];
    if (isPicked !== null && isPicked[b]) picked[groupOf[b]] += sign * bytes[b];
  };
  const change = (/** @type {number} */ event, /** @type {number} */ sign) => {
    const a = act[event];
    const replacedBlock = replaced?.get(event);
    if (replacedBlock !== undefined) add(replacedBlock, -sign);
    if (a >= 0) add(a, sign);
    else if (a > NO_BLOCK) add(~a, -sign);
  };
  const moveTo = (/** @type {number} */ state) => {
    const row = Math.min(nRows - 1, Math.round(state / sumStates));
    const from = row * sumStates;
    if (now < 0 || Math.abs(state - now) > Math.abs(state - from) + nGroups / 4) {
      sums.set(grouping.sums.subarray(row * nGroups, (row + 1) * nGroups));
      if (picking !== null) picked.set(picking.sums.subarray(row * nGroups, (row + 1) * nGroups));
      now = from;
    }
    for (; now < state; now++) change(now, 1);
    for (; now > state; now--) change(now - 1, -1);
  };
  return { sums, picked, moveTo };
}

/**
 * @typedef {object} BlockSweep the stack as a list of nodes per group: one per tall block, and one per run of
 *   other blocks between two
 * @property {Int32Array} first per group: its lowest node, or -1
 * @property {number[]} next per node: the one above it, or -1
 * @property {number[]} block per node: a tall block, or -1
 * @property {number[]} bytes per node
 * @property {number[]} picked per node: picked bytes of these
 * @property {(state: number) => void} moveTo
 */

/**
 * A doubly linked list of nodes per group, bottom first. Removed nodes are reused.
 * @param {number} nGroups
 */
function makeNodeLists(nGroups) {
  const first = new Int32Array(nGroups);
  const last = new Int32Array(nGroups);
  const [next, before, tall, spare] = Array.from({ length: 4 }, () => /** @type {number[]} */ ([]));
  const append = (/** @type {number} */ group, /** @type {number} */ block) => {
    const node = spare.pop() ?? next.length;
    next[node] = -1;
    before[node] = last[group];
    tall[node] = block;
    if (last[group] >= 0) next[last[group]] = node;
    else first[group] = node;
    last[group] = node;
    return node;
  };
  const remove = (/** @type {number} */ group, /** @type {number} */ node) => {
    if (before[node] >= 0) next[before[node]] = next[node];
    else first[group] = next[node];
    if (next[node] >= 0) before[next[node]] = before[node];
    else last[group] = before[node];
    spare.push(node);
  };
  const clear = () => {
    first.fill(-1);
    last.fill(-1);
    next.length = before.length = tall.length = spare.length = 0;
  };
  return { first, last, next, tall, append, remove, clear };
}

/**
 * @param {import('./stacking.js').Stacking} stacking
 * @param {import('./stacking.js').Picking | null} picking
 * @param {number} tallBytes blocks of at least this size get a node of their own
 * @param {Int32Array} nodeOf scratch, per block
 * @returns {BlockSweep}
 */
export function makeBlockSweep(
  { blocks, isShown, nStates, grouping: { groupOf } },
  picking,
  tallBytes,
  nodeOf,
) {
  const { act, bytes, diedState } = blocks;
  const nGroups = isShown.length;
  const replaced = replacedAt(blocks);
  const lists = makeNodeLists(nGroups);
  const { first, last, next, tall } = lists;
  const isPicked = picking?.isPicked ?? null;
  const [sum, picked, alive] = Array.from({ length: 3 }, () => /** @type {number[]} */ ([]));
  let now = -1;
  const addBlock = (/** @type {number} */ b) => {
    const group = groupOf[b];
    if (!isShown[group]) return;
    const isTall = bytes[b] >= tallBytes;
    let node = last[group];
    if (isTall || node < 0 || tall[node] >= 0) {
      node = lists.append(group, isTall ? b : -1);
      sum[node] = picked[node] = alive[node] = 0;
    }
    nodeOf[b] = node;
    alive[node]++;
    sum[node] += bytes[b];
    if (isPicked === null || isPicked[b]) picked[node] += bytes[b];
  };
  const removeBlock = (/** @type {number} */ b) => {
    const group = groupOf[b];
    const node = nodeOf[b];
    if (!isShown[group]) return;
    sum[node] -= bytes[b];
    if (isPicked === null || isPicked[b]) picked[node] -= bytes[b];
    if (--alive[node] === 0) lists.remove(group, node);
  };
  const restart = (/** @type {number} */ state) => {
    lists.clear();
    sum.length = picked.length = alive.length = 0;
    for (let b = 0, n = bornUpTo(blocks, state); b < n; b++) if (diedState[b] > state) addBlock(b);
    now = state;
  };
  const moveTo = (/** @type {number} */ state) => {
    if (now < 0 || state < now || (state - now) * SCAN_PER_EVENT > (blocks.count * state) / nStates + 256)
      restart(state);
    for (; now < state; now++) {
      const a = act[now];
      const replacedBlock = replaced?.get(now);
      if (replacedBlock !== undefined) removeBlock(replacedBlock);
      if (a >= 0) addBlock(a);
      else if (a > NO_BLOCK) removeBlock(~a);
    }
  };
  return { first, next, block: tall, bytes: sum, picked, moveTo };
}
