/* lanes.js - steps, phases, layers and operators as rows under the timeline, on the same axis.
 */
import { SCOPE } from './format.js';

const SCOPE_SEPARATOR = ' › ';

/**
 * @typedef {object} Extents of scopes in events
 * @property {Int32Array} first first event inside, children included; -1: none
 * @property {Int32Array} last last event inside; -1: none
 *
 * @typedef {object} Lane
 * @property {number} kind SCOPE
 * @property {string} title
 * @property {number[]} scopes in order of their begin
 *
 * @typedef {{scope: number, x0: number, x1: number}} LaneItem on the axis
 */

/**
 * Which events each scope spans. Taken from the events, so that it needs no clock.
 * @param {import('./format.js').Snapshot} snapshot @returns {Extents}
 */
export function scopeExtents(snapshot) {
  const { scopes, events } = snapshot;
  const first = new Int32Array(scopes.count).fill(-1), last = new Int32Array(scopes.count).fill(-1);
  for (let e = 0; e < events.count; e++) {
    const scope = events.scope[e];
    if (scope < 0) continue;
    if (first[scope] < 0) first[scope] = e;
    last[scope] = e;
  }
  for (let s = scopes.count - 1; s >= 0; s--) {
    const parent = scopes.parent[s];
    if (parent < 0 || first[s] < 0) continue;
    if (first[parent] < 0 || first[s] < first[parent]) first[parent] = first[s];
    if (last[s] > last[parent]) last[parent] = last[s];
  }
  return { first, last };
}

/** @param {import('./format.js').Snapshot} snapshot @returns {Lane[]} only those that hold anything */
export function buildLanes(snapshot) {
  const { scopes } = snapshot;
  const lanes = [[SCOPE.STEP, 'step'], [SCOPE.PHASE, 'phase'], [SCOPE.LAYER, 'layer'], [SCOPE.OPERATOR, 'operator']]
    .map(([kind, title]) => ({ kind: Number(kind), title: String(title), scopes: /** @type {number[]} */ ([]) }));
  for (let s = 0; s < scopes.count; s++) lanes[Math.min(scopes.kind[s], SCOPE.OPERATOR)].scopes.push(s);
  return lanes.filter((lane) => lane.scopes.length > 0);
}

/**
 * Where a scope stands on an axis.
 * @param {import('./format.js').Snapshot} snapshot @param {Extents} extents
 * @param {import('./axis.js').Axis} axis @param {number} scope
 * @returns {[number, number]} empty where it holds no event, in event order
 */
export function scopeSpan(snapshot, extents, axis, scope) {
  if (axis.kind === 'event') {
    return extents.first[scope] < 0 ? [0, 0] : [extents.first[scope], extents.last[scope] + 1];
  }
  const begin = snapshot.scopes.beginNs[scope], duration = snapshot.scopes.durationNs[scope];
  return [begin, duration < 0 ? axis.hi : begin + duration];
}

/**
 * The scopes of a lane that a view shows; of several on one pixel the first.
 * @param {import('./format.js').Snapshot} snapshot @param {Extents} extents @param {import('./axis.js').Axis} axis
 * @param {Lane} lane @param {number} x0 @param {number} x1 @param {number} perPixel axis units
 * @returns {LaneItem[]}
 */
export function laneItems(snapshot, extents, axis, lane, x0, x1, perPixel) {
  const items = [];
  let drawnTo = -Infinity;
  for (const scope of lane.scopes) {
    const [from, to] = scopeSpan(snapshot, extents, axis, scope);
    if (to <= x0 || to <= from) continue;
    if (from >= x1) break;
    if (to - from < perPixel && to < drawnTo + perPixel) continue;
    items.push({ scope, x0: from, x1: to });
    drawnTo = to;
  }
  return items;
}

/** "step 1", "warm-up 0", "layer 5", "attention". @param {import('./format.js').Snapshot} snapshot @param {number} scope */
export function scopeText(snapshot, scope) {
  const { scopes, strings } = snapshot;
  const name = scopes.name[scope] < 0 ? '?' : strings[scopes.name[scope]];
  const text = scopes.kind[scope] === SCOPE.STEP && name === 'warmup' ? 'warm-up' : name;
  return scopes.index[scope] < 0 ? text : `${text} ${scopes.index[scope]}`;
}

/** "step 1 › forward › layer 5 › attention"; "" outside. @param {import('./format.js').Snapshot} snapshot @param {number} scope */
export function scopePath(snapshot, scope) {
  const parts = [];
  for (let s = scope; s >= 0; s = snapshot.scopes.parent[s]) parts.push(scopeText(snapshot, s));
  return parts.reverse().join(SCOPE_SEPARATOR);
}

/** The scope of a kind that encloses `scope` (or is it), or -1.
 * @param {import('./format.js').Scopes} scopes @param {number} scope @param {number} kind */
export function enclosing(scopes, scope, kind) {
  let s = scope;
  while (s >= 0 && scopes.kind[s] !== kind) s = scopes.parent[s];
  return s;
}

/**
 * The path by which blocks are summed up: without steps, and with layers as `#`, unless each counts for itself.
 * @param {import('./format.js').Snapshot} snapshot @param {number} scope @param {boolean} [singleLayers]
 * @returns {{path: string, layer: number}} layer -1: in none
 */
export function scopeGroup(snapshot, scope, singleLayers = false) {
  const { scopes } = snapshot, parts = [];
  let layer = -1;
  for (let s = scope; s >= 0; s = scopes.parent[s]) {
    if (scopes.kind[s] === SCOPE.STEP) continue;
    if (scopes.kind[s] === SCOPE.LAYER && scopes.index[s] >= 0) {
      layer = scopes.index[s];
      parts.push(singleLayers ? scopeText(snapshot, s) : 'layer #');
    } else {
      parts.push(scopeText(snapshot, s));
    }
  }
  return { path: parts.reverse().join(SCOPE_SEPARATOR) || 'outside every scope', layer };
}
