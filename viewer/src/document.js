/* document.js - a snapshot's document, read while its bytes come in.
 *
 * Nearly all of it is columns of integers: their digits go straight into typed arrays. The small parts between them are
 * read whole. So neither the text nor a list of its numbers is ever held at once.
 */
import { FAR, FormatError, MAX_ROWS } from './columns.js';
import { BYTE, isSpace, JsonText } from './json.js';

/** Of the uncompressed text, as the program has it. */
export const MOST_DOCUMENT_BYTES = 2 ** 31;
/** Tables, whose columns become Column. */
const TABLES = new Set(['events', 'scopes', 'stacks', 'frames', 'kernels']);
/** Parts that are checked to be JSON, but not kept: what they say follows from the rest. */
const LEFT_OUT = new Set(['summary', 'end']);
const ROOM_AT_FIRST = 1 << 16;
const PROGRESS_MS = 50;

/**
 * @typedef {() => Promise<Uint8Array | null>} Pull the next bytes; null at the end
 * @typedef {(done: {bytes: number, rows: number}) => void} Report
 */

/** The bytes at hand: those that were not read yet, and room for more. */
class Incoming {
  /** @param {Pull} pull @param {number} mostBytes of the document */
  constructor(pull, mostBytes) {
    this.pull = pull;
    this.mostBytes = mostBytes;
    /** @type {Uint8Array} */
    this.bytes = new Uint8Array(0);
    this.at = 0;
    this.end = 0;
    this.base = 0; // offset of bytes[0] in the document
    this.isOwn = false; // bytes may be written to
  }

  /** Adds bytes behind those that were not read yet; false at the end. */
  async more() {
    const next = await this.pull();
    if (next === null) return false;
    const left = this.end - this.at;
    this.base += this.at;
    if (this.base + left + next.length > this.mostBytes) throw new FormatError('it holds more than 2 GiB when it is uncompressed, which no snapshot does');
    if (left === 0) {
      this.bytes = next;
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
    return true;
  }

  /** The next byte that is no white space, which is left there; -1 at the end. */
  async look() {
    for (;;) {
      while (this.at < this.end && isSpace(this.bytes[this.at])) this.at++;
      if (this.at < this.end) return this.bytes[this.at];
      if (!await this.more()) return -1;
    }
  }
}

/** One past the end of a value that begins at bytes[at], as far as brackets and quotes tell; -1 where it goes on. */
class ValueEnd {
  constructor() {
    this.passed = 0; // bytes of the value that were looked at
    this.depth = 0;
    this.isText = false;
    this.isEscaped = false;
  }

  /** @param {Incoming} window @param {boolean} isLast nothing comes after what is there */
  find(window, isLast) {
    const { bytes, end } = window;
    for (let at = window.at + this.passed; at < end; at++) {
      const byte = bytes[at];
      if (this.isText) {
        if (this.isEscaped) this.isEscaped = false;
        else if (byte === BYTE.BACKSLASH) this.isEscaped = true;
        else if (byte === BYTE.QUOTE) {
          this.isText = false;
          if (this.depth === 0) return at + 1;
        }
      } else if (byte === BYTE.QUOTE) {
        this.isText = true;
      } else if (byte === BYTE.OPEN || byte === BYTE.OPEN_LIST) {
        this.depth++;
      } else if (byte === BYTE.CLOSE || byte === BYTE.CLOSE_LIST) {
        if (this.depth === 0) return at;
        if (--this.depth === 0) return at + 1;
      } else if (this.depth === 0 && (byte === BYTE.COMMA || isSpace(byte))) {
        return at;
      }
    }
    this.passed = end - window.at;
    return isLast ? end : -1;
  }
}

/** Room for the numbers of one column after the other. */
class Scratch {
  constructor() {
    this.values = new Float64Array(ROOM_AT_FIRST);
  }

