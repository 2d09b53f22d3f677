/* format.js - from a snapshot's JSON document to typed columns, refusing what cannot be right.
 *
 * Files are untrusted: every index is checked against its table, parents stand before children, so
 * that no later module meets a number that leads nowhere. Unknown keys are ignored.
 */
import { CATEGORIES } from './colours.js';

/** A document that is not what it should be; its message names the place. */
export class FormatError extends Error {}

const FORMAT_NAME = 'tidemark-snapshot';
const FORMAT_VERSION = 1;

/** Actions, numbered as in the files of version 1. */
export const ACTION = Object.freeze({
  ALLOC: 0, FREE: 1, FREE_REQUESTED: 2, FREE_COMPLETED: 3, SEGMENT_ALLOC: 4, SEGMENT_FREE: 5,
  SEGMENT_MAP: 6, SEGMENT_UNMAP: 7, OOM: 8, MARK: 9,
});
const ACTION_NAMES = ['alloc', 'free', 'free_requested', 'free_completed', 'segment_alloc', 'segment_free',
  'segment_map', 'segment_unmap', 'oom', 'mark'];
const CATEGORY_NAMES = ['unknown', 'parameter', 'gradient', 'optimizer_state', 'activation', 'temporary',
  'workspace', 'input'];

/** Kinds of scopes, numbered as in the files of version 1. */
export const SCOPE = Object.freeze({ STEP: 0, PHASE: 1, LAYER: 2, OPERATOR: 3, USER: 4 });
const SCOPE_NAMES = ['step', 'phase', 'layer', 'operator', 'user'];
const STATE_NAMES = ['free', 'allocated', 'pending_free'];
const UNKNOWN_CATEGORY = CATEGORIES.indexOf('unknown');

/**
 * @typedef {object} Scopes a tree of named intervals; parents stand before children
 * @property {number} count
 * @property {Int32Array} parent -1: none
 * @property {Uint8Array} kind SCOPE
 * @property {Int32Array} name string, or -1
 * @property {Int32Array} index number of the step or layer, or -1
 * @property {Float64Array} beginNs
 * @property {Float64Array} durationNs -1: still open
 *
 * @typedef {object} StartBlocks blocks alive before the first event
 * @property {number} count
 * @property {Float64Array} address
 * @property {Float64Array} requestedBytes
 * @property {Float64Array} blockBytes
 * @property {Int32Array} stack
 * @property {Int32Array} scope
 * @property {Uint8Array} category index in CATEGORIES
 * @property {Int32Array} name
 * @property {Uint8Array} device
 * @property {Float64Array} reservedBytes per device
 *
 * @typedef {object} Events columns of equal length, in the order in which things happened
 * @property {number} count
 * @property {Float64Array} timeNs
 * @property {Uint8Array} action ACTION
 * @property {Uint8Array} device
 * @property {Float64Array} address
 * @property {Float64Array} requestedBytes
 * @property {Float64Array} blockBytes
 * @property {Int32Array} stack
 * @property {Int32Array} scope
 * @property {Uint8Array} category index in CATEGORIES
 * @property {Int32Array} name
 *
 * @typedef {{name: string, hostMs: number[], deviceMs: number[]}} PhaseSamples
 * @typedef {{kind: string, name: string, totalBytes: number}} Device
 * @typedef {{function: Int32Array, file: Int32Array, line: Int32Array, inlined: Uint8Array}} Frames
 * @typedef {{parent: Int32Array, frame: Int32Array}} Stacks
 * @typedef {{event: number, requestedBytes: number, freeBytes: number}} Oom
 *
 * @typedef {object} Snapshot
 * @property {Record<string, any>} run as it stands in the document
 * @property {string} toolVersion
 * @property {string} clockSource
 * @property {Device[]} devices
 * @property {{warmupSteps: number, measuredSteps: number, phases: PhaseSamples[]}} timing
 * @property {number} nDropped
 * @property {number} nScopesDropped
 * @property {string[]} strings
 * @property {Frames} frames
 * @property {Stacks} stacks
 * @property {Scopes} scopes
 * @property {StartBlocks} start
 * @property {Events} events
 * @property {Oom[]} oom
 */

/** @param {unknown} value */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @param {any} parent @param {string} key @returns {Record<string, any>} {} where it is absent */
function section(parent, key) {
  const value = parent[key];
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw new FormatError(`${key} is not an object`);
  return value;
}

/** @param {any} parent @param {string} key @param {string} place @returns {any[]} [] where it is absent */
function list(parent, key, place) {
  const value = parent[key];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new FormatError(`${place} is not a list`);
  return value;
}

/** @param {unknown} value @param {number} fallback */
function numberOr(value, fallback) {
  return typeof value === 'number' && Number.isFinite(value) ? value : fallback;
}

