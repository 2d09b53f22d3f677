/* lanes.js - steps, phases, layers and operators as rows below the timeline, on the same axis. */
import { countUpTo } from './axis.js';
import { NO_INTERVAL, SCOPE } from '../words/format_names.js';

const SCOPE_SEPARATOR = ' › ';

/**
 * @typedef {object} Extents of scopes in events
 * @property {Int32Array} first the first event inside, children included; -1: none
 * @property {Int32Array} last the last event inside; -1: none
 *
 * @typedef {object} Lane
 * @property {number} kind SCOPE
 * @property {string} title "": another row of the lane above
 * @property {boolean} isDevice its scopes are placed at the device's times
 * @property {boolean} isThin a low row without names, for little work within the lane above
 * @property {Int32Array} scopes in order of begin
 *
 * @typedef {{scope: number, x0: number, x1: number}} LaneItem on the axis
 */

/**
 * The events that each scope spans. They come from the events themselves, so no clock is needed.
 * @param {import('./format.js').Snapshot} snapshot
 * @returns {Extents}
 */
export function scopeExtents(snapshot) {
  const { scopes, events } = snapshot;
  const first = new Int32Array(scopes.count).fill(-1);
  const last = new Int32Array(scopes.count).fill(-1);
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

const THIN_SHARE = 0.2; // share of the time of the lane above
const MOST_THREADS = 8; // with lanes of their own, besides the first
const THREAD_ROWS = 3;
const LANES = Object.freeze([
  { kind: SCOPE.STEP, title: 'step', rows: 1 },
  { kind: SCOPE.PHASE, title: 'phase', rows: 2 },
  { kind: SCOPE.LAYER, title: 'layer', rows: 2 },
  { kind: SCOPE.OPERATOR, title: 'operator', rows: 3 },
  { kind: SCOPE.USER, title: 'user', rows: 3 },
]);

/**
 * Per scope the number of enclosing scopes of the same kind.
 * @param {import('./format.js').Scopes} scopes
 */
function nestingDepths({ count, parent, kind }) {
  const depth = new Uint8Array(count);
  for (let s = 0; s < count; s++) {
    let around = parent[s];
    while (around >= 0 && kind[around] !== kind[s]) around = parent[around];
    if (around >= 0) depth[s] = Math.min(255, depth[around] + 1);
  }
  return depth;
}

/**
 * The name of a thread. A PyTorch snapshot has only the device that was current there.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} thread
 */
export function threadName({ origin }, thread) {
  return origin?.format === 'pytorch' ? `cuda:${thread}` : `thread ${thread}`;
}

/**
 * The lanes of threads besides the first one that has scopes: rows by nesting, the first of each named.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number[]} threads
 * @returns {(Omit<Lane, 'scopes'> & {scopes: number[]})[]}
 */
function otherThreads(snapshot, threads) {
  const { count, parent, thread } = snapshot.scopes;
  const lanes = threads.slice(0, MOST_THREADS).map((each) =>
    Array.from({ length: THREAD_ROWS }, (_, row) => ({
      kind: SCOPE.USER,
      title: row === 0 ? threadName(snapshot, each) : '',
      isDevice: false,
      isThin: row > 0,
      scopes: /** @type {number[]} */ ([]),
    })),
  );
  const rest = threads.length - lanes.length;
  if (rest > 0) {
    const [row] = lanes[0];
    lanes.push([{ ...row, title: `${rest} more`, scopes: [] }]);
  }
  const laneOf = new Map(threads.map((each, i) => [each, lanes[Math.min(i, MOST_THREADS)]]));
  const depth = new Uint8Array(count);
  for (let s = 0; s < count; s++) {
    if (parent[s] >= 0) depth[s] = Math.min(255, depth[parent[s]] + 1);
    laneOf.get(thread[s])?.[depth[s]]?.scopes.push(s);
  }
  return lanes.flat();
}

/**
 * A lane per kind of scope of the first thread, with further rows for scopes nested in one of their kind,
 * then lanes of the other threads. Deeper scopes than these rows appear in the list of events only. The
 * device's lanes come last.
 * @param {import('./format.js').Snapshot} snapshot
 * @returns {Lane[]} only lanes that hold anything
 */
export function buildLanes(snapshot) {
  const { scopes } = snapshot;
  const depth = nestingDepths(scopes);
  const threads = [...new Set(scopes.thread)];
  const lanes = /** @type {(Omit<Lane, 'scopes'> & {scopes: number[]})[]} */ ([]);
  const device = /** @type {typeof lanes} */ ([]);
  for (const { kind, title: kindTitle, rows } of LANES) {
    const title = kind === SCOPE.USER && threads.length > 1 ? threadName(snapshot, threads[0]) : kindTitle;
    const own = Array.from({ length: rows }, (_, row) => ({
      kind,
      title: row === 0 ? title : '',
      isDevice: false,
      isThin: false,
      scopes: /** @type {number[]} */ ([]),
    }));
    const onDevice = {
      kind,
      title: device.length === 0 ? 'device' : '',
      isDevice: true,
      isThin: false,
      scopes: /** @type {number[]} */ ([]),
    };
    for (let s = 0; s < scopes.count; s++) {
      if (scopes.kind[s] !== kind) continue;
      if (depth[s] < rows && scopes.thread[s] === threads[0]) own[depth[s]].scopes.push(s);
      if (depth[s] === 0 && kind !== SCOPE.STEP && scopes.deviceBeginNs[s] >= 0) onDevice.scopes.push(s);
    }
    const filled = own.map((lane) =>
      lane.scopes.reduce((sum, s) => sum + Math.max(0, scopes.durationNs[s]), 0),
    );
    own.forEach((lane, row) => (lane.isThin = row > 0 && filled[row] < filled[0] * THIN_SHARE));
    lanes.push(...own);
    if (onDevice.scopes.length > 0)
      device.push({
        ...onDevice,
        scopes: onDevice.scopes.sort((a, b) => scopes.deviceBeginNs[a] - scopes.deviceBeginNs[b]),
      });
  }
  return [...lanes, ...otherThreads(snapshot, threads.slice(1)), ...device]
    .filter((lane) => lane.scopes.length > 0)
    .map((lane) => ({ ...lane, scopes: Int32Array.from(lane.scopes) }));
}

/**
 * Where a scope ends in time. One that is known only at its allocations has no length there; in event order
 * it reaches from the first of them to the last.
 * @param {import('./format.js').Scopes} scopes
 * @param {number} scope
 * @param {import('./axis.js').Axis} axis of time
 */
function endNs({ beginNs, durationNs }, scope, axis) {
  const duration = durationNs[scope];
  if (duration === NO_INTERVAL) return beginNs[scope];
  return duration < 0 ? axis.hi : beginNs[scope] + duration;
}

/**
 * The extent of a scope on an axis.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Extents} extents
 * @param {import('./axis.js').Axis} axis
 * @param {number} scope
 * @returns {[number, number]} empty if it holds no event, in event order, or has no interval, in time
 */
export function scopeSpan(snapshot, extents, axis, scope) {
  if (axis.kind === 'event') {
    return extents.first[scope] < 0 ? [0, 0] : [extents.first[scope], extents.last[scope] + 1];
  }
  return [snapshot.scopes.beginNs[scope], endNs(snapshot.scopes, scope, axis)];
}

/**
 * The extent of the device's work for a scope; in event order, next to the events of that time.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {import('./axis.js').Axis} axis
 * @param {number} scope
 * @returns {[number, number]}
 */
function deviceSpan({ scopes, events }, axis, scope) {
  const begin = scopes.deviceBeginNs[scope];
  const end = begin + Math.max(0, scopes.deviceDurationNs[scope]);
  return axis.kind === 'event'
    ? [countUpTo(events.timeNs, begin), countUpTo(events.timeNs, end)]
    : [begin, end];
}

/**
 * @typedef {{x0: (i: number) => number, x1: (i: number) => number, reach: Float64Array}} LaneSpans per scope
 *   of a lane; reach: the farthest end so far
 */

/** @type {WeakMap<Lane, Map<string, LaneSpans>>} */
const laneSpansKept = new WeakMap();

/**
 * The extents of a lane's scopes. They come from columns, except those of the device, which are selection up.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Extents} extents
 * @param {import('./axis.js').Axis} axis
 * @param {Lane} lane
 * @returns {Omit<LaneSpans, 'reach'>}
 */
function laneEdges(snapshot, { first, last }, axis, { scopes, isDevice }) {
  const { beginNs } = snapshot.scopes;
  if (isDevice) {
    const spans = Array.from(scopes, (scope) => deviceSpan(snapshot, axis, scope));
    return { x0: (i) => spans[i][0], x1: (i) => spans[i][1] };
  }
  if (axis.kind === 'event')
    return { x0: (i) => Math.max(0, first[scopes[i]]), x1: (i) => last[scopes[i]] + 1 };
  return {
    x0: (i) => beginNs[scopes[i]],
    x1: (i) => endNs(snapshot.scopes, scopes[i], axis),
  };
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Extents} extents
 * @param {import('./axis.js').Axis} axis
 * @param {Lane} lane
 * @returns {LaneSpans}
 */
function laneSpans(snapshot, extents, axis, lane) {
  let kept = laneSpansKept.get(lane);
  if (kept === undefined) laneSpansKept.set(lane, (kept = new Map()));
  let spans = kept.get(axis.kind);
  if (spans === undefined) {
    spans = { ...laneEdges(snapshot, extents, axis, lane), reach: new Float64Array(lane.scopes.length) };
    const { x1, reach } = spans;
    for (let i = 0, end = -Infinity; i < reach.length; i++) reach[i] = end = Math.max(end, x1(i));
    kept.set(axis.kind, spans);
  }
  return spans;
}

/**
 * The scopes of a lane in a view; if several share a pixel, the first.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Extents} extents
 * @param {import('./axis.js').Axis} axis
 * @param {Lane} lane
 * @param {number} x0
 * @param {number} x1
 * @param {number} perPixel axis units
 * @returns {LaneItem[]}
 */
export function laneItems(snapshot, extents, axis, lane, x0, x1, perPixel) {
  const spans = laneSpans(snapshot, extents, axis, lane);
  const items = [];
  let drawnTo = -Infinity;
  for (let i = countUpTo(spans.reach, x0); i < lane.scopes.length; i++) {
    const from = spans.x0(i);
    const to = spans.x1(i);
    if (to <= x0 || to <= from) continue;
    if (from >= x1) break;
    if (to - from < perPixel && to < drawnTo + perPixel) continue;
    items.push({ scope: lane.scopes[i], x0: from, x1: to });
    drawnTo = to;
  }
  return items;
}

/**
 * "step 1", "warm-up 0", "layer 5", "attention".
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} scope
 */
export function scopeText(snapshot, scope) {
  const { scopes, strings } = snapshot;
  const name = scopes.name[scope] < 0 ? '?' : strings[scopes.name[scope]];
  const text = scopes.kind[scope] === SCOPE.STEP && name === 'warmup' ? 'warm-up' : name;
  return scopes.index[scope] < 0 ? text : `${text} ${scopes.index[scope]}`;
}

/**
 * "step 1 › forward › layer 5 › attention"; "" outside.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} scope
 */
export function scopePath(snapshot, scope) {
  const parts = [];
  for (let s = scope; s >= 0; s = snapshot.scopes.parent[s]) parts.push(scopeText(snapshot, s));
  return parts.reverse().join(SCOPE_SEPARATOR);
}

/**
 * The scope of a kind that encloses `scope` (or is it), or -1.
 * @param {import('./format.js').Scopes} scopes
 * @param {number} scope
 * @param {number} kind
 */
export function enclosing(scopes, scope, kind) {
  let s = scope;
  while (s >= 0 && scopes.kind[s] !== kind) s = scopes.parent[s];
  return s;
}

/**
 * The path that groups blocks: without steps, and with `#` for layers unless layers are separate.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} scope
 * @param {boolean} [singleLayers]
 * @returns {{path: string, layer: number}} layer -1: none
 */
export function scopeGroup(snapshot, scope, singleLayers = false) {
  const { scopes } = snapshot;
  const parts = [];
  let layer = -1;
  for (let s = scope; s >= 0; s = scopes.parent[s]) {
    if (scopes.kind[s] === SCOPE.STEP) continue;
    if (scopes.kind[s] === SCOPE.LAYER && scopes.index[s] >= 0) {
      layer = scopes.index[s];
      parts.push(singleLayers ? scopeText(snapshot, s) : 'layer *');
    } else {
      parts.push(scopeText(snapshot, s));
    }
  }
  return { path: parts.reverse().join(SCOPE_SEPARATOR) || 'outside every scope', layer };
}

/**
 * The paths of `scopeGroup` for all scopes at once; most scopes repeat those of the previous step.
 * @param {import('./format.js').Snapshot} snapshot
 * @returns {{paths: string[], pathOf: Int32Array}} pathOf: per scope
 */
export function scopeGroups(snapshot) {
  const { scopes } = snapshot;
  const paths = ['outside every scope'];
  const pathOf = new Int32Array(scopes.count);
  /**
   * @type {Map<string | number, number>[]} the continuations of each path: by name, "#" for layers, or by
   *   text for other numbers
   */
  const longer = [new Map()];
  for (let s = 0; s < scopes.count; s++) {
    const from = scopes.parent[s] < 0 ? 0 : pathOf[scopes.parent[s]];
    const hasNumber = scopes.index[s] >= 0;
    if (scopes.kind[s] === SCOPE.STEP) {
      pathOf[s] = from;
      continue;
    }
    const part = !hasNumber ? scopes.name[s] : scopes.kind[s] === SCOPE.LAYER ? '#' : scopeText(snapshot, s);
    let path = longer[from].get(part);
    if (path === undefined) {
      longer[from].set(part, (path = paths.length));
      const text = part === '#' ? 'layer *' : scopeText(snapshot, s);
      paths.push(from === 0 ? text : `${paths[from]}${SCOPE_SEPARATOR}${text}`);
      longer.push(new Map());
    }
    pathOf[s] = path;
  }
  return { paths, pathOf };
}
