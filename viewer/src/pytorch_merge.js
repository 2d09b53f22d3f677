/* pytorch_merge.js - merges the rows of all devices by time, turns the intervals that the user named and the
 * metadata of events into scopes, and builds the document.
 *
 * Rows of one device keep their order even if their times do not: the time of a row is the highest so far on
 * its device.
 */
import { SCOPE } from './format_names.js';
import { MOST_PARTS, MOST_US, PytorchImport, readPytorch } from './pytorch.js';
import { isOfKind, Place } from './pytorch_place.js';
import { walkBack } from './pytorch_walk.js';
import { ACTION } from './subjects.js';

const MOST_OPEN = 1024; // the deepest nesting of intervals that are closed; deeper ones stay open
const NO_INDEX = -1;

/**
 * @typedef {{time: number, order: number, name: number, device: number, begins: boolean}} Edge
 * @typedef {{parent: number, name: number, thread: number, beginNs: number, durationNs: number}} ScopeRow
 * @typedef {{at: number, end: number, timeUs: number, isAny: boolean, base: number, compileText: number, metadataText: number, compile: number, metadata: number}}
 *   Lane
 */

/**
 * Sorts by time.
 * @param {import('./pytorch.js').PytorchImport} found
 * @param {any} value
 * @returns {Edge[]}
 */
