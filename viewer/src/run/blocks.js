/* blocks.js - turns events into the blocks of one device, each with the events that allocated and freed it.
 *
 * State s holds after s events: state 0 is the start, and state n follows the last of n events. A block is
 * alive in the states bornState <= s < diedState. "Alive" means allocated, which lasts until the free is
 * requested. A block that another stream still uses is then pending: diedState <= s < pendingState.
 */
import { oncePer } from './once.js';
import { ACTION, NO_BLOCK, STATE, subjectOf } from './subjects.js';

/**
 * @typedef {import('./columns.js').Indices} Indices
 * @typedef {import('./subjects.js').Amounts} Amounts
 *
 * @typedef {object} Blocks in order of birth; blocks from before the recording come first
 * @property {number} count
 * @property {number} nAtStart number of blocks from before the first event, pending ones included
 * @property {Float64Array} address in bytes
 * @property {Amounts} requestedBytes
 * @property {Amounts} bytes whole blocks
 * @property {Uint8Array} category index in the categories of the snapshot
 * @property {Uint8Array | null} certainty of the category, index in CERTAINTY_NAMES; null: the file does not say
 * @property {number} nCategories of the snapshot
 * @property {Uint8Array} stream
 * @property {Indices} name
 * @property {Uint16Array | null} pool private pool, 0: none or not known; null: no block has one
 * @property {Indices} stack of the allocation
 * @property {Indices} scope of the allocation
 * @property {Int32Array} bornState 0: before the first event
 * @property {Int32Array} diedState n + 1: never; 0: pending from the start, never alive
 * @property {Int32Array} pendingState the first state in which its bytes are available again: diedState if
 *   the free completed at once; n + 1: never
 * @property {Int32Array} act per event: block >= 0 was allocated, ~block was freed, NO_BLOCK or below:
 *   neither
 * @property {Int32Array} replaced blocks whose address was allocated again without a free, in the order of
 *   their end
 * @property {number} nUnmatched events that contradict the state before them
 * @property {number} device the one shown
 */

/**
 * The event that allocated a block.
 * @param {Blocks} blocks
 * @param {number} block
 * @returns {number} -1: before the first
 */
export function allocRow({ bornState }, block) {
  return bornState[block] - 1;
}

/**
 * The event that freed a block or requested its free.
 * @param {Blocks} blocks
 * @param {number} block
 * @returns {number} -1: none, or before the first
 */
export function freeRow({ diedState, act }, block) {
  const row = diedState[block] - 1;
  return act[row] === ~block ? row : -1;
}

/**
 * Number of entries that belong to other devices.
 * @param {Uint8Array} devices
 * @param {number} device
 */
function countOthers(devices, device) {
  let n = 0;
  for (let i = 0; i < devices.length; i++) if (devices[i] !== device) n++;
  return n;
}

/**
 * Maps each block of the file to its number on a device, or -1.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} device
 */
function ownBlocks({ events, subjects, start }, device) {
  const own = new Int32Array(subjects.nBlocks).fill(-1);
  let n = 0;
  subjects.atStart.forEach(({ segment }, block) => {
    if (start.device[segment] === device) own[block] = n++;
  });
  for (let e = 0; e < events.count; e++)
    if (events.act[e] >= 0 && events.device[e] === device) own[events.act[e]] = n++;
  return { own, count: n };
}

/**
 * @param {Int32Array} act
 * @param {Int32Array} own
 * @returns {Int32Array} by block number on the device
 */
function ownActs(act, own) {
  return act.map((a) => {
    const block = a > NO_BLOCK ? own[subjectOf(a)] : -1;
    return block < 0 ? NO_BLOCK : a >= 0 ? block : ~block;
  });
}

/**
 * Records when blocks were born, died and became available again.
 * @param {Blocks} blocks
 * @param {import('./format.js').Snapshot} snapshot
 * @param {(subject: number) => number} blockOf -1: not on the device
 */
function fillLives(blocks, { events, subjects }, blockOf) {
  const { act, bornState, diedState, pendingState, stack, scope } = blocks;
  const { count, action: actions, stack: stacks, scope: scopes } = events;
  const never = count + 1;
  const replaced = [];
  for (let e = 0; e < count; e++) {
    const a = act[e];
    const action = actions[e];
    if (a >= 0) {
      stack[a] = stacks[e];
      scope[a] = scopes[e];
      bornState[a] = e + 1;
    } else if (a > NO_BLOCK) {
      diedState[~a] = e + 1;
      if (action !== ACTION.FREE_REQUESTED) pendingState[~a] = e + 1;
    } else if (action === ACTION.FREE || action === ACTION.FREE_COMPLETED) {
      const subject = subjectOf(events.act[e]);
      const block = subject < subjects.nBlocks ? blockOf(subject) : -1;
      if (block >= 0) pendingState[block] = e + 1;
    }
  }
  for (const [subject, e] of events.replaced) {
    const block = blockOf(subject);
    if (block < 0) continue;
    if (diedState[block] === never) replaced.push(block);
    diedState[block] = Math.min(diedState[block], e + 1);
    pendingState[block] = e + 1;
  }
  blocks.replaced = Int32Array.from(replaced);
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} [device]
 * @returns {Blocks}
 */
