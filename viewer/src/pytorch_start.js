/* pytorch_start.js - the end of a walk: the state before the first event, from what is left. */
import { ACTION, STATE } from './subjects.js';

/**
 * Expandable segments before the first event, one per contiguous mapped range.
 * @param {import('./pytorch_walk.js').Walk} walk
 * @returns {import('./pytorch.js').DumpSegment[]}
 */
function expandableAtStart(walk) {
  /**
   * @type {{address: number, change: number, stream: number, segment: import('./pytorch.js').DumpSegment | null}[]} both ends of
   *   all pieces, with the change at each
   */
  const edges = [];
  for (const segment of walk.dump.filter((each) => each.isExpandable)) {
    edges.push(
      { address: segment.address, change: 1, stream: segment.stream, segment },
      { address: segment.address + segment.totalBytes, change: -1, stream: segment.stream, segment: null },
    );
  }
  const { rows } = walk;
  for (const row of walk.mapRows()) {
    const change = rows.action[row] === ACTION.SEGMENT_MAP ? -1 : 1;
    const begin = rows.address[row];
    const stream = rows.stream[row];
    edges.push(
      { address: begin, change, stream, segment: null },
      { address: begin + rows.blockBytes[row], change: -change, stream, segment: null },
    );
  }
  edges.sort((a, b) => a.stream - b.stream || a.address - b.address);
  const made = [];
  let nCovering = 0;
  let open = bareSegment(walk.device, 0, 0, 0);
  for (let i = 0; i < edges.length;) {
    const { stream, address } = edges[i];
    const before = nCovering;
    /** @type {import('./pytorch.js').DumpSegment | null} */
    let of = null;
    for (; i < edges.length && edges[i].stream === stream && edges[i].address === address; i++) {
      nCovering += edges[i].change;
      of = edges[i].segment ?? of;
    }
    if (before <= 0 && nCovering > 0)
      open = { ...bareSegment(walk.device, address, 0, stream), isExpandable: true };
    if (of !== null) Object.assign(open, { pool: of.pool, poolId: of.poolId });
    if (before > 0 && nCovering <= 0) made.push({ ...open, totalBytes: address - open.address });
    if (nCovering < 0 || nCovering > 1) walk.found.nContradictions++;
    if (i < edges.length && edges[i].stream !== stream) nCovering = 0;
  }
  return made;
}

/**
 * Adds the remaining segments and blocks to the start state.
 * @param {import('./pytorch_walk.js').Walk} walk
 */
export function addStart(walk) {
  const segments = [
    ...expandableAtStart(walk),
    .../** @type {import('./pytorch.js').DumpSegment[]} */ (
      walk.segmentAt.filter((segment) => segment !== null)
    ).map((segment) => ({ ...segment, blocks: [] })),
  ].sort((a, b) => a.address - b.address);
  const blocks = /** @type {import('./pytorch_walk.js').UsedBlock[]} */ (
    walk.blockAt.filter((block) => block !== null)
  );
  let next = 0;
  const homelessBelow = (/** @type {number} */ end) => {
    // blocks outside all segments get a segment of their own size
    for (; next < blocks.length && blocks[next].address < end; next++) {
      const { address, blockBytes } = blocks[next];
      const segment = bareSegment(
        walk.device,
        address,
        blockBytes,
        walk.found.stream(walk.device, undefined, NOWHERE),
      );
      walk.found.nContradictions++;
      segment.blocks.push(usedAtStart(blocks[next], 0));
      walk.found.start.push(segment);
    }
  };
  for (const segment of segments) {
    homelessBelow(segment.address);
    const made = { ...segment, blocks: /** @type {import('./pytorch.js').DumpBlock[]} */ ([]) };
    let filled = 0;
    const addFree = (/** @type {number} */ bytes) => {
      if (bytes > 0)
        made.blocks.push({
          offset: filled,
          bytes,
          requested: 0,
          state: STATE.FREE,
          stack: -1,
          category: 0,
          name: -1,
        });
    };
    for (; next < blocks.length && blocks[next].address < segment.address + segment.totalBytes; next++) {
      const offset = blocks[next].address - segment.address;
      if (offset < filled || blocks[next].blockBytes > segment.totalBytes - offset) {
        walk.found.nContradictions++;
        continue;
      }
      addFree(offset - filled);
      made.blocks.push(usedAtStart(blocks[next], offset));
      filled = offset + blocks[next].blockBytes;
    }
    addFree(segment.totalBytes - filled);
    walk.found.start.push(made);
  }
  homelessBelow(Infinity);
}

/** @type {any} the only refusal possible for a stream without a handle is that there are too many */
const NOWHERE = {
  at: () => ({
    fail: (/** @type {string} */ message) => {
      throw new Error(message);
    },
  }),
};

/**
 * @param {number} device
 * @param {number} address
 * @param {number} totalBytes
 * @param {number} stream
 * @returns {import('./pytorch.js').DumpSegment}
 */
export function bareSegment(device, address, totalBytes, stream) {
  return { device, address, totalBytes, stream, pool: '', poolId: [0, 0], isExpandable: false, blocks: [] };
}

/**
 * @param {import('./pytorch_walk.js').UsedBlock} block
 * @param {number} offset
 * @returns {import('./pytorch.js').DumpBlock}
 */
function usedAtStart(block, offset) {
  return {
    offset,
    bytes: block.blockBytes,
    requested: block.requestedBytes,
    state: block.state,
    stack: block.stack,
    category: block.category,
    name: block.name,
  };
}
