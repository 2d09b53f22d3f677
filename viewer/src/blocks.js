/* blocks.js - from events to blocks: what was handed out, from which event to which.
 *
 * State s is what holds after s events: state 0 is the start, state n the end of n events. A block is
 * alive in the states bornState <= s < diedState. "Alive" means allocated: until its free is
 * requested. While another stream still uses it, it is pending: diedState <= s < pendingState.
 *
 * Files are not believed: a free without its block and an allocation on top of a live one are counted.
 */
import { ACTION, STATE } from './format.js';
import { oncePer } from './once.js';

/** In `act`: the event neither hands out nor takes back a block. */
export const NO_BLOCK = -0x80000000;

/**
 * @typedef {import('./format.js').Indices} Indices
 * @typedef {import('./format.js').Amounts} Amounts
 *
 * @typedef {object} Blocks in order of birth, those of the start first
 * @property {number} count
 * @property {number} nAtStart how many of them stood before the first event, pending ones among them
 * @property {Float64Array} address in bytes
 * @property {Amounts} requestedBytes
 * @property {Amounts} bytes whole blocks
 * @property {Uint8Array} category index in CATEGORIES
 * @property {Uint8Array} stream
 * @property {Indices} name
 * @property {Indices} stack of the allocation
 * @property {Indices} scope of the allocation
 * @property {Int32Array} bornState 0: before the first event
 * @property {Int32Array} diedState n + 1: never; 0: pending from the start on, never alive
 * @property {Int32Array} pendingState the first state in which its bytes can be handed out again: diedState where the free
 *   completed at once; n + 1: never
 * @property {Int32Array} allocRow event that handed it out; -1: before the first
 * @property {Int32Array} freeRow event that took it back, or asked to; -1: none, or before the first
 * @property {Int32Array} act per event: block >= 0 handed out, ~block taken back, or NO_BLOCK
 * @property {Int32Array} replaced blocks on top of which another was handed out, in the order of their end
 * @property {number} nUnmatched frees of blocks that nobody handed out, allocations on top of others, segments given back twice
 * @property {number} device the one shown
 * @property {number} nOtherEvents events of other devices, which are left out
 */

const SLOTS_AT_FIRST = 1024;

/** The block at each address. Addresses come again and again, so they are never taken out. */
class AddressMap {
  constructor() {
    this.count = 0;
    this.keys = new Float64Array(SLOTS_AT_FIRST).fill(-1);
    this.values = new Int32Array(SLOTS_AT_FIRST);
  }