/** @param {unknown} value @param {string} fallback */
function textOr(value, fallback) {
  return typeof value === 'string' ? value : fallback;
}

/**
 * Copies a column of integers, checking each.
 * @template {Float64Array | Int32Array | Uint8Array} T
 * @param {any} table @param {string} place name of the table @param {string} key
 * @param {T} out filled in; its length is the number of rows that the column must have
 * @param {number} lo least value allowed @param {number} hi greatest value allowed @param {string} what
 * @returns {T}
 */
function column(table, place, key, out, lo, hi, what) {
  const values = table[key] ?? (out.length === 0 ? [] : undefined);
  if (!Array.isArray(values)) throw new FormatError(`${place}.${key} is missing or not a list`);
  if (values.length !== out.length) {
    throw new FormatError(`${place}.${key} has ${values.length} rows where ${out.length} are expected`);
  }
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (!(value >= lo && value <= hi) || !Number.isInteger(value)) {
      throw new FormatError(`${place}.${key}[${i}] is ${JSON.stringify(value)?.slice(0, 40)}, not ${what}`);
    }
    out[i] = value;
  }
  return out;
}

/** As `column`, each value added to the one before it. @param {any} table @param {string} place
 * @param {string} key @param {Float64Array} out @param {number} lo @param {number} hi @param {string} what */
function deltaColumn(table, place, key, out, lo, hi, what) {
  column(table, place, key, out, -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 'a whole number');
  let sum = 0;
  for (let i = 0; i < out.length; i++) {
    sum += out[i];
    if (!(sum >= lo && sum <= hi)) throw new FormatError(`${place}.${key}[${i}] leads to ${sum}, not ${what}`);
    out[i] = sum;
  }
  return out;
}

/** Number of rows of a table: the length of one of its columns; 0 where the table is absent.
 * @param {any} table @param {string} place name of the table @param {string} key */
function rows(table, place, key) {
  if (Object.keys(table).length === 0) return 0;
  if (!Array.isArray(table[key])) throw new FormatError(`${place}.${key} is missing or not a list`);
  return table[key].length;
}

/** Maps the numbers of a file to ours by the names that the file gives them.
 * @param {any} doc @param {string} key @param {string[]} usual names of version 1, used where the file has none
 * @param {(name: string) => number} numberOf */
function mapping(doc, key, usual, numberOf) {
  const names = doc[key] === undefined ? usual : list(doc, key, key);
  return Uint8Array.from(names, (name) => numberOf(String(name)));
}

/** @param {Uint8Array} values renumbered in place @param {Uint8Array} map @param {string} place */
function renumber(values, map, place) {
  for (let i = 0; i < values.length; i++) {
    if (values[i] >= map.length) throw new FormatError(`${place}[${i}] is ${values[i]}, beyond its table of names`);
    values[i] = map[values[i]];
  }
  return values;
}

/** @param {any} doc @param {number} nStrings @returns {{frames: Frames, stacks: Stacks}} */
function readStacks(doc, nStrings) {
  const f = section(doc, 'frames'), s = section(doc, 'stacks');
  const nFrames = rows(f, 'frames', 'function'), nStacks = rows(s, 'stacks', 'frame');
  const aString = `one of ${nStrings} strings`;
  const frames = {
    function: column(f, 'frames', 'function', new Int32Array(nFrames), -1, nStrings - 1, aString),
    file: column(f, 'frames', 'file', new Int32Array(nFrames), -1, nStrings - 1, aString),
    line: column(f, 'frames', 'line', new Int32Array(nFrames), -1, 2 ** 31 - 1, 'a line'),
    inlined: f.inlined === undefined ? new Uint8Array(nFrames)
      : Uint8Array.from(list(f, 'inlined', 'frames.inlined'), (x) => (x ? 1 : 0)),
  };
  const stacks = {
    parent: column(s, 'stacks', 'parent', new Int32Array(nStacks), -1, nStacks - 1, 'a stack'),
    frame: column(s, 'stacks', 'frame', new Int32Array(nStacks), 0, nFrames - 1, `one of ${nFrames} frames`),
  };
  requireParentsFirst(stacks.parent, 'stacks');
  return { frames, stacks };
}

/** @param {Int32Array} parent @param {string} place */
function requireParentsFirst(parent, place) {
  for (let i = 0; i < parent.length; i++) {
    if (parent[i] >= i) throw new FormatError(`${place}.parent[${i}] is ${parent[i]}: a parent must stand before its children`);
  }
}

