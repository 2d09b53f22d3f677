/* pickle.js - reads plain data from a Python pickle of protocol 2 to 5. Nothing in it is executed: opcodes
 * that name code, make calls, build objects or refer to anything outside the file are refused by name, as in
 * the program.
 */
import { FormatError } from './columns.js';

const MOST_DEPTH = 32; // nested containers; open marks
const MOST_PICKLE_TEXT = 2 ** 20;
const MOST_OPCODE_BYTES = MOST_PICKLE_TEXT + 16; // with its argument
const MOST_PICKLE_BYTES = 2 ** 31;
const MEMO_SLACK = 256; // memo numbers allowed beyond one per byte
const FREE_BYTES = 256 * 1024; // bytes of memory for a pickle of any size
const DENSITY = 6; // the most bytes of memory per byte of the pickle: 8 for a value, 24 for a container
const VALUE_BYTES = 8;
const CONTAINER_BYTES = 24;

/**
 * A list, a tuple, or a dict with its keys and values in turn. Values that occur in several places are one
 * object.
 */
export class PickleContainer {
  /**
   * @param {'list' | 'tuple' | 'dict'} kind
   * @param {number} offset of its opcode
   */
  constructor(kind, offset) {
    this.kind = kind;
    this.offset = offset;
    this.depth = 0; // depth of containers within it
    /** @type {any[]} */
    this.items = [];
  }
}

/** A Python float. */
export class PickleReal {
  /** @param {number} value */
  constructor(value) {
    this.value = value;
  }
}

/** A value of a type that this reader has no use for. */
class PickleOther {
  /** @param {string} kind */
  constructor(kind) {
    this.kind = kind;
  }
}

const PICKLED_BYTES = new PickleOther('bytes');
const PICKLED_HUGE = new PickleOther('an integer beyond 64 bits');

/**
 * The name of a value's type in messages.
 * @param {any} value
 */
export function pickleKind(value) {
  if (value === undefined) return 'nothing';
  if (value === null) return 'None';
  if (typeof value === 'boolean') return 'a boolean';
  if (typeof value === 'number') return 'an integer';
  if (typeof value === 'string') return 'a text';
  if (value instanceof PickleContainer) return `a ${value.kind}`;
  return value instanceof PickleReal ? 'a real number' : value.kind;
}

class Unpickler {
  /** @param {Uint8Array} bytes at least the first */
  constructor(bytes) {
    this.base = 0; // offset of bytes[0] in the pickle
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.decoder = new TextDecoder();
    this.at = 0;
    this.opcodeAt = 0;
    this.opcodeName = '';
    /** @type {any[]} */
    this.stack = [];
    /** @type {any[]} */
    this.memo = [];
    /** @type {number[]} heights of the stack */
    this.marks = [];
    this.nCharged = 0;
    this.frameEnd = 0; // the furthest end of a frame
    this.isDone = false;
  }

  /**
   * @param {string} message
   * @returns {never}
   */
  fail(message) {
    throw new FormatError(`byte ${this.opcodeAt}, opcode ${this.opcodeName}: ${message}`);
  }

