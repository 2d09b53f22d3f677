/* format.js - turns a snapshot's document into typed columns and refuses what cannot be right.
 *
 * Files are untrusted: every index is checked against its table, and parents must precede children, so later
 * modules can follow every number. Unknown keys are ignored.
 */
import { categoryNumber } from './categories.js';
import { CATEGORIES } from './colours.js';
import {
  amountsOf,
  bytesOf,
  float64Of,
  FormatError,
  indicesOf,
  int32Of,
  MOST_BYTES,
  release,
  rowsOf,
  shownValue,
} from './columns.js';
import { ACTION, makeSubjects, subjectOf } from './subjects.js';

const FORMAT_NAME = 'tidemark-snapshot';
const FORMAT_VERSION = 1;
const MOST_DEVICES = 256;

export const ACTION_NAMES = [
  'alloc',
  'free',
  'free_requested',
  'free_completed',
  'segment_alloc',
  'segment_free',
  'segment_map',
  'segment_unmap',
  'oom',
  'mark',
];
export const CATEGORY_NAMES = [
  'unknown',
  'parameter',
  'gradient',
  'optimizer_state',
  'activation',
  'temporary',
  'workspace',
  'input',
  'weight_copy',
];
/** Kinds of scopes, numbered as in the files of version 1. */
export const SCOPE = Object.freeze({ STEP: 0, PHASE: 1, LAYER: 2, OPERATOR: 3, USER: 4 });
const SCOPE_NAMES = ['step', 'phase', 'layer', 'operator', 'user'];

const STATE_NAMES = ['free', 'allocated', 'pending_free']; // by STATE

/** For checkDocument. */
export const USUAL_NAMES = { actions: ACTION_NAMES, kinds: SCOPE_NAMES, states: STATE_NAMES };
const UNKNOWN_ACTION = 255;

