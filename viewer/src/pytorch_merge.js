/* pytorch_merge.js - merges the rows of all devices by time, turns the intervals that the user named and the
 * metadata of events into scopes, and builds the document.
 *
 * Rows of one device keep their order even if their times do not: the time of a row is the highest so far on
 * its device.
 */
import { SCOPE } from './format_names.js';
import { readPytorch } from './pytorch.js';
import { walkBack } from './pytorch_walk.js';
import { ACTION } from './subjects.js';

const MOST_OPEN = 1024; // the deepest nesting of intervals that are closed; deeper ones stay open
const NO_INDEX = -1;

/**
 * @typedef {import('./pytorch.js').TraceRow} TraceRow
 * @typedef {{time: number, order: number, name: number, device: number, begins: boolean}} Edge
 * @typedef {{parent: number, name: number, thread: number, beginNs: number, durationNs: number}} ScopeRow
 * @typedef {{at: number, timeUs: number, isAny: boolean, base: number, compileText: number, metadataText: number, compile: number, metadata: number}}
 *   Lane
 */

class Merger {
  /**
   * @param {import('./pytorch.js').PytorchImport} found
   * @param {Edge[]} edges
   */
  constructor(found, edges) {
    this.found = found;
    this.edges = edges;
    this.at = 0; // next edge
    /** @type {ScopeRow[]} */
    this.scopes = [];
    /** @type {number[]} open intervals, the innermost last */
    this.open = [];
    /** @type {TraceRow[]} */
    this.events = [];
    /** @type {Lane[]} */
    this.lanes = found.traces.map(() => ({
      at: 0,
      timeUs: 0,
      isAny: false,
      base: -1,
      compileText: -1,
      metadataText: -1,
      compile: -1,
      metadata: -1,
    }));
    let zero = edges.length > 0 ? edges[0].time : Infinity;
    for (const rows of found.traces) for (const row of rows) if (row.timeUs < zero) zero = row.timeUs;
    this.zeroUs = zero === Infinity ? 0 : zero;
  }

  /** @param {number} timeUs */
  sinceZeroNs(timeUs) {
    return (timeUs - this.zeroUs) * 1000;
  }

  /** @param {Edge} edge */
  begin(edge) {
    let parent = -1;
    for (let i = this.open.length; i > 0 && parent < 0; i--)
      if (this.scopes[this.open[i - 1]].thread === edge.device) parent = this.open[i - 1];
    const scope =
      this.scopes.push({
        parent,
        name: edge.name,
        thread: edge.device,
        beginNs: this.sinceZeroNs(edge.time),
        durationNs: -1,
      }) - 1;
    if (this.open.length < MOST_OPEN) this.open.push(scope);
  }

  /**
   * An end without a begin in the file is ignored.
   * @param {Edge} edge
   */
  end(edge) {
    for (let i = this.open.length; i > 0; i--) {
      const scope = this.scopes[this.open[i - 1]];
      if (scope.name !== edge.name || scope.thread !== edge.device) continue;
      scope.durationNs = this.sinceZeroNs(edge.time) - scope.beginNs;
      this.open.splice(i - 1, 1);
      return;
    }
  }

  /**
   * Advances to a row at timeUs: begins at that time are applied, ends are not.
   * @param {number} timeUs
   */
  advance(timeUs) {
    for (; this.at < this.edges.length; this.at++) {
      const edge = this.edges[this.at];
      if (edge.time > timeUs || (edge.time === timeUs && !edge.begins)) return;
      if (edge.begins) this.begin(edge);
      else this.end(edge);
    }
  }

  /**
   * A scope for consecutive rows with the same text; -1: no text.
   * @param {Lane} lane
   * @param {number} device
   * @param {string} prefix
   * @param {number} text
   * @param {number} parent
   */
  beginText(lane, device, prefix, text, parent) {
    if (text < 0) return -1;
    const { strings } = this.found;
    const name = strings.number(`${prefix}${strings.texts[text]}`);
    return (
      this.scopes.push({
        parent,
        name,
        thread: parent >= 0 ? this.scopes[parent].thread : device,
        beginNs: this.sinceZeroNs(lane.timeUs),
        durationNs: 0,
      }) - 1
    );
  }

  /**
   * The scope of the lane's next row.
   * @param {Lane} lane
   * @param {number} device
   * @param {TraceRow} row
   */
  scopeOf(lane, device, row) {
    const base = this.open.length > 0 ? this.open[this.open.length - 1] : -1;
    const isOther = !lane.isAny || base !== lane.base || row.compile !== lane.compileText;
    if (isOther) lane.compile = this.beginText(lane, device, 'compile: ', row.compile, base);
    const inner = lane.compile >= 0 ? lane.compile : base;
    if (isOther || row.metadata !== lane.metadataText)
      lane.metadata = this.beginText(lane, device, 'metadata: ', row.metadata, inner);
    for (const scope of [lane.compile, lane.metadata]) {
      if (scope >= 0)
        this.scopes[scope].durationNs = this.sinceZeroNs(lane.timeUs) - this.scopes[scope].beginNs;
    }
    Object.assign(lane, { isAny: true, base, compileText: row.compile, metadataText: row.metadata });
    return lane.metadata >= 0 ? lane.metadata : inner;
  }

