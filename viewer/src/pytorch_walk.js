/* pytorch_walk.js - walks the events of one device back from the dump's segments, to find the sizes of blocks
 * and the state before the first event.
 *
 * A trace holds the requested size, not the block's. The block's size follows from the memory after it: the
 * allocator splits the beginning off a free block, except that in the pool of large blocks a rest of at most
 * 1 MiB stays with the block. So a gap of at most 1 MiB between the request's end and the next block in use
 * belongs to the block. Contradictions are counted, and of two blocks in one place the one in the trace
 * stays.
 */
import { PointSet } from './points.js';
import { roundRequest } from './pytorch_rounding.js';
import { ACTION, STATE } from './subjects.js';

const SMALL_REQUEST = 2 ** 20; // requests up to it come from the small pool
const REST_BYTES = 2 ** 20; // a rest up to this size is not split off a large block

/**
 * @typedef {import('./pytorch.js').TraceRow} TraceRow
 * @typedef {import('./pytorch.js').DumpSegment} DumpSegment
 *
 * @typedef {object} UsedBlock a block in use
 * @property {number} address
 * @property {number} requestedBytes
 * @property {number} blockBytes 0: not known yet
 * @property {number} next lowest block or segment end seen after it while it was in use; Infinity: none
 * @property {TraceRow | null} requestedRow row that requested its free, or did all of it
 * @property {TraceRow | null} completedRow row that completed its free
 * @property {number} stack
 * @property {number} name
 * @property {number} state STATE
 * @property {number} category
 */

/** @param {number} action */
const isMapAction = (action) => action === ACTION.SEGMENT_MAP || action === ACTION.SEGMENT_UNMAP;
/** @param {number} action */
const isSegmentAction = (action) => action === ACTION.SEGMENT_ALLOC || action === ACTION.SEGMENT_FREE;

/**
 * The position of the first sorted number that is not below a value.
 * @param {Float64Array} sorted
 * @param {number} value
 */
function lowerBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Walk {
  /**
   * @param {import('./pytorch.js').PytorchImport} found
   * @param {number} device
   */
  constructor(found, device) {
    this.found = found;
    this.device = device;
    this.rows = found.traces[device];
    this.dump = found.end.filter((segment) => segment.device === device);
    this.points = this.allPoints();
    /** @type {{begin: number, end: number}[]} addresses mapped at any time, ascending, without overlap */
    this.ranges = this.allRanges();
    const n = this.points.length + 1; // an address behind all points is selection up, too
    /** @type {(UsedBlock | null)[]} the block in use at each point */
    this.blockAt = new Array(n).fill(null);
    /** @type {(DumpSegment | null)[]} the segment that begins at each point */
    this.segmentAt = new Array(n).fill(null);
    this.nEnds = new Int32Array(n); // number of segments that end there
    this.walls = new PointSet(n); // points with any of the three
  }

  allPoints() {
    /** @type {Set<number>} */
    const points = new Set();
    for (const segment of this.dump) {
      points.add(segment.address).add(segment.address + segment.totalBytes);
      for (const block of segment.blocks) points.add(segment.address + block.offset);
    }
    for (const row of this.rows) {
      if (row.action > ACTION.SEGMENT_UNMAP) continue;
      points.add(row.address);
      if (isSegmentAction(row.action)) points.add(row.address + row.blockBytes);
    }
    return Float64Array.from(points).sort();
  }

  allRanges() {
    const all = [
      ...this.dump
        .filter((segment) => segment.isExpandable)
        .map((segment) => ({ begin: segment.address, end: segment.address + segment.totalBytes })),
      ...this.rows
        .filter((row) => isMapAction(row.action))
        .map((row) => ({ begin: row.address, end: row.address + row.blockBytes })),
    ].sort((a, b) => a.begin - b.begin);
    /** @type {{begin: number, end: number}[]} */
    const union = [];
    for (const range of all) {
      const before = union[union.length - 1];
      if (before && range.begin <= before.end) before.end = Math.max(before.end, range.end);
      else union.push(range);
    }
    return union;
  }

  /** @param {number} address */
  isMapped(address) {
    let low = 0;
    let high = this.ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.ranges[middle].end <= address) low = middle + 1;
      else high = middle;
    }
    return low < this.ranges.length && this.ranges[low].begin <= address;
  }

  /**
   * The block size of a request if the next block in use, or the segment's end, is at `next`.
   * @param {number} address
   * @param {number} requested
   * @param {number} next
   */
  blockOf(address, requested, next) {
    const rounded = roundRequest(this.found.roundupDivisions, requested);
    const gap = next - address;
    if (next === Infinity) return rounded;
    if (gap < rounded) return gap >= requested ? gap : rounded; // settings missing from the file
    if (rounded <= SMALL_REQUEST || this.isMapped(address)) return rounded;
    return rounded >= this.found.maxSplitBytes || gap - rounded <= REST_BYTES ? gap : rounded;
  }

  /** @param {number} point */
  nextWall(point) {
    const next = this.walls.above(point);
    return next < 0 ? Infinity : this.points[next];
  }

  /** @param {number} point */
  refreshWall(point) {
    if (this.blockAt[point] !== null || this.segmentAt[point] !== null || this.nEnds[point] > 0)
      this.walls.insert(point);
    else this.walls.remove(point);
  }

  /**
   * The rows of a block's free repeat its sizes.
   * @param {UsedBlock} block
   */
  settle(block) {
    for (const row of [block.requestedRow, block.completedRow]) {
      if (row !== null)
        Object.assign(row, {
          requestedBytes: block.requestedBytes,
          blockBytes: block.blockBytes,
          category: block.category,
          name: block.name,
        });
    }
  }

  /** @param {number} point */
  removeBlock(point) {
    this.blockAt[point] = null;
    this.refreshWall(point);
  }

  /**
   * @param {number} point
   * @param {UsedBlock} block
   */
  putBlock(point, block) {
    block.next = this.nextWall(point);
    const before = point > 0 ? this.walls.atOrBelow(point - 1) : -1;
    const below = before < 0 ? null : this.blockAt[before];
    if (below !== null) below.next = Math.min(below.next, block.address);
    this.blockAt[point] = block;
    this.refreshWall(point);
  }

  /**
   * A size without an alloc row.
   * @param {UsedBlock} block
   */
  guessSize(block) {
    if (block.blockBytes === 0)
      block.blockBytes = this.blockOf(block.address, block.requestedBytes, block.next);
  }

  /**
   * @param {TraceRow} row
   * @returns {UsedBlock}
   */
  freedBlock(row) {
    const isCompleted = row.action === ACTION.FREE_COMPLETED;
    return {
      address: row.address,
      requestedBytes: row.requestedBytes,
      blockBytes: 0,
      next: Infinity,
      requestedRow: isCompleted ? null : row,
      completedRow: isCompleted ? row : null,
      stack: -1,
      name: row.name,
      category: row.category,
      state: isCompleted ? STATE.PENDING : STATE.ALLOCATED,
    };
  }

  /** @param {TraceRow} row */
  takeBackFree(row) {
    const point = lowerBound(this.points, row.address);
    const other = this.blockAt[point];
    if (other !== null) {
      // it was allocated later, without a row in the trace
      this.found.nContradictions++;
      this.guessSize(other);
      this.settle(other);
      this.removeBlock(point);
    }
    this.putBlock(point, this.freedBlock(row));
  }

  /** @param {TraceRow} row */
  takeBackRequest(row) {
    const point = lowerBound(this.points, row.address);
    const block = this.blockAt[point];
    if (block === null || block.state !== STATE.PENDING) {
      this.found.nContradictions++;
      if (block === null) this.putBlock(point, this.freedBlock(row));
      return;
    }
    block.state = STATE.ALLOCATED;
    block.requestedRow = row;
  }

  /** @param {TraceRow} row */
  takeBackAlloc(row) {
    const point = lowerBound(this.points, row.address);
    const block = this.blockAt[point];
    if (block === null) {
      // its free is not in the trace
      this.found.nContradictions++;
      row.blockBytes = this.blockOf(row.address, row.requestedBytes, this.nextWall(point));
      return;
    }
    block.requestedBytes = row.requestedBytes;
    block.category = row.category;
    if (row.name >= 0) block.name = row.name;
    if (block.blockBytes < row.requestedBytes || block.blockBytes === 0) {
      if (block.blockBytes !== 0) this.found.nContradictions++;
      block.blockBytes = this.blockOf(row.address, row.requestedBytes, this.nextWall(point));
    }
    row.blockBytes = block.blockBytes;
    row.name = block.name;
    this.settle(block);
    this.removeBlock(point);
  }

  /** @param {DumpSegment} segment */
  putSegment(segment) {
    const begin = lowerBound(this.points, segment.address);
    const end = lowerBound(this.points, segment.address + segment.totalBytes);
    if (this.segmentAt[begin] !== null) {
      this.found.nContradictions++;
      return;
    }
    this.segmentAt[begin] = segment;
    this.nEnds[end]++;
    this.refreshWall(begin);
    this.refreshWall(end);
  }

  /** @param {number} address */
  removeSegment(address) {
    const begin = lowerBound(this.points, address);
    const segment = this.segmentAt[begin];
    if (segment === null) {
      this.found.nContradictions++;
      return;
    }
    const end = lowerBound(this.points, address + segment.totalBytes);
    this.segmentAt[begin] = null;
    this.nEnds[end]--;
    this.refreshWall(begin);
    this.refreshWall(end);
  }

  /**
   * An annotation names a block that is alive at that row.
   * @param {TraceRow} row
   */
  takeBackMark(row) {
    const point = lowerBound(this.points, row.address);
    const block = this.blockAt[point];
    if (row.address !== 0 && this.points[point] === row.address && block !== null) block.name = row.name;
  }

  /** @param {TraceRow} row */
  takeBack(row) {
    if (row.action === ACTION.ALLOC) this.takeBackAlloc(row);
    else if (row.action === ACTION.FREE || row.action === ACTION.FREE_COMPLETED) this.takeBackFree(row);
    else if (row.action === ACTION.FREE_REQUESTED) this.takeBackRequest(row);
    else if (row.action === ACTION.SEGMENT_ALLOC) this.removeSegment(row.address);
    else if (row.action === ACTION.SEGMENT_FREE)
      this.putSegment(bareSegment(row.device, row.address, row.blockBytes, row.stream));
    else if (row.action === ACTION.MARK) this.takeBackMark(row);
  }

  /** The dump's blocks in use and segments. */
  load() {
    for (const segment of this.dump) {
      if (!segment.isExpandable) this.putSegment(segment);
      for (const block of segment.blocks) {
        const address = segment.address + block.offset;
        const point = lowerBound(this.points, address);
        if (block.state === STATE.FREE || this.blockAt[point] !== null) continue;
        this.putBlock(point, {
          address,
          requestedBytes: block.requested,
          blockBytes: block.bytes,
          next: Infinity,
          requestedRow: null,
          completedRow: null,
          stack: block.stack,
          name: -1,
          category: 0,
          state: block.state,
        });
      }
    }
  }

  /**
   * Expandable segments before the first event, one per contiguous mapped range.
   * @returns {DumpSegment[]}
   */
  expandableAtStart() {
    /**
     * @type {{address: number, change: number, stream: number, segment: DumpSegment | null}[]} both ends of
     *   all pieces, with the change at each
     */
    const edges = [];
    for (const segment of this.dump.filter((each) => each.isExpandable)) {
      edges.push(
        { address: segment.address, change: 1, stream: segment.stream, segment },
        { address: segment.address + segment.totalBytes, change: -1, stream: segment.stream, segment: null },
      );
    }
    for (const row of this.rows.filter((each) => isMapAction(each.action))) {
      const change = row.action === ACTION.SEGMENT_MAP ? -1 : 1;
      edges.push(
        { address: row.address, change, stream: row.stream, segment: null },
        { address: row.address + row.blockBytes, change: -change, stream: row.stream, segment: null },
      );
    }
    edges.sort((a, b) => a.stream - b.stream || a.address - b.address);
    const made = [];
    let nCovering = 0;
    let open = bareSegment(this.device, 0, 0, 0);
    for (let i = 0; i < edges.length;) {
      const { stream, address } = edges[i];
      const before = nCovering;
      /** @type {DumpSegment | null} */
      let of = null;
      for (; i < edges.length && edges[i].stream === stream && edges[i].address === address; i++) {
        nCovering += edges[i].change;
        of = edges[i].segment ?? of;
      }
      if (before <= 0 && nCovering > 0)
        open = { ...bareSegment(this.device, address, 0, stream), isExpandable: true };
      if (of !== null) Object.assign(open, { pool: of.pool, poolId: of.poolId });
      if (before > 0 && nCovering <= 0) made.push({ ...open, totalBytes: address - open.address });
      if (nCovering < 0 || nCovering > 1) this.found.nContradictions++;
      if (i < edges.length && edges[i].stream !== stream) nCovering = 0;
    }
    return made;
  }

  /** Adds the remaining segments and blocks to the start state. */
  addStart() {
    const segments = [
      ...this.expandableAtStart(),
      .../** @type {DumpSegment[]} */ (this.segmentAt.filter((segment) => segment !== null)).map(
        (segment) => ({ ...segment, blocks: [] }),
      ),
    ].sort((a, b) => a.address - b.address);
    const blocks = /** @type {UsedBlock[]} */ (this.blockAt.filter((block) => block !== null));
    let next = 0;
    const homelessBelow = (/** @type {number} */ end) => {
      // blocks outside all segments get a segment of their own size
      for (; next < blocks.length && blocks[next].address < end; next++) {
        const { address, blockBytes } = blocks[next];
        const segment = bareSegment(
          this.device,
          address,
          blockBytes,
          this.found.stream(this.device, undefined, NOWHERE),
        );
        this.found.nContradictions++;
        segment.blocks.push(usedAtStart(blocks[next], 0));
        this.found.start.push(segment);
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
          this.found.nContradictions++;
          continue;
        }
        addFree(offset - filled);
        made.blocks.push(usedAtStart(blocks[next], offset));
        filled = offset + blocks[next].blockBytes;
      }
      addFree(segment.totalBytes - filled);
      this.found.start.push(made);
    }
    homelessBelow(Infinity);
  }

  run() {
    this.load();
    for (let i = this.rows.length - 1; i >= 0; i--) this.takeBack(this.rows[i]);
    for (const block of this.blockAt) {
      if (block === null) continue;
      this.guessSize(block);
      this.settle(block);
    }
    this.addStart();
  }
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
 * @returns {DumpSegment}
 */
function bareSegment(device, address, totalBytes, stream) {
  return { device, address, totalBytes, stream, pool: '', poolId: [0, 0], isExpandable: false, blocks: [] };
}

/**
 * @param {UsedBlock} block
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

/**
 * Finds the block sizes of all rows, and the start, of all devices.
 * @param {import('./pytorch.js').PytorchImport} found
 */
export function walkBack(found) {
  for (let device = 0; device < found.nDevices; device++) new Walk(found, device).run();
}
