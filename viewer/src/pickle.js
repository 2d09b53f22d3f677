/* pickle.js - reads plain data from a Python pickle of protocol 2 to 5. Nothing in it is executed: opcodes
 * that name code, make calls, build objects or refer to anything outside the file are refused by name, as in
 * the program.
 */
import { FormatError } from './columns.js';
import { PICKLE_OPCODES } from './pickle_opcodes.js';
import { stepsTo } from './pickle_place.js';
import { PickleRuns } from './pickle_runs.js';
import { PickleContainer, pickleKind, PICKLED_HUGE } from './pickle_values.js';

const MOST_DEPTH = 32; // nested containers; open marks
const MOST_PICKLE_TEXT = 2 ** 20;
const MOST_OPCODE_BYTES = MOST_PICKLE_TEXT + 16; // with its argument
const MOST_PICKLE_BYTES = 2 ** 31;
const MEMO_SLACK = 256; // memo numbers allowed beyond one per byte
const SHORT_TEXT = 40; // bytes
const KNOWN_TEXTS = 512;
const FREE_BYTES = 256 * 1024; // bytes of memory for a pickle of any size
const DENSITY = 6; // the most bytes of memory per byte of the pickle: 8 for a value, 24 for a container
const VALUE_BYTES = 8;
const CONTAINER_BYTES = 24;

/** What stands in the memo for a container that was dropped. */
const GONE = new PickleContainer('gone', 0);

/**
 * Takes items of lists while a pickle is being read.
 * @typedef {object} PickleTaker
 * @property {number} repeats lists of items that were read before may be those that stand for a number of this
 * @property {(list: PickleContainer, steps: {key: any, index: number}[], items: any[], nBytes: number) => boolean} take
 *   the items are about to be added to the list, to which the steps lead from the root; nBytes of the pickle
 *   were read. True: they were read and are dropped
 */

export class Unpickler {
  /**
   * @param {Uint8Array} bytes at least the first
   * @param {PickleTaker | null} taker
   */
  constructor(bytes, taker) {
    this.base = 0; // offset of bytes[0] in the pickle
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.decoder = new TextDecoder();
    /** @type {string[]} short texts by hash, the last ones */
    this.texts = new Array(KNOWN_TEXTS).fill('');
    this.taker = taker;
    this.runs = new PickleRuns(taker?.repeats ?? 0);
    this.at = 0;
    this.opcodeAt = 0;
    this.opcode = /** @type {import('./pickle_opcodes.js').Opcode | undefined} */ (undefined);
    /** @type {any[]} the first n of them */
    this.stack = [];
    this.n = 0;
    /** @type {any[]} */
    this.memo = [];
    /** @type {number[]} heights of the stack */
    this.marks = [];
    this.bottom = 0; // height of the stack at the last mark
    this.nCharged = 0;
    this.nAllowed = FREE_BYTES + DENSITY * bytes.length; // bytes of memory for the bytes so far
    this.frameEnd = 0; // the furthest end of a frame
    this.isDone = false;
    this.hasRest = false; // bytes other than zeros follow the end
  }

  /**
   * @param {string} message
   * @returns {never}
   */
  fail(message) {
    throw new FormatError(`byte ${this.opcodeAt}, opcode ${this.opcode?.name ?? ''}: ${message}`);
  }

  /**
   * Accounts for memory before it is allocated.
   * @param {number} n bytes
   */
  charge(n) {
    this.nCharged += n;
    if (this.nCharged > this.nAllowed)
      this.fail(
        `up to here the ${this.base + this.bytes.length} bytes make more than the limit of ${this.nAllowed} bytes of memory: no snapshot is that dense`,
      );
  }

  /**
   * Consumes n bytes and returns their offset.
   * @param {number} n
   */
  take(n) {
    const left = this.bytes.length - this.at;
    if (n > left) this.fail(`the file is truncated: ${left} bytes follow, ${n} are needed`);
    this.at += n;
    return this.at - n;
  }

  /**
   * An unsigned little-endian number.
   * @param {1 | 2 | 4 | 8} n bytes
   */
  number(n) {
    const at = this.take(n);
    if (n === 1) return this.bytes[at];
    if (n === 2) return this.view.getUint16(at, true);
    return this.view.getUint32(at, true) + (n === 8 ? this.view.getUint32(at + 4, true) * 2 ** 32 : 0);
  }

