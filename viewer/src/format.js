/* format.js - turns a snapshot's document into typed columns and refuses what cannot be right.
 *
 * Files are untrusted: every index is checked against its table, and parents must precede children, so later
 * modules can follow every number. Unknown keys are ignored.
 */
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
import {
  ACTION_NAMES,
  CERTAINTY_NAMES,
  NO_INTERVAL,
  SCOPE,
  SCOPE_NAMES,
  UNKNOWN_ACTION,
} from './format_names.js';
import { readStart } from './format_start.js';
import { readForecast, readKernels, readTiming } from './format_timing.js';
import {
  isObject,
  list,
  listOfObjects,
  mapping,
  numberOr,
  readCategories,
  renumberedOf,
  section,
  textOr,
} from './format_values.js';
import { readOwners } from './owners.js';
import { readPools } from './pools.js';
import { ACTION, makeSubjects, subjectOf } from './subjects.js';

const FORMAT_NAME = 'tidemark-snapshot';
const FORMAT_VERSION = 1;
const MOST_DEVICES = 256;
const MOST_INEXACT = 1024;

/**
 * @typedef {import('./columns.js').Indices} Indices
 *
 * @typedef {object} Scopes a tree of named intervals; parents precede children
 * @property {number} count
 * @property {Indices} parent -1: none
 * @property {Uint8Array} kind SCOPE
 * @property {Indices} name string, or -1
 * @property {Int32Array} thread number of the one that opened it; 0 if the file does not say
 * @property {Int32Array} index number of the step or layer, or -1
 * @property {Float64Array} beginNs
 * @property {Float64Array} durationNs -1: still open; NO_INTERVAL: known only at the allocations that name it
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
 * @property {Uint8Array | null} certainty index in CERTAINTY_NAMES; null: the file does not say
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
 * @typedef {object} Forecast how long a step would take on the card, by a model; -1: not known
 * @property {string} card
 * @property {string} bound "the GPU", "the host", "the GPU or the host"
 * @property {number} stepMs the likely time; -1: only the lower bound is known
 * @property {number} lowMs between this
 * @property {number} highMs and this
 * @property {number} gpuMs
 * @property {number} hostMs
 * @property {number} guessedShare of the card's time, 0 to 1
 * @property {number} uncomparedShare
 *
 * @typedef {object} Inexact a function of a simulated device whose effect on memory is not known
 * @property {string} call
 * @property {string} what
 * @property {number} boundBytes it takes at most so many bytes more; -1: not known
 * @property {boolean} isRefused
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
 * @property {string} userPath folder of the program's own code, even within installed packages; "": none given
 * @property {Device[]} devices
 * @property {Stream[]} streams
 * @property {Record<string, any>} allocator its settings, as they stand in the document
 * @property {{name: string, version: string}[]} software what ran besides tidemark
 * @property {Inexact[]} inexact what could not be known exactly
 * @property {import('./owners.js').Owners} owners whose memory it is that the driver gave out
 * @property {string[]} pools private pools, as in `start.poolId`
 * @property {Timing} timing
 * @property {Forecast | null} forecast null: times, if any, were measured
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
    thread:
      s.thread === undefined
        ? new Int32Array(count)
        : int32Of(s, 'scopes', 'thread', count, { lo: 0, hi: 65535, what: 'a thread' }),
    index: int32Of(s, 'scopes', 'index', count, { lo: -1, hi: 2 ** 31 - 1, what: 'a number' }),
    beginNs: float64Of(s, 'scopes', 'begin_delta', count, {
      lo: 0,
      hi: MOST_BYTES,
      what: 'a time',
      isDelta: true,
    }),
    durationNs: float64Of(s, 'scopes', 'duration', count, {
      lo: NO_INTERVAL,
      hi: MOST_BYTES,
      what: 'a duration',
    }),
    deviceBeginNs: deviceTimes('device_begin'),
    deviceDurationNs: deviceTimes('device_duration'),
  };
  requireParentsFirst(scopes.parent, 'scopes');
  return scopes;
}

/**
 * Refuses unknown actions, and blocks that are smaller than what was asked of them.
 * @param {import('./subjects.js').EventTable} table
 */