/**
 * @typedef {import('./columns.js').Indices} Indices
 *
 * @typedef {object} Scopes a tree of named intervals; parents precede children
 * @property {number} count
 * @property {Indices} parent -1: none
 * @property {Uint8Array} kind SCOPE
 * @property {Indices} name string, or -1
 * @property {Int32Array} index number of the step or layer, or -1
 * @property {Float64Array} beginNs
 * @property {Float64Array} durationNs -1: still open
 * @property {Float64Array} deviceBeginNs begin of the device's work, on the same clock; -1: not measured; no
 *   rows if no scope was measured
 * @property {Float64Array} deviceDurationNs -1: not measured
 *
 * @typedef {object} Segments the segments before the first event
 * @property {number} count
 * @property {Uint8Array} device
 * @property {Float64Array} address in bytes
 * @property {Float64Array} totalBytes
 * @property {Uint8Array} stream
 * @property {Uint8Array} isExpandable 1: memory mapped into reserved addresses
 * @property {string[]} pool "small", "large" or ""
 * @property {string[]} poolId "n, 0": a private pool of a graph; "0, n": a pool of the user; "": the default
 *   pool
 * @property {Int32Array} firstBlock row of `blocks`; one more at the end
 * @property {SegmentBlocks} blocks
 *
 * @typedef {object} SegmentBlocks the blocks that tile the segments, free ones included
 * @property {number} count
 * @property {Float64Array} offsetBytes in the segment
 * @property {Float64Array} blockBytes
 * @property {Float64Array} requestedBytes
 * @property {Uint8Array} state STATE
 * @property {Int32Array} stack of the allocation
 * @property {Int32Array} scope of the allocation
 * @property {Uint8Array} category index in the categories of the snapshot
 * @property {Int32Array} name
 *
 * @typedef {object} EventColumns of equal length, in chronological order
 * @property {number} count
 * @property {Float64Array} timeNs never decreasing; a clock that steps back is held
 * @property {Uint8Array} action ACTION
 * @property {Uint8Array} device
 * @property {Indices} stack
 * @property {Indices} scope
 *
 * @typedef {EventColumns & import('./subjects.js').Acts} Events
 *
 * @typedef {{name: string, hostMs: number[], deviceMs: number[]}} PhaseSamples
 * @typedef {{kind: string, name: string, totalBytes: number}} Device
 * @typedef {{device: number, handle: number}} Stream handle 0: the device's default stream
 * @typedef {object} Timing
 * @property {number} warmupSteps -1: unknown
 * @property {PhaseSamples[]} phases
 * @property {number} flops of the matrix products of one measured step; -1: unknown
 * @property {number} statedPeakFlops of the device per second; -1: unknown
 * @property {number} recorderNsPerEvent -1: not measured
 * @property {{recordedMs: number[], unrecordedMs: number[]} | null} recorderPairs pairs of steps with and
 *   without recording
 * @property {number[]} losses of every step, warm-up first; empty: unknown
 *
 * @typedef {object} Kernel one kernel in one place, over all measured steps
 * @property {string} name
 * @property {string} phase "": outside of every phase
 * @property {string} path scopes from the outermost inwards, without steps and numbers
 * @property {number} launches
 * @property {number} totalNs
 * @property {number} meanNs
 * @property {number} minNs
 * @property {number} maxNs
 *
 * @typedef {object} Frames
 * @property {Indices} function string, or -1
 * @property {Indices} file string, or -1
 * @property {Int32Array} line 0: unknown
 * @property {Uint8Array} inlined 1: inlined into its caller
 *
 * @typedef {{parent: Indices, frame: Indices}} Stacks a tree: a row holds the innermost frame, and its parent
 *   the caller's
 * @typedef {{event: number, requestedBytes: number}} Oom
 *
 * @typedef {object} Snapshot
 * @property {Record<string, any>} run as it stands in the document
 * @property {string} clockSource
 * @property {{format: string, events: number, contradictions: number} | null} origin the source of a document
 *   made from another program's file
 * @property {Device[]} devices
 * @property {Stream[]} streams
 * @property {Record<string, any>} allocator its settings, as they stand in the document
 * @property {Timing} timing
 * @property {Kernel[]} kernels
 * @property {string} fullPolicy the policy for a full event log: "stop", "keep-newest" or ""
 * @property {number} nDropped
 * @property {number} nScopesDropped
 * @property {string[]} strings
 * @property {string[]} categories CATEGORIES, then the file's own
 * @property {Frames} frames
 * @property {Stacks} stacks
 * @property {Scopes} scopes
 * @property {Segments} start
 * @property {Events} events
 * @property {import('./subjects.js').Subjects} subjects the blocks and segments that events refer to
 * @property {Oom[]} oom
 * @property {{count: number, first: string} | null} odd number of values read as unknown, and the place of
 *   the first
 */

/** @param {unknown} value */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * @param {any} parent
 * @param {string} key
 * @returns {Record<string, any>} {} if it is absent
 */
function section(parent, key) {
  const value = parent[key];
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw new FormatError(`${key} is not an object`);
  return value;
}

/**
 * @param {any} parent
 * @param {string} key
 * @param {string} place
 * @returns {any[]} [] if it is absent
 */
function list(parent, key, place) {
  const value = parent[key];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new FormatError(`${place} is not a list`);
  return value;
}

/**
 * The same, of at most `limit` objects.
 * @param {any} parent
 * @param {string} key
 * @param {string} place
 * @param {number} limit
 */
function listOfObjects(parent, key, place, limit) {
  const found = list(parent, key, place);
  const bad = found.findIndex((value) => !isObject(value));
  if (bad >= 0) throw new FormatError(`${place}[${bad}] is not an object`);
  if (found.length > limit) throw new FormatError(`${place} has ${found.length} rows; ${limit} is the limit`);
  return found;
}

/**
 * @param {unknown} value
 * @param {number} fallback
 */
function numberOr(value, fallback) {
  return typeof value === 'number' && Number.isFinite(value) ? value : fallback;
}

/**
 * @param {unknown} value
 * @param {string} fallback
 */
function textOr(value, fallback) {
  return typeof value === 'string' ? value : fallback;
}

