/* subjects.js - the blocks and segments that events refer to. An allocation and its free repeat a block's
 * data, which is stored once.
 *
 * Files are untrusted: a free without its block, a free with other bytes than its block has, and an
 * allocation on top of a live block are counted.
 */

/** Actions, numbered as in the files of version 1. */
export const ACTION = Object.freeze({
  ALLOC: 0,
  FREE: 1,
  FREE_REQUESTED: 2,
  FREE_COMPLETED: 3,
  SEGMENT_ALLOC: 4,
  SEGMENT_FREE: 5,
  SEGMENT_MAP: 6,
  SEGMENT_UNMAP: 7,
  OOM: 8,
  MARK: 9,
});
/** States of a block of a segment. */
export const STATE = Object.freeze({ FREE: 0, ALLOCATED: 1, PENDING_FREE: 2 });

/** An `act` up to this value neither allocates nor frees a block. */
export const NO_BLOCK = -0x40000000;

/**
 * @typedef {import('./columns.js').Indices} Indices
 * @typedef {Float64Array | Uint32Array} Amounts
 *
 * @typedef {object} Subjects blocks in order of birth, those of the start first; then the subjects of other
 *   events
 * @property {number} count
 * @property {number} nBlocks
 * @property {{row: number, segment: number}[]} atStart rows in the file of the first blocks, pending ones
 *   included
 * @property {Float64Array} address in bytes
 * @property {Amounts} requestedBytes
 * @property {Amounts} bytes bytes of whole blocks or segments; OOM: the free bytes
 * @property {Uint8Array} stream
 * @property {Uint8Array} category index in the categories of the snapshot
 * @property {Uint8Array | null} certainty of the category, index in CERTAINTY_NAMES; null: the file does not say
 * @property {Indices} name string, or -1
 * @property {Uint16Array | null} pool 0: none or not known, n: the n-th of the pools; null: no block has one
 *
 * @typedef {object} Acts
 * @property {Int32Array} act per event: subject >= 0 was allocated, ~subject was freed, else NO_BLOCK -
 *   subject
 * @property {[number, number][]} replaced blocks on top of which another was allocated, and the event that
 *   did so
 * @property {number[]} nUnmatched per device, events that contradict the state before them
 */

/**
 * The subject of an event.
 * @param {number} act
 * @returns {number}
 */
export function subjectOf(act) {
  return act >= 0 ? act : act > NO_BLOCK ? ~act : NO_BLOCK - act;
}

/**
 * The blocks of segments, without free ones.
 * @param {import('./format.js').Segments} start
 * @returns {{row: number, segment: number}[]}
 */
function startRows(start) {
  const found = [];
  for (let segment = 0; segment < start.count; segment++) {
    for (let row = start.firstBlock[segment]; row < start.firstBlock[segment + 1]; row++) {
      if (start.blocks.state[row] !== STATE.FREE) found.push({ row, segment });
    }
  }
  return found;
}

/**
 * The private pool that each subject is of.
 * @param {any} doc
 * @param {import('./format.js').Segments} start
 * @param {string[]} pools
 * @param {{row: number, segment: number}[]} atStart
 * @returns {Uint16Array}
 */
function poolsOf(doc, start, pools, atStart) {
  const { act, pool: ofEvents } = doc.events;
  const pool = new Uint16Array(doc.subjects.bytes.length);
  const numbers = new Map(pools.map((text, i) => [text, i + 1]));
  atStart.forEach(({ segment }, s) => (pool[s] = numbers.get(start.poolId[segment]) ?? 0));
  for (let e = 0; e < act.length && ofEvents !== undefined; e++) {
    const s = subjectOf(act[e]);
    if (act[e] >= 0 || s >= doc.n_blocks) pool[s] = ofEvents[e];
  }
  return pool;
}

/**
 * @param {any} doc as the engine reads it
 * @param {import('./format.js').Segments} start state before the first event
 * @param {string[]} pools
 * @returns {Subjects}
 */
export function makeSubjects(doc, start, pools) {
  const { address, requested_bytes: requestedBytes, bytes, stream, category, name } = doc.subjects;
  const atStart = startRows(start);
  return {
    ...{ count: bytes.length, nBlocks: doc.n_blocks, atStart, address, requestedBytes, bytes },
    ...{ stream, category, name },
    certainty: doc.subjects.certainty ?? null,
    pool: pools.length > 0 ? poolsOf(doc, start, pools, atStart) : null,
  };
}