  /**
   * The time of a device's next row.
   * @param {number} device
   */
  timeOfNext(device) {
    return Math.max(this.lanes[device].timeUs, this.found.traces[device][this.lanes[device].at].timeUs);
  }

  /** The device with the earliest next row, the lowest on ties; -1: no rows are left. */
  nextDevice() {
    let next = -1;
    let earliest = 0;
    for (let device = 0; device < this.lanes.length; device++) {
      if (this.lanes[device].at === this.found.traces[device].length) continue;
      const time = this.timeOfNext(device);
      if (next < 0 || time < earliest) {
        next = device;
        earliest = time;
      }
    }
    return next;
  }

  run() {
    for (let device = this.nextDevice(); device >= 0; device = this.nextDevice()) {
      const lane = this.lanes[device];
      const row = this.found.traces[device][lane.at];
      lane.timeUs = this.timeOfNext(device);
      this.advance(lane.timeUs);
      row.scope = this.scopeOf(lane, device, row);
      this.events.push(row);
      lane.at++;
    }
    this.advance(Infinity);
  }
}

/**
 * A column in the form of the document reader.
 * @param {number[]} list
 * @param {boolean} [isSummed]
 * @returns {import('./columns.js').Column}
 */
function columnOf(list, isSummed = false) {
  let min = Infinity;
  let max = -Infinity;
  for (const value of list) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return {
    values: Float64Array.from(list),
    min: list.length > 0 ? min : 0,
    max: list.length > 0 ? max : 0,
    isSummed,
  };
}

/** @param {Merger} merger */
function eventTable({ events, zeroUs }) {
  const column = (/** @type {keyof TraceRow} */ key, isSummed = false) =>
    columnOf(
      events.map((row) => row[key]),
      isSummed,
    );
  let last = 0; // rows without an address repeat the previous one
  const address = events.map((row) => (last = row.action > ACTION.SEGMENT_UNMAP ? last : row.address));
  return {
    time_delta: columnOf(
      events.map((row) => (row.timeUs - zeroUs) * 1000),
      true,
    ),
    action: column('action'),
    device: column('device'),
    address_delta: columnOf(address, true),
    requested_bytes: column('requestedBytes'),
    block_bytes: column('blockBytes'),
    stream: column('stream'),
    stack: column('stack'),
    scope_delta: column('scope', true),
    category: column('category'),
    name: column('name'),
  };
}

/** @param {ScopeRow[]} scopes */
function scopeTable(scopes) {
  const column = (/** @type {keyof ScopeRow} */ key, isSummed = false) =>
    columnOf(
      scopes.map((scope) => scope[key]),
      isSummed,
    );
  return {
    parent: column('parent'),
    kind: columnOf(scopes.map(() => SCOPE.USER)),
    name: column('name'),
    index: columnOf(scopes.map(() => NO_INDEX)),
    thread: column('thread'),
    begin_delta: column('beginNs', true),
    duration: column('durationNs'),
  };
}

/**
 * @param {any} root of a snapshot by PyTorch: of its pickle, or of the same tree as JSON
 * @param {number} nBytes its size
 * @returns {Record<string, any>} for readSnapshot
 * @throws {import('./columns.js').FormatError}
 */
export function documentOfPytorch(root, nBytes) {
  const { found, annotations } = readPytorch(root, nBytes);
  walkBack(found);
  const merger = new Merger(found, annotations);
  merger.run();
  const { frames, stacks } = found;
  return {
    format: 'tidemark-snapshot',
    version: 1,
    address_unit_bytes: 1,
    origin: { format: 'pytorch', events: found.nEvents, contradictions: found.nContradictions },
    odd: found.nOdd > 0 ? { count: found.nOdd, first: found.firstOdd } : null,
    run: found.hasTimes ? { started_unix_us: merger.zeroUs } : {},
    clock: { source: found.hasTimes ? 'tsc' : 'none' },
    devices: Array.from({ length: found.nDevices }, () => ({ kind: 'cuda', name: '', total_bytes: -1 })),
    streams: found.streams,
    allocator: found.settings,
    strings: found.strings.texts,
    categories: found.categories,
    frames: { function: columnOf(frames.function), file: columnOf(frames.file), line: columnOf(frames.line) },
    stacks: { parent: columnOf(stacks.parent), frame: columnOf(stacks.frame) },
    scopes: scopeTable(merger.scopes),
    start: {
      segments: found.start.map((segment) => ({
        device: segment.device,
        address: segment.address,
        total_bytes: segment.totalBytes,
        stream: segment.stream,
        pool: segment.pool,
        pool_id: segment.poolId,
        is_expandable: segment.isExpandable,
        blocks: segment.blocks.map((block) => ({
          offset_bytes: block.offset,
          block_bytes: block.bytes,
          requested_bytes: block.requested,
          state: block.state,
          stack: block.stack,
          scope: -1,
          category: block.category,
          name: block.name,
        })),
      })),
    },
    events: eventTable(merger),
    oom: merger.events.flatMap((row, event) =>
      row.action === ACTION.OOM
        ? [
            {
              event,
              requested_bytes: row.requestedBytes,
              free_bytes: row.blockBytes === 2 ** 63 ? -1 : row.blockBytes,
            },
          ]
        : [],
    ),
  };
}