  grow() {
    const more = new Float64Array(Math.min(MAX_ROWS, this.values.length * 2));
    more.set(this.values);
    this.values = more;
  }
}

/** Copied into the smallest array that holds them. @param {Float64Array} values @param {number} min @param {number} max
 * @returns {import('./columns.js').Numbers} */
function narrowed(values, min, max) {
  const Type = min >= 0 && max < 2 ** 8 ? Uint8Array : min >= -(2 ** 7) && max < 2 ** 7 ? Int8Array : min >= -(2 ** 15) && max < 2 ** 15 ? Int16Array
    : min >= -(2 ** 31) && max < 2 ** 31 ? Int32Array : min >= 0 && max < 2 ** 32 ? Uint32Array : Float64Array;
  return Type === Float64Array ? values.slice() : new Type(values);
}

/** The digits of one column. Its state is kept while more bytes are waited for. */
class ColumnReader {
  /** @param {string} path @param {boolean} isDelta the values are differences @param {Scratch} scratch */
  constructor(path, isDelta, scratch) {
    this.path = path;
    this.isDelta = isDelta;
    this.scratch = scratch;
    this.count = 0;
    this.sum = 0;
    this.min = Infinity;
    this.max = -Infinity;
  }

  /**
   * Takes numbers, each with the comma or bracket after it; leaves what is not whole yet.
   * @param {Incoming} window @returns {boolean} true when the closing bracket was taken
   */
  take(window) {
    const { bytes, end } = window, { scratch, isDelta } = this;
    let { values } = scratch, { count, sum, min, max } = this, { at } = window, isClosed = false;
    for (;;) {
      const begin = at;
      while (at < end && isSpace(bytes[at])) at++;
      const isNegative = at < end && bytes[at] === BYTE.MINUS;
      if (isNegative) at++;
      const first = at;
      let value = 0, digit = 0;
      while (at < end && (digit = bytes[at] - 48) >= 0 && digit <= 9) {
        value = value * 10 + digit;
        at++;
      }
      while (at < end && isSpace(bytes[at])) at++;
      if (at >= end) {
        at = begin;
        break;
      }
      const next = bytes[at];
      if (next !== BYTE.COMMA && next !== BYTE.CLOSE_LIST || at === first || bytes[first] === 48 && at > first + 1 && !isSpace(bytes[first + 1])) {
        if (count === 0 && next === BYTE.CLOSE_LIST && at === first && !isNegative) {
          at++;
          isClosed = true;
          break;
        }
        this.refuse(window, begin, count);
      }
      if (value > FAR) value = Number(String.fromCharCode(...bytes.subarray(first, Math.min(at, first + 400))));
      if (isNegative) value = -value;
      if (isDelta) value = sum += value;
      if (value < min) min = value;
      if (value > max) max = value;
      if (count === values.length) {
        if (count === MAX_ROWS) throw new FormatError(`${this.path} has more than ${MAX_ROWS} rows`);
        scratch.grow();
        values = scratch.values;
      }
      values[count++] = value;
      at++;
      if (next === BYTE.CLOSE_LIST) {
        isClosed = true;
        break;
      }
    }
    window.at = at;
    Object.assign(this, { count, sum, min, max });
    return isClosed;
  }

  /** Says what stands where a whole number should. @param {Incoming} window @param {number} begin @param {number} row @returns {never} */
  refuse(window, begin, row) {
    const json = new JsonText(window.bytes, begin, window.end, window.base, `${this.path}[${row}]`, 2);
    json.skipSpace();
    const at = json.at, value = json.value();
    if (Number.isInteger(value)) {
      json.skipSpace();
      json.expected("',' or ']'");
    }
    throw new FormatError(`${this.path}[${row}] is ${String(JSON.stringify(value)).slice(0, 40)}, not a whole number (byte ${window.base + at})`);
  }

  /** @returns {import('./columns.js').Column} */
  finish() {
    const isEmpty = this.count === 0, min = isEmpty ? 0 : this.min, max = isEmpty ? 0 : this.max;
    return { values: narrowed(this.scratch.values.subarray(0, this.count), min, max), min, max, isSummed: this.isDelta };
  }
}

/** Reads a document. */
class DocumentReader {
  /** @param {Pull} pull @param {Report} report @param {number} mostBytes */
  constructor(pull, report, mostBytes) {
    this.window = new Incoming(pull, mostBytes);
    this.scratch = new Scratch();
    this.report = report;
    this.reportedAt = 0;
    this.nRows = 0;
  }