/**
 * Maps the numbers of a file to ours by their names.
 * @param {any} doc
 * @param {string} key
 * @param {string[]} usual names of version 1, for files without names
 * @param {(name: string) => number} numberOf
 */
function mapping(doc, key, usual, numberOf) {
  const names = doc[key] === undefined ? usual : list(doc, key, key);
  return Uint8Array.from(names, (name, i) => {
    if (typeof name !== 'string') throw new FormatError(`${key}[${i}]: a text was expected`);
    return numberOf(name);
  });
}

/**
 * The category names of the file: the built-in ones, followed by the file's own.
 * @param {any} doc
 * @returns {{names: string[], numbers: Uint8Array}} numbers: maps the file's numbers to indices of names
 */
function readCategories(doc) {
  /** @type {string[]} */
  const names = [...CATEGORIES];
  const numbers = mapping(doc, 'categories', CATEGORY_NAMES, (given) => {
    const number = categoryNumber(names, given);
    if (typeof number === 'string') throw new FormatError(`categories: ${number}`);
    return number;
  });
  return { names, numbers };
}

/**
 * A column of numbers that the file names.
 * @param {any} table
 * @param {string} place
 * @param {string} key
 * @param {number} count
 * @param {Uint8Array} map from its numbers to ours
 * @param {string} what the name of these numbers in messages
 * @returns {Uint8Array}
 */
function renumberedOf(table, place, key, count, map, what) {
  const values = bytesOf(table, place, key, count, map.length, what);
  const ours = new Uint8Array(count);
  for (let i = 0; i < count; i++) ours[i] = map[values[i]];
  release(values);
  return ours;
}

/**
 * @param {any} doc
 * @param {number} nStrings
 * @returns {{frames: Frames, stacks: Stacks}}
 */
function readStacks(doc, nStrings) {
  const f = section(doc, 'frames');
  const s = section(doc, 'stacks');
  const nFrames = rowsOf(f, 'frames', 'function');
  const nStacks = rowsOf(s, 'stacks', 'frame');
  const frames = {
    function: indicesOf(f, 'frames', 'function', nFrames, nStrings, 'strings'),
    file: indicesOf(f, 'frames', 'file', nFrames, nStrings, 'strings'),
    line: int32Of(f, 'frames', 'line', nFrames, { lo: -1, hi: 2 ** 31 - 1, what: 'a line' }),
    inlined:
      f.inlined === undefined
        ? new Uint8Array(nFrames)
        : bytesOf(f, 'frames', 'inlined', nFrames, 2, 'answers'),
  };
  const stacks = {
    parent: indicesOf(s, 'stacks', 'parent', nStacks, nStacks, 'stacks'),
    frame: indicesOf(s, 'stacks', 'frame', nStacks, nFrames, 'frames'),
  };
  const none = stacks.frame.indexOf(-1);
  if (none >= 0) throw new FormatError(`stacks.frame[${none}] is -1: a stack has a frame`);
  requireParentsFirst(stacks.parent, 'stacks');
  return { frames, stacks };
}

/**
 * @param {Indices} parent
 * @param {string} place
 */
function requireParentsFirst(parent, place) {
  for (let i = 0; i < parent.length; i++) {
    if (parent[i] >= i)
      throw new FormatError(`${place}.parent[${i}] is ${parent[i]}: a parent must stand before its children`);
  }
}

/**
 * @param {any} doc
 * @param {number} nStrings
 * @returns {Scopes}
 */
