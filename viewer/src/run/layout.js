/* layout.js - the division of the reserved memory at one instant: segments, their blocks, the gaps, and an
 * account of every reserved byte. The program's code computes it, as for `tidemark summary --fragmentation`.
 */
import { FormatError } from './columns.js';
import { aliveAt } from './index.js';
import { blocksRunOf } from './segment_run.js';

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
 * @property {'small' | 'large'} pool
 * @property {string} poolId private pool, as in the start of a snapshot; "": none or not known
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
 * @typedef {{segments: Segment[], account: Account}} Layout
 */

/**
 * @param {Record<string, any>} segment of the engine's answer
 * @returns {Segment}
 */
function segmentOf(segment) {
  let { address } = segment;
  const [graph, own] = segment.pool_id;
  return {
    address,
    bytes: segment.bytes,
    stream: segment.stream,
    isExpandable: segment.is_expandable,
    pool: segment.pool,
    poolId: graph === 0 && own === 0 ? '' : `${graph}, ${own}`,
    pieces: segment.pieces.map((/** @type {[number, number, boolean]} */ [bytes, block, isPending]) => {
      const piece = { address, bytes, block, isPending };
      address += bytes;
      return piece;
    }),
    cachedBytes: segment.cached_bytes,
    releasableBytes: segment.releasable_bytes,
    largestFreeBytes: segment.largest_free_bytes,
  };
}

/**
 * @param {string} answer of the engine: snapshot/wasm/engine.h describes it
 * @returns {Layout}
 */
export function readLayout(answer) {
  const { segments, account } = JSON.parse(answer);
  return { segments: segments.map(segmentOf), account };
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
 * The state of the recording in which a state of its segments falls. An event that concerns several segments
 * counts as a whole.
 * @param {Int32Array} firstRow of each event of the recording
 * @param {number} state of the segments
 */
function stateOfBlocks(firstRow, state) {
  let lo = 0;
  let hi = firstRow.length - 1;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (firstRow[middle] < state) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/**
 * The same segments as blocks of themselves, for a run that shows segments.
 * @param {import('./run.js').Run} run
 * @param {number} state
 * @param {Segment[]} segments
 * @returns {Layout}
 */
function filledLayout(run, state, segments) {
  const { blocks } = run.index;
  const held = aliveAt(run.index, state).sort((a, b) => blocks.address[a] - blocks.address[b]);
  const reserved = reservedAt(run, state);
  let asked = 0;
  let next = 0;
  const filled = segments.map((segment) => {
    /** @type {Piece[]} */
    const pieces = [];
    for (; next < held.length && blocks.address[held[next]] < segment.address + segment.bytes; next++) {
      const block = held[next];
      pieces.push({ address: blocks.address[block], bytes: blocks.bytes[block], block, isPending: false });
      asked += blocks.bytes[block];
    }
    return { ...segment, pieces, cachedBytes: 0, releasableBytes: 0, largestFreeBytes: 0 };
  });
  const none = { rounding: 0, unsplit: 0, pending: 0, splittable: 0, releasable: 0 };
  return { segments: filled, account: { ...none, asked, unexplained: reserved - asked, reserved } };
}

/**
 * @param {import('./run.js').Run} run
 * @param {number} state
 * @returns {Promise<Layout>}
 * @throws {FormatError}
 */
export async function layoutAt(run, state) {
  const { layouts, device } = blocksRunOf(run);
  if (layouts === undefined) throw new FormatError('its file is not open');
  if (run.firstRow === undefined) return readLayout(await layouts.at(device, state));
  const before = stateOfBlocks(run.firstRow, state);
  const { segments } = readLayout(await layouts.at(device, before));
  return filledLayout(run, run.firstRow[before], segments);
}
