/* json.js - a strict pull parser of JSON in UTF-8, for untrusted bytes.
 *
 * It accepts and refuses the same input as the program's parser (snapshot/format/json_reader.c), in the same
 * order, and names the same byte and key path. The caller asks for the values it expects; the first failure
 * is thrown. If the bytes at hand end before the document does, NEED_MORE is thrown, and the caller tries
 * again with more bytes.
 */
import { FAR, FormatError } from './columns.js';
import { BYTE, characterBytes, escapeBytes, lettersOf } from './json_text.js';
import { MOST_KEY_SHOWN, pathOfItem, pathOfKey } from './key_path.js';

const MOST_LEVELS = 32;
const MOST_TEXT_BYTES = 2 ** 20;
const MOST_NUMBER_BYTES = 512;
const SHORT_TEXT = 64; // up to this length a loop is faster than a TextDecoder
/** The greatest integer of the format, which a JavaScript number cannot tell from 2^63. */
export const MOST_INTEGER = 2n ** 63n - 1n;

/** Thrown when a value continues beyond the bytes at hand. */
export const NEED_MORE = Symbol('need more');

/** @param {number} byte */
export function isSpace(byte) {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}

/** @param {number} byte */
function isDigit(byte) {
  return byte >= 48 && byte <= 57;
}

/**
 * One level of nesting.
 * @typedef {object} Level
 * @property {boolean} isArray false: an object
 * @property {boolean} hasItems whether anything was read on this level
 * @property {number} nItems items begun, in an array
 * @property {string} key the current key of an object as it stands in the file, one letter for each of its
 *   first bytes
 * @property {number} keySize bytes of the key
 * @property {number} keyAt offset of the key in the document, after its quote
 * @property {Set<string>} seen known keys read so far
 */

export class JsonReader {
  /**
   * @param {Uint8Array} bytes
   * @param {boolean} isLast the document ends with these bytes
   */
  constructor(bytes, isLast) {
    this.bytes = bytes;
    this.at = 0;
    this.end = bytes.length;
    this.base = 0; // offset of bytes[0] in the document
    this.isLast = isLast;
    /** @type {Level[]} */
    this.levels = [];
    this.textLimit = MOST_TEXT_BYTES; // bytes of a text; lower in some parts of a document
    this.nOdd = 0; // number of values read as unknown
    this.firstOdd = ''; // place of the first
    this.decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  }

  placeText() {
    let path = '';
    for (const { isArray, nItems, key, keySize } of this.levels) {
      if (isArray && nItems > 0) path = pathOfItem(path, nItems - 1);
      else if (!isArray && keySize > 0) path = pathOfKey(path, key);
    }
    return path;
  }

  /**
   * @param {string} message
   * @param {number} [at]
   * @returns {never}
   */
  fail(message, at = this.at) {
    this.failAt(message, this.base + at);
  }

  /**
   * @param {string} message
   * @param {number} offset in the document
   * @returns {never}
   */
  failAt(message, offset) {
    const path = this.placeText();
    throw new FormatError(`byte ${offset}${path ? `, ${path}` : ''}: ${message}`);
  }

  /**
   * Fails because the next value is not the expected one.
   * @param {string} what
   * @returns {never}
   */
  expected(what) {
    const byte = this.look();
    this.fail(
      `${what} was expected, not ${byte < 0 ? 'the end of the file' : byte > 31 && byte < 127 ? `'${String.fromCharCode(byte)}'` : `byte 0x${byte.toString(16)}`}`,
    );
  }

  /** Fails, or asks for more, at the end of the bytes at hand. */
  ended() {
    if (!this.isLast) throw NEED_MORE;
  }

  /** Peeks at the next byte after white space; -1 at the document's end. */
  look() {
    const { bytes, end } = this;
    while (this.at < end) {
      const byte = bytes[this.at];
      if (!isSpace(byte)) return byte;
      this.at++;
    }
    this.ended();
    return -1;
  }

  /** @param {boolean} isArray */
  enter(isArray) {
    if (this.look() !== (isArray ? BYTE.OPEN_LIST : BYTE.OPEN))
      this.expected(isArray ? 'an array' : 'an object');
    if (this.levels.length === MOST_LEVELS) this.fail(`nested deeper than the limit of ${MOST_LEVELS}`);
    this.at++;
    this.levels.push({ isArray, hasItems: false, nItems: 0, key: '', keySize: 0, keyAt: 0, seen: new Set() });
  }

