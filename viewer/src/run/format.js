/* format.js - turns a snapshot's document, as the engine reads and checks it, into what the page draws from.
 */
import { CATEGORIES } from '../words/colours.js';
import { readStart } from './format_start.js';
import { readForecast, readKernels, readTiming } from './format_timing.js';
import { list, numberOr, section, textOr } from './format_values.js';
import { readOwners } from './owners.js';
import { readPools } from './pools.js';
import { ACTION, makeSubjects, subjectOf } from './subjects.js';

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
 * @property {Uint8Array} kind FRAME: whose code it is
 *
 * @typedef {{parent: Indices, frame: Indices, userFrame: Indices}} Stacks a tree: a row holds the innermost
 *   frame, and its parent the caller's. userFrame: the frame that represents the stack, or -1
 * @typedef {{event: number, requestedBytes: number}} Oom
 * @typedef {{words: string, category: string, bytes: number, count: number}} RuleRow count: of blocks. Only
 *   the command line knows the user's own rules (--rules): their row is the last, without a category
 *
 * @typedef {object} Snapshot
 * @property {Record<string, any>} run as it stands in the document
 * @property {string} clockSource
 * @property {{format: string, events: number} | null} origin the source of a document
 *   made from another program's file
 * @property {string} userPath folder of the program's own code, even within installed packages; "": none given
 * @property {Device[]} devices
 * @property {Stream[]} streams
 * @property {Record<string, any>} allocator its settings, as they stand in the document
 * @property {{name: string, version: string}[]} software what ran besides tidemark
 * @property {import('./owners.js').Owners} owners whose memory it is that the driver gave out
 * @property {string[]} pools private pools, as in `start.poolId`
 * @property {Timing} timing
 * @property {Forecast | null} forecast null: times, if any, were measured
 * @property {Kernel[]} kernels
 * @property {string} fullPolicy the policy for a full event log: "stop", "keep-newest" or ""
 * @property {number} nDropped
 * @property {string[]} strings
 * @property {string[]} categories CATEGORIES, then the file's own
 * @property {Frames} frames
 * @property {Stacks} stacks
 * @property {Scopes} scopes
 * @property {Segments} start
 * @property {Events} events
 * @property {import('./subjects.js').Subjects} subjects the blocks and segments that events refer to
 * @property {Oom[]} oom
 * @property {import('./sentences.js').Sentence[][]} sentences by device, what `tidemark explain` prints; empty
 *   until the engine has answered, or if it could not
 * @property {RuleRow[][]} rules by device, what explains the categories at its
 *   peak; empty: PyTorch did not record it
 * @property {{count: number, first: string} | null} odd number of values read as unknown, and the place of
 *   the first
 */

/**
 * @param {any} doc
 * @returns {Scopes}
 */
function readScopes({ scopes }) {
  const ofDevice = (/** @type {Float64Array} */ times) =>
    times.some((ns) => ns >= 0) ? times : new Float64Array(0);
  return {
    count: scopes.name.length,
    parent: scopes.parent,
    kind: scopes.kind,
    name: scopes.name,
    thread: scopes.thread,
    index: scopes.index,
    beginNs: scopes.begin_ns,
    durationNs: scopes.duration_ns,
    deviceBeginNs: ofDevice(scopes.device_begin_ns),
    deviceDurationNs: ofDevice(scopes.device_duration_ns),
  };
}

/**
 * @param {any} doc
 * @param {Segments} start
 * @param {string[]} pools
 * @returns {{events: Events, subjects: import('./subjects.js').Subjects}}
 */
function readEvents(doc, start, pools) {
  const { time_ns: timeNs, action, device, stack, scope, act } = doc.events;
  for (let i = 1; i < timeNs.length; i++) if (timeNs[i] < timeNs[i - 1]) timeNs[i] = timeNs[i - 1];
  return {
    subjects: makeSubjects(doc, start, pools),
    events: {
      ...{ count: action.length, timeNs, action, device, stack, scope, act },
      replaced: Array.from(doc.replaced.block, (block, i) => [block, doc.replaced.event[i]]),
      nUnmatched: [...doc.unmatched.count],
    },
  };
}

/** @param {any} doc */
function readOrigin(doc) {
  const { format, events } = section(doc, 'origin');
  return typeof format === 'string' ? { format, events: numberOr(events, 0) } : null;
}

/** @param {any} doc */
function readSoftware(doc) {
  return Object.entries(section(doc, 'software')).flatMap(([name, version]) =>
    typeof version === 'string' && version !== '' ? [{ name, version }] : [],
  );
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
  return list(doc, 'devices').map((device) => ({
    kind: textOr(device.kind, '?'),
    name: textOr(device.name, ''),
    totalBytes: numberOr(device.total_bytes, -1),
  }));
}

/** @param {any} doc */
function readStreams(doc) {
  return list(doc, 'streams').map((stream) => ({
    device: numberOr(stream.device, 0),
    handle: numberOr(stream.handle, 0),
  }));
}

/**
 * Numbers the categories in the order in which they are stacked, instead of that of the format.
 * @param {string[]} given the built-in ones, followed by the file's own
 * @param {Uint8Array[]} columns
 * @returns {string[]} the names in the new order
 */
function stackCategories(given, columns) {
  const names = [...CATEGORIES, ...given.slice(CATEGORIES.length)];
  const numbers = given.map((name) => names.indexOf(name));
  for (const column of columns) for (let i = 0; i < column.length; i++) column[i] = numbers[column[i]];
  return names;
}

/**
 * @param {any} doc as the engine reads it: its columns are typed arrays
 * @returns {Snapshot}
 */
export function readSnapshot(doc) {
  const { strings, frames, stacks } = doc;
  const start = readStart(doc);
  const pools = readPools(doc, start.poolId);
  const { events, subjects } = readEvents(doc, start, pools);
  const log = section(doc, 'log');
  return {
    run: section(doc, 'run'),
    clockSource: textOr(section(doc, 'clock').source, 'monotonic'),
    origin: readOrigin(doc),
    userPath: textOr(doc.user_path, ''),
    devices: readDevices(doc),
    streams: readStreams(doc),
    allocator: section(doc, 'allocator'),
    software: readSoftware(doc),
    owners: readOwners(doc),
    pools,
    timing: readTiming(doc),
    forecast: readForecast(doc),
    kernels: readKernels(doc, strings),
    fullPolicy: textOr(log.full_policy, ''),
    nDropped: Math.max(0, numberOr(log.dropped_events, 0)),
    strings,
    categories: stackCategories(doc.categories, [subjects.category, start.blocks.category]),
    frames,
    stacks: { parent: stacks.parent, frame: stacks.frame, userFrame: stacks.user_frame },
    scopes: readScopes(doc),
    start,
    events,
    subjects,
    oom: oomRows(events, subjects),
    sentences: [],
    rules: [],
    odd: doc.odd,
  };
}
