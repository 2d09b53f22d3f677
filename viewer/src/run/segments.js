/* segments.js - a recording seen as the segments that the allocator bought from the device: each is a block
 * of its own snapshot, so that every part of the page works on them.
 *
 * Mapped memory of an expandable segment may be unmapped in other pieces than it was mapped in. So a block
 * is a piece between two borders that some mapping or unmapping has. An event that concerns several pieces
 * has several rows of the same time.
 */
import { CATEGORIES } from '../words/colours.js';
import { ACTION, NO_BLOCK, STATE, subjectOf } from './subjects.js';

const UNKNOWN = CATEGORIES.indexOf('unknown');

/**
 * @typedef {object} Piece of device memory that the allocator holds for a while
 * @property {number} address in bytes
 * @property {number} bytes
 * @property {number} stream
 * @property {number} pool 0: none, n: the n-th of the pools
 *
 * @typedef {object} Row of the new events
 * @property {number} event of the recording
 * @property {number} act as in Acts
 */

/**
 * True if the recording has the segments of a device.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} device
 */
export function hasSegments({ start, events }, device) {
  if (start.device.includes(device)) return true;
  for (let e = 0; e < events.count; e++)
    if (isOfSegment(events.action[e]) && events.device[e] === device) return true;
  return false;
}

/** @param {number} action */
function isOfSegment(action) {
  return action >= ACTION.SEGMENT_ALLOC && action <= ACTION.SEGMENT_UNMAP;
}

/** @param {number} action */
function isBought(action) {
  return action === ACTION.SEGMENT_ALLOC || action === ACTION.SEGMENT_MAP;
}

/**
 * The addresses at which a piece of a device must end, sorted.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} device
 */
function bordersOf({ start, events, subjects }, device) {
  const borders = new Set();
  const add = (/** @type {number} */ address, /** @type {number} */ bytes) =>
    borders.add(address).add(address + bytes);
  for (let i = 0; i < start.count; i++)
    if (start.device[i] === device && start.isExpandable[i] === 1) add(start.address[i], start.totalBytes[i]);
  for (let e = 0; e < events.count; e++) {
    const action = events.action[e];
    if (events.device[e] !== device || (action !== ACTION.SEGMENT_MAP && action !== ACTION.SEGMENT_UNMAP))
      continue;
    const subject = subjectOf(events.act[e]);
    add(subjects.address[subject], subjects.bytes[subject]);
  }
  return Float64Array.from(borders).sort();
}

/**
 * The pieces of a range of addresses.
 * @param {Float64Array} borders
 * @param {number} address
 * @param {number} bytes
 * @returns {[number, number][]} address and bytes of each
 */
function cut(borders, address, bytes) {
  let lo = 0;
  let hi = borders.length;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (borders[middle] <= address) lo = middle + 1;
    else hi = middle;
  }
  const pieces = /** @type {[number, number][]} */ ([]);
  let at = address;
  for (; lo < borders.length && borders[lo] < address + bytes; lo++) {
    pieces.push([at, borders[lo] - at]);
    at = borders[lo];
  }
  pieces.push([at, address + bytes - at]);
  return pieces;
}

/** Collects the pieces of one device, and the rows that buy and return them. */
class Ledger {
  /**
   * @param {import('./format.js').Snapshot} snapshot
   * @param {number} device
   */
  constructor(snapshot, device) {
    this.snapshot = snapshot;
    this.device = device;
    this.borders = bordersOf(snapshot, device);
    /** @type {Piece[]} in order of purchase */
    this.pieces = [];
    /** @type {Row[]} */
    this.rows = [];
    /** @type {number[]} per piece of the start, its segment there */
    this.atStart = [];
    /** @type {Map<number, number>} held pieces by address */
    this.held = new Map();
    this.nUnmatched = 0;
    this.poolNumbers = new Map(snapshot.pools.map((text, i) => [text, i + 1]));
  }

  readStart() {
    const { start } = this.snapshot;
    for (let i = 0; i < start.count; i++) {
      if (start.device[i] !== this.device) continue;
      const pool = this.poolNumbers.get(start.poolId[i]) ?? 0;
      const borders = start.isExpandable[i] === 1 ? this.borders : new Float64Array(0);
      for (const [address, bytes] of cut(borders, start.address[i], start.totalBytes[i])) {
        this.held.set(address, this.pieces.length);
        this.pieces.push({ address, bytes, stream: start.stream[i], pool });
        this.atStart.push(i);
      }
    }
  }

  /** @param {number} event */
  readEvent(event) {
    const { events, subjects } = this.snapshot;
    const action = events.action[event];
    const subject = subjectOf(events.act[event]);
    if (!isOfSegment(action) || events.device[event] !== this.device || subjects.bytes[subject] === 0) {
      this.rows.push({ event, act: NO_BLOCK });
      return;
    }
    const isMapped = action === ACTION.SEGMENT_MAP || action === ACTION.SEGMENT_UNMAP;
    const borders = isMapped ? this.borders : new Float64Array(0);
    for (const [address, bytes] of cut(borders, subjects.address[subject], subjects.bytes[subject])) {
      if (isBought(action)) this.buy(event, address, bytes, subject);
      else this.giveBack(event, address);
    }
  }