  /**
   * Consumes the comma before the next item, or the closing bracket, in which case it returns false.
   * @param {number} close
   */
  more(close) {
    const level = this.levels[this.levels.length - 1];
    const byte = this.look();
    if (byte === close) {
      this.at++;
      this.levels.pop();
      return false;
    }
    if (level.hasItems) {
      if (byte !== BYTE.COMMA) this.expected(`',' or '${String.fromCharCode(close)}'`);
      this.at++;
      if (this.look() === close) this.expected("another item after ','");
    }
    level.hasItems = true;
    return true;
  }

  nextItem() {
    if (!this.more(BYTE.CLOSE_LIST)) return false;
    this.levels[this.levels.length - 1].nItems++;
    return true;
  }

  /**
   * Consumes a text and its quotes.
   * @returns {number} where the text begins; it ends before the quote before `at`
   */
  takeRawText() {
    if (this.look() !== BYTE.QUOTE) this.expected('a text');
    const { bytes, end } = this;
    const begin = this.at + 1;
    let at = begin;
    while (at < end && bytes[at] !== BYTE.QUOTE) {
      if (bytes[at] < 32)
        this.fail(`a text holds the control character 0x${bytes[at].toString(16).padStart(2, '0')}`, at);
      at += bytes[at] === BYTE.BACKSLASH ? 2 : 1;
      if (at - begin > this.textLimit)
        this.fail(`a text longer than the limit of ${this.textLimit} bytes`, begin);
    }
    if (at >= end) {
      this.ended();
      this.fail('a text without its end', begin - 1);
    }
    this.at = at + 1;
    return begin;
  }

  /**
   * Refuses text that is not UTF-8 or has an invalid escape.
   * @param {number} begin
   * @param {number} end
   */
  checkText(begin, end) {
    const { bytes } = this;
    for (let at = begin; at < end;) {
      if (bytes[at] < 0x80 && bytes[at] !== BYTE.BACKSLASH) {
        at++;
        continue;
      }
      const isEscape = bytes[at] === BYTE.BACKSLASH;
      const n = isEscape ? escapeBytes(bytes, at, end) : characterBytes(bytes, at, end);
      if (n === 0) this.fail(isEscape ? 'an escape that means no character' : 'not UTF-8', at);
      at += n;
    }
  }

  /**
   * Decodes the text between two offsets.
   * @param {number} begin
   * @param {number} end
   * @returns {string}
   */
  textOf(begin, end) {
    const { bytes } = this;
    let isPlain = end - begin <= SHORT_TEXT;
    for (let at = begin; isPlain && at < end; at++)
      isPlain = bytes[at] < 0x80 && bytes[at] !== BYTE.BACKSLASH;
    if (isPlain) return lettersOf(bytes, begin, end);
    this.checkText(begin, end);
    const text = this.decoder.decode(bytes.subarray(begin, end));
    return text.includes('\\') ? JSON.parse(`"${text}"`) : text;
  }

  getText() {
    const begin = this.takeRawText();
    return this.textOf(begin, this.at - 1);
  }

  /** Consumes the next key and its colon; false at the object's end. */
  takeKey() {
    if (!this.more(BYTE.CLOSE)) return false;
    if (this.look() !== BYTE.QUOTE) this.expected('a key');
    const begin = this.takeRawText();
    const level = this.levels[this.levels.length - 1];
    const end = this.at - 1;
    level.key = lettersOf(this.bytes, begin, Math.min(end, begin + MOST_KEY_SHOWN));
    level.keySize = end - begin;
    level.keyAt = this.base + begin;
    this.checkText(begin, end);
    if (this.look() !== BYTE.COLON) this.expected("':'");
    this.at++;
    return true;
  }

  /**
   * The current key if it is one of a list; "" otherwise.
   * @param {Record<string, any>} known
   */
  knownKey(known) {
    const { key, keySize, keyAt, seen } = this.levels[this.levels.length - 1];
    if (keySize !== key.length || !Object.hasOwn(known, key)) return '';
    if (seen.has(key)) this.failAt('this key comes twice', keyAt - 1);
    seen.add(key);
    return key;
  }