  /** @param {any} value */
  push(value) {
    this.stack[this.n++] = value;
  }

  top() {
    if (this.n <= this.bottom) this.fail('the stack has no value for it');
    return this.stack[this.n - 1];
  }

  pop() {
    const value = this.top();
    this.n--;
    return value;
  }

  popMark() {
    const { marks } = this;
    if (marks.length === 0) this.fail('no mark stands before it');
    const base = /** @type {number} */ (marks.pop());
    this.bottom = marks.length > 0 ? marks[marks.length - 1] : 0;
    return base;
  }

  /**
   * Moves the stack's values from `base` into a container.
   * @param {PickleContainer} to
   * @param {number} base
   */
  fill(to, base) {
    const n = this.n - base;
    if (to.kind === 'dict' && n % 2 !== 0) this.fail('a key without a value');
    if (n === 0) return;
    this.charge(n * VALUE_BYTES);
    const items = new Array(n);
    for (let i = 0; i < n; i++) {
      const value = this.stack[base + i];
      if (value instanceof PickleContainer && value.depth >= to.depth) to.depth = value.depth + 1;
      items[i] = value;
    }
    if (to.depth >= MOST_DEPTH) this.fail(`containers lie more than the limit of ${MOST_DEPTH} levels deep`);
    to.add(items);
    this.n = base;
  }

  /** @param {'list' | 'tuple' | 'dict'} kind */
  make(kind) {
    this.charge(CONTAINER_BYTES);
    return new PickleContainer(kind, this.opcodeAt);
  }

  /**
   * Replaces the values from `base` by a container of them.
   * @param {'list' | 'tuple' | 'dict'} kind
   * @param {number} base
   */
  gather(kind, base) {
    const made = this.make(kind);
    this.fill(made, base);
    this.push(made);
  }

  /**
   * @param {number} n number of values above the last mark
   * @returns {number} where these begin
   */
  last(n) {
    if (this.n - this.bottom < n) this.fail('the stack has too few values for it');
    return this.n - n;
  }

  /**
   * Moves the values from `base` into the container below them.
   * @param {'list' | 'dict'} kind
   * @param {number} base
   */
  appendBelow(kind, base) {
    const to = base > this.bottom ? this.stack[base - 1] : undefined;
    if (!(to instanceof PickleContainer) || to.kind !== kind)
      this.fail(`it needs a ${kind}, not ${pickleKind(to)}`);
    const isTaken = kind === 'list' && this.taker !== null && this.n > base && this.offer(to, base);
    if (!isTaken) this.fill(/** @type {PickleContainer} */ (to), base);
  }

  /**
   * Offers the values from `base`, which are about to be added to a list, to the taker.
   * @param {PickleContainer} list
   * @param {number} base
   * @returns {boolean} they were taken and are dropped
   */
  offer(list, base) {
    // two marks stand above a list that is two steps from the root, at most
    const steps = this.marks.length <= 2 ? stepsTo(this, base - 1) : null;
    const items = steps === null ? [] : this.stack.slice(base, this.n);
    if (steps === null || !this.taker?.take(list, steps, items, this.opcodeAt)) return false;
    this.charge(items.length * VALUE_BYTES);
    list.isTaken = true;
    for (const item of items) if (item instanceof PickleContainer) this.drop(item);
    this.n = base;
    return true;
  }

  /**
   * Drops the items of a container, which may still be referred to.
   * @param {PickleContainer} item
   */
  drop(item) {
    item.drop();
    if (item.memo >= 0 && this.memo[item.memo] === item && item.kind === 'gone') this.memo[item.memo] = GONE;
  }

  /** @param {1 | 4 | 8} n bytes of its length */
  text(n) {
    const at = this.run(n);
    const end = this.at;
    if (end - at > SHORT_TEXT) return this.repaired(at, end);
    let hash = end - at;
    for (let i = at; i < end; i++) hash = (Math.imul(hash, 31) + this.bytes[i]) | 0;
    const slot = (hash >>> 0) % KNOWN_TEXTS;
    if (!this.isText(this.texts[slot], at, end)) this.texts[slot] = this.repaired(at, end);
    return this.texts[slot];
  }

