/* document.js - reads a snapshot's document while its bytes arrive.
 *
 * Nearly all of it is columns of integers, which are parsed straight into typed arrays. The small parts
 * between them are read whole. So neither the whole text nor a list of its numbers is ever in memory.
 * Refusals, and the byte and key that a message names, are those of the program (snapshot/format/reader.c).
 */
import { FormatError } from './columns.js';
import { ColumnReader, Scratch } from './column_reader.js';
import { JsonReader, NEED_MORE } from './json.js';
import { BYTE } from './json_text.js';
import { PARTS, REQUIRED_PARTS } from './shapes.js';
import { TABLES } from './table_rules.js';

/** The limit of the uncompressed text, the same as in the program. */
export const MOST_DOCUMENT_BYTES = 2 ** 31;
const ROOM_AT_FIRST = 1 << 16;
const PROGRESS_MS = 50;
const KNOWN_PARTS = { ...PARTS, ...TABLES };

/**
 * @typedef {() => Promise<Uint8Array | null>} Pull the next bytes, null at the end; the buffer before them
 *   may be overwritten
 * @typedef {(done: {bytes: number, rows: number}) => void} Report
 */

/**
 * Splits a key path into keys and items.
 * @param {string} place
 * @returns {(string | number)[]}
 */
function keysOfPath(place) {
  return place
    .replaceAll(']', '')
    .split(/[.[]/)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** A parser whose bytes arrive in parts: the unread bytes, and room for more. */
class JsonStream extends JsonReader {
  /**
   * @param {Pull} pull
   * @param {Report} report
   * @param {number} mostBytes of the document
   */
  constructor(pull, report, mostBytes) {
    super(new Uint8Array(0), false);
    this.pull = pull;
    this.report = report;
    this.mostBytes = mostBytes;
    this.reportedAt = 0;
    this.nRows = 0;
    this.isOwn = false; // whether `bytes` is a buffer of this object
  }

  /** Appends bytes to the unread ones, or notes the end. */
  async load() {
    const next = await this.pull();
    if (next === null) {
      this.isLast = true;
      return;
    }
    const left = this.end - this.at;
    this.base += this.at;
    if (this.base + left + next.length > this.mostBytes)
      throw new FormatError('it holds more than 2 GiB when it is uncompressed, which no snapshot does');
    if (left <= next.byteOffset) {
      const unread = this.bytes.subarray(this.at, this.end);
      this.bytes = new Uint8Array(next.buffer, next.byteOffset - left, left + next.length);
      this.bytes.set(unread);
      this.isOwn = false;
    } else if (this.isOwn && left + next.length <= this.bytes.length) {
      this.bytes.copyWithin(0, this.at, this.end);
      this.bytes.set(next, left);
    } else {
      const room = new Uint8Array(Math.max(ROOM_AT_FIRST, 2 * (left + next.length)));
      room.set(this.bytes.subarray(this.at, this.end));
      room.set(next, left);
      this.bytes = room;
      this.isOwn = true;
    }
    this.at = 0;
    this.end = left + next.length;
    this.progress();
  }

  progress() {
    const now = performance.now();
    if (now - this.reportedAt <= PROGRESS_MS) return;
    this.reportedAt = now;
    this.report({ bytes: this.base + this.end, rows: this.nRows });
  }

  /** Doubles the bytes at hand, so that repeated attempts take at most twice the time of the last one. */
  async loadTwice() {
    const wanted = 2 * (this.end - this.at);
    do await this.load();
    while (!this.isLast && this.end < wanted);
  }

  /**
   * Parses a part. If the bytes at hand end within it, returns NEED_MORE and consumes nothing.
   * @template T
   * @param {() => T} part
   * @returns {T | typeof NEED_MORE}
   */
  attempt(part) {
    const { at, nOdd, firstOdd } = this;
    const depth = this.levels.length;
    const outer = depth > 0 ? { ...this.levels[depth - 1] } : null;
    try {
      return part();
    } catch (problem) {
      if (problem !== NEED_MORE) throw problem;
      Object.assign(this, { at, nOdd, firstOdd });
      this.levels.length = depth;
      if (outer !== null) this.levels[depth - 1] = outer;
      return NEED_MORE;
    }
  }

  /**
   * Parses a part, and starts it again with more bytes if the bytes at hand end within it.
   * @template T
   * @param {() => T} part
   * @returns {Promise<T>}
   */
  async whole(part) {
    for (;;) {
      const taken = this.attempt(part);
      if (taken !== NEED_MORE) return /** @type {T} */ (taken);
      await this.loadTwice();
    }
  }

  /** Skips a value of any length. */
  async skipLong() {
    const outer = this.levels.length;
    const step = () => this.skipStep(outer);
    do {
      while (this.attempt(step) === NEED_MORE) await this.loadTwice();
    } while (this.levels.length > outer);
  }

  /**
   * @param {import('./table_rules.js').ColumnRule} rule
   * @param {number} nRows of the columns before it; -1: none
   * @param {Scratch} scratch
   */
  async column(rule, nRows, scratch) {
    const offset = this.base + this.at;
    const reader = new ColumnReader(rule, scratch, nRows < 0 ? ROOM_AT_FIRST : nRows);
    await this.whole(() => this.enter(true));
    while (!reader.take(this)) await this.load();
    this.levels.pop();
    if (nRows >= 0 && reader.count !== nRows)
      this.failAt(`the column has ${reader.count} values, those before it have ${nRows}`, offset);
    if (reader.strayRow >= 0) {
      this.levels.push({
        isArray: true,
        hasItems: true,
        nItems: reader.strayRow + 1,
        key: '',
        keySize: 0,
        keyAt: 0,
        seen: new Set(),
      });
      this.failAt('the value it leads to is out of range', reader.strayOffset);
    }
    return reader.finish();
  }

  /**
   * @param {string} name
   * @param {Scratch} scratch
   */
  async table(name, scratch) {
    const table = Object.create(null);
    const rules = TABLES[name];
    let nRows = -1;
    const required = Object.keys(rules).filter((key) => !rules[key].isOptional);
    await this.fields(rules, required, async (key) => {
      table[key] = await this.column(rules[key], nRows, scratch);
      nRows = table[key].values.length;
      if (name === 'events') this.nRows = nRows;
    });
    return table;
  }

  /**
   * Calls body(key) for each known key of an object, after its colon.
   * @param {Record<string, any>} known
   * @param {readonly string[]} required
   * @param {(key: string) => Promise<void>} body
   */
  async fields(known, required, body) {
    await this.whole(() => this.enter(false));
    const { seen } = this.levels[this.levels.length - 1];
    while (await this.whole(() => this.takeKey())) {
      const key = this.knownKey(known);
      await (key === '' ? this.skipLong() : body(key));
    }
    this.checkRequired(required, seen);
  }

  /**
   * The byte offset of the value at a key path.
   * @param {string} place as checkDocument names it
   */
  async offsetOf(place) {
    for (const part of keysOfPath(place)) {
      const isItem = typeof part === 'number';
      await this.whole(() => this.enter(isItem));
      while (await this.whole(() => (isItem ? this.nextItem() : this.takeKey()))) {
        const { nItems, key } = this.levels[this.levels.length - 1];
        if (isItem ? nItems === part + 1 : key === part) break;
        await this.skipLong();
      }
    }
    await this.whole(() => this.look());
    return this.base + this.at;
  }

  async document() {
    const made = Object.create(null);
    const scratch = new Scratch();
    if ((await this.whole(() => this.look())) !== BYTE.OPEN)
      throw new FormatError('this is not a tidemark snapshot: it holds neither a JSON object nor a pickle');
    await this.fields(KNOWN_PARTS, REQUIRED_PARTS, async (key) => {
      made[key] = Object.hasOwn(TABLES, key)
        ? await this.table(key, scratch)
        : await this.whole(() => PARTS[key](this));
    });
    if ((await this.whole(() => this.look())) >= 0) this.expected("nothing after the document's end");
    if (this.nOdd > 0) made.odd = { count: this.nOdd, first: this.firstOdd };
    return made;
  }
}

/**
 * @param {Pull} pull
 * @param {Report} report
 * @param {number} [mostBytes] of the uncompressed text
 * @returns {Promise<Record<string, any>>} for readSnapshot
 * @throws {FormatError}
 */
export function readDocument(pull, report, mostBytes = MOST_DOCUMENT_BYTES) {
  return new JsonStream(pull, report, mostBytes).document();
}

/**
 * The byte offset in the document of the value at a key path.
 * @param {Pull} pull
 * @param {string} place
 * @returns {Promise<number>}
 */
export function findPlace(pull, place) {
  return new JsonStream(pull, () => undefined, MOST_DOCUMENT_BYTES).offsetOf(place);
}
