/* rank_digests.js - reads digests (docs/reference/digest.md): the few figures of each rank of a run, from files that
 * have not been checked.
 *
 * A digest that breaks a rule is refused with a sentence that names the key. What it does not know is -1.
 */
import { FormatError } from './columns.js';
import { harmlessTree } from './harmless.js';

/** Bytes of the text of one digest, the same as in the program. */
export const MOST_DIGEST_BYTES = 8 * 2 ** 20;
/** Bytes of the text of a list of digests: a JavaScript text cannot be longer. */
export const MOST_RANKS_BYTES = 2 ** 29 - 32;
const VERSION = 1;
const MOST_DIGESTS = 16384;
const MOST_DEVICES = 256;
const MOST_ITEMS = 4096; // rows, steps, points, groups of a device
const MOST_TEXT = 1024; // characters that are kept of a text
const MOST_TEXT_BYTES = 4096; // of a text of a file, as for tidemark ranks, and below
const MOST_GROUPS = 256;
const MOST_POINTS = 256;
const MOST_NUMBER = 2 ** 60; // beyond 2^53 rounded

/**
 * @typedef {{name: string, size: number, position: number}} Group
 * @typedef {{line: string, category: string, certainty: string, scope: string, bytes: number, nBlocks: number}} Row
 * @typedef {{index: number, nSteps: number, name: string, beginNs: number, endNs: number, peakBytes: number, reservedBytes: number}} Step
 * @typedef {object} Rank one device of one digest
 * @property {string} name "rank 7"
 * @property {number} rank
 * @property {number} worldSize
 * @property {string} node
 * @property {string} file
 * @property {string} outcome
 * @property {Group[]} groups
 * @property {string} deviceName
 * @property {number} totalBytes
 * @property {number} peakBytes allocated
 * @property {number} reservedBytes the most
 * @property {number} endBytes
 * @property {number} headroomBytes
 * @property {number} lowBytes of the peak, where that end was run
 * @property {number} highBytes
 * @property {number} peakStep
 * @property {string} peakPhase
 * @property {number} nDropped
 * @property {{timeNs: number, requestedBytes: number, freeBytes: number, line: string} | null} oom
 * @property {{bytesPerStep: number, sinceStep: number, line: string} | null} growth
 * @property {Row[]} rows
 * @property {{bytes: number, nBlocks: number, nRows: number}} rest
 * @property {Step[]} steps
 * @property {number} beginUnixUs -1: the recording has no clock
 * @property {number[]} timeNs
 * @property {number[]} allocatedBytes
 * @property {number[]} reservedOverTime
 * @property {[string, string][]} settings name and value
 */

/**
 * @param {string} path
 * @param {string} what
 * @returns {never}
 */
function refuse(path, what) {
  throw new FormatError(`${path}: ${what}`);
}

/** The keys of one object of a digest. */
class Fields {
  /**
   * @param {unknown} value
   * @param {string} path
   */
  constructor(value, path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      refuse(path || 'the digest', 'an object was expected');
    this.values = /** @type {Record<string, unknown>} */ (value);
    this.path = path;
  }

  /** @param {string} key */
  get(key) {
    return Object.hasOwn(this.values, key) ? this.values[key] : undefined;
  }

  /** @param {string} key */
  pathOf(key) {
    return this.path === '' ? key : `${this.path}.${key}`;
  }

  /**
   * A whole number; -1 if it is absent.
   * @param {string} key
   * @param {number} least
   */
  whole(key, least = -1) {
    const value = this.get(key);
    return value === undefined ? -1 : wholeNumber(value, this.pathOf(key), least);
  }

  /** @param {string} key */
  text(key) {
    const value = this.get(key) ?? '';
    if (typeof value !== 'string') return refuse(this.pathOf(key), 'a text was expected');
    if (value.length * 3 > MOST_TEXT_BYTES && new TextEncoder().encode(value).length > MOST_TEXT_BYTES)
      return refuse(this.pathOf(key), `a text is longer than ${MOST_TEXT_BYTES} bytes`);
    return value.slice(0, MOST_TEXT);
  }

