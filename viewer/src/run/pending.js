/* pending.js - bytes whose free was requested while another stream still uses them; they are neither
 * allocated nor free.
 */
import { oncePer } from './once.js';

/**
 * @typedef {{state: Int32Array, bytes: Float64Array, maxBytes: number}} Steps the states at which an amount
 *   changes, and the new amounts; state[0] is 0
 */

/** The pending bytes of each state. */
export const pendingOf = oncePer(
  (/** @type {import('./blocks.js').Blocks} */ { count, bytes, diedState, pendingState }) => {
    /** @type {Map<number, number>} */
    const changes = new Map([[0, 0]]);
    for (let b = 0; b < count; b++) {
      if (pendingState[b] <= diedState[b]) continue;
      changes.set(diedState[b], (changes.get(diedState[b]) ?? 0) + bytes[b]);
      changes.set(pendingState[b], (changes.get(pendingState[b]) ?? 0) - bytes[b]);
    }
    const state = Int32Array.from(changes.keys()).sort();
    const sums = new Float64Array(state.length);
    let now = 0;
    let maxBytes = 0;
    state.forEach((s, i) => {
      sums[i] = now += changes.get(s) ?? 0;
      maxBytes = Math.max(maxBytes, now);
    });
    return /** @type {Steps} */ ({ state, bytes: sums, maxBytes });
  },
);

/**
 * @param {Steps} steps
 * @param {number} state
 */
export function amountAt({ state: states, bytes }, state) {
  let lo = 0;
  let hi = states.length;
  while (hi - lo > 1) {
    const middle = (lo + hi) >>> 1;
    if (states[middle] <= state) lo = middle;
    else hi = middle;
  }
  return bytes[lo];
}
