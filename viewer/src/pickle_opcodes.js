/* pickle_opcodes.js - the opcodes of a pickle: what each does, or why it is refused. */
import { PICKLED_BYTES, PickleReal } from './pickle_values.js';

/** @typedef {import('./pickle.js').Unpickler} Unpickler */

/**
 * @typedef {object} Opcode
 * @property {string} name Python's
 * @property {((of: Unpickler) => any) | null} run null: it is refused
 * @property {string} does why it is refused
 */

/**
 * @param {Unpickler} of
 * @param {any} value
 */
const pushed = (of, value) => of.push(value);

const NAMES_CODE = 'names code to be imported';
const CALLS_CODE = 'calls code';
const IS_OUTSIDE = 'refers to an object outside the file';
const IS_OLD = 'belongs to protocols 0 and 1';
const IS_A_SET = 'makes a set';

/**
 * By code; undefined: there is no such opcode.
 * @type {(Opcode | undefined)[]}
 */
export const PICKLE_OPCODES = new Array(256).fill(undefined);

for (const [
  code,
  name,
  run,
] of /** @type {[string | number, string, string | ((of: Unpickler) => any)][]} */ ([
  ['(', 'MARK', (of) => of.mark()],
  ['.', 'STOP', (of) => of.stop()],
  ['0', 'POP', (of) => of.pop()],
  ['1', 'POP_MARK', (of) => (of.n = of.popMark())],
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
]))
  PICKLE_OPCODES[typeof code === 'string' ? code.charCodeAt(0) : code] =
    typeof run === 'string' ? { name, run: null, does: run } : { name, run, does: '' };
