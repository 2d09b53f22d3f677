/* pytorch_place.js - typed access to values of a PyTorch snapshot, with their places for messages. */
import { FormatError } from './columns.js';
import { lettersOf } from './json_text.js';
import { pathOfItem, pathOfKey } from './key_path.js';
import { PickleContainer, pickleKind } from './pickle_values.js';

/** Where a value stands, for messages. */
export class Place {
  /**
   * @param {Place | null} up
   * @param {string | number} key
   * @param {number} [offset] of the container at hand
   */
  constructor(up, key, offset = 0) {
    this.up = up;
    this.key = key;
    this.offset = offset;
  }

  /** @param {string | number} key */
  at(key) {
    return new Place(this, key);
  }

  /** @returns {string} */
  path() {
    const before = this.up?.path() ?? '';
    if (typeof this.key === 'number') return pathOfItem(before, this.key);
    const bytes = new TextEncoder().encode(this.key);
    return this.key === '' ? before : pathOfKey(before, lettersOf(bytes, 0, bytes.length));
  }

  /**
   * @param {string} message
   * @returns {never}
   */
  fail(message) {
    /** @type {Place | null} */
    let place = this;
    while (place.offset === 0 && place.up !== null) place = place.up;
    const path = this.path();
    throw new FormatError(`byte ${place.offset}${path ? `, ${path}` : ''}: ${message}`);
  }

  /**
   * @param {any} value
   * @param {string} what
   * @returns {never}
   */
  expected(value, what) {
    return this.fail(
      value === undefined
        ? `it is missing: ${what} was expected`
        : `${what} was expected, not ${pickleKind(value)}`,
    );
  }

  /**
   * @param {any} value
   * @returns {any[]}
   */
  list(value) {
    if (!isOfKind(value, 'list')) this.expected(value, 'a list');
    this.offset = value.offset;
    if (value.isTaken) this.fail('a list was expected, not a part that stands elsewhere, too');
    return value.items;
  }

  /**
   * The value of a key; the last one if the key repeats, as in Python.
   * @param {any} value
   * @returns {Map<any, any>}
   */
  dict(value) {
    if (!isOfKind(value, 'dict')) this.expected(value, 'a dict');
    this.offset = value.offset;
    const found = new Map();
    for (let i = 0; i < value.items.length; i += 2)
      if (typeof value.items[i] === 'string') found.set(value.items[i], value.items[i + 1]);
    return found;
  }

  /**
   * @param {any} value
   * @param {number} min
   * @param {number} max
   * @returns {number}
   */
  integer(value, min, max) {
    if (typeof value !== 'number') this.expected(value, 'an integer');
    if (value < min || value > max) this.fail(`${value} is not in the range of ${min} to ${max}`);
    return value;
  }

  /**
   * @param {any} value
   * @returns {string}
   */
  text(value) {
    if (typeof value !== 'string') this.expected(value, 'a text');
    return value;
  }
}

/**
 * A container of that kind; a tuple is a list, too.
 * @param {any} value
 * @param {'list' | 'dict'} kind
 */
export function isOfKind(value, kind) {
  return (
    value instanceof PickleContainer && (value.kind === kind || (value.kind === 'tuple' && kind === 'list'))
  );
}

/** Numbers texts. */
export class Interner {
  constructor() {
    /** @type {string[]} */
    this.texts = [];
    /** @type {Map<string, number>} */
    this.numbers = new Map();
  }

  /**
   * @param {string} text
   * @returns {number}
   */
  number(text) {
    let number = this.numbers.get(text);
    if (number === undefined) {
      number = this.texts.push(text) - 1;
      this.numbers.set(text, number);
    }
    return number;
  }
}
