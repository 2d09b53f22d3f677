/* order.js - the order of blocks in the stack, by group and then by birth; it finds the block at a height,
 * and the height of a block.
 */
import { replacedAt } from '../run/blocks.js';
import { NO_BLOCK } from '../run/subjects.js';

/**
 * Number of blocks born in states <= state.
 * @param {import('../run/blocks.js').Blocks} blocks
 * @param {number} state
 */
export function bornUpTo({ bornState, count }, state) {
  let lo = 0;
  let hi = count;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (bornState[middle] <= state) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/**
 * The blocks shown in a state, bottom first. When bands are drawn, picked blocks are at the bottom of their
 * group.
 * @param {import('./stacking.js').Stacking} stacking
 * @param {number} state
 * @param {Uint8Array | null} [isPicked] per block
 * @returns {Int32Array}
 */
export function stackAt({ blocks, isShown, grouping: { groupOf } }, state, isPicked = null) {
  const { diedState } = blocks;
  const nBorn = bornUpTo(blocks, state);
  const ends = new Int32Array(2 * isShown.length + 1);
  const layer = (/** @type {number} */ b) => 2 * groupOf[b] + (isPicked === null || isPicked[b] ? 0 : 1);
  for (let b = 0; b < nBorn; b++) if (diedState[b] > state && isShown[groupOf[b]]) ends[layer(b) + 1]++;
  for (let k = 1; k < ends.length; k++) ends[k] += ends[k - 1];
  const stack = new Int32Array(ends[ends.length - 1]);
  for (let b = 0; b < nBorn; b++)
    if (diedState[b] > state && isShown[groupOf[b]]) stack[ends[layer(b)]++] = b;
  return stack;
}

/**
 * The block that holds the byte at a height from the bottom in a state; -1: above all blocks.
 * @param {import('./stacking.js').Stacking} stacking
 * @param {number} state
 * @param {number} nBytes
 * @param {Uint8Array | null} [isPicked] as in `stackAt`
 */
export function blockAtBytes(stacking, state, nBytes, isPicked = null) {
  const { bytes } = stacking.blocks;
  let sum = 0;
  if (nBytes >= stacking.totals[state]) return -1;
  for (const b of stackAt(stacking, state, isPicked)) {
    sum += bytes[b];
    if (nBytes < sum) return b;
  }
  return -1;
}

/**
 * Bytes below a block in each of several states, given in rising order.
 * @param {import('./stacking.js').Stacking} stacking
 * @param {number} block
 * @param {Int32Array} states
 * @param {Uint8Array | null} [isPicked] as in `stackAt`
 * @returns {Float64Array} per state; NaN: the block is not shown there
 */
export function bytesBelow({ blocks, isShown, grouping: { groupOf } }, block, states, isPicked = null) {
  const { act, bytes, bornState, diedState } = blocks;
  const replaced = replacedAt(blocks);
  const below = new Float64Array(states.length).fill(NaN);
  const layer = (/** @type {number} */ b) => 2 * groupOf[b] + (isPicked === null || isPicked[b] ? 0 : 1);
  const own = layer(block);
  const isBelow = (/** @type {number} */ b) =>
    isShown[groupOf[b]] && (layer(b) < own || (layer(b) === own && b < block));
  let now = -1;
  let sum = 0;
  for (let i = 0; i < states.length; i++) {
    const state = states[i];
    if (state < bornState[block] || state >= diedState[block] || !isShown[groupOf[block]]) continue;
    if (now < 0) {
      for (let b = 0, n = bornUpTo(blocks, state); b < n; b++)
        if (diedState[b] > state && isBelow(b)) sum += bytes[b];
      now = state;
    }
    for (; now < state; now++) {
      const a = act[now];
      if (a >= 0) sum += isBelow(a) ? bytes[a] : 0;
      else if (a > NO_BLOCK) sum -= isBelow(~a) ? bytes[~a] : 0;
      const replacedBlock = replaced?.get(now);
      if (replacedBlock !== undefined && isBelow(replacedBlock)) sum -= bytes[replacedBlock];
    }
    below[i] = sum;
  }
  return below;
}