  /** The slot of an address; made where there is none, with the value -1. @param {number} address in bytes @returns {number} */
  slot(address) {
    const { keys } = this, mask = keys.length - 1;
    let at = (Math.imul(address / 512, 0x9e3779b1) ^ Math.imul(address / 2 ** 41, 0x85ebca6b)) >>> 8 & mask;
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

  /** @param {number} address @param {number} block */
  put(address, block) {
    const slot = this.slot(address); // before the values are named: it may make new ones
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

/** Blocks of the segments on a device, but free ones. @param {import('./format.js').Segments} start @param {number} device
 * @returns {{row: number, segment: number}[]} */
function startRows(start, device) {
  const found = [];
  for (let segment = 0; segment < start.count; segment++) {
    if (start.device[segment] !== device) continue;
    for (let row = start.firstBlock[segment]; row < start.firstBlock[segment + 1]; row++) {
      if (start.blocks.state[row] !== STATE.FREE) found.push({ row, segment });
    }
  }
  return found;
}

/** Of the same kind as another. @param {any} like @param {number} count @returns {any} */
function roomLike(like, count) {
  return new like.constructor(count);
}

/** The greatest of some numbers, or 0. @param {ArrayLike<number>} values */
function greatest(values) {
  let most = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > most) most = values[i];
  return most;
}

/** @param {import('./format.js').Snapshot} snapshot @param {number} device @param {number} count @param {number} nOtherEvents @returns {Blocks} */
function emptyBlocks(snapshot, device, count, nOtherEvents) {
  const { events, start } = snapshot, n = events.count;
  const amounts = (/** @type {Amounts} */ like, /** @type {Float64Array} */ atStart) =>
    (greatest(atStart) < 2 ** 32 ? roomLike(like, count) : new Float64Array(count));
  return {
    count, nAtStart: 0, address: new Float64Array(count), requestedBytes: amounts(events.requestedBytes, start.blocks.requestedBytes),
    bytes: amounts(events.blockBytes, start.blocks.blockBytes), category: new Uint8Array(count), stream: new Uint8Array(count),
    name: roomLike(events.name, count), stack: roomLike(events.stack, count), scope: roomLike(events.scope, count),
    bornState: new Int32Array(count), diedState: new Int32Array(count).fill(n + 1), pendingState: new Int32Array(count).fill(n + 1),
    allocRow: new Int32Array(count), freeRow: new Int32Array(count).fill(-1), act: new Int32Array(n).fill(NO_BLOCK),
    replaced: new Int32Array(0), nUnmatched: 0, device, nOtherEvents,
  };
}

/** @param {import('./format.js').Snapshot} snapshot @param {Blocks} blocks @param {AddressMap} alive @param {{row: number, segment: number}[]} rows */
function addStart(snapshot, blocks, alive, rows) {
  const { start } = snapshot, from = start.blocks;
  rows.forEach(({ row, segment }, next) => {
    const address = start.address[segment] + from.offsetBytes[row];
    blocks.address[next] = address;
    blocks.requestedBytes[next] = from.requestedBytes[row];
    blocks.bytes[next] = from.blockBytes[row];
    blocks.category[next] = from.category[row];
    blocks.stream[next] = start.stream[segment];
    blocks.name[next] = from.name[row];
    blocks.stack[next] = from.stack[row];
    blocks.scope[next] = from.scope[row];
    blocks.allocRow[next] = -1;
    if (from.state[row] === STATE.PENDING) blocks.diedState[next] = 0;
    alive.put(address, next);
  });
  blocks.nAtStart = rows.length;
}

/**
 * @param {import('./format.js').Snapshot} snapshot @param {number} [device]
 * @returns {Blocks}
 */
export function buildBlocks(snapshot, device = 0) {
  const { events } = snapshot, n = events.count, never = n + 1, rows = startRows(snapshot.start, device);
  let count = rows.length, nOtherEvents = 0, next = rows.length;
  for (let e = 0; e < n; e++) {
    if (events.device[e] !== device) nOtherEvents++;
    else if (events.action[e] === ACTION.ALLOC) count++;
  }
  const blocks = emptyBlocks(snapshot, device, count, nOtherEvents), alive = new AddressMap(), replaced = [];
  const { diedState, pendingState, act } = blocks;
  addStart(snapshot, blocks, alive, rows);
  for (let e = 0; e < n; e++) {
    const action = events.action[e];
    if (action > ACTION.FREE_COMPLETED || events.device[e] !== device) continue;
    const slot = alive.slot(events.address[e]), block = alive.values[slot];
    if (action === ACTION.ALLOC) {
      if (block >= 0) {
        blocks.nUnmatched++;
        if (diedState[block] === never) replaced.push(block);
        diedState[block] = Math.min(diedState[block], e + 1);
        pendingState[block] = e + 1;
      }
      blocks.address[next] = events.address[e];
      blocks.requestedBytes[next] = events.requestedBytes[e];
      blocks.bytes[next] = events.blockBytes[e];
      blocks.category[next] = events.category[e];
      blocks.stream[next] = events.stream[e];
      blocks.name[next] = events.name[e];
      blocks.stack[next] = events.stack[e];
      blocks.scope[next] = events.scope[e];
      blocks.bornState[next] = e + 1;
      blocks.allocRow[next] = e;
      alive.values[slot] = next;
      act[e] = next++;
      continue;
    }
    if (block < 0) {
      blocks.nUnmatched++;
      continue;
    }
    if (diedState[block] === never) {
      diedState[block] = e + 1;
      blocks.freeRow[block] = e;
      act[e] = ~block;
    }
    if (action !== ACTION.FREE_REQUESTED) {
      pendingState[block] = e + 1;
      alive.values[slot] = -1;
    }
  }
  blocks.replaced = Int32Array.from(replaced);
  // Where nothing was ever pending, one column says both.
  if (pendingState.every((state, block) => state === diedState[block])) blocks.pendingState = diedState;
  return blocks;
}

/** Per event the block that it replaced without a free, which `act` does not tell; null: none. */
export const replacedAt = oncePer((/** @type {Blocks} */ { replaced, diedState }) =>
  (replaced.length === 0 ? null : new Map(Array.from(replaced, (block) => [diedState[block] - 1, block]))));

/**
 * @typedef {object} Reserved reserved bytes: the states at which they change, and what they change to
 * @property {Int32Array} state state[0] is 0
 * @property {Float64Array} bytes
 * @property {number} maxBytes
 * @property {number} nUnmatched rows that give back more than is there
 */

/** @param {import('./format.js').Snapshot} snapshot @param {number} device @returns {Reserved} */
export function buildReserved(snapshot, device) {
  const { events, start } = snapshot;
  let now = 0, nUnmatched = 0;
  for (let i = 0; i < start.count; i++) if (start.device[i] === device) now += start.totalBytes[i];
  const state = [0], bytes = [now];
  for (let e = 0; e < events.count; e++) {
    const action = events.action[e];
    if (action < ACTION.SEGMENT_ALLOC || action > ACTION.SEGMENT_UNMAP || events.device[e] !== device) continue;
    const gives = action === ACTION.SEGMENT_ALLOC || action === ACTION.SEGMENT_MAP;
    if (!gives && events.blockBytes[e] > now) {
      nUnmatched++;
      continue;
    }
    now += gives ? events.blockBytes[e] : -events.blockBytes[e];
    state.push(e + 1);
    bytes.push(now);
  }
  return { state: Int32Array.from(state), bytes: Float64Array.from(bytes), maxBytes: greatest(bytes), nUnmatched };
}

/** Devices on which anything was allocated, in the order of the file. @param {import('./format.js').Snapshot} snapshot @returns {number[]} */
export function devicesUsed(snapshot) {
  const { events, start } = snapshot, used = new Uint8Array(256);
  for (let e = 0; e < events.count; e++) used[events.device[e]] = 1;
  for (let i = 0; i < start.count; i++) if (start.firstBlock[i + 1] > start.firstBlock[i]) used[start.device[i]] = 1;
  return Array.from(used.keys()).filter((device) => used[device] === 1);
}
