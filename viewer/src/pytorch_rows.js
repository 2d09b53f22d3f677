/* pytorch_rows.js - the events of a PyTorch snapshot before they are merged: by device, in columns. */
import { release } from './columns.js';
import { ACTION } from './subjects.js';

const FIRST_ROWS = 2 ** 14;

/** The columns and what holds their numbers. A string, a stack or a scope is -1 where there is none. */
const COLUMNS = {
  action: Uint8Array, // ACTION
  device: Uint8Array,
  stream: Uint8Array,
  category: Uint8Array, // index in the category names met so far
  address: Float64Array,
  requestedBytes: Float64Array,
  blockBytes: Float64Array,
  timeUs: Float64Array,
  stack: Int32Array,
  scope: Int32Array,
  name: Int32Array,
  compile: Int32Array, // its compile_context
  metadata: Int32Array, // its user_metadata without the tensor's name
};

/** @typedef {keyof typeof COLUMNS} ColumnName */
const NAMES = /** @type {ColumnName[]} */ (Object.keys(COLUMNS));

export class TraceRows {
  constructor() {
    this.count = 0;
    this.action = new Uint8Array(FIRST_ROWS);
    this.device = new Uint8Array(FIRST_ROWS);
    this.stream = new Uint8Array(FIRST_ROWS);
    this.category = new Uint8Array(FIRST_ROWS);
    this.address = new Float64Array(FIRST_ROWS);
    this.requestedBytes = new Float64Array(FIRST_ROWS);
    this.blockBytes = new Float64Array(FIRST_ROWS);
    this.timeUs = new Float64Array(FIRST_ROWS);
    this.stack = new Int32Array(FIRST_ROWS);
    this.scope = new Int32Array(FIRST_ROWS);
    this.name = new Int32Array(FIRST_ROWS);
    this.compile = new Int32Array(FIRST_ROWS);
    this.metadata = new Int32Array(FIRST_ROWS);
  }

  /**
   * Makes room for n more rows.
   * @param {number} n
   */
  reserve(n) {
    const wanted = this.count + n;
    if (wanted <= this.action.length) return;
    const capacity = Math.max(wanted, 2 * this.action.length);
    for (const name of NAMES) {
      const grown = new COLUMNS[name](capacity);
      grown.set(this[name]);
      release(this[name]);
      /** @type {any} */ (this)[name] = grown;
    }
  }

  /**
   * A new row of a device, a mark; the caller has made room for it.
   * @param {number} device
   * @returns {number} its number
   */
  add(device) {
    const row = this.count++;
    this.action[row] = ACTION.MARK;
    this.device[row] = device;
    this.stream[row] = this.category[row] = 0;
    this.address[row] = this.requestedBytes[row] = this.blockBytes[row] = this.timeUs[row] = 0;
    this.stack[row] = this.scope[row] = this.name[row] = this.compile[row] = this.metadata[row] = -1;
    return row;
  }

  /**
   * A column in the form of the document reader. The rows lose the column.
   * @param {ColumnName} name
   * @param {Int32Array | null} order of the rows; null: as they are
   * @param {boolean} [isSummed]
   * @returns {import('./columns.js').Column}
   */
  take(name, order, isSummed = false) {
    const from = this[name];
    const values = from.slice(0, this.count);
    if (order !== null) for (let i = 0; i < order.length; i++) values[i] = from[order[i]];
    let min = values.length > 0 ? values[0] : 0;
    let max = min;
    for (let i = 1; i < values.length; i++) {
      const value = values[i];
      if (value < min) min = value;
      if (value > max) max = value;
    }
    release(from);
    return { values, min, max, isSummed };
  }
}