function readAnnotations(found, value) {
  if (value === undefined || value === null) return [];
  const at = new Place(null, 'external_annotations');
  if (!isOfKind(value, 'list')) {
    found.countOdd(at);
    return [];
  }
  const list = at.list(value);
  found.count(list.length, at);
  const edges = list.flatMap((each, order) => {
    const of = at.at(order);
    const dict = isOfKind(each, 'dict') ? of.dict(each) : new Map();
    const stage = dict.get('stage');
    const text = dict.get('name');
    const time = dict.get('time_us');
    const device = dict.get('device') ?? 0;
    if (
      (stage !== 'START' && stage !== 'END') ||
      typeof text !== 'string' ||
      typeof time !== 'number' ||
      time < 0 ||
      time > MOST_US
    ) {
      found.countOdd(of);
      return [];
    }
    const isDevice = typeof device === 'number' && device >= -1 && device < MOST_PARTS;
    if (!isDevice) found.countOdd(of.at('device'));
    return [
      {
        time,
        order,
        name: found.strings.number(text),
        device: isDevice ? Math.max(0, device) : 0,
        begins: stage === 'START',
      },
    ];
  });
  if (!found.hasTimes && found.nEvents > 0) return []; // without times, no event can lie in them
  return edges.sort((a, b) => a.time - b.time || a.order - b.order);
}

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
    this.order = new Int32Array(found.rows.count); // rows by time
    this.isInOrder = true; // each row is where it was
    /** @type {Lane[]} */
    this.lanes = Array.from({ length: found.nDevices }, (_, device) => ({
      at: found.firstRow[device],
      end: found.firstRow[device + 1] ?? found.rows.count,
      timeUs: 0,
      isAny: false,
      base: -1,
      compileText: -1,
      metadataText: -1,
      compile: -1,
      metadata: -1,
    }));
    let zero = edges.length > 0 ? edges[0].time : Infinity;
    const { count, timeUs } = found.rows;
    for (let row = 0; row < count; row++) if (timeUs[row] < zero) zero = timeUs[row];
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
   * @param {number} scope -1: none
   * @param {number} timeUs its end so far
   */
  stretch(scope, timeUs) {
    if (scope >= 0) this.scopes[scope].durationNs = this.sinceZeroNs(timeUs) - this.scopes[scope].beginNs;
  }

  /**
   * The scope of the lane's next row.
   * @param {Lane} lane
   * @param {number} device
   * @param {number} row
   */
  scopeOf(lane, device, row) {
    const { rows } = this.found;
    const [compile, metadata] = [rows.compile[row], rows.metadata[row]];
    const base = this.open.length > 0 ? this.open[this.open.length - 1] : -1;
    const isOther = !lane.isAny || base !== lane.base || compile !== lane.compileText;
    if (isOther) lane.compile = this.beginText(lane, device, 'compile: ', compile, base);
    const inner = lane.compile >= 0 ? lane.compile : base;
    if (isOther || metadata !== lane.metadataText)
      lane.metadata = this.beginText(lane, device, 'metadata: ', metadata, inner);
    this.stretch(lane.compile, lane.timeUs);
    this.stretch(lane.metadata, lane.timeUs);
    lane.isAny = true;
    lane.base = base;
    lane.compileText = compile;
    lane.metadataText = metadata;
    return lane.metadata >= 0 ? lane.metadata : inner;
  }

  /**
   * The time of a device's next row.
   * @param {number} device
   */
  timeOfNext(device) {
    return Math.max(this.lanes[device].timeUs, this.found.rows.timeUs[this.lanes[device].at]);
  }

  /** The device with the earliest next row, the lowest on ties; -1: no rows are left. */
  nextDevice() {
    let next = -1;
    let earliest = 0;
    for (let device = 0; device < this.lanes.length; device++) {
      if (this.lanes[device].at === this.lanes[device].end) continue;
      const time = this.timeOfNext(device);
      if (next < 0 || time < earliest) {
        next = device;
        earliest = time;
      }
    }
    return next;
  }

  run() {
    const { order } = this;
    for (let i = 0; i < order.length; i++) {
      const device = this.nextDevice();
      const lane = this.lanes[device];
      lane.timeUs = this.timeOfNext(device);
      this.advance(lane.timeUs);
      this.found.rows.scope[lane.at] = this.scopeOf(lane, device, lane.at);
      if (lane.at !== i) this.isInOrder = false;
      order[i] = lane.at++;
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

/**
 * The rows in their order; the columns are moved to the table.
 * @param {Merger} merger
 */
function eventTable({ found: { rows }, order: byTime, isInOrder, zeroUs }) {
  const order = isInOrder ? null : byTime;
  const time = rows.take('timeUs', order, true);
  const address = rows.take('address', order, true);
  const action = rows.take('action', order);
  for (let i = 0; i < rows.count; i++) {
    time.values[i] = (time.values[i] - zeroUs) * 1000;
    // rows without an address repeat the previous one
    if (action.values[i] > ACTION.SEGMENT_UNMAP) address.values[i] = i > 0 ? address.values[i - 1] : 0;
  }
  if (rows.count > 0) {
    time.min = (time.min - zeroUs) * 1000;
    time.max = (time.max - zeroUs) * 1000;
  }
  return {
    time_delta: time,
    action,
    device: rows.take('device', order),
    address_delta: address,
    requested_bytes: rows.take('requestedBytes', order),
    block_bytes: rows.take('blockBytes', order),
    stream: rows.take('stream', order),
    stack: rows.take('stack', order),
    scope_delta: rows.take('scope', order, true),
    category: rows.take('category', order),
    name: rows.take('name', order),
  };
}

/** @param {Merger} merger */
function oomTable({ found: { rows }, order }) {
  const table = [];
  for (let event = 0; event < order.length; event++) {
    const row = order[event];
    if (rows.action[row] !== ACTION.OOM) continue;
    const free = rows.blockBytes[row];
    table.push({
      event,
      requested_bytes: rows.requestedBytes[row],
      free_bytes: free === 2 ** 63 ? -1 : free,
    });
  }
  return table;
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
 * The rows that are known to be missing: a block of the dump has the call stack of its allocation, which was
 * recorded then, but the rows of its device, of which there are some, do not contain it.
 * @param {PytorchImport} found
 */
function countCut({ firstRow, start }) {
  return start
    .filter(({ device }) => firstRow[device] < firstRow[device + 1])
    .reduce((n, { blocks }) => n + blocks.filter(({ stack }) => stack >= 0).length, 0);
}

/**
 * @param {any} root of a snapshot by PyTorch: of its pickle, or of the same tree as JSON
 * @param {number} nBytes its size
 * @param {PytorchImport} [found] what was taken from it while it was read
 * @returns {Record<string, any>} for readSnapshot
 * @throws {import('./columns.js').FormatError}
 */
export function documentOfPytorch(root, nBytes, found = new PytorchImport()) {
  const annotations = readAnnotations(found, readPytorch(root, nBytes, found));
  walkBack(found);
  const merger = new Merger(found, annotations);
  merger.run();
  if (found.hasRest) found.countOdd(new Place(null, 'what follows the pickle'));
  const oom = oomTable(merger);
  const { frames, stacks } = found;
  return {
    format: 'tidemark-snapshot',
    version: 1,
    address_unit_bytes: 1,
    origin: { format: 'pytorch', events: found.nEvents, contradictions: found.nContradictions },
    odd: found.nOdd > 0 ? { count: found.nOdd, first: found.firstOdd } : null,
    run: found.hasTimes ? { started_unix_us: merger.zeroUs } : {},
    clock: { source: found.hasTimes ? 'tsc' : 'none' },
    log: { full_policy: '', dropped_events: countCut(found) },
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
    oom,
  };
}
