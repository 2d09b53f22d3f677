/* format_values.js - typed access to the values of a document, and the maps from its numbers to ours. */
import { categoryNumber } from './categories.js';
import { CATEGORIES } from './colours.js';
import { bytesOf, FormatError, release } from './columns.js';
import { CATEGORY_NAMES } from './format_names.js';

/** @param {unknown} value */
export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * @param {any} parent
 * @param {string} key
 * @returns {Record<string, any>} {} if it is absent
 */
export function section(parent, key) {
  const value = parent[key];
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw new FormatError(`${key} is not an object`);
  return value;
}

/**
 * @param {any} parent
 * @param {string} key
 * @param {string} place
 * @returns {any[]} [] if it is absent
 */
export function list(parent, key, place) {
  const value = parent[key];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new FormatError(`${place} is not a list`);
  return value;
}

/**
 * The same, of at most `limit` objects.
 * @param {any} parent
 * @param {string} key
 * @param {string} place
 * @param {number} limit
 */
export function listOfObjects(parent, key, place, limit) {
  const found = list(parent, key, place);
  const bad = found.findIndex((value) => !isObject(value));
  if (bad >= 0) throw new FormatError(`${place}[${bad}] is not an object`);
  if (found.length > limit) throw new FormatError(`${place} has ${found.length} rows; ${limit} is the limit`);
  return found;
}

/**
 * @param {unknown} value
 * @param {number} fallback
 */
export function numberOr(value, fallback) {
  return typeof value === 'number' && Number.isFinite(value) ? value : fallback;
}

/**
 * @param {unknown} value
 * @param {string} fallback
 */
export function textOr(value, fallback) {
  return typeof value === 'string' ? value : fallback;
}

/**
 * Maps the numbers of a file to ours by their names.
 * @param {any} doc
 * @param {string} key
 * @param {string[]} usual names of version 1, for files without names
 * @param {(name: string) => number} numberOf
 */
export function mapping(doc, key, usual, numberOf) {
  const names = doc[key] === undefined ? usual : list(doc, key, key);
  return Uint8Array.from(names, (name, i) => {
    if (typeof name !== 'string') throw new FormatError(`${key}[${i}]: a text was expected`);
    return numberOf(name);
  });
}

/**
 * The category names of the file: the built-in ones, followed by the file's own.
 * @param {any} doc
 * @returns {{names: string[], numbers: Uint8Array}} numbers: maps the file's numbers to indices of names
 */
export function readCategories(doc) {
  /** @type {string[]} */
  const names = [...CATEGORIES];
  const numbers = mapping(doc, 'categories', CATEGORY_NAMES, (given) => {
    const number = categoryNumber(names, given);
    if (typeof number === 'string') throw new FormatError(`categories: ${number}`);
    return number;
  });
  return { names, numbers };
}

/**
 * A column of numbers that the file names.
 * @param {any} table
 * @param {string} place
 * @param {string} key
 * @param {number} count
 * @param {Uint8Array} map from its numbers to ours
 * @param {string} what the name of these numbers in messages
 * @returns {Uint8Array}
 */
export function renumberedOf(table, place, key, count, map, what) {
  const values = bytesOf(table, place, key, count, map.length, what);
  const ours = new Uint8Array(count);
  for (let i = 0; i < count; i++) ours[i] = map[values[i]];
  release(values);
  return ours;
}