  /**
   * Called after an object's end.
   * @param {readonly string[]} required
   * @param {Set<string>} seen
   */
  checkRequired(required, seen) {
    for (const key of required) if (!seen.has(key)) this.fail(`the key '${key}' is missing`, this.at - 1);
  }

  /**
   * The next of the known keys; the others are skipped; "" at the object's end.
   * @param {Record<string, any>} known
   * @param {readonly string[]} required
   */
  nextField(known, required) {
    const { seen } = this.levels[this.levels.length - 1];
    while (this.takeKey()) {
      const key = this.knownKey(known);
      if (key !== '') return key;
      this.skip();
    }
    this.checkRequired(required, seen);
    return '';
  }

  /** The length of the next number by JSON's grammar; 0: none. It stops soon after the limit. */
  numberSize() {
    const { bytes, at: begin } = this;
    const end = Math.min(this.end, begin + 2 * MOST_NUMBER_BYTES);
    let at = begin + (begin < end && bytes[begin] === BYTE.MINUS ? 1 : 0);
    const digits = () => {
      const first = at;
      while (at < end && isDigit(bytes[at])) at++;
      return at - first;
    };
    const first = at;
    const nDigits = digits();
    if (nDigits === 0 || (bytes[first] === BYTE.ZERO && nDigits > 1)) return this.numberEnds(at, 0);
    if (at < end && bytes[at] === BYTE.POINT) {
      at++;
      if (digits() === 0) return this.numberEnds(at, 0);
    }
    if (at < end && (bytes[at] | 32) === 101) {
      at++;
      if (at < end && (bytes[at] === 43 || bytes[at] === BYTE.MINUS)) at++;
      if (digits() === 0) return this.numberEnds(at, 0);
    }
    return this.numberEnds(at, at - begin);
  }

  /**
   * @param {number} at
   * @param {number} size
   */
  numberEnds(at, size) {
    if (at >= this.end) this.ended();
    return size;
  }

  /**
   * An integer in [lo, hi]; a BigInt beyond the range of exact JavaScript numbers.
   * @param {number | bigint} lo
   * @param {number | bigint} hi
   * @returns {number | bigint}
   */
  getExact(lo, hi) {
    this.look();
    const { bytes, end, at: begin } = this;
    const isNegative = begin < end && bytes[begin] === BYTE.MINUS;
    const first = begin + (isNegative ? 1 : 0);
    let at = first;
    let value = 0;
    while (at < end && isDigit(bytes[at]) && at - first < 20) value = value * 10 + bytes[at++] - BYTE.ZERO;
    if (at >= end) this.ended();
    const next = at < end ? bytes[at] : 0;
    const isWhole =
      at > first &&
      at - first < 20 &&
      (bytes[first] !== BYTE.ZERO || at === first + 1) &&
      next !== BYTE.POINT &&
      (next | 32) !== 101;
    const size = value > FAR ? BigInt(lettersOf(bytes, first, at)) : value;
    const exact = isNegative ? -size : size;
    if (!isWhole || size > (isNegative ? MOST_INTEGER + 1n : MOST_INTEGER)) {
      const n = at - first < 20 ? this.numberSize() : 20;
      if (n === 0) this.expected('an integer within 2^63');
      this.fail(`${lettersOf(bytes, begin, begin + Math.min(n, 40))} is not an integer within 2^63`, begin);
    }
    if (exact < lo || exact > hi) this.fail(`${exact} is out of range: ${lo} to ${hi} is allowed`, begin);
    this.at = at;
    return exact;
  }

  /**
   * The same as a JavaScript number, rounded beyond 2^53.
   * @param {number | bigint} lo
   * @param {number | bigint} hi
   */
  getInteger(lo, hi) {
    return Number(this.getExact(lo, hi));
  }

  getReal() {
    this.look();
    const size = this.numberSize();
    if (size === 0 || size >= MOST_NUMBER_BYTES) this.expected('a number');
    const value = Number(lettersOf(this.bytes, this.at, this.at + size));
    if (!Number.isFinite(value)) this.fail('a number beyond the range of a double');
    this.at += size;
    return value;
  }

  /** @param {string} word */
  takeWord(word) {
    if (this.end - this.at < word.length) this.ended();
    if (lettersOf(this.bytes, this.at, this.at + word.length) !== word) return false;
    this.at += word.length;
    return true;
  }