  /**
   * @param {number} event
   * @param {number} address
   * @param {number} bytes
   * @param {number} subject of the event
   */
  buy(event, address, bytes, subject) {
    const { stream, pool } = this.snapshot.subjects;
    if (this.held.has(address)) {
      this.nUnmatched++; // the recording contradicts itself: the piece is there already
      this.rows.push({ event, act: NO_BLOCK });
      return;
    }
    this.held.set(address, this.pieces.length);
    this.rows.push({ event, act: this.pieces.length });
    this.pieces.push({ address, bytes, stream: stream[subject], pool: pool?.[subject] ?? 0 });
  }

  /**
   * @param {number} event
   * @param {number} address
   */
  giveBack(event, address) {
    const piece = this.held.get(address);
    if (piece === undefined) this.nUnmatched++;
    else this.held.delete(address);
    this.rows.push({ event, act: piece === undefined ? NO_BLOCK : ~piece });
  }
}

/**
 * The segments of the start, one allocated block in each.
 * @param {Ledger} ledger
 * @returns {import('./format.js').Segments}
 */
function startOf({ snapshot: { start }, pieces, atStart }) {
  const count = atStart.length;
  const bytes = Float64Array.from(atStart, (_, i) => pieces[i].bytes);
  return {
    count,
    device: Uint8Array.from(atStart, (i) => start.device[i]),
    address: Float64Array.from(atStart, (_, i) => pieces[i].address),
    totalBytes: bytes,
    stream: Uint8Array.from(atStart, (i) => start.stream[i]),
    isExpandable: Uint8Array.from(atStart, (i) => start.isExpandable[i]),
    pool: atStart.map((i) => start.pool[i]),
    poolId: atStart.map((i) => start.poolId[i]),
    firstBlock: Int32Array.from({ length: count + 1 }, (_, i) => i),
    blocks: {
      count,
      offsetBytes: new Float64Array(count),
      blockBytes: bytes,
      requestedBytes: bytes,
      state: new Uint8Array(count).fill(STATE.ALLOCATED),
      stack: new Int32Array(count).fill(-1),
      scope: new Int32Array(count).fill(-1),
      category: new Uint8Array(count).fill(UNKNOWN),
      certainty: null,
      name: new Int32Array(count).fill(-1),
    },
  };
}

/**
 * The pieces as blocks, and after them what all other rows refer to.
 * @param {Ledger} ledger
 * @returns {import('./subjects.js').Subjects}
 */
function subjectsOf({ snapshot: { subjects }, pieces, atStart }) {
  const nBlocks = pieces.length;
  const count = nBlocks + subjects.count;
  const joined = (
    /** @type {any} */ Type,
    /** @type {(piece: Piece) => number} */ of,
    /** @type {import('./columns.js').Numbers} */ rest,
  ) => {
    const column = new Type(count);
    column.set(Type.from(pieces, of));
    column.set(rest, nBlocks);
    return column;
  };
  return {
    count,
    nBlocks,
    atStart: atStart.map((_, i) => ({ row: i, segment: i })),
    address: joined(Float64Array, (piece) => piece.address, subjects.address),
    requestedBytes: joined(Float64Array, (piece) => piece.bytes, subjects.requestedBytes),
    bytes: joined(Float64Array, (piece) => piece.bytes, subjects.bytes),
    stream: joined(Uint8Array, (piece) => piece.stream, subjects.stream),
    category: joined(Uint8Array, () => UNKNOWN, subjects.category),
    certainty: null,
    name: joined(Int32Array, () => -1, subjects.name),
    pool: subjects.pool === null ? null : joined(Uint16Array, (piece) => piece.pool, subjects.pool),
  };
}

/**
 * The snapshot whose blocks are the segments of a device. Its rows are those of the recording, in the same
 * order, so scopes, times and failures stand where they stood.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} device
 * @returns {{snapshot: import('./format.js').Snapshot, firstRow: Int32Array}} firstRow: for each event of the
 *   recording its first row, and the number of rows
 */
export function segmentSnapshot(snapshot, device) {
  const { events } = snapshot;
  const ledger = new Ledger(snapshot, device);
  ledger.readStart();
  const firstRow = new Int32Array(events.count + 1);
  for (let e = 0; e < events.count; e++) {
    firstRow[e] = ledger.rows.length;
    ledger.readEvent(e);
  }
  firstRow[events.count] = ledger.rows.length;
  const { rows } = ledger;
  const nBlocks = ledger.pieces.length;
  const of = (/** @type {any} */ column) =>
    column.constructor.from(rows, (/** @type {Row} */ row) => column[row.event]);
  const nUnmatched = /** @type {number[]} */ ([]);
  nUnmatched[device] = ledger.nUnmatched;
  const seen = {
    ...snapshot,
    start: startOf(ledger),
    subjects: subjectsOf(ledger),
    events: {
      count: rows.length,
      timeNs: of(events.timeNs),
      action: of(events.action),
      device: of(events.device),
      stack: of(events.stack),
      scope: of(events.scope),
      act: Int32Array.from(rows, ({ event, act }) =>
        act > NO_BLOCK ? act : NO_BLOCK - nBlocks - subjectOf(events.act[event]),
      ),
      replaced: [],
      nUnmatched,
    },
    oom: snapshot.oom.map((oom) => ({ ...oom, event: firstRow[oom.event] })),
  };
  return { snapshot: seen, firstRow };
}
