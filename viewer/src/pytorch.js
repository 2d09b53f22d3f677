/* pytorch.js - turns the pickle of torch.cuda.memory._dump_snapshot() into a document, as
 * docs/pytorch-snapshots.md says, with the same rows, segments and scopes as the program.
 */
import { FormatError } from './columns.js';
import { categoryNumber } from './categories.js';
import { ACTION_NAMES, CATEGORY_NAMES } from './format_names.js';
import { NOTHING_MADE, PickleContainer, pickleKind } from './pickle_values.js';
import { Interner, isOfKind, Place } from './pytorch_place.js';
import { TraceRows } from './pytorch_rows.js';
import { addSegments, readSegments } from './pytorch_segments.js';
import { readSettings } from './pytorch_settings.js';
import { ACTION } from './subjects.js';

export const MOST_PARTS = 256; // devices, streams
export const MOST_REQUEST = 2 ** 60;
export const MOST_ADDRESS = 2 ** 61;
export const MOST_US = 2 ** 63 / 1000;
const UNLIMITED = 2 ** 53 - 1; // as many or more, as device_free
export const N_INTERVALS = 16;
// share of the pickle's bytes: a value may occur in many places, and its expansion must not outgrow the file
const ROW_BYTES = 24;
const FREE_ROWS = 1000;

/** What a container that has been read stands for. */
const MADE = { NOTHING: NOTHING_MADE, FRAME: 1, STACK: 2, ODD_STACK: 3 }; // odd: it counts each time

/** Known keys of an event; a key that is not known is behind them. */
const EVENT_KEYS = [
  'action',
  'addr',
  'device_free',
  'size',
  'stream',
  'time_us',
  'frames',
  'compile_context',
  'user_metadata',
  'category',
];
const [ACT, ADDR, DEVICE_FREE, SIZE, STREAM, TIME_US, FRAMES, COMPILE, METADATA, CATEGORY] =
  EVENT_KEYS.keys();
const ACTION_NUMBERS = new Map(ACTION_NAMES.map((name, number) => [name, number]));

/**
 * @typedef {object} DumpBlock
 * @property {number} offset
 * @property {number} bytes
 * @property {number} requested
 * @property {number} state STATE
 * @property {number} stack
 * @property {number} category
 * @property {number} name
 *
 * @typedef {object} DumpSegment
 * @property {number} device
 * @property {number} address
 * @property {number} totalBytes
 * @property {number} stream
 * @property {string} pool
 * @property {number[]} poolId
 * @property {boolean} isExpandable
 * @property {DumpBlock[]} blocks
 */

export class PytorchImport {
  constructor() {
    this.repeats = MADE.STACK; // see PickleTaker
    this.strings = new Interner();
    this.categories = [...CATEGORY_NAMES]; // followed by the file's own
    /** @type {{function: number[], file: number[], line: number[]}} */
    this.frames = { function: [], file: [], line: [] };
    /** @type {{parent: number[], frame: number[]}} */
    this.stacks = { parent: [], frame: [] };
    /** @type {Map<string, number>} */
    this.frameNumbers = new Map();
    /** @type {Map<number, number>} from parent and frame to the node */
    this.nodes = new Map();
    /** @type {{device: number, handle: number}[]} */
    this.streams = [];
    this.nDevices = 0;
    this.nBytes = 0; // of the pickle so far
    this.nRowsRead = 0;
    this.nEvents = 0;
    this.hasTimes = false;
    this.rows = new TraceRows();
    this.firstRow = [0]; // of each device so far
    /** @type {(PickleContainer | undefined)[]} by device: the list whose events were taken, and how many */
    this.traces = [];
    /** @type {number[]} */
    this.nTaken = [];
    /** @type {PickleContainer | null} the list whose segments were taken, and how many */
    this.segments = null;
    this.nSegmentsTaken = 0;
    /** @type {any[]} keys of the last event's dict, and their places among EVENT_KEYS */
    this.keys = [];
    /** @type {number[]} */
    this.places = [];
    /** @type {any[]} of the event at hand, in the order of EVENT_KEYS */
    this.values = new Array(EVENT_KEYS.length + 1).fill(undefined);
    /** @type {DumpSegment[]} by device and address */
    this.end = [];
    /** @type {DumpSegment[]} */
    this.start = [];
    /** @type {Record<string, number | string>} */
    this.settings = Object.create(null);
    this.roundupDivisions = new Array(N_INTERVALS).fill(0);
    this.maxSplitBytes = Infinity;
    this.nContradictions = 0;
    this.nOdd = 0; // number of values read as unknown
    this.firstOdd = ''; // place of the first
    this.hasRest = false; // bytes other than zeros follow the pickle
  }

