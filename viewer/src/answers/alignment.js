/* alignment.js - maps a place on one run's axis to the same step, phase and layer on another run's axis.
 *
 * The begins and the ends of scopes that both runs have are the anchors. Between two anchors the map is
 * linear. Two runs of the same model in different precisions differ in events and times, but share steps,
 * phases and layers.
 */
import { SCOPE } from '../words/format_names.js';
import { enclosing, scopeSpan } from '../run/lanes.js';

/**
 * @typedef {{from: Float64Array, to: Float64Array}} Alignment at least two anchors; neither column decreases.
 *   Two anchors with the same `from` enclose something that this run lacks, such as one more warm-up step.
 */

const EDGE_SHARE = 0.1; // share of a view: a smaller part beyond such a gap counts as margin
// share of a view's usual width in the other run; below it the other run has no counterpart
const LEAST_SHARE = 0.01;

/**
 * Names each step, phase and layer in the same way in every run: "step 0/forward/layer 3". A name that
 * repeats gets a number.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @returns {Map<string, number>} from name to scope
 */
function namedScopes({ scopes, strings }) {
  const names = new Map();
  const ofScope = new Array(scopes.count).fill('');
  /** @type {Map<string, number>} */
  const seen = new Map();
  for (let s = 0; s < scopes.count; s++) {
    const parent = scopes.parent[s] < 0 ? '' : ofScope[scopes.parent[s]];
    if (scopes.kind[s] > SCOPE.LAYER) {
      ofScope[s] = parent;
      continue;
    }
    const own = `${parent}/${scopes.name[s] < 0 ? '' : strings[scopes.name[s]]} ${scopes.index[s]}`;
    const times = seen.get(own) ?? 0;
    seen.set(own, times + 1);
    ofScope[s] = times === 0 ? own : `${own} again ${times}`;
    names.set(ofScope[s], s);
  }
  return names;
}

/**
 * The scopes that enclose the out-of-memory event. Where they would have ended is unknown.
 * @param {import('../run/run.js').Run} run
 * @returns {Set<number>}
 */
function cutScopes({ snapshot: { oom, events, scopes } }) {
  const cut = new Set();
  const last = oom[oom.length - 1];
  if (last === undefined) return cut;
  for (const kind of [SCOPE.STEP, SCOPE.PHASE, SCOPE.LAYER])
    cut.add(enclosing(scopes, events.scope[last.event], kind));
  return cut;
}

/**
 * @param {import('../run/run.js').Run} a
 * @param {import('../run/run.js').Run} b
 * @param {'event' | 'time'} kind of the axes
 * @returns {Alignment} from a's axis to b's
 */
export function alignRuns(a, b, kind) {
  const axisA = a.axes[kind];
  const axisB = b.axes[kind];
  const namesB = namedScopes(b.snapshot);
  const cutA = cutScopes(a);
  const cutB = cutScopes(b);
  /** @type {[number, number][]} */
  const pairs = [];
  for (const [name, s] of namedScopes(a.snapshot)) {
    const t = namesB.get(name);
    if (t === undefined) continue;
    const [a0, a1] = scopeSpan(a.snapshot, a.extents, axisA, s);
    const [b0, b1] = scopeSpan(b.snapshot, b.extents, axisB, t);
    if (a1 <= a0 || b1 <= b0) continue;
    pairs.push([a0, b0]);
    if (!cutA.has(s) && !cutB.has(t)) pairs.push([a1, b1]);
  }
  pairs.sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  const kept = /** @type {[number, number][]} */ ([]);
  for (const pair of pairs) {
    const last = kept[kept.length - 1];
    if (
      last === undefined ||
      (pair[0] >= last[0] && pair[1] >= last[1] && pair[0] + pair[1] > last[0] + last[1])
    )
      kept.push(pair);
  }
  return withEnds(kept, axisA, axisB, cutA.size + cutB.size === 0);
}

/**
 * Adds the ends of both axes if they lie beyond the anchors.
 * @param {[number, number][]} kept
 * @param {import('../run/axis.js').Axis} a
 * @param {import('../run/axis.js').Axis} b
 * @param {boolean} isWhole both runs ended normally
 * @returns {Alignment}
 */
function withEnds(kept, a, b, isWhole) {
  const [first] = kept;
  const last = kept[kept.length - 1];
  if (first === undefined || (a.lo < first[0] && b.lo <= first[1])) kept.unshift([a.lo, b.lo]);
  if (last === undefined || (isWhole && a.hi > last[0] && b.hi >= last[1])) kept.push([a.hi, b.hi]);
  if (kept.length === 1) kept.push([kept[0][0] + 1, kept[0][1] + 1]);
  return { from: Float64Array.from(kept, (pair) => pair[0]), to: Float64Array.from(kept, (pair) => pair[1]) };
}

/**
 * The place in the other run. Beyond the anchors the map keeps their average slope.
 * @param {Alignment} alignment
 * @param {number} x
 */
export function alignedPlace({ from, to }, x) {
  const n = from.length;
  const pace = (to[n - 1] - to[0]) / (from[n - 1] - from[0]) || 1;
  if (x <= from[0]) return to[0] + (x - from[0]) * pace;
  if (x >= from[n - 1]) return to[n - 1] + (x - from[n - 1]) * pace;
  let lo = 0;
  let hi = n - 1;
  while (hi - lo > 1) {
    const middle = (lo + hi) >>> 1;
    if (from[middle] <= x) lo = middle;
    else hi = middle;
  }
  return to[lo] + ((x - from[lo]) / (from[hi] - from[lo])) * (to[hi] - to[lo]);
}

/**
 * The part of the other run's axis that corresponds to a view. If other steps of the other run follow where
 * this view has only a margin, it stays a margin.
 * @param {Alignment} alignment
 * @param {number} x0
 * @param {number} x1
 * @returns {[number, number] | null} null: the other run has no counterpart
 */
export function alignedView(alignment, x0, x1) {
  const { from, to } = alignment;
  const edge = (x1 - x0) * EDGE_SHARE;
  const n = from.length;
  let left = alignedPlace(alignment, x0);
  let right = alignedPlace(alignment, x1);
  let leftGap = x0;
  let rightGap = x1;
  for (let i = 1; i < n && from[i] <= x1; i++) {
    if (from[i] !== from[i - 1] || from[i] < x0) continue;
    if (from[i] <= x0 + edge) [left, leftGap] = [to[i], from[i]];
    else if (from[i] >= x1 - edge && rightGap === x1) [right, rightGap] = [to[i - 1], from[i]];
  }
  const pace = (right - left) / (rightGap - leftGap);
  const usual = (to[n - 1] - to[0]) / (from[n - 1] - from[0]);
  if (!(pace > usual * LEAST_SHARE)) return null;
  return [left - (leftGap - x0) * pace, right + (x1 - rightGap) * pace];
}

/**
 * The state of another run that corresponds to a state of this one.
 * @param {Alignment} alignment
 * @param {import('../run/axis.js').Axis} axis this run's
 * @param {import('../run/axis.js').Axis} other
 * @param {number} state
 * @param {number} nStates of the other run
 */
export function alignedState(alignment, axis, other, state, nStates) {
  const x = axis.ofEvent(Math.max(0, state - 1));
  const at = alignedPlace(alignment, x);
  const [lo] = other.states(Math.max(other.lo, Math.min(other.hi - other.minSpan / 1e3, at)), other.hi);
  return Math.max(0, Math.min(nStates - 1, lo));
}
