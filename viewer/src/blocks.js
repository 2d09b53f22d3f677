/* blocks.js - from events to blocks: what was handed out, from which event to which.
 *
 * State s is what holds after s events: state 0 is the start, state n the end of n events. A block is
 * alive in the states bornState <= s < diedState. "Alive" means allocated: until its free is
 * requested.
 */
import { ACTION } from './format.js';

/** In `act`: the event neither hands out nor takes back a block. */
export const NO_BLOCK = -0x80000000;

/**
 * @typedef {object} Blocks in order of birth, those of the start first
 * @property {number} count
 * @property {Float64Array} address
 * @property {Float64Array} requestedBytes
 * @property {Float64Array} bytes whole blocks
 * @property {Uint8Array} category index in CATEGORIES
 * @property {Int32Array} name
 * @property {Int32Array} stack of the allocation
 * @property {Int32Array} scope of the allocation
 * @property {Int32Array} bornState 0: before the first event
 * @property {Int32Array} diedState n + 1: never
 * @property {Int32Array} act per event: block >= 0 handed out, ~block taken back, or NO_BLOCK
 * @property {number} nUnmatched frees of blocks that nobody handed out
 * @property {number} device the one shown
 * @property {number} nOtherEvents events of other devices, which are left out
 */

/** The device with most events. @param {import('./format.js').Events} events */
function busiestDevice(events) {
  const counts = new Uint32Array(256);
  for (let i = 0; i < events.count; i++) counts[events.device[i]]++;
  return counts.indexOf(counts.reduce((a, b) => (a > b ? a : b), 0));
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @returns {Blocks}
 */
export function buildBlocks(snapshot) {
  const { events, start } = snapshot, n = events.count;
  const device = n > 0 ? busiestDevice(events) : 0;
  let count = 0, nOtherEvents = 0;
  for (let i = 0; i < start.count; i++) if (start.device[i] === device) count++;
  for (let e = 0; e < n; e++) {
    if (events.device[e] !== device) nOtherEvents++;
    else if (events.action[e] === ACTION.ALLOC) count++;
  }
  /** @type {Blocks} */
  const blocks = {
    count, address: new Float64Array(count), requestedBytes: new Float64Array(count), bytes: new Float64Array(count), category: new Uint8Array(count),
    name: new Int32Array(count), stack: new Int32Array(count), scope: new Int32Array(count),
    bornState: new Int32Array(count), diedState: new Int32Array(count).fill(n + 1),
    act: new Int32Array(n).fill(NO_BLOCK), nUnmatched: 0, device, nOtherEvents,
  };
  /** @type {Map<number, number>} address -> block alive there */
  const alive = new Map();
  let next = 0;
  const add = (/** @type {any} */ from, /** @type {number} */ row, /** @type {number} */ born) => {
    blocks.address[next] = from.address[row];
    blocks.requestedBytes[next] = from.requestedBytes[row];
    blocks.bytes[next] = from.blockBytes[row];
    blocks.category[next] = from.category[row];
    blocks.name[next] = from.name[row];
    blocks.stack[next] = from.stack[row];
    blocks.scope[next] = from.scope[row];
    blocks.bornState[next] = born;
    alive.set(from.address[row], next);
    return next++;
  };
  for (let i = 0; i < start.count; i++) if (start.device[i] === device) add(start, i, 0);
  for (let e = 0; e < n; e++) {
    if (events.device[e] !== device) continue;
    const action = events.action[e];
    if (action === ACTION.ALLOC) {
      blocks.act[e] = add(events, e, e + 1);
    } else if (action === ACTION.FREE || action === ACTION.FREE_REQUESTED) {
      const block = alive.get(events.address[e]);
      if (block === undefined) {
        blocks.nUnmatched++;
        continue;
      }
      alive.delete(events.address[e]);
      blocks.diedState[block] = e + 1;
      blocks.act[e] = ~block;
    }
  }
  return blocks;
}

/**
 * Reserved bytes: the states at which they change, and what they change to.
 * @param {import('./format.js').Snapshot} snapshot @param {number} device
 * @returns {{state: number[], bytes: number[], maxBytes: number}} state[0] is 0
 */
export function buildReserved(snapshot, device) {
  const { events } = snapshot;
  const state = [0], bytes = [snapshot.start.reservedBytes[device]];
  let now = bytes[0], maxBytes = now;
  for (let e = 0; e < events.count; e++) {
    if (events.device[e] !== device) continue;
    const action = events.action[e];
    if (action === ACTION.SEGMENT_ALLOC || action === ACTION.SEGMENT_MAP) now += events.blockBytes[e];
    else if (action === ACTION.SEGMENT_FREE || action === ACTION.SEGMENT_UNMAP) now -= events.blockBytes[e];
    else continue;
    state.push(e + 1);
    bytes.push(now);
    if (now > maxBytes) maxBytes = now;
  }
  return { state, bytes, maxBytes };
}
