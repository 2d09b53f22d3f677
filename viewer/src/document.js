/* document.js - a snapshot's document, read while its bytes come in.
 *
 * Nearly all of it is columns of integers: their digits go straight into typed arrays. The small parts between them are
 * read whole. So neither the text nor a list of its numbers is ever held at once.
 */
import { FAR, FormatError, MAX_ROWS, release } from './columns.js';
import { BYTE, isSpace, JsonText } from './json.js';

/** Of the uncompressed text, as the program has it. */
export const MOST_DOCUMENT_BYTES = 2 ** 31;
/** Tables, whose columns become Column. */
const TABLES = new Set(['events', 'scopes', 'stacks', 'frames', 'kernels']);
/** Parts that are checked to be JSON, but not kept: what they say follows from the rest. */
const LEFT_OUT = new Set(['summary', 'end']);
const ROOM_AT_FIRST = 1 << 16;
const SOME = 8192; // numbers that the fast loop takes at once: they stay in the processor's cache
const SHORT_BYTES = 12; // a sign, nine digits, and the two bytes after them
const PROGRESS_MS = 50;

/**
 * @typedef {() => Promise<Uint8Array | null>} Pull the next bytes, null at the end; what lies before them in their buffer may be overwritten
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
    this.isOwn = false; // bytes is room that was made here
  }

  /** Adds bytes behind those that were not read yet; false at the end. */
  async more() {
    const next = await this.pull();
    if (next === null) return false;
    const left = this.end - this.at;
    this.base += this.at;
    if (this.base + left + next.length > this.mostBytes) throw new FormatError('it holds more than 2 GiB when it is uncompressed, which no snapshot does');
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

/** Numbers on their way from the text to a column, a cache's worth. */
class Scratch {
  constructor() {
    this.some = new Int32Array(SOME); // as they stand in the file
    this.sums = new Float64Array(SOME); // the same added up, or too large for 4 bytes
  }
}

/**
 * Takes numbers of up to nine digits without white space, each with its comma, and stops before anything else.
 * @param {Incoming} window @param {Int32Array} some filled from its begin @returns {number} how many
 */
function takeShort(window, some) {
  const { MINUS, ZERO, COMMA } = BYTE, { bytes } = window, safe = window.end - SHORT_BYTES;
  let { at } = window, n = 0;
  while (at < safe && n < SOME) {
    const isNegative = bytes[at] === MINUS, first = isNegative ? at + 1 : at;
    let value = 0, digit = 0, next = first;
    while ((digit = bytes[next] - ZERO) >>> 0 <= 9) {
      value = (Math.imul(value, 10) + digit) | 0;
      next++;
    }
    if (bytes[next] !== COMMA || next === first || next > first + 9 || bytes[first] === ZERO && next > first + 1) break;
    at = next + 1;
    some[n++] = isNegative ? -value : value;
  }
  window.at = at;
  return n;
}

/** The kind of array that holds such numbers in the fewest bytes. @param {number} min @param {number} max */
function smallestType(min, max) {
  return min >= 0 && max < 2 ** 8 ? Uint8Array : min >= -(2 ** 7) && max < 2 ** 7 ? Int8Array : min >= -(2 ** 15) && max < 2 ** 15 ? Int16Array
    : min >= -(2 ** 31) && max < 2 ** 31 ? Int32Array : min >= 0 && max < 2 ** 32 ? Uint32Array : Float64Array;
}

/** The digits of one column. Its state is kept while more bytes are waited for. */
class ColumnReader {
  /** @param {string} path @param {boolean} isDelta the values are differences @param {Scratch} scratch @param {number} nExpected numbers, as far as is known */
  constructor(path, isDelta, scratch, nExpected) {
    this.path = path;
    this.isDelta = isDelta;
    this.scratch = scratch;
    /** @type {import('./columns.js').Numbers} of the smallest type for what is there, with room behind it */
    this.values = new Uint8Array(nExpected);
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
    for (;;) {
      this.add(takeShort(window, this.scratch.some));
      const next = this.takeOne(window);
      if (next !== BYTE.COMMA) return next === BYTE.CLOSE_LIST;
    }
  }

  /** Takes one number of any length, and what follows it. @param {Incoming} window
   * @returns {number} the comma or bracket after it; -1 where it is not whole yet */
  takeOne(window) {
    const { bytes, end } = window;
    let { at } = window, value = 0;
    while (at < end && isSpace(bytes[at])) at++;
    const isNegative = at < end && bytes[at] === BYTE.MINUS;
    if (isNegative) at++;
    const first = at;
    for (; at < end && bytes[at] >= BYTE.ZERO && bytes[at] <= BYTE.ZERO + 9; at++) value = value * 10 + bytes[at] - BYTE.ZERO;
    const last = at;
    while (at < end && isSpace(bytes[at])) at++;
    if (at >= end) return -1;
    const next = bytes[at], isEmpty = this.count === 0 && next === BYTE.CLOSE_LIST && last === first && !isNegative;
    if (!isEmpty) {
      if (next !== BYTE.COMMA && next !== BYTE.CLOSE_LIST || last === first || bytes[first] === BYTE.ZERO && last > first + 1) this.refuse(window, window.at, this.count);
      if (value > FAR) value = Number(String.fromCharCode(...bytes.subarray(first, Math.min(last, first + 400))));
      this.addOne(isNegative ? -value : value);
    }
    window.at = at + 1;
    return next;
  }

  /** Puts the first `n` of scratch.some behind the others. @param {number} n */
  add(n) {
    const { scratch: { some, sums }, isDelta } = this;
    if (n === 0) return;
    let { sum } = this, min = Infinity, max = -Infinity;
    for (let i = 0; i < n; i++) {
      const value = isDelta ? (sum += some[i]) : some[i];
      if (value < min) min = value;
      if (value > max) max = value;
      if (isDelta) sums[i] = value;
    }
    this.sum = sum;
    this.put(isDelta ? sums : some, n, { min, max });
  }

  /** @param {number} given of any size, as it stands in the file */
  addOne(given) {
    const value = this.isDelta ? (this.sum += given) : given;
    this.scratch.sums[0] = value;
    this.put(this.scratch.sums, 1, { min: value, max: value });
  }

  /** @param {Int32Array | Float64Array} from @param {number} n @param {{min: number, max: number}} range of those */
  put(from, n, { min, max }) {
    const count = this.count + n;
    if (count > MAX_ROWS) throw new FormatError(`${this.path} has more than ${MAX_ROWS} rows`);
    this.min = Math.min(this.min, min);
    this.max = Math.max(this.max, max);
    const Type = smallestType(this.min, this.max);
    if (!(this.values instanceof Type) || count > this.values.length) {
      const room = new Type(count > this.values.length ? Math.min(MAX_ROWS, 2 * count) : this.values.length);
      room.set(this.values.subarray(0, this.count));
      release(this.values);
      this.values = room;
    }
    this.values.set(n < from.length ? from.subarray(0, n) : from, this.count);
    this.count = count;
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
    const { count, isDelta } = this;
    let { values } = this;
    if (count < values.length) {
      values = values.slice(0, count);
      release(this.values);
    }
    return { values, min: count > 0 ? this.min : 0, max: count > 0 ? this.max : 0, isSummed: isDelta };
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

  /** @param {string} path @param {boolean} isDelta @param {number} nExpected numbers */
  async column(path, isDelta, nExpected) {
    const reader = new ColumnReader(path, isDelta, this.scratch, nExpected);
    await this.take(BYTE.OPEN_LIST, path);
    while (!reader.take(this.window)) await this.more(path);
    return reader.finish();
  }

  /** @param {string} name */
  async table(name) {
    const table = Object.create(null);
    let nRows = ROOM_AT_FIRST;
    await this.fields(name, async (key) => {
      const path = `${name}.${key.slice(0, 48)}`;
      const isList = await this.look(path, 'a list') === BYTE.OPEN_LIST;
      table[key] = isList ? await this.column(path, key.endsWith('_delta'), nRows) : await this.value(path, 2);
      if (!isList) return;
      nRows = table[key].values.length;
      if (name === 'events') this.nRows = nRows;
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