  /**
   * True if a text in ASCII stands there.
   * @param {string} text
   * @param {number} at
   * @param {number} end
   */
  isText(text, at, end) {
    if (text.length !== end - at) return false;
    for (let i = at; i < end; i++) {
      const byte = this.bytes[i];
      if (byte > 126 || text.charCodeAt(i - at) !== byte) return false;
    }
    return true;
  }

  /**
   * Reads a text. Invalid UTF-8 becomes U+FFFD, and so does NUL.
   * @param {number} at
   * @param {number} end
   */
  repaired(at, end) {
    return this.decoder.decode(this.bytes.subarray(at, end)).replaceAll('\0', '\ufffd');
  }

  /**
   * Reads a length and that many bytes.
   * @param {1 | 4 | 8} n bytes of the length
   */
  run(n) {
    const length = this.number(n);
    if (length > MOST_PICKLE_TEXT) this.fail(`${length} bytes, the limit is ${MOST_PICKLE_TEXT}`);
    return this.take(length);
  }

  /**
   * Reads a little-endian integer of any length in two's complement.
   * @param {number} n bytes
   */
  long(n) {
    if (n > MOST_PICKLE_TEXT) this.fail(`an integer of ${n} bytes, the limit is ${MOST_PICKLE_TEXT}`);
    const at = this.take(n);
    if (n === 0) return 0;
    const isNegative = this.bytes[at + n - 1] >= 128;
    const filling = isNegative ? 255 : 0;
    for (let i = 8; i < n; i++) if (this.bytes[at + i] !== filling) return PICKLED_HUGE;
    if (n > 8 && this.bytes[at + 7] >= 128 !== isNegative) return PICKLED_HUGE;
    // both halves are exact, so that only their sum is rounded
    let low = 0;
    let high = isNegative ? -1 : 0;
    for (let i = 3; i >= 0; i--) low = low * 256 + (i < n ? this.bytes[at + i] : filling);
    for (let i = Math.min(n, 8) - 1; i >= 4; i--) high = high * 256 + this.bytes[at + i];
    return high * 2 ** 32 + low;
  }

  /** @param {number} number */
  put(number) {
    const value = this.top();
    const nTaken = this.base + this.at;
    if (number > nTaken + MEMO_SLACK)
      this.fail(`memo number ${number}: ${nTaken} bytes of a pickle need none so high`);
    for (let i = this.memo.length; i < number; i++) this.memo.push(undefined);
    this.charge(VALUE_BYTES);
    if (number < this.memo.length && this.memo[number] !== undefined) this.runs.isFinal = false;
    this.memo[number] = value;
    if (value instanceof PickleContainer) value.memo = number;
  }

  /** @param {number} number */
  get(number) {
    if (this.memo[number] === undefined) this.fail(`memo number ${number} was never set`);
    return this.memo[number];
  }

  proto() {
    const protocol = this.number(1);
    if (this.opcodeAt !== 0) this.fail('it may stand at the beginning only');
    if (protocol < 2 || protocol > 5) this.fail(`protocol ${protocol}: 2 to 5 are read`);
  }

  frame() {
    const n = this.number(8);
    this.frameEnd = Math.max(this.frameEnd, this.base + this.at + n);
  }

  stop() {
    const root = this.pop();
    if (this.n + this.marks.length > 0)
      this.fail(`${this.n} values and ${this.marks.length} marks are left over`);
    this.isDone = true;
    return root;
  }

  mark() {
    if (this.marks.length === MOST_DEPTH) this.fail(`more than the limit of ${MOST_DEPTH} marks at once`);
    const run = this.runs.repeated(this);
    if (run === null) {
      this.marks.push(this.n);
      this.bottom = this.n;
      return;
    }
    this.charge(run.nItems * VALUE_BYTES);
    this.stack[this.n - 1] = this.memo[this.memo.length - 1] = run.list;
    this.at += run.nBytes;
  }

