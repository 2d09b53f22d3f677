/* layout.js - the division of the reserved memory at one instant: segments, their blocks, the gaps, and an
 * account of every reserved byte. The rules are those of `tidemark summary --fragmentation`.
 */
import { aliveAt } from './index.js';
import { oncePer } from './once.js';
import { ACTION, subjectOf } from './subjects.js';

const ROUNDING_BYTES = 512; // granule of rounding
const SMALL_BYTES = 2 ** 20; // the largest request for the small pool
const SMALL_SEGMENT_BYTES = 2 * 2 ** 20; // size of its segments; also the granule of an expandable one
const LARGE_GRANULE_BYTES = 20 * 2 ** 20; // granule of expandable segments for larger requests

/**
 * @typedef {object} Piece a block or a gap
 * @property {number} address
 * @property {number} bytes
 * @property {number} block -1: free
 * @property {boolean} isPending its free is requested, but another stream still uses it
 *
 * @typedef {object} Segment
 * @property {number} address
 * @property {number} bytes
 * @property {number} stream index in the table of streams
 * @property {boolean} isExpandable memory mapped into reserved addresses
 * @property {'small' | 'large' | ''} pool
 * @property {number} privatePool 0: none or not known; n: the n-th of the snapshot's pools
 * @property {Piece[]} pieces by address; they tile the segment
 * @property {number} cachedBytes bytes of its free pieces
 * @property {number} releasableBytes of these, the bytes that emptying the cache would return to the device
 * @property {number} largestFreeBytes
 *
 * @typedef {object} Account reserved = asked + rounding + unsplit + pending + splittable + releasable +
 *   unexplained
 * @property {number} asked requested bytes of allocated blocks
 * @property {number} rounding bytes added by rounding up to 512
 * @property {number} unsplit the remaining bytes of whole blocks
 * @property {number} pending whole blocks whose free waits for another stream
 * @property {number} splittable cached in segments that also hold blocks; only requests that fit can use them
 * @property {number} releasable cached; emptying the cache returns them to the device
 * @property {number} unexplained 0 unless the recording contradicts itself
 * @property {number} reserved the sum
 *
 * @typedef {{state: number, segments: Segment[], account: Account}} Layout
 */

/** Events that allocate, free, map or unmap segments of the run's device. */
const segmentRows = oncePer(
  (/** @type {import('./run.js').Run} */ { snapshot: { events }, index: { blocks } }) => {
    const found = [];
    for (let e = 0; e < events.count; e++) {
      const action = events.action[e];
      if (
        action >= ACTION.SEGMENT_ALLOC &&
        action <= ACTION.SEGMENT_UNMAP &&
        events.device[e] === blocks.device
      )
        found.push(e);
    }
    return found;
  },
);

/** Blocks that waited for another stream at some time. */
const pendingBlocks = oncePer((/** @type {import('./run.js').Run} */ { index: { blocks } }) => {
  const found = [];
  for (let b = 0; b < blocks.count; b++) if (blocks.pendingState[b] > blocks.diedState[b]) found.push(b);
  return found;
});

/**
 * Position of the first segment that ends beyond an address.
 * @param {Segment[]} segments by address
 * @param {number} address
 */
