/* column_reader.js - parses one column of integers straight from the text into a typed array.
 *
 * Nearly all of a document consists of such columns. A value that the column's rule forbids is refused with
 * its place, as in the program (snapshot/format/reader_tables.c).
 */
import { FAR, MAX_ROWS, release } from './columns.js';
import { isSpace, MOST_INTEGER, NEED_MORE } from './json.js';
import { BYTE } from './json_text.js';

const SOME = 8192; // numbers per batch of the fast loop; a batch stays in the processor's cache
const SHORT_BYTES = 12; // a sign, nine digits, and the two bytes after them
const SAFE_SUM = FAR - SOME * 1e9; // below this, sums of that many short numbers are exact
const SAFE_DIGITS = 15; // this many digits are exact in a JavaScript number

/** The batch of numbers between text and column; it fits the cache. */
export class Scratch {
  constructor() {
    this.some = new Int32Array(SOME); // as they stand in the file
    this.sums = new Float64Array(SOME); // the running sums, or values too large for 4 bytes
  }
}

/**
 * The position of the last non-digit among the bytes at hand. No number that begins before it can continue
 * past the bytes.
 * @param {import('./json.js').JsonReader} json
 */
function lastOther({ bytes, at, end }) {
  let last = end - 1;
  while (last >= at && bytes[last] >= BYTE.ZERO && bytes[last] <= BYTE.ZERO + 9) last--;
  return last;
}

/**
 * Parses numbers of up to nine digits without white space, each with its comma, and stops before anything
 * else.
 * @param {import('./json.js').JsonReader} json
 * @param {Int32Array} some filled from its start
 * @returns {number} the count
 */
function takeShort(json, some) {
  const { MINUS, ZERO, COMMA } = BYTE;
  const { bytes } = json;
  const safe = Math.min(json.end - SHORT_BYTES, lastOther(json));
  let { at } = json;
  let n = 0;
  while (at < safe && n < SOME) {
    const isNegative = bytes[at] === MINUS;
    const first = isNegative ? at + 1 : at;
    let value = 0;
    let digit = 0;
    let next = first;
    while ((digit = bytes[next] - ZERO) >>> 0 <= 9) {
      value = (Math.imul(value, 10) + digit) | 0;
      next++;
    }
    if (
      bytes[next] !== COMMA ||
      next === first ||
      next > first + 9 ||
      (bytes[first] === ZERO && next > first + 1)
    )
      break;
    at = next + 1;
    some[n++] = isNegative ? -value : value;
  }
  json.at = at;
  return n;
}

/**
 * The array type that holds such numbers in the fewest bytes.
 * @param {number} min
 * @param {number} max
 */
function smallestType(min, max) {
  return min >= 0 && max < 2 ** 8
    ? Uint8Array
    : min >= -(2 ** 7) && max < 2 ** 7
      ? Int8Array
      : min >= -(2 ** 15) && max < 2 ** 15
        ? Int16Array
        : min >= -(2 ** 31) && max < 2 ** 31
          ? Int32Array
          : min >= 0 && max < 2 ** 32
            ? Uint32Array
            : Float64Array;
}

/** Parses one column. Its state is kept while it waits for more bytes. */
export class ColumnReader {
  /**
   * @param {import('./table_rules.js').ColumnRule} rule
   * @param {Scratch} scratch
   * @param {number} nExpected numbers, as far as is known
   */
  constructor(rule, scratch, nExpected) {
    this.rule = rule;
    this.isDelta = rule.isDelta;
    this.most = Number(rule.hi);
    this.scratch = scratch;
    /** @type {import('./columns.js').Numbers} of the smallest type for the values so far, with spare room */
    this.values = new Uint8Array(nExpected);
    this.count = 0;
    this.sum = 0;
    /** @type {bigint | null} the exact sum beyond the range of exact JavaScript numbers */
    this.exactSum = null;
    /** @type {Map<number, bigint> | null} by row, values that `values` does not hold exactly */
    this.exact = null;
    this.strayRow = -1; // the first whose sum is out of range
    this.strayOffset = 0; // of its number in the document
    this.min = Infinity;
    this.max = -Infinity;
  }

