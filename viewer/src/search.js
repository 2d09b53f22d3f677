/* search.js - finds blocks by name, category, scope, call stack or address.
 *
 * Each text is tested once, not once per block: a million blocks share a few thousand names, scopes and
 * frames.
 */
import { aliveAt } from './index.js';
import { scopeText } from './lanes.js';
import { oncePer } from './once.js';
import { categoryText } from './text.js';

/**
 * @typedef {object} Query
 * @property {(text: string) => boolean} test
 * @property {number} address -1: the search is not for an address
 * @property {string} problem why the search is invalid, or ""
 */

/**
 * "/attn\.(q|k)/" is a regular expression, "0x7f..." an address, anything else a part of a text; case does
 * not matter.
 * @param {string} text not empty
 * @returns {Query}
 */
export function compileQuery(text) {
  if (/^0x[0-9a-f]{1,13}$/i.test(text))
    return { test: () => false, address: parseInt(text, 16), problem: '' };
  const pattern = /^\/(.+?)\/?$/.exec(text);
  if (pattern === null) {
    const wanted = text.toLowerCase();
    return { test: (given) => given.toLowerCase().includes(wanted), address: -1, problem: '' };
  }
  try {
    const expression = new RegExp(pattern[1], 'i');
    return { test: (given) => expression.test(given), address: -1, problem: '' };
  } catch {
    return { test: () => false, address: -1, problem: 'not a regular expression' };
  }
}

/** The distinct texts of scopes, and the text of each scope: most repeat those of the previous step. */
const scopeTexts = oncePer((/** @type {import('./format.js').Snapshot} */ snapshot) => {
  const { scopes } = snapshot;
  const textOf = new Int32Array(scopes.count);
  /** @type {Map<string, number>} */
  const ids = new Map();
  for (let s = 0; s < scopes.count; s++) {
    const text = scopeText(snapshot, s);
    const id = ids.get(text) ?? ids.size;
    ids.set(text, id);
    textOf[s] = id;
  }
  return { texts: [...ids.keys()], textOf };
});

/**
 * 1 for each scope that matches or lies in one that does.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Query} query
 */
function foundScopes(snapshot, query) {
  const { count, parent } = snapshot.scopes;
  const { texts, textOf } = scopeTexts(snapshot);
  const isFound = texts.map(query.test);
  const found = new Uint8Array(count);
  for (let s = 0; s < count; s++)
    found[s] = isFound[textOf[s]] || (parent[s] >= 0 && found[parent[s]]) ? 1 : 0;
  return found;
}

/**
 * 1 for each call stack with a frame whose function or file matches.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Uint8Array} texts
 */
function foundStacks({ stacks, frames }, texts) {
  const found = new Uint8Array(stacks.parent.length);
  const has = (/** @type {number} */ text) => text >= 0 && texts[text] === 1;
  for (let s = 0; s < found.length; s++) {
    const frame = stacks.frame[s];
    found[s] =
      (stacks.parent[s] >= 0 && found[stacks.parent[s]]) ||
      has(frames.function[frame]) ||
      has(frames.file[frame])
        ? 1
        : 0;
  }
  return found;
}

/**
 * Which of a snapshot's texts, scopes, call stacks and categories match, 1 or 0 each.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Query} query
 */
export function findTexts(snapshot, query) {
  const texts = Uint8Array.from(snapshot.strings, (text) => (query.test(text) ? 1 : 0));
  return {
    texts,
    scopes: foundScopes(snapshot, query),
    stacks: foundStacks(snapshot, texts),
    categories: Uint8Array.from(snapshot.categories, (name) =>
      query.test(categoryText(name)) || query.test(name) ? 1 : 0,
    ),
  };
}

/**
 * Which blocks match, 1 or 0 each.
 * @param {import('./run.js').Run} run
 * @param {Query} query
 * @returns {Uint8Array}
 */
export function searchBlocks({ snapshot, index: { blocks } }, query) {
  const found = new Uint8Array(blocks.count);
  if (query.problem !== '') return found;
  if (query.address >= 0) {
    for (let b = 0; b < blocks.count; b++) {
      const begin = blocks.address[b];
      if (query.address >= begin && query.address < begin + blocks.bytes[b]) found[b] = 1;
    }
    return found;
  }
  const { texts, scopes, stacks, categories } = findTexts(snapshot, query);
  const { name, category, scope, stack } = blocks;
  for (let b = 0; b < blocks.count; b++) {
    if (
      (name[b] >= 0 && texts[name[b]]) ||
      categories[category[b]] ||
      (scope[b] >= 0 && scopes[scope[b]]) ||
      (stack[b] >= 0 && stacks[stack[b]])
    )
      found[b] = 1;
  }
  return found;
}

/**
 * The totals of a search.
 * @param {import('./run.js').Run} run
 * @param {Uint8Array} found
 * @param {number} state the instant for the bytes alive
 * @returns {{nBlocks: number, nAlive: number, aliveBytes: number}}
 */
export function sumFound({ index }, found, state) {
  let nBlocks = 0;
  let nAlive = 0;
  let aliveBytes = 0;
  for (let b = 0; b < found.length; b++) nBlocks += found[b];
  for (const b of aliveAt(index, state)) {
    if (!found[b]) continue;
    nAlive++;
    aliveBytes += index.blocks.bytes[b];
  }
  return { nBlocks, nAlive, aliveBytes };
}

/**
 * The next block found after a given one; it wraps around.
 * @param {Uint8Array} found
 * @param {number} from
 * @returns {number} -1: none
 */
export function nextFound(found, from) {
  const at = found.indexOf(1, from + 1);
  return at >= 0 ? at : found.indexOf(1);
}
