/* axis.js - the shared x axis: event order or time, and the states that a part of it shows.
 *
 * In event order, event e stands at x = e and the state after it spans [e, e + 1). In time, x is ns since the
 * recorder was created, and a state lasts until the next event.
 */

/**
 * @typedef {object} Axis
 * @property {'event' | 'time'} kind
 * @property {number} lo where the whole run begins
 * @property {number} hi where it ends
 * @property {number} minSpan the narrowest view
 * @property {(x0: number, x1: number) => [number, number]} states [first, one past last] shown by [x0, x1);
 *   empty outside the run
 * @property {(event: number) => number} ofEvent where an event stands; events.count gives the end
 */

/**
 * Number of values <= x in a sorted array.
 * @param {Float64Array} sorted
 * @param {number} x
 */
export function countUpTo(sorted, x) {
  let lo = 0;
  let hi = sorted.length;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (sorted[middle] <= x) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/**
 * Number of values < x in a sorted array.
 * @param {Float64Array} sorted
 * @param {number} x
 */
function countBelow(sorted, x) {
  let lo = 0;
  let hi = sorted.length;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (sorted[middle] < x) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/**
 * @param {number} nEvents
 * @returns {Axis}
 */
export function eventAxis(nEvents) {
  return {
    kind: 'event',
    lo: 0,
    hi: Math.max(nEvents, 1),
    minSpan: 8,
    states: (x0, x1) => {
      if (x1 <= 0 || x0 >= nEvents) return [0, 0];
      const first = Math.max(0, Math.floor(x0)) + 1;
      return [first, Math.max(first + 1, Math.min(nEvents, Math.ceil(x1)) + 1)];
    },
    ofEvent: (event) => event,
  };
}

/**
 * @param {Float64Array} timeNs never decreasing
 * @param {number} endNs where the run ends; not before the last event
 * @returns {Axis}
 */
export function timeAxis(timeNs, endNs) {
  const lo = timeNs.length > 0 ? timeNs[0] : 0;
  const hi = Math.max(endNs, lo + 1);
  return {
    kind: 'time',
    lo,
    hi,
    minSpan: Math.min(hi - lo, 200),
    states: (x0, x1) => {
      if (x1 <= lo || x0 >= hi) return [0, 0];
      const first = countUpTo(timeNs, Math.max(x0, lo));
      return [first, Math.max(first, countBelow(timeNs, x1)) + 1];
    },
    ofEvent: (event) => (event < timeNs.length ? timeNs[event] : hi),
  };
}
