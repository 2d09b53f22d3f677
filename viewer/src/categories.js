/* categories.js - the categories of one file: the built-in ones, followed by the file's own. */
import { CATEGORIES } from './colours.js';

/** The most categories of one file, built-in ones included; the same limit as in the program. */
const MOST_CATEGORIES = 64;
const MOST_CATEGORY_BYTES = 128;

/**
 * The number of a category's name; a new name gets a new number, and "" counts as unknown.
 * @param {string[]} names grows
 * @param {string} given
 * @returns {number | string} or the reason for the refusal
 */
export function categoryNumber(names, given) {
  const name = given === '' ? 'unknown' : given;
  const known = names.indexOf(name);
  const nBytes = new TextEncoder().encode(name).length;
  if (known >= 0) return known;
  if (nBytes > MOST_CATEGORY_BYTES)
    return `a category's name of ${nBytes} bytes: the limit is ${MOST_CATEGORY_BYTES}`;
  if (names.length === MOST_CATEGORIES)
    return `more than the limit of ${MOST_CATEGORIES - CATEGORIES.length} categories beside the ${CATEGORIES.length} that tidemark knows`;
  return names.push(name) - 1;
}
