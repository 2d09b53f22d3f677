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
import { addStart, bareSegment } from './pytorch_start.js';
import { ACTION, STATE } from './subjects.js';

const SMALL_REQUEST = 2 ** 20; // requests up to it come from the small pool
const REST_BYTES = 2 ** 20; // a rest up to this size is not split off a large block

/**
 * @typedef {import('./pytorch.js').DumpSegment} DumpSegment
 *
 * @typedef {object} UsedBlock a block in use
 * @property {number} address
 * @property {number} requestedBytes
 * @property {number} blockBytes 0: not known yet
 * @property {number} next lowest block or segment end seen after it while it was in use; Infinity: none
 * @property {number} requestedRow row that requested its free, or did all of it; -1: none
 * @property {number} completedRow row that completed its free; -1: none
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

export class Walk {
  /**
   * @param {import('./pytorch.js').PytorchImport} found
   * @param {number} device
   */
  constructor(found, device) {
    this.found = found;
    this.device = device;
    this.rows = found.rows;
    this.first = found.firstRow[device]; // its rows
    this.end = found.firstRow[device + 1] ?? found.rows.count;
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
    const { action, address, blockBytes } = this.rows;
    for (let row = this.first; row < this.end; row++) {
      if (action[row] > ACTION.SEGMENT_UNMAP) continue;
      points.add(address[row]);
      if (isSegmentAction(action[row])) points.add(address[row] + blockBytes[row]);
    }
    return Float64Array.from(points).sort();
  }

  /** The rows that map memory, and those that unmap it. */
  mapRows() {
    const found = [];
    for (let row = this.first; row < this.end; row++) if (isMapAction(this.rows.action[row])) found.push(row);
    return found;
  }

  allRanges() {
    const all = [
      ...this.dump
        .filter((segment) => segment.isExpandable)
        .map((segment) => ({ begin: segment.address, end: segment.address + segment.totalBytes })),
      ...this.mapRows().map((row) => ({
        begin: this.rows.address[row],
        end: this.rows.address[row] + this.rows.blockBytes[row],
      })),
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
    if (block.requestedRow >= 0) this.settleRow(block, block.requestedRow);
    if (block.completedRow >= 0) this.settleRow(block, block.completedRow);
  }

  /**
   * @param {UsedBlock} block
   * @param {number} row
   */
  settleRow(block, row) {
    const { rows } = this;
    rows.requestedBytes[row] = block.requestedBytes;
    rows.blockBytes[row] = block.blockBytes;
    rows.category[row] = block.category;
    rows.name[row] = block.name;
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
   * @param {number} row
   * @returns {UsedBlock}
   */
  freedBlock(row) {
    const { rows } = this;
    const isCompleted = rows.action[row] === ACTION.FREE_COMPLETED;
    return {
      address: rows.address[row],
      requestedBytes: rows.requestedBytes[row],
      blockBytes: 0,
      next: Infinity,
      requestedRow: isCompleted ? -1 : row,
      completedRow: isCompleted ? row : -1,
      stack: -1,
      name: rows.name[row],
      category: rows.category[row],
      state: isCompleted ? STATE.PENDING : STATE.ALLOCATED,
    };
  }

  /** @param {number} row */
  takeBackFree(row) {
    const point = lowerBound(this.points, this.rows.address[row]);
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

  /** @param {number} row */
  takeBackRequest(row) {
    const point = lowerBound(this.points, this.rows.address[row]);
    const block = this.blockAt[point];
    if (block === null || block.state !== STATE.PENDING) {
      this.found.nContradictions++;
      if (block === null) this.putBlock(point, this.freedBlock(row));
      return;
    }
    block.state = STATE.ALLOCATED;
    block.requestedRow = row;
  }

  /** @param {number} row */
  takeBackAlloc(row) {
    const { rows } = this;
    const address = rows.address[row];
    const requested = rows.requestedBytes[row];
    const point = lowerBound(this.points, address);
    const block = this.blockAt[point];
    if (block === null) {
      // its free is not in the trace
      this.found.nContradictions++;
      rows.blockBytes[row] = this.blockOf(address, requested, this.nextWall(point));
      return;
    }
    block.requestedBytes = requested;
    block.category = rows.category[row];
    if (rows.name[row] >= 0) block.name = rows.name[row];
    if (block.blockBytes < requested || block.blockBytes === 0) {
      if (block.blockBytes !== 0) this.found.nContradictions++;
      block.blockBytes = this.blockOf(address, requested, this.nextWall(point));
    }
    rows.blockBytes[row] = block.blockBytes;
    rows.name[row] = block.name;
    // the request of the free was not recorded (skip_actions=['free_requested'])
    if (block.requestedRow < 0 && block.completedRow >= 0) rows.action[block.completedRow] = ACTION.FREE;
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
   * @param {number} row
   */
  takeBackMark(row) {
    const address = this.rows.address[row];
    const point = lowerBound(this.points, address);
    const block = this.blockAt[point];
    if (address !== 0 && this.points[point] === address && block !== null) block.name = this.rows.name[row];
  }

  /** @param {number} row */
  takeBack(row) {
    const { action, address, device, blockBytes, stream } = this.rows;
    const what = action[row];
    if (what === ACTION.ALLOC) this.takeBackAlloc(row);
    else if (what === ACTION.FREE || what === ACTION.FREE_COMPLETED) this.takeBackFree(row);
    else if (what === ACTION.FREE_REQUESTED) this.takeBackRequest(row);
    else if (what === ACTION.SEGMENT_ALLOC) this.removeSegment(address[row]);
    else if (what === ACTION.SEGMENT_FREE)
      this.putSegment(bareSegment(device[row], address[row], blockBytes[row], stream[row]));
    else if (what === ACTION.MARK) this.takeBackMark(row);
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
          requestedRow: -1,
          completedRow: -1,
          stack: block.stack,
          name: -1,
          category: 0,
          state: block.state,
        });
      }
    }
  }

  run() {
    this.load();
    for (let row = this.end - 1; row >= this.first; row--) this.takeBack(row);
    for (const block of this.blockAt) {
      if (block === null) continue;
      this.guessSize(block);
      this.settle(block);
    }
    addStart(this);
  }
}

/**
 * Finds the block sizes of all rows, and the start, of all devices.
 * @param {import('./pytorch.js').PytorchImport} found
 */
export function walkBack(found) {
  for (let device = 0; device < found.nDevices; device++) new Walk(found, device).run();
}