function readScopes(doc, nStrings) {
  const s = section(doc, 'scopes');
  const count = rowsOf(s, 'scopes', 'name');
  const kinds = mapping(doc, 'scope_kinds', SCOPE_NAMES, (name) => {
    const kind = SCOPE_NAMES.indexOf(name);
    return kind < 0 ? SCOPE.USER : kind;
  });
  const aTime = { lo: -1, hi: MOST_BYTES, what: 'a time' };
  const deviceTimes = (/** @type {string} */ key) => {
    const times = s[key] === undefined ? null : float64Of(s, 'scopes', key, count, aTime);
    return times?.some((ns) => ns >= 0) ? times : new Float64Array(0);
  };
  const scopes = {
    count,
    parent: indicesOf(s, 'scopes', 'parent', count, count, 'scopes'),
    kind: renumberedOf(s, 'scopes', 'kind', count, kinds, 'kinds'),
    name: indicesOf(s, 'scopes', 'name', count, nStrings, 'strings'),
    index: int32Of(s, 'scopes', 'index', count, { lo: -1, hi: 2 ** 31 - 1, what: 'a number' }),
    beginNs: float64Of(s, 'scopes', 'begin_delta', count, {
      lo: 0,
      hi: MOST_BYTES,
      what: 'a time',
      isDelta: true,
    }),
    durationNs: float64Of(s, 'scopes', 'duration', count, { lo: -1, hi: MOST_BYTES, what: 'a duration' }),
    deviceBeginNs: deviceTimes('device_begin'),
    deviceDurationNs: deviceTimes('device_duration'),
  };
  requireParentsFirst(scopes.parent, 'scopes');
  return scopes;
}

/**
 * @typedef {{strings: number, stacks: number, scopes: number, devices: number, streams: number, categories: Uint8Array, addressUnit: number}}
 *   Tables the tables that rows may refer to
 */

/**
 * @param {any} row
 * @param {string} place
 * @param {string} key
 * @param {number} lo
 * @param {number} hi
 */
function cell(row, place, key, lo, hi) {
  const value = Number(row[key] ?? (lo < 0 ? -1 : 0));
  if (!Number.isInteger(value) || value < lo || value > hi) {
    throw new FormatError(`${place}.${key} is ${shownValue(value)}, which is out of range`);
  }
  return value;
}

/**
 * A number, or the name of one.
 * @param {any} value
 * @param {string[]} names
 */
function numbered(value, names) {
  return typeof value === 'string' ? names.indexOf(value) : value;
}

/**
 * @param {any} block
 * @param {string} place
 * @param {Tables} tables
 * @param {string[]} states
 * @param {string[]} categories names of the file
 */
function readBlock(block, place, tables, states, categories) {
  if (!isObject(block)) throw new FormatError(`${place} is not an object`);
  const state = STATE_NAMES.indexOf(states[numbered(block.state, states)]);
  const category = numbered(block.category ?? 0, categories);
  if (state < 0)
    throw new FormatError(`${place}.state is ${shownValue(block.state)}, which this viewer does not know`);
  if (!(category >= 0 && category < tables.categories.length))
    throw new FormatError(`${place}.category is unknown`);
  const row = {
    offset: cell(block, place, 'offset_bytes', 0, MOST_BYTES),
    bytes: cell(block, place, 'block_bytes', 0, MOST_BYTES),
    requested: cell(block, place, 'requested_bytes', 0, MOST_BYTES),
    state,
    stack: cell(block, place, 'stack', -1, tables.stacks - 1),
    scope: cell(block, place, 'scope', -1, tables.scopes - 1),
    category: tables.categories[category],
    name: cell(block, place, 'name', -1, tables.strings - 1),
  };
  if (row.requested > row.bytes)
    throw new FormatError(`${place}.requested_bytes is ${row.requested}, more than the block's ${row.bytes}`);
  return row;
}

/**
 * @param {any} doc
 * @param {Tables} tables
 * @returns {Segments}
 */
