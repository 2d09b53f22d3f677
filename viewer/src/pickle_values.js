/* pickle_values.js - the values of a Python pickle: null, booleans, numbers, texts, and what is below. */

export const NOTHING_MADE = 0;
/** @type {any[]} */
const NO_ITEMS = [];

/**
 * A list, a tuple, or a dict with its keys and values in turn. Values that occur in several places are one
 * object. What was read and dropped is "made", if it stands for a number now, or "gone".
 */
export class PickleContainer {
  /**
   * @param {'list' | 'tuple' | 'dict' | 'made' | 'gone'} kind
   * @param {number} offset of its opcode
   */
  constructor(kind, offset) {
    this.kind = kind;
    this.offset = offset;
    this.depth = 0; // depth of containers within it
    /** @type {any[]} */
    this.items = NO_ITEMS; // shared while it is empty: append to it through `add`
    this.memo = -1; // its last memo number; -1: none
    this.isTaken = false; // of a list: items of it were read and dropped
    this.what = NOTHING_MADE; // of "made": what the number is of
    this.number = -1;
  }

  /** @param {any[]} items */
  add(items) {
    if (this.items.length === 0) this.items = items;
    else for (const item of items) this.items.push(item);
  }

  /**
   * Drops the items, and stands for a number from now on.
   * @param {number} what
   * @param {number} number
   */
  make(what, number) {
    this.kind = 'made';
    this.items = NO_ITEMS;
    this.what = what;
    this.number = number;
  }

  /** Drops the items. */
  drop() {
    if (this.kind === 'made') return;
    this.kind = 'gone';
    this.items = NO_ITEMS;
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

export const PICKLED_BYTES = new PickleOther('bytes');
export const PICKLED_HUGE = new PickleOther('an integer beyond 64 bits');

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
  if (value instanceof PickleContainer)
    return value.kind === 'made' || value.kind === 'gone'
      ? 'a part that stands elsewhere, too'
      : `a ${value.kind}`;
  return value instanceof PickleReal ? 'a real number' : value.kind;
}
