/* json.js - a strict reader of JSON in UTF-8, for bytes that nobody vouches for.
 *
 * What JSON.parse lets pass is refused as the program refuses it: keys that come twice, text that is not UTF-8 or holds
 * U+0000, what is nested too deep or too long. Messages name the key path and the byte.
 */
import { FAR, FormatError } from './columns.js';

export const MOST_LEVELS = 32;
const MOST_TEXT_BYTES = 2 ** 20;
const SHORT_TEXT = 64; // up to here a loop is faster than a TextDecoder

export const BYTE = Object.freeze({ QUOTE: 34, COMMA: 44, MINUS: 45, ZERO: 48, COLON: 58, OPEN_LIST: 91, BACKSLASH: 92, CLOSE_LIST: 93, OPEN: 123, CLOSE: 125 });

/** @param {number} byte */
export function isSpace(byte) {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}

/** One whole value of a document. */
export class JsonText {
  /**
   * @param {Uint8Array} bytes @param {number} at where the value begins @param {number} end one past the last byte that may be read
   * @param {number} base of bytes[0] in the document @param {string} path of the value @param {number} level how deep it lies
   */
  constructor(bytes, at, end, base, path, level) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
    this.base = base;
    /** @type {(string | number)[]} keys and numbers of items under `path` */
    this.keys = [];
    this.path = path;
    this.level = level;
    this.decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  }

  /** @param {string} message @param {number} [at] @returns {never} */
  fail(message, at = this.at) {
    const path = this.keys.reduce((/** @type {string} */ text, key) =>
      (typeof key === 'number' ? `${text}[${key}]` : `${text}${text ? '.' : ''}${key.slice(0, 48)}`), this.path);
    throw new FormatError(`${path ? `${path}: ` : ''}${message} (byte ${this.base + at})`);
  }

  /** @param {string} what @returns {never} */
  expected(what) {
    const byte = this.bytes[this.at];
    this.fail(`${what} was expected, not ${this.at >= this.end ? 'the end of the file' : byte > 32 && byte < 127 ? `'${String.fromCharCode(byte)}'` : `byte 0x${byte.toString(16)}`}`);
  }

  skipSpace() {
    while (this.at < this.end && isSpace(this.bytes[this.at])) this.at++;
  }

  /** @returns {any} */
  value() {
    this.skipSpace();
    const byte = this.at < this.end ? this.bytes[this.at] : 0;
    if (byte === BYTE.QUOTE) return this.text();
    if (byte === BYTE.OPEN_LIST) return this.list();
    if (byte === BYTE.OPEN) return this.object();
    if (byte === BYTE.MINUS || (byte >= BYTE.ZERO && byte <= 57)) return this.number();
    for (const [word, meaning] of /** @type {[string, any][]} */ ([['true', true], ['false', false], ['null', null]])) {
      if (byte === word.charCodeAt(0)) return this.word(word, meaning);
    }
    return this.expected('a value');
  }

  /** @param {string} word @param {any} meaning */
  word(word, meaning) {
    for (let i = 0; i < word.length; i++, this.at++) {
      if (this.at >= this.end || this.bytes[this.at] !== word.charCodeAt(i)) this.expected(word);
    }
    return meaning;
  }

  number() {
    const { bytes, end } = this, begin = this.at, isNegative = bytes[begin] === BYTE.MINUS;
    let value = 0, at = begin + (isNegative ? 1 : 0);
    const first = at;
    while (at < end && bytes[at] >= 48 && bytes[at] <= 57) value = value * 10 + bytes[at++] - 48;
    const next = at < end ? bytes[at] : 0;
    if (at > first && (bytes[first] !== BYTE.ZERO || at === first + 1) && next !== 46 && next !== 101 && next !== 69 && value <= FAR) {
      this.at = at;
      return isNegative ? -value : value;
    }
    while (at < end && (bytes[at] === 46 || bytes[at] === 43 || bytes[at] === BYTE.MINUS || (bytes[at] | 32) === 101 || (bytes[at] >= 48 && bytes[at] <= 57))) at++;
    const text = String.fromCharCode(...bytes.subarray(begin, Math.min(at, begin + 400)));
    if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text)) this.expected('a number');
    this.at = at;
    if (!Number.isFinite(Number(text))) this.fail(`${text.slice(0, 40)} is beyond every number`, begin);
    return Number(text);
  }

  text() {
    const { bytes, end } = this, begin = this.at + 1;
    let at = begin, isPlain = true, isEscaped = false;
    while (at < end && bytes[at] !== BYTE.QUOTE) {
      const byte = bytes[at];
      if (byte < 32) this.fail(`a text holds the control character 0x${byte.toString(16)}`, at);
      if (byte === BYTE.BACKSLASH) {
        isEscaped = true;
        at++;
      } else if (byte > 126) {
        isPlain = false;
      }
      at++;
    }
    if (at >= end) this.fail('a text without its end', begin - 1);
    if (at - begin > MOST_TEXT_BYTES) this.fail('a text longer than 1 MiB', begin);
    this.at = at + 1;
    const part = bytes.subarray(begin, at);
    if (isPlain && !isEscaped && part.length <= SHORT_TEXT) return String.fromCharCode.apply(null, /** @type {any} */ (part));
    return this.decoded(part, isEscaped, begin);
  }

  /** @param {Uint8Array} part @param {boolean} isEscaped @param {number} begin @returns {string} */
  decoded(part, isEscaped, begin) {
    let text = '';
    try {
      text = this.decoder.decode(part);
    } catch {
      this.fail('a text that is not UTF-8', begin);
    }
    if (!isEscaped) return text;
    try {
      text = JSON.parse(`"${text}"`);
    } catch {
      this.fail('an escape that is none', begin);
    }
    if (text.includes('\0')) this.fail('a text holds U+0000', begin);
    if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text)) this.fail('half of a character', begin);
    return text;
  }

  enter() {
    if (++this.level > MOST_LEVELS) this.fail(`nested deeper than ${MOST_LEVELS} levels`);
    this.at++;
  }

  /** Takes the comma between items, or the closing bracket: then it is false. @param {number} close @param {boolean} isFirst */
  more(close, isFirst) {
    this.skipSpace();
    const byte = this.at < this.end ? this.bytes[this.at] : 0;
    if (byte === close) {
      this.at++;
      this.level--;
      return false;
    }
    if (isFirst) return true;
    if (byte !== BYTE.COMMA) this.expected(`',' or '${String.fromCharCode(close)}'`);
    this.at++;
    this.skipSpace();
    return true;
  }

  list() {
    const items = [];
    this.enter();
    this.keys.push(0);
    while (this.more(BYTE.CLOSE_LIST, items.length === 0)) {
      this.keys[this.keys.length - 1] = items.length;
      items.push(this.value());
    }
    this.keys.pop();
    return items;
  }

  /** Takes a key and its colon. */
  key() {
    this.skipSpace();
    if (this.at >= this.end || this.bytes[this.at] !== BYTE.QUOTE) this.expected('a key');
    const key = this.text();
    this.skipSpace();
    if (this.at >= this.end || this.bytes[this.at] !== BYTE.COLON) this.expected("':'");
    this.at++;
    return key;
  }

  object() {
    const made = Object.create(null); // a key may be __proto__
    let isFirst = true;
    this.enter();
    this.keys.push('');
    while (this.more(BYTE.CLOSE, isFirst)) {
      const begin = this.at, key = this.key();
      this.keys[this.keys.length - 1] = key;
      if (key in made) this.fail('this key comes twice', begin);
      made[key] = this.value();
      isFirst = false;
    }
    this.keys.pop();
    return made;
  }
}