function readStart(doc, tables) {
  const segments = listOfObjects(section(doc, 'start'), 'segments', 'start.segments', Infinity);
  const place = (/** @type {number} */ i) => `start.segments[${i}]`;
  const states = doc.block_states === undefined ? STATE_NAMES : list(doc, 'block_states', 'block_states');
  const categories = doc.categories === undefined ? CATEGORY_NAMES : list(doc, 'categories', 'categories');
  /** @type {ReturnType<typeof readBlock>[]} */
  const blocks = [];
  const firstBlock = new Int32Array(segments.length + 1);
  segments.forEach((segment, i) => {
    let end = 0;
    list(segment, 'blocks', `${place(i)}.blocks`).forEach((given, j) => {
      const block = readBlock(given, `${place(i)}.blocks[${j}]`, tables, states, categories);
      if (block.offset !== end)
        throw new FormatError(
          `${place(i)}.blocks[${j}].offset_bytes is ${block.offset}: the block before it ends at ${end}`,
        );
      end += block.bytes;
      blocks.push(block);
    });
    firstBlock[i + 1] = blocks.length;
    const total = cell(segment, place(i), 'total_bytes', 0, MOST_BYTES);
    if (end !== total)
      throw new FormatError(`${place(i)}.total_bytes is ${total}, but its blocks fill ${end}`);
  });
  const column = (
    /** @type {any} */ Type,
    /** @type {string} */ key,
    /** @type {number} */ lo,
    /** @type {number} */ hi,
  ) =>
    Type.from(segments, (/** @type {any} */ segment, /** @type {number} */ i) =>
      cell(segment, place(i), key, lo, hi),
    );
  const pick = (/** @type {any} */ Type, /** @type {keyof typeof blocks[0]} */ key) =>
    Type.from(blocks, (/** @type {typeof blocks[0]} */ row) => row[key]);
  return {
    count: segments.length,
    device: column(Uint8Array, 'device', 0, tables.devices - 1),
    address: column(Float64Array, 'address', 0, MOST_BYTES).map(
      (/** @type {number} */ a) => a * tables.addressUnit,
    ),
    totalBytes: column(Float64Array, 'total_bytes', 0, MOST_BYTES),
    stream: column(Uint8Array, 'stream', 0, tables.streams - 1),
    isExpandable: Uint8Array.from(segments, (segment) => (segment.is_expandable === true ? 1 : 0)),
    pool: segments.map((segment) => (['small', 'large'].includes(segment.pool) ? segment.pool : '')),
    poolId: segments.map((segment) =>
      Array.isArray(segment.pool_id) && segment.pool_id.some((/** @type {any} */ n) => n > 0)
        ? segment.pool_id.map(Number).join(', ')
        : '',
    ),
    firstBlock,
    blocks: {
      count: blocks.length,
      offsetBytes: pick(Float64Array, 'offset'),
      blockBytes: pick(Float64Array, 'bytes'),
      requestedBytes: pick(Float64Array, 'requested'),
      state: pick(Uint8Array, 'state'),
      stack: pick(Int32Array, 'stack'),
      scope: pick(Int32Array, 'scope'),
      category: pick(Uint8Array, 'category'),
      name: pick(Int32Array, 'name'),
    },
  };
}

/**
 * @param {any} doc
 * @param {Tables} tables
 * @param {Segments} start
 * @returns {{events: Events, subjects: import('./subjects.js').Subjects}}
 */
