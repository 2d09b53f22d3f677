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
export const STATE = Object.freeze({ FREE: 0, ALLOCATED: 1, PENDING: 2 });

/** An `act` up to this value neither allocates nor frees a block. */
export const NO_BLOCK = -0x40000000;

/**
 * @typedef {import('./columns.js').Indices} Indices
 * @typedef {Float64Array | Uint32Array} Amounts
 *
 * @typedef {object} EventTable the columns of a file's events
 * @property {Uint8Array} action ACTION
 * @property {Uint8Array} device
 * @property {Float64Array} address in bytes
 * @property {Amounts} requestedBytes
 * @property {Amounts} blockBytes
 * @property {Uint8Array} stream
 * @property {Uint8Array} category
 * @property {Uint8Array | null} certainty null: the file does not say
 * @property {Int32Array | null} pool 0: none, n: the n-th of the pools; null: the file does not say
 * @property {Indices} name
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

const SLOTS_AT_FIRST = 1024;

/** Maps addresses to blocks. Addresses repeat, so entries are never removed. */
class AddressMap {
  constructor() {
    this.count = 0;
    this.keys = new Float64Array(SLOTS_AT_FIRST).fill(-1);
    this.values = new Int32Array(SLOTS_AT_FIRST);
  }

  /**
   * The slot of an address; a new one has the value -1.
   * @param {number} address in bytes
   * @returns {number}
   */
  slot(address) {
    const { keys } = this;
    const mask = keys.length - 1;
    let at = ((Math.imul(address / 512, 0x9e3779b1) ^ Math.imul(address / 2 ** 41, 0x85ebca6b)) >>> 8) & mask;
    while (keys[at] !== address) {
      if (keys[at] === -1) {
        if (this.count * 2 >= keys.length) {
          this.grow();
          return this.slot(address);
        }
        this.count++;
        keys[at] = address;
        this.values[at] = -1;
        return at;
      }
      at = (at + 1) & mask;
    }
    return at;
  }

  /**
   * @param {number} address
   * @param {number} block
   */
  put(address, block) {
    const slot = this.slot(address); // before `values` is read, because this may replace it
    this.values[slot] = block;
  }

  grow() {
    const { keys, values } = this;
    this.keys = new Float64Array(keys.length * 2).fill(-1);
    this.values = new Int32Array(keys.length * 2);
    this.count = 0;
    for (let i = 0; i < keys.length; i++) if (keys[i] !== -1) this.put(keys[i], values[i]);
  }
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
 * @param {number[]} counts per device
 * @param {number} device
 */
function countOne(counts, device) {
  counts[device] = (counts[device] ?? 0) + 1;
}

/**
 * Finds the subject of each event.
 * @param {EventTable} table
 * @param {import('./format.js').Segments} start
 * @param {{row: number, segment: number}[]} atStart
 * @returns {Acts & {nBlocks: number, count: number}}
 */
function pairEvents({ action, device, address }, start, atStart) {
  const act = new Int32Array(action.length);
  const nUnmatched = /** @type {number[]} */ ([]);
  const replaced = /** @type {[number, number][]} */ ([]);
  const maps = /** @type {AddressMap[]} */ ([]);
  const aliveOn = (/** @type {number} */ on) => (maps[on] ??= new AddressMap());
  let nBlocks = atStart.length;
  let next = nBlocks;
  for (let e = 0; e < act.length; e++) if (action[e] === ACTION.ALLOC) nBlocks++;
  const isFreed = new Uint8Array(nBlocks);
  atStart.forEach(({ row, segment }, block) => {
    isFreed[block] = start.blocks.state[row] === STATE.PENDING ? 1 : 0;
    aliveOn(start.device[segment]).put(start.address[segment] + start.blocks.offsetBytes[row], block);
  });
  let count = nBlocks;
  for (let e = 0; e < act.length; e++) {
    if (action[e] > ACTION.FREE_COMPLETED) {
      act[e] = NO_BLOCK - count++;
      continue;
    }
    const alive = aliveOn(device[e]);
    const slot = alive.slot(address[e]);
    const block = alive.values[slot];
    const isAlloc = action[e] === ACTION.ALLOC;
    if (isAlloc === block >= 0) countOne(nUnmatched, device[e]);
    if (isAlloc) {
      if (block >= 0) replaced.push([block, e]);
      alive.values[slot] = act[e] = next++;
      continue;
    }
    act[e] = block < 0 ? NO_BLOCK - count++ : isFreed[block] === 1 ? NO_BLOCK - block : ~block;
    if (block >= 0) isFreed[block] = 1;
    if (action[e] !== ACTION.FREE_REQUESTED) alive.values[slot] = -1;
  }
  return { act, replaced, nUnmatched, nBlocks, count };
}

/**
 * An array as long as a column, of its type if the numbers of the start fit.
 * @template {Amounts | Indices} T
 * @param {T} like
 * @param {number} count
 * @param {Float64Array | Int32Array} atStart
 * @returns {T}
 */
function arrayLike(like, count, atStart) {
  const isLarge = like instanceof Uint32Array && atStart.some((value) => value >= 2 ** 32);
  return new /** @type {any} */ (isLarge ? Float64Array : like.constructor)(count);
}

/**
 * @param {EventTable} table
 * @param {import('./format.js').Segments} start state before the first event
 * @param {string[]} pools
 * @returns {{subjects: Subjects, acts: Acts}}
 */
export function makeSubjects(table, start, pools) {
  const atStart = startRows(start);
  const { blocks } = start;
  const { count, nBlocks, ...acts } = pairEvents(table, start, atStart);
  const { act } = acts;
  const address = new Float64Array(count);
  const stream = new Uint8Array(count);
  const category = new Uint8Array(count);
  const isCertain = (table.certainty ?? blocks.certainty ?? null) !== null;
  const certainty = isCertain ? new Uint8Array(count) : null;
  const name = arrayLike(table.name, count, blocks.name);
  const pool = pools.length > 0 ? new Uint16Array(count) : null;
  const poolNumbers = new Map(pools.map((text, i) => [text, i + 1]));
  const requestedBytes = arrayLike(table.requestedBytes, count, blocks.requestedBytes);
  const bytes = arrayLike(table.blockBytes, count, blocks.blockBytes);
  atStart.forEach(({ row, segment }, s) => {
    address[s] = start.address[segment] + blocks.offsetBytes[row];
    requestedBytes[s] = blocks.requestedBytes[row];
    bytes[s] = blocks.blockBytes[row];
    stream[s] = start.stream[segment];
    category[s] = blocks.category[row];
    if (certainty !== null) certainty[s] = blocks.certainty?.[row] ?? 0;
    name[s] = blocks.name[row];
    if (pool !== null) pool[s] = poolNumbers.get(start.poolId[segment]) ?? 0;
  });
  for (let e = 0; e < act.length; e++) {
    const s = subjectOf(act[e]);
    if (act[e] < 0 && s < nBlocks) {
      if (table.blockBytes[e] !== bytes[s]) countOne(acts.nUnmatched, table.device[e]);
      continue;
    }
    address[s] = table.address[e];
    requestedBytes[s] = table.requestedBytes[e];
    bytes[s] = table.blockBytes[e];
    stream[s] = table.stream[e];
    category[s] = table.category[e];
    if (certainty !== null) certainty[s] = table.certainty?.[e] ?? 0;
    name[s] = table.name[e];
    if (pool !== null) pool[s] = table.pool?.[e] ?? 0;
  }
  return {
    subjects: {
      ...{ count, nBlocks, atStart, address, requestedBytes, bytes },
      ...{ stream, category, certainty, name, pool },
    },
    acts,
  };
}