  /** @param {string} key */
  object(key) {
    return new Fields(this.get(key) ?? {}, this.pathOf(key));
  }

  /**
   * @param {string} key
   * @returns {Fields | null} null: absent or null
   */
  maybe(key) {
    const value = this.get(key) ?? null;
    return value === null ? null : new Fields(value, this.pathOf(key));
  }

  /**
   * @template T
   * @param {string} key
   * @param {(value: unknown, path: string) => T} read
   * @param {number} most items
   * @returns {T[]}
   */
  list(key, read, most = MOST_ITEMS) {
    const value = this.get(key) ?? [];
    if (!Array.isArray(value)) return refuse(this.pathOf(key), 'a list was expected');
    if (value.length > most) return refuse(this.pathOf(key), `more than the limit of ${most} items`);
    return value.map((item, i) => read(item, `${this.pathOf(key)}[${i}]`));
  }
}

/**
 * @param {unknown} value
 * @param {string} path
 * @param {number} least
 */
function wholeNumber(value, path, least) {
  if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) > MOST_NUMBER)
    return refuse(path, 'a whole number of at most 2^60 was expected');
  if (value < least) return refuse(path, `${value} is less than ${least}`);
  return value;
}

/** @type {(value: unknown, path: string) => Group} */
function readGroup(value, path) {
  const group = new Fields(value, path);
  return {
    name: group.text('name') || group.text('description'),
    size: group.whole('size'),
    position: group.whole('position'),
  };
}

/** @type {(value: unknown, path: string) => Row} */
function readRow(value, path) {
  const row = new Fields(value, path);
  return {
    line: row.text('line'),
    category: row.text('category'),
    certainty: row.text('certainty'),
    scope: row.text('scope'),
    bytes: row.whole('bytes', 0),
    nBlocks: row.whole('n_blocks', 0),
  };
}

/** @type {(value: unknown, path: string) => Step} */
function readStep(value, path) {
  const step = new Fields(value, path);
  return {
    index: step.whole('index'),
    nSteps: Math.max(1, step.whole('n_steps')),
    name: step.text('name'),
    beginNs: step.whole('begin_ns'),
    endNs: step.whole('end_ns'),
    peakBytes: step.whole('allocated_peak_bytes'),
    reservedBytes: step.whole('reserved_peak_bytes'),
  };
}

/** @param {Fields} device */
function readTimeline(device) {
  const timeline = device.object('timeline');
  const column = (/** @type {string} */ key) =>
    timeline.list(key, (value, path) => wholeNumber(value, path, -1), MOST_POINTS);
  const timeNs = column('time_ns');
  const allocatedBytes = column('allocated_bytes');
  const reservedOverTime = column('reserved_bytes');
  if (timeNs.length !== allocatedBytes.length || timeNs.length !== reservedOverTime.length)
    refuse(timeline.path, 'its columns differ in length');
  if (timeNs.some((time, i) => i > 0 && time < timeNs[i - 1]))
    refuse(`${timeline.path}.time_ns`, 'it goes back');
  const beginUnixUs = timeline.whole('begin_unix_us');
  return { beginUnixUs: beginUnixUs > 0 ? beginUnixUs : -1, timeNs, allocatedBytes, reservedOverTime };
}

/** @param {Fields} device */
function readEvents(device) {
  const oom = device.maybe('oom');
  const growth = device.maybe('growth');
  return {
    oom: oom && {
      timeNs: oom.whole('time_ns'),
      requestedBytes: oom.whole('requested_bytes'),
      freeBytes: oom.whole('free_bytes'),
      line: oom.text('line'),
    },
    growth: growth && {
      bytesPerStep: growth.whole('bytes_per_step', -MOST_NUMBER),
      sinceStep: growth.whole('since_step'),
      line: growth.text('line'),
    },
  };
}

