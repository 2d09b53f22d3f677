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
const SHORT_BYTES = 12; // a sign, nine digits, and the two bytes after them
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
    this.narrow = new Int32Array(ROOM_AT_FIRST);
    this.wide = new Float64Array(ROOM_AT_FIRST);
  }

  grow() {
    const narrow = new Int32Array(2 * this.narrow.length), wide = new Float64Array(narrow.length);
    narrow.set(this.narrow);
    wide.set(this.wide);
    Object.assign(this, { narrow, wide });
  }
}

/**
 * Takes numbers of up to nine digits without white space, each with its comma, and stops before anything else.
 * @param {Incoming} window @param {Int32Array} values @param {number} count of those that are there @returns {number} their new count
 */
function takeShort(window, values, count) {
  const { bytes } = window, safe = window.end - SHORT_BYTES, room = values.length;
  let { at } = window, n = count;
  while (at < safe && n < room) {
    const isNegative = bytes[at] === BYTE.MINUS, first = isNegative ? at + 1 : at;
    let value = 0, digit = 0, next = first;
    while ((digit = bytes[next] - BYTE.ZERO) >>> 0 <= 9) {
      value = (Math.imul(value, 10) + digit) | 0;
      next++;
    }
    if (bytes[next] !== BYTE.COMMA || next === first || next > first + 9 || bytes[first] === BYTE.ZERO && next > first + 1) break;
    at = next + 1;
    values[n++] = isNegative ? -value : value;
  }
  window.at = at;
  return n;
}

/** Least and greatest of the first `count` values; 0 where there are none. @param {Int32Array} values @param {number} count */
function rangeOfNarrow(values, count) {
  let min = count > 0 ? values[0] : 0, max = min;
  for (let i = 1; i < count; i++) {
    if (values[i] < min) min = values[i];
    if (values[i] > max) max = values[i];
  }
  return { min, max };
}

/** The same of another type: one function for both would be slow. @param {Float64Array} values @param {number} count */
function rangeOfWide(values, count) {
  let min = count > 0 ? values[0] : 0, max = min;
  for (let i = 1; i < count; i++) {
    if (values[i] < min) min = values[i];
    if (values[i] > max) max = values[i];
  }
  return { min, max };
}

/** Copied into the smallest array that holds them. @param {Int32Array | Float64Array} values @param {number} min @param {number} max
 * @returns {import('./columns.js').Numbers} */
function narrowed(values, min, max) {
  const Type = min >= 0 && max < 2 ** 8 ? Uint8Array : min >= -(2 ** 7) && max < 2 ** 7 ? Int8Array : min >= -(2 ** 15) && max < 2 ** 15 ? Int16Array
    : min >= -(2 ** 31) && max < 2 ** 31 ? Int32Array : min >= 0 && max < 2 ** 32 ? Uint32Array : Float64Array;
  return new Type(values);
}

/** The digits of one column. Its state is kept while more bytes are waited for. */
class ColumnReader {
  /** @param {string} path @param {boolean} isDelta the values are differences @param {Scratch} scratch */
  constructor(path, isDelta, scratch) {
    this.path = path;
    this.isDelta = isDelta;
    this.scratch = scratch;
    this.isWide = isDelta; // the values are in scratch.wide
    this.count = 0;
  }

  /**
   * Takes numbers, each with the comma or bracket after it; leaves what is not whole yet.
   * @param {Incoming} window @returns {boolean} true when the closing bracket was taken
   */
  take(window) {
    for (;;) {
      this.add(takeShort(window, this.scratch.narrow, this.count));
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

  /** Takes over what was put into scratch.narrow. @param {number} count with those before */
  add(count) {
    const { scratch: { narrow, wide }, isDelta } = this;
    if (this.isWide) {
      for (let i = this.count, sum = isDelta && i > 0 ? wide[i - 1] : 0; i < count; i++) wide[i] = isDelta ? (sum += narrow[i]) : narrow[i];
    }
    this.count = count;
  }

  /** @param {number} given of any size, as it stands in the file */
  addOne(given) {
    const { scratch, count } = this;
    if (count === MAX_ROWS) throw new FormatError(`${this.path} has more than ${MAX_ROWS} rows`);
    if (count === scratch.narrow.length) scratch.grow();
    const { narrow, wide } = scratch;
    if (!this.isWide && given !== (given | 0)) {
      this.isWide = true;
      wide.set(narrow.subarray(0, count));
    }
    if (this.isWide) wide[count] = this.isDelta && count > 0 ? wide[count - 1] + given : given;
    else narrow[count] = given;
    this.count++;
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
    const { scratch: { narrow, wide }, isWide, isDelta, count } = this, values = (isWide ? wide : narrow).subarray(0, count);
    const { min, max } = isWide ? rangeOfWide(wide, count) : rangeOfNarrow(narrow, count);
    return { values: narrowed(values, min, max), min, max, isSummed: isDelta };
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