function readEvents(doc, tables, start) {
  const e = section(doc, 'events');
  const count = rowsOf(e, 'events', 'action');
  const actions = mapping(doc, 'actions', ACTION_NAMES, (name) =>
    ACTION_NAMES.includes(name) ? ACTION_NAMES.indexOf(name) : UNKNOWN_ACTION,
  );
  const bytes = { lo: 0, hi: MOST_BYTES, what: 'a number of bytes' };
  const timeNs = float64Of(e, 'events', 'time_delta', count, {
    lo: 0,
    hi: MOST_BYTES,
    what: 'a time',
    isDelta: true,
  });
  const address = float64Of(e, 'events', 'address_delta', count, {
    lo: 0,
    hi: MOST_BYTES,
    what: 'an address',
    isDelta: true,
  });
  for (let i = 0; i < count; i++) address[i] *= tables.addressUnit;
  for (let i = 1; i < count; i++) if (timeNs[i] < timeNs[i - 1]) timeNs[i] = timeNs[i - 1];
  const table = {
    action: renumberedOf(e, 'events', 'action', count, actions, 'actions'),
    device: bytesOf(e, 'events', 'device', count, tables.devices, 'devices'),
    address,
    requestedBytes: amountsOf(e, 'events', 'requested_bytes', count, bytes),
    blockBytes: amountsOf(e, 'events', 'block_bytes', count, bytes),
    stream: bytesOf(e, 'events', 'stream', count, tables.streams, 'streams'),
    category: renumberedOf(e, 'events', 'category', count, tables.categories, 'categories'),
    name: indicesOf(e, 'events', 'name', count, tables.strings, 'rows'),
  };
  const { action, device, requestedBytes, blockBytes } = table;
  const unknown = action.indexOf(UNKNOWN_ACTION);
  if (unknown >= 0) throw new FormatError(`events.action[${unknown}] is one that this viewer does not know`);
  for (let i = 0; i < count; i++) {
    if (requestedBytes[i] > blockBytes[i] && action[i] <= ACTION.FREE_COMPLETED) {
      throw new FormatError(
        `events.requested_bytes[${i}] is ${requestedBytes[i]}, more than the block's ${blockBytes[i]}`,
      );
    }
  }
  const { subjects, acts } = makeSubjects(table, start);
  for (const column of [address, requestedBytes, blockBytes, table.stream, table.category, table.name])
    release(column);
  return {
    subjects,
    events: {
      count,
      timeNs,
      action,
      device,
      ...acts,
      stack: indicesOf(e, 'events', 'stack', count, tables.stacks, 'rows'),
      scope: indicesOf(e, 'events', 'scope_delta', count, tables.scopes, 'scopes', true),
    },
  };
}

const LOSS_TEXTS = new Map([
  ['nan', NaN],
  ['inf', Infinity],
  ['-inf', -Infinity],
]);

/** @param {any} doc */
function readLosses(doc) {
  if (doc.loss === null) throw new FormatError('loss is not a list');
  return list(doc, 'loss', 'loss').map((value, i) => {
    const loss =
      typeof value === 'string' ? LOSS_TEXTS.get(value) : Number.isFinite(value) ? value : undefined;
    if (loss === undefined)
      throw new FormatError(`loss[${i}]: a number was expected, or "nan", "inf" or "-inf"`);
    return /** @type {number} */ (loss);
  });
}

/**
 * @param {any} doc
 * @returns {Timing}
 */
function readTiming(doc) {
  const timing = section(doc, 'timing');
  const pairs = section(timing, 'recorder_pairs');
  const samples = (/** @type {any} */ from, /** @type {string} */ key, /** @type {string} */ place) =>
    list(from, key, `${place}.${key}`).filter((x) => typeof x === 'number' && x >= 0);
  const recordedMs = samples(pairs, 'recorded_ms', 'timing.recorder_pairs');
  const unrecordedMs = samples(pairs, 'unrecorded_ms', 'timing.recorder_pairs');
  if (recordedMs.length !== unrecordedMs.length) {
    throw new FormatError(
      `timing.recorder_pairs has ${recordedMs.length} samples in recorded_ms, ${unrecordedMs.length} in unrecorded_ms`,
    );
  }
  return {
    warmupSteps: numberOr(timing.warmup_steps, -1),
    phases: list(timing, 'phases', 'timing.phases')
      .filter(isObject)
      .map((phase) => ({
        name: textOr(phase.name, '?'),
        hostMs: samples(phase, 'host_ms', 'timing.phases[]'),
        deviceMs: samples(phase, 'device_ms', 'timing.phases[]'),
      })),
    flops: numberOr(timing.flops, -1),
    statedPeakFlops: numberOr(timing.stated_peak_flops, -1),
    recorderNsPerEvent: numberOr(timing.recorder_ns_per_event, -1),
    recorderPairs: recordedMs.length > 0 ? { recordedMs, unrecordedMs } : null,
    losses: readLosses(doc),
  };
}

/**
 * @param {any} doc
 * @param {string[]} strings
 * @returns {Kernel[]}
 */