/** @param {any} doc @param {number} nStrings @returns {Scopes} */
function readScopes(doc, nStrings) {
  const s = section(doc, 'scopes'), count = rows(s, 'scopes', 'name');
  const kinds = mapping(doc, 'scope_kinds', SCOPE_NAMES, (name) => {
    const kind = SCOPE_NAMES.indexOf(name);
    return kind < 0 ? SCOPE.USER : kind;
  });
  const far = Number.MAX_SAFE_INTEGER;
  const scopes = {
    count,
    parent: column(s, 'scopes', 'parent', new Int32Array(count), -1, count - 1, 'a scope'),
    kind: renumber(column(s, 'scopes', 'kind', new Uint8Array(count), 0, 255, 'a kind'), kinds, 'scopes.kind'),
    name: column(s, 'scopes', 'name', new Int32Array(count), -1, nStrings - 1, `one of ${nStrings} strings`),
    index: column(s, 'scopes', 'index', new Int32Array(count), -1, 2 ** 31 - 1, 'a number'),
    beginNs: deltaColumn(s, 'scopes', 'begin_delta', new Float64Array(count), 0, far, 'a time'),
    durationNs: column(s, 'scopes', 'duration', new Float64Array(count), -1, far, 'a duration'),
  };
  requireParentsFirst(scopes.parent, 'scopes');
  return scopes;
}

/**
 * @typedef {{strings: number, stacks: number, scopes: number, categories: Uint8Array, addressUnit: number}} Tables what rows may refer to
 */

/** @param {any} block @param {string} place @param {string} key @param {number} lo @param {number} hi */
function cell(block, place, key, lo, hi) {
  const value = block[key] ?? (lo < 0 ? -1 : 0);
  if (!Number.isInteger(value) || value < lo || value > hi) {
    throw new FormatError(`${place}.${key} is ${JSON.stringify(value)?.slice(0, 40)}, which is out of range`);
  }
  return value;
}

/** A number, or the name of one. @param {any} value @param {string[]} names */
function numbered(value, names) {
  return typeof value === 'string' ? names.indexOf(value) : value;
}

/** @param {any} doc @param {Tables} tables @returns {StartBlocks} */
function readStart(doc, tables) {
  const start = section(doc, 'start'), far = Number.MAX_SAFE_INTEGER;
  /** @type {number[][]} */
  const found = [];
  const reservedBytes = new Float64Array(256);
  const states = doc.block_states === undefined ? STATE_NAMES : list(doc, 'block_states', 'block_states');
  const categories = doc.categories === undefined ? CATEGORY_NAMES : doc.categories;
  list(start, 'segments', 'start.segments').forEach((segment, i) => {
    const place = `start.segments[${i}]`;
    if (!isObject(segment)) throw new FormatError(`${place} is not an object`);
    const device = cell(segment, place, 'device', 0, 255), address = cell(segment, place, 'address', 0, far) * tables.addressUnit;
    reservedBytes[device] += cell(segment, place, 'total_bytes', 0, far);
    list(segment, 'blocks', `${place}.blocks`).forEach((block, j) => {
      const at = `${place}.blocks[${j}]`;
      if (!isObject(block)) throw new FormatError(`${at} is not an object`);
      if (states[numbered(block.state, states)] !== 'allocated') return;
      const category = numbered(block.category ?? 0, categories);
      if (!(category >= 0 && category < tables.categories.length)) throw new FormatError(`${at}.category is unknown`);
      found.push([address + cell(block, at, 'offset_bytes', 0, far), cell(block, at, 'requested_bytes', 0, far),
        cell(block, at, 'block_bytes', 0, far), cell(block, at, 'stack', -1, tables.stacks - 1),
        cell(block, at, 'scope', -1, tables.scopes - 1), tables.categories[category],
        cell(block, at, 'name', -1, tables.strings - 1), device]);
    });
  });
  const pick = (/** @type {any} */ type, /** @type {number} */ k) => type.from(found, (/** @type {number[]} */ row) => row[k]);
  return {
    count: found.length, address: pick(Float64Array, 0), requestedBytes: pick(Float64Array, 1),
    blockBytes: pick(Float64Array, 2), stack: pick(Int32Array, 3), scope: pick(Int32Array, 4),
    category: pick(Uint8Array, 5), name: pick(Int32Array, 6), device: pick(Uint8Array, 7), reservedBytes,
  };
}