  /**
   * Parses numbers, each with the comma or bracket after it; leaves an incomplete one.
   * @param {import('./json.js').JsonReader} json
   * @returns {boolean} true when the closing bracket was taken
   */
  take(json) {
    for (;;) {
      const begin = json.at;
      this.add(json, begin, takeShort(json, this.scratch.some));
      const next = this.takeOne(json);
      if (next !== BYTE.COMMA) return next === BYTE.CLOSE_LIST;
    }
  }

  /**
   * Parses one number of any length and the byte after it.
   * @param {import('./json.js').JsonReader} json
   * @returns {number} the comma or bracket after it; -1 if it is incomplete
   */
  takeOne(json) {
    const { bytes, end } = json;
    let { at } = json;
    let value = 0;
    while (at < end && isSpace(bytes[at])) at++;
    const begin = at;
    const isNegative = at < end && bytes[at] === BYTE.MINUS;
    if (isNegative) at++;
    const first = at;
    for (; at < end && bytes[at] >= BYTE.ZERO && bytes[at] <= BYTE.ZERO + 9; at++)
      value = value * 10 + bytes[at] - BYTE.ZERO;
    const nDigits = at - first;
    while (at < end && isSpace(bytes[at])) at++;
    const next = at < end ? bytes[at] : -1;
    if (
      nDigits === 0 ||
      nDigits > SAFE_DIGITS ||
      (bytes[first] === BYTE.ZERO && nDigits > 1) ||
      (next !== BYTE.COMMA && next !== BYTE.CLOSE_LIST)
    )
      return this.takeOdd(json, begin);
    this.addOne(json, begin, isNegative ? -value : value);
    json.at = at + 1;
    return next;
  }

  /**
   * The same for anything but a plain number before a comma or bracket.
   * @param {import('./json.js').JsonReader} json
   * @param {number} begin
   */
  takeOdd(json, begin) {
    const { levels, nOdd, firstOdd } = json;
    const depth = levels.length;
    const level = levels[depth - 1];
    const before = json.at;
    level.nItems = this.count; // of the numbers begun so far; messages name it
    json.at = begin;
    if (begin >= json.end && !json.isLast) {
      json.at = before;
      return -1;
    }
    if (json.bytes[begin] === BYTE.CLOSE_LIST && begin < json.end) {
      if (this.count > 0) json.expected("another item after ','");
      json.at = begin + 1;
      return BYTE.CLOSE_LIST;
    }
    level.nItems++;
    let value = null;
    let next = -1;
    const {
      rule: { lo, hi, odd },
    } = this;
    try {
      value =
        odd !== null
          ? json.getOddInteger(lo, hi, odd.unknown, odd.isFine)
          : this.isDelta
            ? json.getExact(-MOST_INTEGER - 1n, MOST_INTEGER)
            : json.getExact(lo, hi);
      next = json.look();
    } catch (problem) {
      if (problem !== NEED_MORE) throw problem;
      levels.length = depth;
      Object.assign(json, { at: before, nOdd, firstOdd });
      return -1;
    }
    if (next !== BYTE.COMMA && next !== BYTE.CLOSE_LIST) json.expected("',' or ']'");
    this.addOne(json, begin, value);
    json.at++;
    return next;
  }

  /**
   * Appends the first `n` of scratch.some to the values.
   * @param {import('./json.js').JsonReader} json
   * @param {number} begin row of the first
   * @param {number} n
   */
  add(json, begin, n) {
    const {
      scratch: { some, sums },
      isDelta,
      rule: { lo },
      most,
    } = this;
    if (n === 0) return;
    let { sum } = this;
    let min = Infinity;
    let max = -Infinity;
    if (isDelta && (this.exactSum !== null || Math.abs(sum) > SAFE_SUM)) {
      for (let i = 0, at = begin; i < n; i++, at = json.bytes.indexOf(BYTE.COMMA, at) + 1)
        this.addOne(json, at, some[i]);
      return;
    }
    for (let i = 0; i < n; i++) {
      const value = isDelta ? (sum += some[i]) : some[i];
      if (value < min) min = value;
      if (value > max) max = value;
      if (isDelta) sums[i] = value;
    }
    if (min < lo || max > most) {
      if (this.rule.odd !== null) [min, max] = this.replaceOdd(json, n);
      else this.stray(json, begin, isDelta ? sums : some, n);
    }
    this.sum = sum;
    this.put(json, isDelta ? sums : some, n, { min, max });
  }