function readKernels(doc, strings) {
  const k = section(doc, 'kernels');
  const count = rowsOf(k, 'kernels', 'name');
  const text = (/** @type {string} */ key) =>
    Array.from(indicesOf(k, 'kernels', key, count, strings.length, 'strings'), (i) => strings[i] ?? '');
  const amount = (/** @type {string} */ key) =>
    float64Of(k, 'kernels', key, count, { lo: 0, hi: MOST_BYTES, what: 'a count or a time' });
  const name = text('name');
  const phase = text('phase');
  const path = text('path');
  const launches = amount('launches');
  const totalNs = amount('total_ns');
  const minNs = amount('min_ns');
  const maxNs = amount('max_ns');
  return name.map((_, i) => ({
    name: name[i],
    phase: phase[i],
    path: path[i],
    launches: launches[i],
    totalNs: totalNs[i],
    meanNs: Math.floor(totalNs[i] / launches[i]),
    minNs: minNs[i],
    maxNs: maxNs[i],
  }));
}

/** @param {any} doc */
function readOrigin(doc) {
  const { format, events, contradictions } = section(doc, 'origin');
  return typeof format === 'string'
    ? { format, events: numberOr(events, 0), contradictions: numberOr(contradictions, 0) }
    : null;
}

/**
 * @param {Events} events
 * @param {import('./subjects.js').Subjects} subjects
 * @returns {Oom[]}
 */
function oomRows({ count, action, act }, { requestedBytes }) {
  const found = [];
  for (
    let event = action.indexOf(ACTION.OOM);
    event >= 0 && event < count;
    event = action.indexOf(ACTION.OOM, event + 1)
  ) {
    found.push({ event, requestedBytes: requestedBytes[subjectOf(act[event])] });
  }
  return found;
}

/**
 * @param {any} doc a parsed document, whose columns are lists or Column objects
 * @returns {Snapshot}
 * @throws {FormatError}
 */
export function readSnapshot(doc) {
  if (!isObject(doc) || doc.format !== FORMAT_NAME) {
    throw new FormatError(`this is not a tidemark snapshot: "format" is not "${FORMAT_NAME}"`);
  }
  if (doc.version !== FORMAT_VERSION) {
    throw new FormatError(
      `the snapshot has version ${shownValue(doc.version)}; this viewer reads version ${FORMAT_VERSION}`,
    );
  }
  const strings = list(doc, 'strings', 'strings');
  const bad = strings.findIndex((text) => typeof text !== 'string');
  if (bad >= 0) throw new FormatError(`strings[${bad}] is not a text`);
  const { names, numbers: categories } = readCategories(doc);
  const devices = listOfObjects(doc, 'devices', 'devices', MOST_DEVICES).map((device) => ({
    kind: textOr(device.kind, '?'),
    name: textOr(device.name, ''),
    totalBytes: numberOr(device.total_bytes, -1),
  }));
  const streams = listOfObjects(doc, 'streams', 'streams', MOST_DEVICES).map((stream) => ({
    device: numberOr(stream.device, 0),
    handle: numberOr(stream.handle, 0),
  }));
  const { frames, stacks } = readStacks(doc, strings.length);
  const scopes = readScopes(doc, strings.length);
  const tables = {
    strings: strings.length,
    stacks: stacks.frame.length,
    scopes: scopes.count,
    categories,
    devices: devices.length,
    streams: streams.length,
    addressUnit: doc.address_unit_bytes === 1 ? 1 : 512,
  };
  const start = readStart(doc, tables);
  const { events, subjects } = readEvents(doc, tables, start);
  const log = section(doc, 'log');
  return {
    run: section(doc, 'run'),
    clockSource: textOr(section(doc, 'clock').source, 'monotonic'),
    origin: readOrigin(doc),
    devices,
    streams,
    allocator: section(doc, 'allocator'),
    timing: readTiming(doc),
    kernels: readKernels(doc, strings),
    fullPolicy: textOr(log.full_policy, ''),
    nDropped: Math.max(0, numberOr(log.dropped_events, 0)),
    nScopesDropped: Math.max(0, numberOr(log.dropped_scopes, 0)),
    strings,
    categories: names,
    frames,
    stacks,
    scopes,
    start,
    events,
    subjects,
    oom: oomRows(events, subjects),
    odd: doc.odd ?? null,
  };
}