  /**
   * Counts rows before they are created.
   * @param {number} n
   * @param {Place} at
   */
  count(n, at) {
    const mostRows = FREE_ROWS + Math.floor(this.nBytes / ROW_BYTES);
    this.nRowsRead += n;
    if (this.nRowsRead > mostRows) {
      at.fail(
        `more than the limit of ${mostRows} events, segments and blocks for ${this.nBytes} bytes: parts of the file stand in many places`,
      );
    }
  }

  /**
   * Counts an odd value, one that is only displayed and is read as unknown.
   * @param {Place} at
   */
  countOdd(at) {
    if (this.nOdd++ === 0) this.firstOdd = at.path();
  }

  /**
   * @param {any} value
   * @param {Place} at
   * @returns {number} -1: no text, or ""
   */
  optionalText(value, at) {
    if (value !== undefined && typeof value !== 'string') this.countOdd(at);
    return typeof value !== 'string' || value === '' ? -1 : this.strings.number(value);
  }

  /**
   * @param {any} value
   * @param {Place} at
   * @returns {number}
   */
  frame(value, at) {
    if (value instanceof PickleContainer && value.what === MADE.FRAME) return value.number;
    const isDict = isOfKind(value, 'dict');
    // a text instead of a dict is the function
    const dict = isDict ? at.dict(value) : new Map([['name', value]]);
    if (!isDict) this.countOdd(at);
    const name =
      isDict || typeof value === 'string' ? this.optionalText(dict.get('name'), at.at('name')) : -1;
    const file = this.optionalText(dict.get('filename'), at.at('filename'));
    const given = dict.get('line');
    // PyTorch writes 2^64 - 1 for an unknown line
    const line = typeof given === 'number' && given >= 0 && given < 2 ** 31 ? given : 0;
    const key = `${name}/${file}/${line}`;
    let frame = this.frameNumbers.get(key);
    if (frame === undefined) {
      frame = this.frames.function.push(name) - 1;
      this.frames.file.push(file);
      this.frames.line.push(line);
      this.frameNumbers.set(key, frame);
    }
    if (isDict) value.make(MADE.FRAME, frame);
    return frame;
  }

  /**
   * The node of a list of frames, innermost first; -1 for an empty list and for none.
   * @param {any} value
   * @param {Place} of
   */
  stack(value, of) {
    if (value === undefined || value === null) return -1;
    if (value instanceof PickleContainer && value.what >= MADE.STACK) return value.number;
    const at = of.at('frames');
    const { nOdd } = this;
    if (!isOfKind(value, 'list')) {
      this.countOdd(at);
      return -1;
    }
    const list = at.list(value);
    let node = -1;
    for (let i = list.length - 1; i >= 0; i--) {
      const frame = this.frame(list[i], at.at(i));
      const key = (node + 1) * 2 ** 26 + frame;
      let next = this.nodes.get(key);
      if (next === undefined) {
        next = this.stacks.parent.push(node) - 1;
        this.stacks.frame.push(frame);
        this.nodes.set(key, next);
      }
      node = next;
    }
    value.make(this.nOdd === nOdd ? MADE.STACK : MADE.ODD_STACK, node);
    return node;
  }

  /**
   * The number of a device's stream; a new stream is added.
   * @param {number} device
   * @param {any} value
   * @param {Place} of
   */
  stream(device, value, of) {
    const isHandle = typeof value === 'number';
    const handle = isHandle ? value : 0;
    const { streams } = this;
    if (!isHandle && value !== undefined) this.countOdd(of.at('stream'));
    for (let i = 0; i < streams.length; i++)
      if (streams[i].handle === handle && streams[i].device === device) return i;
    if (streams.length === MOST_PARTS) of.at('stream').fail(`more than the limit of ${MOST_PARTS} streams`);
    return streams.push({ device, handle }) - 1;
  }

  /**
   * A text, or the name of the type of anything else.
   * @param {any} value
   * @returns {string} "" for none
   */
  textOrKind(value) {
    return value === undefined || value === null ? '' : typeof value === 'string' ? value : pickleKind(value);
  }