/** @param {any} doc @param {Tables} tables @returns {Events} */
function readEvents(doc, tables) {
  const e = section(doc, 'events'), count = rows(e, 'events', 'action'), far = Number.MAX_SAFE_INTEGER;
  const actions = mapping(doc, 'actions', ACTION_NAMES, (name) => {
    const action = ACTION_NAMES.indexOf(name);
    if (action < 0) throw new FormatError(`actions holds "${name.slice(0, 40)}", which this viewer does not know`);
    return action;
  });
  const bytes = (/** @type {string} */ key) => column(e, 'events', key, new Float64Array(count), -1, far, 'a number of bytes');
  const small = (/** @type {string} */ key) => column(e, 'events', key, new Uint8Array(count), 0, 255, 'a number from 0 to 255');
  const reference = (/** @type {string} */ key, /** @type {number} */ n) =>
    column(e, 'events', key, new Int32Array(count), -1, n - 1, `one of ${n} rows`);
  const scope = deltaColumn(e, 'events', 'scope_delta', new Float64Array(count), -1, tables.scopes - 1, `one of ${tables.scopes} scopes`);
  const address = deltaColumn(e, 'events', 'address_delta', new Float64Array(count), 0, far, 'an address');
  for (let i = 0; i < count; i++) address[i] *= tables.addressUnit;
  return {
    count,
    timeNs: deltaColumn(e, 'events', 'time_delta', new Float64Array(count), 0, far, 'a time'),
    action: renumber(small('action'), actions, 'events.action'),
    device: small('device'),
    address,
    requestedBytes: bytes('requested_bytes'),
    blockBytes: bytes('block_bytes'),
    stack: reference('stack', tables.stacks),
    scope: Int32Array.from(scope),
    category: renumber(small('category'), tables.categories, 'events.category'),
    name: reference('name', tables.strings),
  };
}

/** @param {any} doc */
function readTiming(doc) {
  const timing = section(doc, 'timing');
  const samples = (/** @type {any} */ phase, /** @type {string} */ key) =>
    list(phase, key, `timing.phases[].${key}`).filter((x) => typeof x === 'number' && x >= 0);
  return {
    warmupSteps: numberOr(timing.warmup_steps, -1),
    measuredSteps: numberOr(timing.measured_steps, -1),
    phases: list(timing, 'phases', 'timing.phases').filter(isObject).map((phase) => ({
      name: textOr(phase.name, '?'), hostMs: samples(phase, 'host_ms'), deviceMs: samples(phase, 'device_ms'),
    })),
  };
}

/** @param {any} doc a parsed document @returns {Snapshot} @throws {FormatError} */
export function readSnapshot(doc) {
  if (!isObject(doc) || doc.format !== FORMAT_NAME) {
    throw new FormatError(`this is not a tidemark snapshot: "format" is not "${FORMAT_NAME}"`);
  }
  if (doc.version !== FORMAT_VERSION) {
    throw new FormatError(`the snapshot has version ${JSON.stringify(doc.version)?.slice(0, 20)}; this viewer reads version ${FORMAT_VERSION}`);
  }
  const strings = list(doc, 'strings', 'strings');
  const bad = strings.findIndex((text) => typeof text !== 'string');
  if (bad >= 0) throw new FormatError(`strings[${bad}] is not a text`);
  const categories = mapping(doc, 'categories', CATEGORY_NAMES, (name) => {
    const category = CATEGORIES.indexOf(name);
    return category < 0 ? UNKNOWN_CATEGORY : category;
  });
  const { frames, stacks } = readStacks(doc, strings.length);
  const scopes = readScopes(doc, strings.length);
  const tables = { strings: strings.length, stacks: stacks.frame.length, scopes: scopes.count, categories,
    addressUnit: doc.address_unit_bytes === 1 ? 1 : 512 };
  const events = readEvents(doc, tables);
  return {
    run: section(doc, 'run'),
    toolVersion: textOr(section(doc, 'tool').version, ''),
    clockSource: textOr(section(doc, 'clock').source, 'monotonic'),
    devices: list(doc, 'devices', 'devices').filter(isObject).map((device) => ({
      kind: textOr(device.kind, '?'), name: textOr(device.name, ''), totalBytes: numberOr(device.total_bytes, -1),
    })),
    timing: readTiming(doc), nDropped: Math.max(0, numberOr(section(doc, 'log').dropped_events, 0)),
    nScopesDropped: Math.max(0, numberOr(section(doc, 'log').dropped_scopes, 0)), strings, frames, stacks, scopes,
    start: readStart(doc, tables), events,
    oom: list(doc, 'oom', 'oom').filter(isObject).map((row) => ({
      event: numberOr(row.event, -1), requestedBytes: numberOr(row.requested_bytes, -1), freeBytes: numberOr(row.free_bytes, -1),
    })).filter((row) => row.event >= 0 && row.event < events.count),
  };
}

/** @param {string} text @returns {Snapshot} @throws {FormatError} */
export function parseSnapshot(text) {
  let doc;
  try {
    doc = JSON.parse(text);
  } catch (problem) {
    throw new FormatError(`the file is not complete JSON (${/** @type {Error} */ (problem).message.slice(0, 120)})`);
  }
  return readSnapshot(doc);
}
