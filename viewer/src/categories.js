/* categories.js - the categories of one file: those that are known, and behind them the file's own words. */
import { CATEGORIES } from './colours.js';

/** Of one file, the known ones included; as the program has it. */
const MOST_CATEGORIES = 64;
const MOST_CATEGORY_BYTES = 128;

/**
 * The number of a category's name, a new one where it is met first; "" counts as unknown.
 * @param {string[]} names grows
 * @param {string} given
 * @returns {number | string} or why there can be none
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