  getBoolean() {
    this.look();
    if (this.takeWord('true')) return true;
    if (!this.takeWord('false')) this.expected('true or false');
    return false;
  }

  skipScalar() {
    const byte = this.look();
    if (byte === BYTE.QUOTE) {
      const begin = this.takeRawText();
      this.checkText(begin, this.at - 1);
    } else if (byte === BYTE.MINUS || isDigit(byte)) {
      const size = this.numberSize();
      if (size === 0 || size >= MOST_NUMBER_BYTES) this.expected('a number');
      this.at += size;
    } else if (byte === 116 || byte === 102) {
      this.getBoolean();
    } else if (byte !== 110) {
      this.expected('a value');
    } else if (!this.takeWord('null')) {
      this.expected('null');
    }
  }

  /**
   * The kind of the next value.
   * @returns {'object' | 'array' | 'text' | 'number' | 'boolean' | 'null' | ''} "": no value
   */
  peek() {
    const byte = this.look();
    if (byte === BYTE.OPEN) return 'object';
    if (byte === BYTE.OPEN_LIST) return 'array';
    if (byte === BYTE.QUOTE) return 'text';
    if (byte === 116 || byte === 102) return 'boolean';
    return byte === 110 ? 'null' : byte === BYTE.MINUS || isDigit(byte) ? 'number' : '';
  }

  /** Counts the next value as odd: it is read as unknown. */
  countOdd() {
    if (this.nOdd++ === 0) this.firstOdd = this.placeText();
  }

  /**
   * Counts and skips a value of any other kind than the given ones; false: it is of one of them, or no value.
   * @param {string[]} kinds
   */
  skipsOdd(...kinds) {
    const kind = this.peek();
    if (kind === '' || kinds.includes(kind)) return false;
    this.countOdd();
    this.skip();
    return true;
  }

  /**
   * An integer that is only displayed: `unknown` for anything else or out of range.
   * @param {number | bigint} lo
   * @param {number | bigint} hi
   * @param {number} unknown
   * @param {boolean} isFine an integer out of range is not counted as odd
   */
  getOddInteger(lo, hi, unknown, isFine = false) {
    if (this.peek() === '') return this.getInteger(lo, hi);
    if (this.skipsOdd('number')) return unknown;
    const { at } = this;
    const size = this.numberSize();
    const isWhole =
      size > 0 && size < MOST_NUMBER_BYTES && !/[.e]/i.test(lettersOf(this.bytes, at, at + size));
    const exact = isWhole ? BigInt(lettersOf(this.bytes, at, at + size)) : null;
    const isGood = exact !== null && exact >= lo && exact <= hi;
    if (!isGood && !(isFine && isWhole)) this.countOdd();
    this.skip();
    return isGood ? Number(exact) : unknown;
  }

  /**
   * The 64 bits of a native handle, which some programs write as a negative number and some as a number from
   * 2^63 on; -1 for anything else.
   */
  getHandle() {
    if (this.peek() === '') return this.getInteger(-MOST_INTEGER - 1n, MOST_INTEGER);
    if (this.skipsOdd('number')) return -1;
    const { at } = this;
    const size = this.numberSize();
    const letters = lettersOf(this.bytes, at, at + Math.min(size, MOST_NUMBER_BYTES));
    const exact = /^-?\d+$/.test(letters) ? BigInt(letters) : 2n ** 64n;
    const isGood = exact >= -MOST_INTEGER - 1n && exact < 2n ** 64n;
    if (!isGood) this.countOdd();
    this.skip();
    return isGood ? Number(BigInt.asIntN(64, exact)) : -1;
  }

  /**
   * One step of skipping a value on level `outer`: a bracket, or a value with its key.
   * @param {number} outer levels around the value
   */
  skipStep(outer) {
    if (this.levels.length > outer) {
      const { isArray } = this.levels[this.levels.length - 1];
      if (!(isArray ? this.nextItem() : this.takeKey())) return;
    }
    const byte = this.look();
    if (byte === BYTE.OPEN_LIST) this.enter(true);
    else if (byte === BYTE.OPEN) this.enter(false);
    else this.skipScalar();
  }

  /** Skips any value. */
  skip() {
    const outer = this.levels.length;
    do this.skipStep(outer);
    while (this.levels.length > outer);
  }
}