function firstBeyond(segments, address) {
  let lo = 0;
  let hi = segments.length;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (segments[middle].address + segments[middle].bytes <= address) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/**
 * Removes a range of addresses from the segments.
 * @param {Segment[]} segments
 * @param {number} begin
 * @param {number} end
 */
function take(segments, begin, end) {
  const from = firstBeyond(segments, begin);
  const left = [];
  let to = from;
  for (; to < segments.length && segments[to].address < end; to++) {
    const { address, bytes } = segments[to];
    if (address < begin) left.push({ ...segments[to], bytes: begin - address });
    if (address + bytes > end) left.push({ ...segments[to], address: end, bytes: address + bytes - end });
  }
  segments.splice(from, to - from, ...left);
}

/**
 * Adds a range of addresses to the segments; mapped memory merges with its neighbours.
 * @param {Segment[]} segments
 * @param {Segment} added
 */
function give(segments, added) {
  if (added.bytes === 0) return;
  take(segments, added.address, added.address + added.bytes);
  const at = firstBeyond(segments, added.address);
  const joined = { ...added };
  const joins = (/** @type {Segment | undefined} */ other) =>
    other !== undefined &&
    other.isExpandable &&
    added.isExpandable &&
    other.stream === added.stream &&
    other.privatePool === added.privatePool &&
    (other.pool === added.pool || other.pool === '' || added.pool === '');
  const before = segments[at - 1];
  const after = segments[at];
  let from = at;
  let to = at;
  if (joins(before) && before.address + before.bytes === added.address) {
    joined.address = before.address;
    joined.bytes += before.bytes;
    joined.pool = before.pool || joined.pool;
    from--;
  }
  if (joins(after) && after.address === added.address + added.bytes) {
    joined.bytes += after.bytes;
    joined.pool = joined.pool || after.pool;
    to++;
  }
  segments.splice(from, to - from, joined);
}

/**
 * @param {number} address
 * @param {number} bytes
 * @param {number} stream
 * @param {boolean} isExpandable
 * @param {string} pool
 * @param {number} privatePool
 * @returns {Segment}
 */
function emptySegment(address, bytes, stream, isExpandable, pool, privatePool) {
  return {
    address,
    bytes,
    stream,
    isExpandable,
    pool: pool === 'small' || pool === 'large' ? pool : '',
    privatePool,
    pieces: [],
    cachedBytes: 0,
    releasableBytes: 0,
    largestFreeBytes: 0,
  };
}

/**
 * The segments of a state, by address, without their pieces.
 * @param {import('./run.js').Run} run
 * @param {number} state
 * @returns {Segment[]}
 */
function segmentsAt(run, state) {
  const {
    snapshot: { start, events, subjects },
    index: { blocks },
  } = run;
  /** @type {Segment[]} */
  const segments = [];
  for (let i = 0; i < start.count; i++) {
    if (start.device[i] === blocks.device)
      give(
        segments,
        emptySegment(
          start.address[i],
          start.totalBytes[i],
          start.stream[i],
          start.isExpandable[i] === 1,
          start.pool[i],
          run.snapshot.pools.indexOf(start.poolId[i]) + 1,
        ),
      );
  }
  for (const e of segmentRows(run)) {
    if (e >= state) break;
    const action = events.action[e];
    const subject = subjectOf(events.act[e]);
    const address = subjects.address[subject];
    const bytes = subjects.bytes[subject];
    if (action === ACTION.SEGMENT_ALLOC || action === ACTION.SEGMENT_MAP)
      give(
        segments,
        emptySegment(
          address,
          bytes,
          subjects.stream[subject],
          action === ACTION.SEGMENT_MAP,
          '',
          subjects.pool?.[subject] ?? 0,
        ),
      );
    else take(segments, address, address + bytes);
  }
  return segments;
}

/**
 * Fills the segments with blocks and gaps.
 * @param {Segment[]} segments
 * @param {import('./blocks.js').Blocks} blocks
 * @param {{block: number, isPending: boolean}[]} active by address
 */
function fillSegments(segments, blocks, active) {
  let next = 0;
  for (const segment of segments) {
    const end = segment.address + segment.bytes;
    const own = /** @type {Piece[]} */ ([]);
    let at = segment.address;
    const add = (/** @type {number} */ to, /** @type {number} */ block, /** @type {boolean} */ isPending) => {
      if (at < to) own.push({ address: at, bytes: to - at, block, isPending });
      at = Math.max(at, to);
    };
    for (; next < active.length && blocks.address[active[next].block] < end; next++) {
      const { block, isPending } = active[next];
      const begin = blocks.address[block];
      // it is in no segment, which the account shows
      if (begin < at || begin + blocks.bytes[block] > end) continue;
      add(begin, -1, false);
      add(begin + blocks.bytes[block], block, isPending);
    }
    add(end, -1, false);
    segment.pieces = own; // parts of a former segment do not share the list
    findPool(segment, blocks);
    sumFree(segment);
  }
}

/**
 * The pool that the file names, else the one implied by the size of a block in the segment, else by the
 * segment's size.
 * @param {Segment} segment
 * @param {import('./blocks.js').Blocks} blocks
 */
function findPool(segment, blocks) {
  const held = segment.pieces.find((piece) => piece.block >= 0);
  if (segment.privatePool === 0 && held) segment.privatePool = blocks.pool?.[held.block] ?? 0;
  if (segment.pool !== '') return;
  const isLarge = held
    ? blocks.requestedBytes[held.block] > SMALL_BYTES
    : segment.bytes > SMALL_SEGMENT_BYTES;
  segment.pool = isLarge ? 'large' : 'small';
}

/** @param {Segment} segment */
function sumFree(segment) {
  const granule = segment.pool === 'small' ? SMALL_SEGMENT_BYTES : LARGE_GRANULE_BYTES;
  let whole = 0;
  for (const { address, bytes, block } of segment.pieces) {
    if (block >= 0) continue;
    segment.cachedBytes += bytes;
    segment.largestFreeBytes = Math.max(segment.largestFreeBytes, bytes);
    const begin = address - segment.address;
    whole += Math.max(0, Math.floor((begin + bytes) / granule) - Math.ceil(begin / granule)) * granule;
  }
  segment.releasableBytes = segment.isExpandable
    ? whole
    : segment.cachedBytes === segment.bytes
      ? segment.bytes
      : 0;
}

/**
 * @param {import('./blocks.js').Blocks} blocks
 * @param {{block: number, isPending: boolean}[]} active
 * @param {Segment[]} segments
 * @param {number} reserved
 * @returns {Account}
 */
function accountOf(blocks, active, segments, reserved) {
  const account = {
    asked: 0,
    rounding: 0,
    unsplit: 0,
    pending: 0,
    splittable: 0,
    releasable: 0,
    unexplained: 0,
    reserved,
  };
  for (const { block, isPending } of active) {
    const asked = blocks.requestedBytes[block];
    const slack = blocks.bytes[block] - asked;
    if (isPending) {
      account.pending += blocks.bytes[block];
      continue;
    }
    const rounding = Math.min(slack, (ROUNDING_BYTES - (asked % ROUNDING_BYTES)) % ROUNDING_BYTES);
    account.asked += asked;
    account.rounding += rounding;
    account.unsplit += slack - rounding;
  }
  for (const segment of segments) {
    account.releasable += segment.releasableBytes;
    account.splittable += segment.cachedBytes - segment.releasableBytes;
  }
  account.unexplained =
    reserved -
    (account.asked +
      account.rounding +
      account.unsplit +
      account.pending +
      account.splittable +
      account.releasable);
  return account;
}

/**
 * Reserved bytes in a state.
 * @param {import('./run.js').Run} run
 * @param {number} state
 */
export function reservedAt({ reserved }, state) {
  let lo = 0;
  let hi = reserved.state.length - 1;
  while (lo < hi) {
    const middle = (lo + hi + 1) >>> 1;
    if (reserved.state[middle] <= state) lo = middle;
    else hi = middle - 1;
  }
  return reserved.bytes[lo];
}

/**
 * @param {import('./run.js').Run} run
 * @param {number} state
 * @returns {Layout}
 */
export function layoutAt(run, state) {
  const { index } = run;
  const { blocks } = index;
  const segments = segmentsAt(run, state);
  const active = aliveAt(index, state).map((block) => ({ block, isPending: false }));
  for (const block of pendingBlocks(run)) {
    if (
      blocks.diedState[block] <= state &&
      state < blocks.pendingState[block] &&
      blocks.bornState[block] <= state
    )
      active.push({ block, isPending: true });
  }
  active.sort((a, b) => blocks.address[a.block] - blocks.address[b.block] || a.block - b.block);
  fillSegments(segments, blocks, active);
  return { state, segments, account: accountOf(blocks, active, segments, reservedAt(run, state)) };
}