export function buildBlocks(snapshot, device = 0) {
  const { events, subjects, start } = snapshot;
  const never = events.count + 1;
  const isAlone = countOthers(events.device, device) + countOthers(start.device, device) === 0;
  const some = isAlone ? null : ownBlocks(snapshot, device);
  const own = some?.own;
  const count = some?.count ?? subjects.nBlocks;
  const atStart = subjects.atStart.filter((_, block) => !own || own[block] >= 0);
  const diedState = new Int32Array(count).fill(never);
  // If no free ever waits for another stream, one column serves as both.
  const isPending =
    events.action.includes(ACTION.FREE_REQUESTED) || start.blocks.state.includes(STATE.PENDING_FREE);
  /**
   * @template {import('./columns.js').Numbers} T
   * @param {T} column of subjects
   * @returns {T}
   */
  const kept = (column) =>
    /** @type {T} */ (own ? column.filter((_, s) => own[s] >= 0) : column.subarray(0, count));
  const blocks = {
    count,
    nAtStart: atStart.length,
    address: kept(subjects.address),
    requestedBytes: kept(subjects.requestedBytes),
    bytes: kept(subjects.bytes),
    category: kept(subjects.category),
    certainty: subjects.certainty === null ? null : kept(subjects.certainty),
    nCategories: snapshot.categories.length,
    stream: kept(subjects.stream),
    name: kept(subjects.name),
    pool: subjects.pool === null ? null : kept(subjects.pool),
    stack: new /** @type {any} */ (events.stack).constructor(count),
    scope: new /** @type {any} */ (events.scope).constructor(count),
    bornState: new Int32Array(count),
    diedState,
    pendingState: isPending ? new Int32Array(count).fill(never) : diedState,
    act: own ? ownActs(events.act, own) : events.act,
    replaced: new Int32Array(0),
    nUnmatched: events.nUnmatched[device] ?? 0,
    device,
  };
  atStart.forEach(({ row }, block) => {
    blocks.stack[block] = start.blocks.stack[row];
    blocks.scope[block] = start.blocks.scope[row];
    if (start.blocks.state[row] === STATE.PENDING_FREE) diedState[block] = 0;
  });
  fillLives(blocks, snapshot, own ? (subject) => own[subject] : (subject) => subject);
  return blocks;
}

/** The block that each event replaced without a free, which `act` does not hold; null: none. */
export const replacedAt = oncePer((/** @type {Blocks} */ { replaced, diedState }) =>
  replaced.length === 0 ? null : new Map(Array.from(replaced, (block) => [diedState[block] - 1, block])),
);

/**
 * @typedef {object} Reserved the states at which the reserved bytes change, and the new values
 * @property {Int32Array} state state[0] is 0
 * @property {Float64Array} bytes
 * @property {number} maxBytes
 * @property {number} nUnmatched rows that release more than is reserved
 */

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} device
 * @returns {Reserved}
 */
export function buildReserved(snapshot, device) {
  const { events, start, subjects } = snapshot;
  let now = 0;
  let nUnmatched = 0;
  for (let i = 0; i < start.count; i++) if (start.device[i] === device) now += start.totalBytes[i];
  const state = [0];
  const bytes = [now];
  for (let e = 0; e < events.count; e++) {
    const action = events.action[e];
    if (action < ACTION.SEGMENT_ALLOC || action > ACTION.SEGMENT_UNMAP || events.device[e] !== device)
      continue;
    const gives = action === ACTION.SEGMENT_ALLOC || action === ACTION.SEGMENT_MAP;
    const changed = subjects.bytes[subjectOf(events.act[e])];
    if (!gives && changed > now) {
      nUnmatched++;
      continue;
    }
    now += gives ? changed : -changed;
    state.push(e + 1);
    bytes.push(now);
  }
  return {
    state: Int32Array.from(state),
    bytes: Float64Array.from(bytes),
    maxBytes: bytes.reduce((a, b) => Math.max(a, b)),
    nUnmatched,
  };
}

/**
 * Devices with at least one allocation, in the order of the file.
 * @param {import('./format.js').Snapshot} snapshot
 * @returns {number[]}
 */
export function devicesUsed(snapshot) {
  const { events, start } = snapshot;
  const used = new Uint8Array(256);
  for (let e = 0; e < events.count; e++) used[events.device[e]] = 1;
  for (let i = 0; i < start.count; i++)
    if (start.firstBlock[i + 1] > start.firstBlock[i]) used[start.device[i]] = 1;
  return Array.from(used.keys()).filter((device) => used[device] === 1);
}
