/* columns.js - columns of integers, checked against a rule and kept in the smallest typed array that holds
 * them exactly.
 */

/** Thrown for an invalid document; the message names the place. */
export class FormatError extends Error {
  /**
   * @param {string} message
   * @param {string} [place] key path of a value whose byte offset is not known yet
   */
  constructor(message, place = '') {
    super(message);
    this.place = place;
  }
}

/** Beyond this, a JavaScript number stands for several integers. */
export const FAR = Number.MAX_SAFE_INTEGER;
/** The format's limit of a byte count: 2^63 - 1, which a JavaScript number rounds to 2^63. */
export const MOST_BYTES = 2 ** 63;
/** Rows of one table. */
export const MAX_ROWS = 100_000_000;

/**
 * @typedef {Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array | Float64Array}
 *   Numbers
 * @typedef {Int8Array | Int16Array | Int32Array} Indices row numbers of another table, or -1
 *
 * @typedef {object} Column as the column reader leaves it
 * @property {Numbers} values
 * @property {number} min 0 if the column is empty
 * @property {number} max
 * @property {boolean} isSummed the values are sums of differences in the file
 * @property {Map<number, bigint> | null} [exact] by row, values that `values` does not hold exactly
 *
 * @typedef {object} Rule the values that a column may hold
 * @property {number} lo least value
 * @property {number} hi greatest value
 * @property {string} what the name of a value in messages
 * @property {boolean} [isDelta] the file holds differences, to be added up
 */

/**
 * Releases an array's memory at once if the browser can, rather than at the next garbage collection.
 * @param {Numbers} array not used again
 */
export function release({ buffer }) {
  /** @type {any} */ (buffer).transfer?.(0);
}

/**
 * A value as a message shows it.
 * @param {unknown} value
 */
export function shownValue(value) {
  return String(JSON.stringify(value)).slice(0, 40);
}

/**
 * Copies a list of a parsed document.
 * @param {any[]} list
 * @param {string} path
 * @param {boolean} isDelta
 * @returns {Column}
 */
function columnOfList(list, path, isDelta) {
  const values = new Float64Array(list.length);
  let sum = 0;
  let min = Infinity;
  let max = -Infinity;
  for (let i = 0; i < list.length; i++) {
    const value = list[i];
    if (!Number.isInteger(value))
      throw new FormatError(`${path}[${i}] is ${shownValue(value)}, not a whole number`);
    sum = isDelta ? sum + value : value;
    values[i] = sum;
    if (sum < min) min = sum;
    if (sum > max) max = sum;
  }
  return {
    values,
    min: list.length > 0 ? min : 0,
    max: list.length > 0 ? max : 0,
    isSummed: isDelta,
    exact: null,
  };
}

/**
 * @param {any} value
 * @returns {value is Column}
 */
export function isColumn(value) {
  return typeof value === 'object' && value !== null && ArrayBuffer.isView(value.values);
}

/**
 * Number of rows of a table, which is the length of any column; 0 if the table is absent.
 * @param {any} table
 * @param {string} place name of the table
 * @param {string} key
 */
export function rowsOf(table, place, key) {
  const column = table[key];
  if (Object.keys(table).length === 0) return 0;
  if (!Array.isArray(column) && !isColumn(column))
    throw new FormatError(`${place}.${key} is missing or not a list`);
  return isColumn(column) ? column.values.length : column.length;
}

/**
 * A column whose numbers are all checked.
 * @param {any} table
 * @param {string} place name of the table
 * @param {string} key
 * @param {number} count rows that the column must have
 * @param {Rule} rule
 * @returns {Column}
 */
function checked(table, place, key, count, rule) {
  const path = `${place}.${key}`;
  const given = table[key] ?? (count === 0 ? [] : undefined);
  const isDelta = rule.isDelta === true;
  if (!Array.isArray(given) && !isColumn(given)) throw new FormatError(`${path} is missing or not a list`);
  const column = isColumn(given) ? given : columnOfList(given, path, isDelta);
  const { values, min, max } = column;
  if (values.length !== count)
    throw new FormatError(`${path} has ${values.length} rows where ${count} are expected`);
  if (count > 0 && (min < rule.lo || max > rule.hi)) {
    const at = values.findIndex((/** @type {number} */ value) => value < rule.lo || value > rule.hi);
    throw new FormatError(`${path}[${at}] ${isDelta ? 'leads to' : 'is'} ${values[at]}, not ${rule.what}`);
  }
  return column;
}

/**
 * A column's values in an array of another type.
 * @param {Column} column
 * @param {any} Type of array
 * @returns {any}
 */
function valuesAs(column, Type) {
  const { values } = column;
  if (values instanceof Type) return values;
  const made = new Type(values);
  column.values = made;
  release(values);
  return made;
}

/**
 * A column of references to the rows of a table of `n`, or -1.
 * @param {any} table
 * @param {string} place
 * @param {string} key
 * @param {number} count
 * @param {number} n rows of the other table
 * @param {string} what the name of these rows in messages
 * @param {boolean} [isDelta]
 * @returns {Indices}
 */
export function indicesOf(table, place, key, count, n, what, isDelta = false) {
  const column = checked(table, place, key, count, {
    lo: -1,
    hi: n - 1,
    what: `one of ${n} ${what}`,
    isDelta,
  });
  return valuesAs(column, n <= 2 ** 7 ? Int8Array : n <= 2 ** 15 ? Int16Array : Int32Array);
}

/**
 * A column of rows of a small table.
 * @param {any} table
 * @param {string} place
 * @param {string} key
 * @param {number} count
 * @param {number} n rows of the other table
 * @param {string} what the name of these rows in messages
 * @returns {Uint8Array}
 */
export function bytesOf(table, place, key, count, n, what) {
  return valuesAs(
    checked(table, place, key, count, { lo: 0, hi: n - 1, what: `one of ${n} ${what}` }),
    Uint8Array,
  );
}

/**
 * A column of numbers of any size, in 4 bytes each if they fit.
 * @param {any} table
 * @param {string} place
 * @param {string} key
 * @param {number} count
 * @param {Rule} rule
 * @returns {Float64Array | Uint32Array}
 */
export function amountsOf(table, place, key, count, rule) {
  const column = checked(table, place, key, count, rule);
  return valuesAs(column, column.min >= 0 && column.max < 2 ** 32 ? Uint32Array : Float64Array);
}

/**
 * A column of numbers in 8 bytes each.
 * @param {any} table
 * @param {string} place
 * @param {string} key
 * @param {number} count
 * @param {Rule} rule
 * @returns {Float64Array}
 */
export function float64Of(table, place, key, count, rule) {
  return valuesAs(checked(table, place, key, count, rule), Float64Array);
}

/**
 * A column of numbers in 4 bytes each.
 * @param {any} table
 * @param {string} place
 * @param {string} key
 * @param {number} count
 * @param {Rule} rule
 * @returns {Int32Array}
 */
export function int32Of(table, place, key, count, rule) {
  return valuesAs(checked(table, place, key, count, rule), Int32Array);
}