function requireSound({ action, requestedBytes, blockBytes }) {
  const unknown = action.indexOf(UNKNOWN_ACTION);
  if (unknown >= 0) throw new FormatError(`events.action[${unknown}] is one that this viewer does not know`);
  for (let i = 0; i < action.length; i++) {
    if (requestedBytes[i] > blockBytes[i] && action[i] <= ACTION.FREE_COMPLETED) {
      throw new FormatError(
        `events.requested_bytes[${i}] is ${requestedBytes[i]}, more than the block's ${blockBytes[i]}`,
      );
    }
  }
}

/**
 * @param {any} doc
 * @param {import('./format_start.js').Tables} tables
 * @param {Segments} start
 * @param {string[]} pools
 * @returns {{events: Events, subjects: import('./subjects.js').Subjects}}
 */
function readEvents(doc, tables, start, pools) {
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
    certainty:
      e.certainty === undefined
        ? null
        : bytesOf(e, 'events', 'certainty', count, CERTAINTY_NAMES.length, 'certainties'),
    name: indicesOf(e, 'events', 'name', count, tables.strings, 'rows'),
    pool:
      e.pool === undefined
        ? null
        : int32Of(e, 'events', 'pool', count, { lo: 0, hi: pools.length, what: 'a pool' }),
  };
  const { action, device, requestedBytes, blockBytes } = table;
  requireSound(table);
  const { subjects, acts } = makeSubjects(table, start, pools);
  for (const column of [address, requestedBytes, blockBytes, table.stream, table.category, table.name])
    release(column);
  for (const column of [table.certainty, table.pool]) if (column !== null) release(column);
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

/** @param {any} doc */
function readOrigin(doc) {
  const { format, events, contradictions } = section(doc, 'origin');
  return typeof format === 'string'
    ? { format, events: numberOr(events, 0), contradictions: numberOr(contradictions, 0) }
    : null;
}

/** @param {any} doc */
function readSoftware(doc) {
  return Object.entries(section(doc, 'software')).flatMap(([name, version]) =>
    typeof version === 'string' && version !== '' ? [{ name, version }] : [],
  );
}

/** @param {any} doc */
function readInexact(doc) {
  return listOfObjects(doc, 'inexact', 'inexact', MOST_INEXACT).map((row) => ({
    call: textOr(row.call, ''),
    what: textOr(row.what, ''),
    boundBytes: numberOr(row.bound_bytes, -1),
    isRefused: row.refused === true,
  }));
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

/** @param {any} doc */
function readDevices(doc) {
  return listOfObjects(doc, 'devices', 'devices', MOST_DEVICES).map((device) => ({
    kind: textOr(device.kind, '?'),
    name: textOr(device.name, ''),
    totalBytes: numberOr(device.total_bytes, -1),
  }));
}

/** @param {any} doc */
function readStreams(doc) {
  return listOfObjects(doc, 'streams', 'streams', MOST_DEVICES).map((stream) => ({
    device: numberOr(stream.device, 0),
    handle: numberOr(stream.handle, 0),
  }));
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
  const devices = readDevices(doc);
  const streams = readStreams(doc);
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
  const pools = readPools(doc, start.poolId);
  const { events, subjects } = readEvents(doc, tables, start, pools);
  const log = section(doc, 'log');
  return {
    run: section(doc, 'run'),
    clockSource: textOr(section(doc, 'clock').source, 'monotonic'),
    origin: readOrigin(doc),
    userPath: textOr(doc.user_path, ''),
    devices,
    streams,
    allocator: section(doc, 'allocator'),
    software: readSoftware(doc),
    inexact: readInexact(doc),
    owners: readOwners(doc),
    pools,
    timing: readTiming(doc),
    forecast: readForecast(doc),
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