  /**
   * Fills this.values from an event's dict. The next dict has the same keys as a rule, in the same order.
   * @param {any} value
   * @param {Place} at
   */
  readValues(value, at) {
    if (!isOfKind(value, 'dict')) at.dict(value); // which refuses it
    const { items } = value;
    const { keys, places, values } = this;
    let isKnown = items.length === 2 * keys.length;
    for (let i = 0; i < keys.length && isKnown; i++) isKnown = items[2 * i] === keys[i];
    if (!isKnown) {
      keys.length = places.length = 0;
      for (let i = 0; i < items.length; i += 2) {
        const place = typeof items[i] === 'string' ? EVENT_KEYS.indexOf(items[i]) : -1;
        keys.push(items[i]);
        places.push(place < 0 ? EVENT_KEYS.length : place);
      }
    }
    at.offset = value.offset;
    values.fill(undefined);
    for (let i = 0; i < keys.length; i++) values[places[i]] = items[2 * i + 1];
  }

  /**
   * A number of the event at hand.
   * @param {number} key
   * @param {Place} at
   * @param {number} most
   * @returns {number}
   */
  integer(key, at, most) {
    const value = this.values[key];
    return typeof value === 'number' && value >= 0 && value <= most
      ? value
      : at.at(EVENT_KEYS[key]).integer(value, 0, most);
  }

  /**
   * Adds an event to the rows.
   * @param {number} device
   * @param {any} value
   * @param {Place} at
   * @returns {number} its row
   */
  event(device, value, at) {
    const { rows, values } = this;
    this.readValues(value, at);
    const actionName = typeof values[ACT] === 'string' ? values[ACT] : at.at('action').text(values[ACT]);
    const action = ACTION_NUMBERS.get(actionName) ?? ACTION.MARK;
    const row = rows.add(device);
    rows.action[row] = action;
    if (action === ACTION.MARK) rows.name[row] = this.strings.number(actionName);
    else rows.requestedBytes[row] = this.integer(SIZE, at, MOST_REQUEST);
    rows.blockBytes[row] = rows.requestedBytes[row]; // for blocks, until the walk finds them
    if (action === ACTION.OOM) rows.blockBytes[row] = this.freeBytes(at);
    else if (action !== ACTION.MARK || actionName === 'annotate')
      rows.address[row] = this.integer(ADDR, at, MOST_ADDRESS);
    if (values[TIME_US] !== undefined) {
      this.hasTimes = true;
      rows.timeUs[row] = this.integer(TIME_US, at, MOST_US);
    }
    const compile = this.textOrKind(values[COMPILE]);
    if (compile !== '' && compile !== 'N/A') rows.compile[row] = this.strings.number(compile);
    this.setMetadata(row, this.textOrKind(values[METADATA]));
    if (values[CATEGORY] !== undefined)
      rows.category[row] = this.category(values[CATEGORY], at.at('category'));
    rows.stream[row] = this.stream(device, values[STREAM], at);
    rows.stack[row] = this.stack(values[FRAMES], at);
    return row;
  }

  /**
   * The free bytes of an oom.
   * @param {Place} at
   */
  freeBytes(at) {
    const given = this.values[DEVICE_FREE];
    const isFree = typeof given === 'number' && given >= 0;
    const free = isFree ? given : UNLIMITED;
    if (!isFree && given !== undefined) this.countOdd(at.at('device_free'));
    return free >= UNLIMITED ? 2 ** 63 : free;
  }

  /**
   * An unknown name becomes a category of the file's own.
   * @param {any} value
   * @param {Place} at
   */
  category(value, at) {
    if (typeof value !== 'string') {
      this.countOdd(at);
      return 0;
    }
    const number = categoryNumber(this.categories, value);
    if (typeof number === 'string') at.fail(number);
    return Number(number);
  }

  /**
   * "NAME @ REST", as the export writes it: a tensor's name, and the user's metadata.
   * @param {number} row
   * @param {string} text
   */
  setMetadata(row, text) {
    const { rows, strings } = this;
    if (text === '') return;
    const cut = text.indexOf(' @ ');
    if (rows.action[row] === ACTION.MARK) {
      rows.name[row] = strings.number(text);
    } else if (cut < 0) {
      rows.metadata[row] = strings.number(text);
    } else {
      if (cut > 0) rows.name[row] = strings.number(text.slice(0, cut));
      if (cut + 3 < text.length) rows.metadata[row] = strings.number(text.slice(cut + 3));
    }
  }

  /**
   * The next rows are those of the device.
   * @param {number} device
   * @returns {boolean} false: rows of a later one are there
   */
  goToDevice(device) {
    if (device < this.firstRow.length - 1) return false;
    while (this.firstRow.length - 1 < device) this.firstRow.push(this.rows.count);
    return true;
  }