  /**
   * Executes one opcode.
   * @returns {any} the result, once the pickle ends
   */
  step() {
    this.opcodeAt = this.base + this.at;
    if (this.at >= this.bytes.length)
      throw new FormatError(
        `byte ${this.opcodeAt}: the pickle is truncated: it ends without the opcode STOP`,
      );
    const code = this.bytes[this.at++];
    const opcode = PICKLE_OPCODES[code];
    if (opcode === undefined)
      throw new FormatError(
        `byte ${this.opcodeAt}: 0x${code.toString(16).padStart(2, '0')} is no opcode of a pickle`,
      );
    this.opcode = opcode;
    if (opcode.run === null) this.fail(`refused, it ${opcode.does}: a snapshot holds plain data only`);
    if (this.opcodeAt === 0 && code !== 0x80) this.fail('a pickle must begin with PROTO');
    return /** @type {(of: Unpickler) => any} */ (opcode.run)(this);
  }

  /** Steps over zeros, with which copies of disks and of buffers are padded. */
  skipZeros() {
    while (this.at < this.bytes.length && this.bytes[this.at] === 0) this.at++;
  }

  /** After STOP. Like Python, reads no further than the zeros. */
  checkEnd() {
    this.skipZeros();
    this.hasRest = this.at < this.bytes.length;
    const end = this.base + this.at;
    if (!this.hasRest && this.frameEnd > end)
      throw new FormatError(
        `byte ${end}: the file is truncated: a frame promises ${this.frameEnd - end} more bytes`,
      );
  }

  root() {
    let root;
    while (!this.isDone) root = this.step();
    this.checkEnd();
    return root;
  }

  /**
   * Goes on with bytes that begin with those that were not consumed.
   * @param {Uint8Array} bytes
   */
  goOn(bytes) {
    this.base += this.at;
    this.at = 0;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.nAllowed = FREE_BYTES + DENSITY * (this.base + bytes.length);
  }
}

/** Bytes that arrive in parts, in one array as far as they were not consumed. */
class Arrivals {
  /** @param {import('./document.js').Pull} pull */
  constructor(pull) {
    this.pull = pull;
    this.room = new Uint8Array(4 * MOST_OPCODE_BYTES);
    this.isLast = false;
  }

  /**
   * At least n bytes more, or as many as there are.
   * @param {Uint8Array} rest the last result, as far as it was not consumed
   * @param {number} n
   * @returns {Promise<Uint8Array>}
   */
  async more(rest, n) {
    let end = rest.length;
    this.room.set(rest);
    while (end < rest.length + n && !this.isLast) {
      const part = await this.pull();
      this.isLast = part === null;
      if (part === null) break;
      if (end + part.length > this.room.length) {
        const grown = new Uint8Array(2 * (end + part.length));
        grown.set(this.room.subarray(0, end));
        this.room = grown;
      }
      this.room.set(part, end);
      end += part.length;
    }
    return this.room.subarray(0, end);
  }
}

/**
 * @param {Uint8Array} bytes
 * @returns {any} null, booleans, numbers, texts, PickleReal, PickleContainer ...
 * @throws {FormatError}
 */
export function readPickle(bytes) {
  return new Unpickler(bytes, null).root();
}

/**
 * The same while the bytes arrive; consumed bytes are not kept.
 * @param {import('./document.js').Pull} pull
 * @param {() => void} report called from time to time
 * @param {PickleTaker | null} taker
 * @returns {Promise<{root: any, nBytes: number, hasRest: boolean}>} nBytes of the pickle; bytes other than
 *   zeros follow it
 * @throws {FormatError}
 */
export async function readPickleStream(pull, report, taker = null) {
  const of = new Unpickler(new Uint8Array(0), taker);
  const arrivals = new Arrivals(pull);
  let root;
  while (!of.isDone) {
    if (!arrivals.isLast) {
      of.goOn(await arrivals.more(of.bytes.subarray(of.at), 2 * MOST_OPCODE_BYTES));
      if (of.base + of.bytes.length > MOST_PICKLE_BYTES)
        throw new FormatError('it holds more than 2 GiB when it is uncompressed, which no snapshot does');
      report();
    }
    const enough = of.bytes.length - (arrivals.isLast ? 0 : MOST_OPCODE_BYTES);
    do root = of.step();
    while (!of.isDone && (of.at <= enough || arrivals.isLast));
  }
  const nBytes = of.base + of.at;
  of.skipZeros();
  while (of.at === of.bytes.length && !arrivals.isLast) {
    of.goOn(await arrivals.more(of.bytes.subarray(of.at), 1));
    of.skipZeros();
  }
  of.checkEnd();
  return { root, nBytes, hasRest: of.hasRest };
}
