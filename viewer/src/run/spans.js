/* spans.js - converts between states and places on an axis: the states in a part of the axis, and the extent
 * of a range of states.
 */

/**
 * The states that a part of an axis shows.
 * @param {import('./axis.js').Axis} axis
 * @param {number} x0
 * @param {number} x1
 * @param {number} nStates
 * @returns {{first: number, last: number} | null} first <= s < last; null: none
 */
export function statesOfSpan(axis, x0, x1, nStates) {
  const lo = Math.max(axis.lo, Math.min(x0, x1));
  const hi = Math.min(axis.hi, Math.max(x0, x1));
  if (!(hi > lo)) return null;
  const [first, last] = axis.states(lo, hi);
  const end = Math.min(nStates, last);
  return end > first ? { first, last: end } : null;
}

/**
 * The extent of a range of states.
 * @param {import('./axis.js').Axis} axis
 * @param {{first: number, last: number}} range
 * @returns {[number, number]}
 */
export function spanOfStates(axis, { first, last }) {
  return [axis.ofEvent(Math.max(0, first - 1)), axis.ofEvent(Math.max(0, last - 1))];
}

/**
 * The place of a state: in the middle of its event, or at its time.
 * @param {import('./axis.js').Axis} axis
 * @param {number} state
 */
export function placeOfStateOn(axis, state) {
  return axis.ofEvent(Math.max(0, state - 1)) + (axis.kind === 'event' && state > 0 ? 0.5 : 0);
}

/**
 * A view moved and, if necessary, narrowed to fit an axis.
 * @param {import('./axis.js').Axis} axis
 * @param {number} x0
 * @param {number} x1
 * @returns {[number, number]}
 */
export function withinAxis(axis, x0, x1) {
  const span = Math.max(axis.minSpan, Math.min(x1 - x0, axis.hi - axis.lo));
  const left = Math.max(axis.lo, Math.min(axis.hi - span, x0));
  return [left, left + span];
}