/**
 * @param {Fields} device
 * @param {number} most -1: the device does not say
 */
function readFigures(device, most) {
  const peak = device.object('peak');
  const rest = device.object('rest');
  return {
    deviceName: device.text('name') || device.text('kind'),
    totalBytes: device.whole('total_bytes'),
    peakBytes: most >= 0 ? most : peak.whole('allocated_bytes'),
    reservedBytes: device.object('max').whole('reserved_bytes'),
    endBytes: device.object('end').whole('allocated_bytes'),
    headroomBytes: device.whole('headroom_bytes', -MOST_NUMBER),
    lowBytes: device.whole('low_bytes'),
    highBytes: device.whole('high_bytes'),
    peakStep: peak.whole('step'),
    peakPhase: peak.text('phase'),
    nDropped: device.object('counts').whole('dropped'),
    rows: device.list('rows', readRow),
    rest: {
      bytes: Math.max(0, rest.whole('bytes')),
      nBlocks: Math.max(0, rest.whole('n_blocks')),
      nRows: Math.max(0, rest.whole('n_rows')),
    },
    steps: device.list('steps', readStep),
  };
}

/**
 * @param {unknown} document
 * @param {string} path of the digest
 * @returns {Rank[]} one for each device
 */
function readDigest(document, path) {
  const digest = new Fields(document, path);
  if (digest.text('format') !== 'tidemark-digest') refuse(digest.pathOf('format'), 'it is no digest');
  if (digest.whole('version') !== VERSION)
    refuse(digest.pathOf('version'), `this page reads version ${VERSION} only`);
  const source = digest.object('source');
  const of = digest.object('rank');
  const rank = of.whole('rank');
  const settings = digest.object('settings');
  const shared = {
    rank,
    worldSize: of.whole('world_size'),
    node: of.text('node') || digest.object('host').text('name'),
    file: source.text('file'),
    outcome: source.text('outcome'),
    groups: of.list('groups', readGroup, MOST_GROUPS),
    settings: Object.keys(settings.values)
      .slice(0, MOST_ITEMS)
      .map((key) => /** @type {[string, string]} */ ([key, String(settings.get(key)).slice(0, MOST_TEXT)])),
  };
  // the host's pinned memory is no rank's memory
  const devices = digest
    .list('devices', (value, where) => new Fields(value, where), MOST_DEVICES)
    .filter((device) => device.text('kind') !== 'pinned');
  const name = rank >= 0 ? `rank ${rank}` : shared.file || 'a rank without number';
  return devices.map((device, i) => ({
    ...shared,
    name: devices.length > 1 ? `${name} · device ${Math.max(i, device.whole('index'))}` : name,
    ...readFigures(device, device.object('max').whole('allocated_bytes')),
    ...readEvents(device),
    ...readTimeline(device),
  }));
}

/**
 * Whether a text begins as a digest, or a list of digests.
 * @param {string} start the first characters
 * @returns {'digest' | 'ranks' | null}
 */
export function digestKind(start) {
  const found = /^\s*\{\s*"format"\s*:\s*"tidemark-(digest|ranks)"/.exec(start);
  return found === null ? null : /** @type {'digest' | 'ranks'} */ (found[1]);
}

/**
 * Reads a digest, or a list of digests.
 * @param {string} text
 * @returns {Rank[]}
 * @throws {FormatError} its message is a sentence without the full stop
 */
export function readRanks(text) {
  let document;
  try {
    document = harmlessTree(JSON.parse(text));
  } catch {
    throw new FormatError('the digest is damaged or cut off: it is no JSON');
  }
  if (document?.format !== 'tidemark-ranks') return readDigest(document, '');
  const ranks = new Fields(document, '');
  if (ranks.whole('version') !== VERSION) refuse('version', `this page reads version ${VERSION} only`);
  return ranks.list('digests', readDigest, MOST_DIGESTS).flat();
}