  /**
   * Replaces values out of range among the first `n` of scratch.some; used for columns that are only
   * displayed.
   * @param {import('./json.js').JsonReader} json
   * @param {number} n
   * @returns {[number, number]} the range of the values after that
   */
  replaceOdd(json, n) {
    const {
      scratch: { some },
      rule: { lo },
    } = this;
    let min = Infinity;
    let max = -Infinity;
    for (let i = 0; i < n; i++) {
      if (some[i] < lo || some[i] > this.most) some[i] = this.unknownAt(json, i);
      min = Math.min(min, some[i]);
      max = Math.max(max, some[i]);
    }
    return [min, max];
  }

  /**
   * The replacement for an odd number, which is counted.
   * @param {import('./json.js').JsonReader} json
   * @param {number} i index in the batch
   */
  unknownAt(json, i) {
    const { unknown, isFine } = /** @type {{unknown: number, isFine: boolean}} */ (this.rule.odd);
    json.levels[json.levels.length - 1].nItems = this.count + i + 1;
    if (!isFine) json.countOdd();
    return unknown;
  }

  /**
   * Finds the first number of a batch that is out of range.
   * @param {import('./json.js').JsonReader} json
   * @param {number} begin row of the first
   * @param {Int32Array | Float64Array} values
   * @param {number} n
   */
  stray(json, begin, values, n) {
    const {
      rule: { lo, hi },
      most,
    } = this;
    const row = values.findIndex((value) => value < lo || value > most);
    let at = begin;
    if (row >= n || this.strayRow >= 0) return;
    for (let i = 0; i < row; i++) at = json.bytes.indexOf(BYTE.COMMA, at) + 1;
    if (this.isDelta) {
      this.strayRow = this.count + row;
      this.strayOffset = json.base + at;
      return;
    }
    json.levels[json.levels.length - 1].nItems = this.count + row + 1;
    json.fail(`${values[row]} is out of range: ${lo} to ${hi} is allowed`, at);
  }

  /**
   * @param {import('./json.js').JsonReader} json
   * @param {number} begin its row
   * @param {number | bigint} given as it stands in the file
   */
  addOne(json, begin, given) {
    const {
      rule: { lo, hi, odd },
    } = this;
    let value = this.isDelta ? this.summed(given) : given;
    if (odd !== null && (value < lo || value > hi)) value = this.unknownAt(json, 0);
    const near = Number(value);
    if ((value < lo || value > hi) && this.strayRow < 0) this.strayOne(json, begin, value);
    if (typeof value === 'bigint' && this.strayRow < 0) (this.exact ??= new Map()).set(this.count, value);
    this.scratch.sums[0] = near;
    this.put(json, this.scratch.sums, 1, { min: near, max: near });
  }

  /**
   * @param {import('./json.js').JsonReader} json
   * @param {number} begin
   * @param {number | bigint} value
   */
  strayOne(json, begin, value) {
    if (this.isDelta) {
      this.strayRow = this.count;
      this.strayOffset = json.base + begin;
      return;
    }
    json.levels[json.levels.length - 1].nItems = this.count + 1;
    json.fail(`${value} is out of range: ${this.rule.lo} to ${this.rule.hi} is allowed`, begin);
  }

  /**
   * The sum after a difference.
   * @param {number | bigint} given
   * @returns {number | bigint}
   */
  summed(given) {
    if (this.exactSum === null && typeof given === 'number') {
      const sum = this.sum + given;
      if (Math.abs(sum) <= FAR) return (this.sum = sum);
    }
    const exact = (this.exactSum ?? BigInt(this.sum)) + BigInt(given);
    const isFar = exact > FAR || exact < -FAR;
    this.exactSum = isFar ? exact : null;
    this.sum = Number(exact);
    return isFar ? exact : this.sum;
  }

  /**
   * @param {import('./json.js').JsonReader} json
   * @param {Int32Array | Float64Array} from
   * @param {number} n
   * @param {{min: number, max: number}} range of the batch
   */
  put(json, from, n, { min, max }) {
    const count = this.count + n;
    if (count > MAX_ROWS) json.fail(`more than the limit of ${MAX_ROWS} values`);
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

  /** @returns {import('./columns.js').Column} */
  finish() {
    const { count, isDelta, exact } = this;
    let { values } = this;
    if (count < values.length) {
      values = values.slice(0, count);
      release(this.values);
    }
    return { values, min: count > 0 ? this.min : 0, max: count > 0 ? this.max : 0, isSummed: isDelta, exact };
  }
}