  /** More bytes, or a refusal. @param {string} path */
  async more(path) {
    if (!await this.window.more()) throw new FormatError(`the file is not complete JSON: it ends within ${path || 'its first value'}`);
    const now = performance.now();
    if (now - this.reportedAt > PROGRESS_MS) {
      this.reportedAt = now;
      this.report({ bytes: this.window.base + this.window.end, rows: this.nRows });
    }
  }

  /** @param {string} path @param {string} what */
  async look(path, what) {
    const byte = await this.window.look();
    if (byte < 0) throw new FormatError(`the file is not complete JSON: it ends within ${path || 'the document'}, where ${what} was expected`);
    return byte;
  }

  /** Takes one byte, which must be this. @param {number} byte @param {string} path */
  async take(byte, path) {
    const what = `'${String.fromCharCode(byte)}'`;
    if (await this.look(path, what) !== byte) this.here(path).expected(what);
    this.window.at++;
  }

  /** For messages. @param {string} path */
  here(path) {
    const { window } = this;
    return new JsonText(window.bytes, window.at, window.end, window.base, path, 1);
  }

  /** A small part, whole. @param {string} path @param {number} level */
  async value(path, level) {
    const { window } = this, found = new ValueEnd();
    await this.look(path, 'a value');
    let end = found.find(window, false);
    while (end < 0) {
      await this.more(path);
      end = found.find(window, false);
    }
    const json = new JsonText(window.bytes, window.at, end, window.base, path, level), value = json.value();
    if (json.at !== end) json.expected("',' or '}'");
    window.at = end;
    return value;
  }

  /** Calls body(key) for each key of an object, after its colon. @param {string} path @param {(key: string) => Promise<void>} body */
  async fields(path, body) {
    const seen = new Set();
    await this.take(BYTE.OPEN, path);
    for (let isFirst = true; await this.look(path, "a key or '}'") !== BYTE.CLOSE; isFirst = false) {
      if (!isFirst) await this.take(BYTE.COMMA, path);
      if (await this.look(path, 'a key') !== BYTE.QUOTE) this.here(path).expected('a key');
      const key = await this.value(path, 1), inner = path ? `${path}.${key}` : key;
      if (seen.has(key)) throw new FormatError(`${inner.slice(0, 80)}: this key comes twice (byte ${this.window.base + this.window.at})`);
      seen.add(key);
      await this.take(BYTE.COLON, inner);
      await body(key);
    }
    this.window.at++;
  }

  /** @param {string} path @param {boolean} isDelta */
  async column(path, isDelta) {
    const reader = new ColumnReader(path, isDelta, this.scratch);
    await this.take(BYTE.OPEN_LIST, path);
    while (!reader.take(this.window)) await this.more(path);
    return reader.finish();
  }

  /** @param {string} name */
  async table(name) {
    const table = Object.create(null);
    await this.fields(name, async (key) => {
      const path = `${name}.${key.slice(0, 48)}`;
      const isList = await this.look(path, 'a list') === BYTE.OPEN_LIST;
      table[key] = isList ? await this.column(path, key.endsWith('_delta')) : await this.value(path, 2);
      if (name === 'events' && isList) this.nRows = table[key].values.length;
    });
    return table;
  }

  async document() {
    const { window } = this, made = Object.create(null);
    if (await window.look() !== BYTE.OPEN) throw new FormatError('this is not a tidemark snapshot: it holds neither a JSON object nor a pickle');
    await this.fields('', async (key) => {
      const isTable = TABLES.has(key) && await this.look(key, 'a table') === BYTE.OPEN;
      const value = isTable ? await this.table(key) : await this.value(key, 1);
      if (!LEFT_OUT.has(key)) made[key] = value;
    });
    if (await window.look() >= 0) this.here('').fail("something follows the document's end");
    return made;
  }
}

/** @param {Pull} pull @param {Report} report @param {number} [mostBytes] of the uncompressed text
 * @returns {Promise<Record<string, any>>} for readSnapshot @throws {FormatError} */
export function readDocument(pull, report, mostBytes = MOST_DOCUMENT_BYTES) {
  return new DocumentReader(pull, report, mostBytes).document();
}