  /**
   * Events of the last device so far.
   * @param {any[]} events
   * @param {number} first index of the first one
   * @param {Place} at
   */
  addEvents(events, first, at) {
    const { rows } = this;
    const device = this.firstRow.length - 1;
    this.count(events.length, at);
    this.nEvents += events.length;
    rows.reserve(events.length);
    for (let i = 0; i < events.length; i++) {
      const row = this.event(device, events[i], at.at(first + i));
      if (row === this.firstRow[device] || !isOneFree(rows, row - 1)) continue;
      rows.action[row - 1] = ACTION.FREE;
      rows.count--;
    }
  }

  /**
   * Takes events and segments while the pickle is being read, a thousand at a time. What is written in an
   * unusual order stays in the tree and is read at the end.
   * @type {import('./pickle.js').PickleTaker['take']}
   */
  take(list, steps, items, nBytes) {
    const [first, second] = steps;
    this.nBytes = nBytes;
    if (list.items.length > 0) return false;
    if (steps.length === 0 || (steps.length === 1 && first.key === 'segments')) {
      if (this.segments !== null && this.segments !== list) return false;
      this.segments = list;
      addSegments(this, items, this.nSegmentsTaken, new Place(null, 'segments', list.offset));
      this.nSegmentsTaken += items.length;
      return true;
    }
    if (steps.length !== 2 || first.key !== 'device_traces' || second.index < 0) return false;
    const device = second.index;
    const known = this.traces[device];
    if (device >= MOST_PARTS || (known !== undefined && known !== list) || !this.goToDevice(device))
      return false;
    const nTaken = this.nTaken[device] ?? 0;
    this.traces[device] = list;
    this.addEvents(items, nTaken, new Place(new Place(null, 'device_traces'), device, list.offset));
    this.nTaken[device] = nTaken + items.length;
    return true;
  }

  /** @param {any} value */
  readTraces(value) {
    const at = new Place(null, 'device_traces');
    const traces = value === undefined ? [] : at.list(value); // the first releases had none
    let nTaken = this.traces.filter((list) => list !== undefined).length;
    if (traces.length > MOST_PARTS) at.fail(`${traces.length} devices, the limit is ${MOST_PARTS}`);
    this.nDevices = Math.max(this.nDevices, traces.length);
    traces.forEach((trace, device) => {
      const of = at.at(device);
      const isTaken = trace !== undefined && this.traces[device] === trace;
      const events = isTaken ? trace.items : of.list(trace);
      if (isTaken) nTaken--;
      if (events.length > 0 && !this.goToDevice(device))
        of.fail('these events were written after those of a later device');
      this.addEvents(events, isTaken ? this.nTaken[device] : 0, of);
    });
    if (nTaken > 0) at.fail('events stand in a part of the file where no snapshot has them');
    this.goToDevice(this.nDevices);
  }
}

/**
 * A free that completed directly after its request becomes one row.
 * @param {TraceRows} rows
 * @param {number} a row; the other one follows
 */
function isOneFree(rows, a) {
  const b = a + 1;
  return (
    rows.action[a] === ACTION.FREE_REQUESTED &&
    rows.action[b] === ACTION.FREE_COMPLETED &&
    rows.address[a] === rows.address[b] &&
    rows.requestedBytes[a] === rows.requestedBytes[b] &&
    rows.stream[a] === rows.stream[b] &&
    rows.stack[a] === rows.stack[b] &&
    rows.name[a] === rows.name[b] &&
    rows.compile[a] === rows.compile[b] &&
    rows.metadata[a] === rows.metadata[b]
  );
}

/**
 * @param {any} root of a pickle, or of the same tree as JSON
 * @param {number} nBytes its size
 * @param {PytorchImport} found what was taken while it was read
 * @returns {any} the annotations
 */
export function readPytorch(root, nBytes, found) {
  // the first releases wrote only the segments
  const isList = root instanceof PickleContainer && root.kind === 'list';
  const parts = isList
    ? new Map([['segments', root]])
    : root instanceof PickleContainer && root.kind === 'dict'
      ? new Place(null, '').dict(root)
      : new Map();
  if (!parts.has('segments')) {
    throw new FormatError(
      "this is a Python pickle, but no snapshot by PyTorch: it has no 'segments'; torch.cuda.memory._dump_snapshot writes one",
    );
  }
  found.nBytes = nBytes;
  readSettings(found, parts.get('allocator_settings'));
  readSegments(found, parts.get('segments'));
  found.readTraces(parts.get('device_traces'));
  return parts.get('external_annotations');
}
