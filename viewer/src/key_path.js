/* key_path.js - key paths such as `start.segments[3].address`, as the program shows them in messages. */

const MOST_PATH = 256; // the longest key path in a message
const LEVEL_ROOM = 32; // a level is left out if the path has less room than this
export const MOST_KEY_SHOWN = 48;

/**
 * Appends a key. Bytes that are not printable become question marks.
 * @param {string} path
 * @param {string} key a letter for each byte
 */
export function pathOfKey(path, key) {
  if (path.length + LEVEL_ROOM >= MOST_PATH) return path;
  return `${path}${path ? '.' : ''}${key.slice(0, MOST_KEY_SHOWN).replace(/[^ -~]/g, '?')}`;
}

/**
 * Appends the index of an item.
 * @param {string} path
 * @param {number} index
 */
export function pathOfItem(path, index) {
  return path.length + LEVEL_ROOM >= MOST_PATH ? path : `${path}[${index}]`;
}