  /**
   * Accounts for memory before it is allocated.
   * @param {number} n bytes
   */
  charge(n) {
    const nBytes = this.base + this.bytes.length;
    const nAllowed = FREE_BYTES + DENSITY * nBytes;
    this.nCharged += n;
    if (this.nCharged > nAllowed)
      this.fail(
        `up to here the ${nBytes} bytes make more than the limit of ${nAllowed} bytes of memory: no snapshot is that dense`,
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

  bottom() {
    return this.marks.length > 0 ? this.marks[this.marks.length - 1] : 0;
  }

  top() {
    if (this.stack.length <= this.bottom()) this.fail('the stack has no value for it');
    return this.stack[this.stack.length - 1];
  }

  pop() {
    this.top();
    return this.stack.pop();
  }

  popMark() {
    const base = this.marks.pop();
    if (base === undefined) this.fail('no mark stands before it');
    return /** @type {number} */ (base);
  }

  /**
   * Moves the stack's values from `base` into a container.
   * @param {PickleContainer} to
   * @param {number} base
   */
  fill(to, base) {
    const n = this.stack.length - base;
    if (to.kind === 'dict' && n % 2 !== 0) this.fail('a key without a value');
    this.charge(n * VALUE_BYTES);
    for (let i = base; i < this.stack.length; i++) {
      const value = this.stack[i];
      if (value instanceof PickleContainer && value.depth >= to.depth) to.depth = value.depth + 1;
      to.items.push(value);
    }
    if (to.depth >= MOST_DEPTH) this.fail(`containers lie more than the limit of ${MOST_DEPTH} levels deep`);
    this.stack.length = base;
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
    this.stack.push(made);
  }

  /**
   * @param {number} n number of values above the last mark
   * @returns {number} where these begin
   */
  last(n) {
    if (this.stack.length - this.bottom() < n) this.fail('the stack has too few values for it');
    return this.stack.length - n;
  }

  /**
   * Moves the values from `base` into the container below them.
   * @param {'list' | 'dict'} kind
   * @param {number} base
   */
  appendBelow(kind, base) {
    const to = base > this.bottom() ? this.stack[base - 1] : undefined;
    if (!(to instanceof PickleContainer) || to.kind !== kind)
      this.fail(`it needs a ${kind}, not ${pickleKind(to)}`);
    this.fill(/** @type {PickleContainer} */ (to), base);
  }

  /** @param {1 | 4 | 8} n bytes of its length */
  text(n) {
    const at = this.run(n);
    const end = this.at;
    let text = '';
    for (let i = at; i < end && end - at <= 40; i++) {
      if (this.bytes[i] === 0 || this.bytes[i] > 126) return this.repaired(at, end);
      text += String.fromCharCode(this.bytes[i]);
    }
    return end - at <= 40 ? text : this.repaired(at, end);
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
    let value = 0n;
    for (let i = n; i > 0; i--) {
      if (i > 8 && this.bytes[at + i - 1] !== filling) return PICKLED_HUGE;
      if (i <= 8) value = value * 256n + BigInt(this.bytes[at + i - 1]);
    }
    if (n > 8 && this.bytes[at + 7] >= 128 !== isNegative) return PICKLED_HUGE;
    return Number(isNegative ? value - (1n << BigInt(8 * Math.min(n, 8))) : value);
  }

  /** @param {number} number */
  put(number) {
    const value = this.top();
    const nTaken = this.base + this.at;
    if (number > nTaken + MEMO_SLACK)
      this.fail(`memo number ${number}: ${nTaken} bytes of a pickle need none so high`);
    for (let i = this.memo.length; i < number; i++) this.memo.push(undefined);
    this.charge(VALUE_BYTES);
    this.memo[number] = value;
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
    if (this.stack.length + this.marks.length > 0)
      this.fail(`${this.stack.length} values and ${this.marks.length} marks are left over`);
    this.isDone = true;
    return root;
  }

  mark() {
    if (this.marks.length === MOST_DEPTH) this.fail(`more than the limit of ${MOST_DEPTH} marks at once`);
    this.marks.push(this.stack.length);
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
    const opcode = PICKLE_OPCODES.get(code);
    if (opcode === undefined)
      throw new FormatError(
        `byte ${this.opcodeAt}: 0x${code.toString(16).padStart(2, '0')} is no opcode of a pickle`,
      );
    const [name, run] = opcode;
    this.opcodeName = name;
    if (typeof run === 'string') this.fail(`refused, it ${run}: a snapshot holds plain data only`);
    if (this.opcodeAt === 0 && code !== 0x80) this.fail('a pickle must begin with PROTO');
    return /** @type {(of: Unpickler) => any} */ (run)(this);
  }

  checkEnd() {
    if (this.at < this.bytes.length)
      throw new FormatError(`byte ${this.base + this.at}: the file goes on after the end of the pickle`);
    const end = this.base + this.at;
    if (this.frameEnd > end)
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
   * Drops the consumed bytes and appends more.
   * @param {Uint8Array[]} parts
   */
  refill(parts) {
    const left = this.bytes.subarray(this.at);
    const bytes = new Uint8Array(parts.reduce((n, part) => n + part.length, left.length));
    let at = left.length;
    bytes.set(left);
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    this.base += this.at;
    this.at = 0;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
  }
}

/**
 * @param {Unpickler} of
 * @param {any} value
 */
const pushed = (of, value) => of.stack.push(value);

const NAMES_CODE = 'names code to be imported';
const CALLS_CODE = 'calls code';
const IS_OUTSIDE = 'refers to an object outside the file';
const IS_OLD = 'belongs to protocols 0 and 1';
const IS_A_SET = 'makes a set';

/**
 * By code: Python's name, and the action or the reason for the refusal.
 * @type {Map<number, [string, string | ((of: Unpickler) => any)]>}
 */
const PICKLE_OPCODES = new Map(
  /** @type {[string | number, string, string | ((of: Unpickler) => any)][]} */ ([
    ['(', 'MARK', (of) => of.mark()],
    ['.', 'STOP', (of) => of.stop()],
    ['0', 'POP', (of) => of.pop()],
    ['1', 'POP_MARK', (of) => (of.stack.length = of.popMark())],
    ['2', 'DUP', (of) => pushed(of, of.top())],
    ['F', 'FLOAT', IS_OLD],
    ['I', 'INT', IS_OLD],
    ['L', 'LONG', IS_OLD],
    ['S', 'STRING', IS_OLD],
    ['V', 'UNICODE', IS_OLD],
    ['g', 'GET', IS_OLD],
    ['p', 'PUT', IS_OLD],
    ['J', 'BININT', (of) => pushed(of, of.number(4) | 0)],
    ['K', 'BININT1', (of) => pushed(of, of.number(1))],
    ['M', 'BININT2', (of) => pushed(of, of.number(2))],
    ['N', 'NONE', (of) => pushed(of, null)],
    ['P', 'PERSID', IS_OUTSIDE],
    ['Q', 'BINPERSID', IS_OUTSIDE],
    ['R', 'REDUCE', CALLS_CODE],
    ['T', 'BINSTRING', (of) => pushed(of, of.text(4))],
    ['U', 'SHORT_BINSTRING', (of) => pushed(of, of.text(1))],
    ['X', 'BINUNICODE', (of) => pushed(of, of.text(4))],
    ['a', 'APPEND', (of) => of.appendBelow('list', of.last(2) + 1)],
    ['b', 'BUILD', 'builds an object'],
    ['c', 'GLOBAL', NAMES_CODE],
    ['d', 'DICT', (of) => of.gather('dict', of.popMark())],
    ['}', 'EMPTY_DICT', (of) => pushed(of, of.make('dict'))],
    ['e', 'APPENDS', (of) => of.appendBelow('list', of.popMark())],
    ['h', 'BINGET', (of) => pushed(of, of.get(of.number(1)))],
    ['i', 'INST', CALLS_CODE],
    ['j', 'LONG_BINGET', (of) => pushed(of, of.get(of.number(4)))],
    ['l', 'LIST', (of) => of.gather('list', of.popMark())],
    [']', 'EMPTY_LIST', (of) => pushed(of, of.make('list'))],
    ['o', 'OBJ', CALLS_CODE],
    ['q', 'BINPUT', (of) => of.put(of.number(1))],
    ['r', 'LONG_BINPUT', (of) => of.put(of.number(4))],
    ['s', 'SETITEM', (of) => of.appendBelow('dict', of.last(3) + 1)],
    ['t', 'TUPLE', (of) => of.gather('tuple', of.popMark())],
    [')', 'EMPTY_TUPLE', (of) => pushed(of, of.make('tuple'))],
    ['u', 'SETITEMS', (of) => of.appendBelow('dict', of.popMark())],
    ['G', 'BINFLOAT', (of) => pushed(of, new PickleReal(of.view.getFloat64(of.take(8))))],
    ['B', 'BINBYTES', (of) => of.run(4) >= 0 && pushed(of, PICKLED_BYTES)],
    ['C', 'SHORT_BINBYTES', (of) => of.run(1) >= 0 && pushed(of, PICKLED_BYTES)],
    [0x80, 'PROTO', (of) => of.proto()],
    [0x81, 'NEWOBJ', CALLS_CODE],
    [0x82, 'EXT1', NAMES_CODE],
    [0x83, 'EXT2', NAMES_CODE],
    [0x84, 'EXT4', NAMES_CODE],
    [0x85, 'TUPLE1', (of) => of.gather('tuple', of.last(1))],
    [0x86, 'TUPLE2', (of) => of.gather('tuple', of.last(2))],
    [0x87, 'TUPLE3', (of) => of.gather('tuple', of.last(3))],
    [0x88, 'NEWTRUE', (of) => pushed(of, true)],
    [0x89, 'NEWFALSE', (of) => pushed(of, false)],
    [0x8a, 'LONG1', (of) => pushed(of, of.long(of.number(1)))],
    [
      0x8b,
      'LONG4',
      (of) => {
        const n = of.number(4);
        if (n >= 2 ** 31) of.fail('an integer of a negative number of bytes');
        pushed(of, of.long(n));
      },
    ],
    [0x8c, 'SHORT_BINUNICODE', (of) => pushed(of, of.text(1))],
    [0x8d, 'BINUNICODE8', (of) => pushed(of, of.text(8))],
    [0x8e, 'BINBYTES8', (of) => of.run(8) >= 0 && pushed(of, PICKLED_BYTES)],
    [0x8f, 'EMPTY_SET', IS_A_SET],
    [0x90, 'ADDITEMS', IS_A_SET],
    [0x91, 'FROZENSET', IS_A_SET],
    [0x92, 'NEWOBJ_EX', CALLS_CODE],
    [0x93, 'STACK_GLOBAL', NAMES_CODE],
    [0x94, 'MEMOIZE', (of) => of.put(of.memo.length)],
    [0x95, 'FRAME', (of) => of.frame()],
    [0x96, 'BYTEARRAY8', (of) => of.run(8) >= 0 && pushed(of, PICKLED_BYTES)],
    [0x97, 'NEXT_BUFFER', IS_OUTSIDE],
    [0x98, 'READONLY_BUFFER', IS_OUTSIDE],
  ]).map(([code, name, run]) => [typeof code === 'string' ? code.charCodeAt(0) : code, [name, run]]),
);

/**
 * @param {Uint8Array} bytes
 * @returns {any} null, booleans, numbers, texts, PickleReal, PickleContainer ...
 * @throws {FormatError}
 */
export function readPickle(bytes) {
  return new Unpickler(bytes).root();
}

/**
 * The same while the bytes arrive; consumed bytes are not kept.
 * @param {import('./document.js').Pull} pull
 * @param {() => void} report called from time to time
 * @returns {Promise<{root: any, nBytes: number}>}
 * @throws {FormatError}
 */
export async function readPickleStream(pull, report) {
  const of = new Unpickler(new Uint8Array(0));
  let root;
  let isLast = false;
  while (!of.isDone) {
    if (!isLast && of.bytes.length - of.at < MOST_OPCODE_BYTES) {
      const parts = [];
      for (let n = 0; n < 2 * MOST_OPCODE_BYTES && !isLast;) {
        const part = await pull();
        isLast = part === null;
        if (part !== null) n += parts.push(part.slice()) && part.length;
      }
      of.refill(parts);
      if (of.base + of.bytes.length > MOST_PICKLE_BYTES)
        throw new FormatError('it holds more than 2 GiB when it is uncompressed, which no snapshot does');
      report();
    }
    root = of.step();
  }
  if (of.at === of.bytes.length && !isLast) of.refill([(await pull()) ?? new Uint8Array(0)]);
  of.checkEnd();
  return { root, nBytes: of.base + of.bytes.length };
}
