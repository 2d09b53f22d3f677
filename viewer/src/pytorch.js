/* pytorch.js - turns the pickle of torch.cuda.memory._dump_snapshot() into a document, as
 * docs/pytorch-snapshots.md says, with the same rows, segments and scopes as the program.
 */
import { FormatError } from './columns.js';
import { categoryNumber } from './categories.js';
import { ACTION_NAMES, CATEGORY_NAMES } from './format_names.js';
import { PickleContainer, pickleKind, PickleReal } from './pickle.js';
import { Interner, isOfKind, Place } from './pytorch_place.js';
import { readSegments } from './pytorch_segments.js';
import { ACTION } from './subjects.js';

export const MOST_PARTS = 256; // devices, streams
export const MOST_REQUEST = 2 ** 60;
export const MOST_ADDRESS = 2 ** 61;
const MOST_US = 2 ** 63 / 1000;
const UNLIMITED = 2 ** 53 - 1; // as many or more, as device_free
const N_INTERVALS = 16;
// share of the pickle's bytes: a value may occur in many places, and its expansion must not outgrow the file
const ROW_BYTES = 24;
const FREE_ROWS = 1000;
const MOST_SETTINGS = 1024;

/**
 * @typedef {object} TraceRow an event before the merge with those of other devices
 * @property {number} action ACTION
 * @property {number} device
 * @property {number} address
 * @property {number} requestedBytes
 * @property {number} blockBytes
 * @property {number} timeUs
 * @property {number} stream
 * @property {number} stack
 * @property {number} scope
 * @property {number} category index in the category names met so far
 * @property {number} name string, or -1
 * @property {number} compile its compile_context: string, or -1
 * @property {number} metadata its user_metadata without the tensor's name: string, or -1
 *
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
  /** @param {number} nBytes of the pickle */
  constructor(nBytes) {
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
    /** @type {Map<PickleContainer, number>} from a list of frames, or a frame, to its number */
    this.known = new Map();
    /** @type {{device: number, handle: number}[]} */
    this.streams = [];
    this.nDevices = 0;
    this.nBytes = nBytes;
    this.mostRows = FREE_ROWS + Math.floor(nBytes / ROW_BYTES);
    this.nRowsRead = 0;
    this.nEvents = 0;
    this.hasTimes = false;
    /** @type {TraceRow[][]} per device */
    this.traces = [];
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
  }

  /**
   * Counts rows before they are created.
   * @param {number} n
   * @param {Place} at
   */
  count(n, at) {
    this.nRowsRead += n;
    if (this.nRowsRead > this.mostRows) {
      at.fail(
        `more than the limit of ${this.mostRows} events, segments and blocks for a pickle of ${this.nBytes} bytes: parts of it stand in many places`,
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
    const known = this.known.get(value);
    if (known !== undefined) return known;
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
    this.known.set(value, frame);
    return frame;
  }

  /**
   * The node of a list of frames, innermost first; -1 for an empty list and for none.
   * @param {any} value
   * @param {Place} of
   */
  stack(value, of) {
    if (value === undefined || value === null) return -1;
    const known = this.known.get(value);
    if (known !== undefined) return known;
    const at = of.at('frames');
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
    this.known.set(value, node);
    return node;
  }

  /**
   * The number of a device's stream; a new stream is added.
   * @param {number} device
   * @param {any} value
   * @param {Place} of
   */
  stream(device, value, of) {
    const at = of.at('stream');
    const isHandle = typeof value === 'number';
    const handle = isHandle ? value : 0;
    if (!isHandle && value !== undefined) this.countOdd(at);
    const found = this.streams.findIndex((each) => each.handle === handle && each.device === device);
    if (found >= 0) return found;
    if (this.streams.length === MOST_PARTS) at.fail(`more than the limit of ${MOST_PARTS} streams`);
    return this.streams.push({ device, handle }) - 1;
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
   * @param {number} device
   * @param {any} value
   * @param {Place} at
   * @returns {TraceRow}
   */
  event(device, value, at) {
    const dict = at.dict(value);
    const actionName = at.at('action').text(dict.get('action'));
    const known = ACTION_NAMES.indexOf(actionName);
    /** @type {TraceRow} */
    const row = {
      action: known < 0 ? ACTION.MARK : known,
      device,
      address: 0,
      requestedBytes: 0,
      blockBytes: 0,
      timeUs: 0,
      stream: 0,
      stack: -1,
      scope: -1,
      category: 0,
      name: -1,
      compile: -1,
      metadata: -1,
    };
    if (row.action === ACTION.MARK) row.name = this.strings.number(actionName);
    const address = () => at.at('addr').integer(dict.get('addr'), 0, MOST_ADDRESS);
    if (row.action !== ACTION.MARK) {
      row.requestedBytes = at.at('size').integer(dict.get('size'), 0, MOST_REQUEST);
      row.blockBytes = row.requestedBytes; // for blocks, until the walk finds them
    }
    if (row.action === ACTION.OOM) {
      const given = dict.get('device_free');
      const isFree = typeof given === 'number' && given >= 0;
      const free = isFree ? given : UNLIMITED;
      if (!isFree && given !== undefined) this.countOdd(at.at('device_free'));
      row.blockBytes = free >= UNLIMITED ? 2 ** 63 : free;
    } else if (row.action !== ACTION.MARK || actionName === 'annotate') {
      row.address = address();
    }
    if (dict.has('time_us')) {
      this.hasTimes = true;
      row.timeUs = at.at('time_us').integer(dict.get('time_us'), 0, MOST_US);
    }
    const compile = this.textOrKind(dict.get('compile_context'));
    const metadata = this.textOrKind(dict.get('user_metadata'));
    row.compile = compile === '' || compile === 'N/A' ? -1 : this.strings.number(compile);
    this.setMetadata(row, metadata);
    if (dict.has('category')) row.category = this.category(dict.get('category'), at.at('category'));
    row.stream = this.stream(device, dict.get('stream'), at);
    row.stack = this.stack(dict.get('frames'), at);
    return row;
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
   * @param {TraceRow} row
   * @param {string} text
   */
  setMetadata(row, text) {
    const cut = text.indexOf(' @ ');
    if (text === '') return;
    if (row.action === ACTION.MARK) {
      row.name = this.strings.number(text);
    } else if (cut < 0) {
      row.metadata = this.strings.number(text);
    } else {
      if (cut > 0) row.name = this.strings.number(text.slice(0, cut));
      if (cut + 3 < text.length) row.metadata = this.strings.number(text.slice(cut + 3));
    }
  }

  /** @param {any} value */
  readTraces(value) {
    const at = new Place(null, 'device_traces');
    const traces = value === undefined ? [] : at.list(value); // the first releases had none
    if (traces.length > MOST_PARTS) at.fail(`${traces.length} devices, the limit is ${MOST_PARTS}`);
    this.nDevices = Math.max(this.nDevices, traces.length);
    for (let device = 0; device < this.nDevices; device++) {
      const rows = /** @type {TraceRow[]} */ ([]);
      const of = at.at(device);
      const events = device < traces.length ? of.list(traces[device]) : [];
      this.count(events.length, of);
      this.nEvents += events.length;
      events.forEach((event, i) => {
        const row = this.event(device, event, of.at(i));
        const before = rows[rows.length - 1];
        if (before && isOneFree(before, row)) before.action = ACTION.FREE;
        else rows.push(row);
      });
      this.traces.push(rows);
    }
  }

  /** @param {any} value */
  readSettings(value) {
    const at = new Place(null, 'allocator_settings');
    if (value === undefined || value === null) return; // old files have none
    if (!isOfKind(value, 'dict')) {
      this.countOdd(at);
      return;
    }
    const { items } = value;
    if (items.length / 2 > MOST_SETTINGS)
      at.fail(`${items.length / 2} settings, the limit is ${MOST_SETTINGS}`);
    for (let i = 0; i < items.length; i += 2) {
      const name = at.text(items[i]);
      const given = items[i + 1];
      const number =
        typeof given === 'boolean' ? Number(given) : given instanceof PickleReal ? given.value : given;
      if (typeof number === 'number' && Number.isFinite(number)) {
        this.settings[name] = number;
        if (name === 'max_split_size' && number > 0 && number < MOST_REQUEST)
          this.maxSplitBytes = Math.floor(number);
      } else if (name === 'roundup_power2_divisions') {
        this.settings[name] = this.divisions(given, at.at(name));
      } else {
        this.settings[name] = typeof given === 'string' ? given : pickleKind(given);
      }
    }
  }

  /**
   * {"1": 0, "2": 4, ..., "32768": 8}: the divisions per interval, which its lower bound in MiB names.
   * @param {any} value
   * @param {Place} at
   */
  divisions(value, at) {
    if (!isOfKind(value, 'dict')) this.countOdd(at);
    const dict = isOfKind(value, 'dict') ? at.dict(value) : new Map();
    for (let i = 0; i < N_INTERVALS; i++) {
      const key = String(2 ** i);
      const given = dict.get(key);
      const isGood = typeof given === 'number' && given >= 0 && given < 2 ** 32;
      if (!isGood && given !== undefined) this.countOdd(at.at(key));
      this.roundupDivisions[i] = isGood ? given : 0;
    }
    const [first] = this.roundupDivisions;
    return this.roundupDivisions.every((n) => n === first)
      ? first
      : `[${this.roundupDivisions.map((n, i) => `${2 ** i}:${n}`).join(',')}]`;
  }
}

/**
 * A free that completed directly after its request becomes one row.
 * @param {TraceRow} a
 * @param {TraceRow} b
 */
function isOneFree(a, b) {
  return (
    a.action === ACTION.FREE_REQUESTED &&
    b.action === ACTION.FREE_COMPLETED &&
    a.address === b.address &&
    a.requestedBytes === b.requestedBytes &&
    a.stream === b.stream &&
    a.stack === b.stack &&
    a.name === b.name &&
    a.compile === b.compile &&
    a.metadata === b.metadata
  );
}

/**
 * @param {any} root of a pickle, or of the same tree as JSON
 * @param {number} nBytes its size
 * @returns {{found: PytorchImport, annotations: {time: number, order: number, name: number, device: number, begins: boolean}[]}}
 */
export function readPytorch(root, nBytes) {
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
  const found = new PytorchImport(nBytes);
  found.readSettings(parts.get('allocator_settings'));
  readSegments(found, parts.get('segments'));
  found.readTraces(parts.get('device_traces'));
  return { found, annotations: readAnnotations(found, parts.get('external_annotations')) };
}

/**
 * Sorts by time.
 * @param {PytorchImport} found
 * @param {any} value
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
