/* columns.js - the typed arrays of a snapshot. */

/** Thrown for an invalid document; the message names the place. */
export class FormatError extends Error {}

/**
 * @typedef {Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array | Float64Array}
 *   Numbers
 * @typedef {Int8Array | Int16Array | Int32Array} Indices row numbers of another table, or -1
 */

/**
 * Releases an array's memory at once if the browser can, rather than at the next garbage collection.
 * @param {Numbers} array not used again
 */
export function release({ buffer }) {
  /** @type {any} */ (buffer).transfer?.(0);
}
