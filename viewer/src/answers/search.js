/* search.js - finds blocks by name, category, scope, call stack, size or address, as the page shows them.
 *
 * Each text is tested once, not once per block: a million blocks share a few thousand names, scopes and
 * frames.
 */
import { aliveAt } from '../run/index.js';
import { BEFORE_RECORDING, foldedStack, framePlace, frameText, siteText } from '../run/frames.js';
import { scopeGroups, scopePath, scopeText } from '../run/lanes.js';
import { oncePer } from '../run/once.js';
import { categoryText, formatBytes, formatExactBytes, namePattern } from '../words/text.js';

const PATH_SEPARATOR = ' › ';
const NO_FRAME = -1; // a site: the block has no call stack

/**
 * @typedef {object} Query
 * @property {(text: string) => boolean} test
 * @property {number} address -1: the search is not for an address
 * @property {((bytes: number, requestedBytes: number) => boolean) | null} bytes the sizes searched for, of whole
 *   blocks; null: the search is for a text
 * @property {boolean} hasPath a path of scopes is searched for
 * @property {boolean} hasCallers a frame with its callers is
 * @property {string} problem why the search is invalid, or ""
 */

const UNITS = ['b', 'kib', 'mib', 'gib', 'tib'];
const SIZE = /^(<=|>=|<|>|=|≤|≥)\s*([\d.,]+)\s*(b|kib|mib|gib|tib|k|m|g|t|kb|mb|gb|tb)?$/i;
const SHOWN_BYTES = /^([\d.,]+\s*[kmgt]ib|[\d,]+ b)$/i;

/** @type {Record<string, (bytes: number, limit: number) => boolean>} */
const COMPARISONS = {
  '<': (bytes, limit) => bytes < limit,
  '>': (bytes, limit) => bytes > limit,
  '<=': (bytes, limit) => bytes <= limit,
  '>=': (bytes, limit) => bytes >= limit,
  '=': (bytes, limit) => bytes === limit,
};

/**
 * ">1GiB" and "<=4 MiB" compare sizes, "16.00 MiB" finds those that are shown so. Units are binary, as
 * on the page.
 * @param {string} text
 * @returns {Query['bytes']} null: not a search for sizes
 */
function sizeTest(text) {
  if (SHOWN_BYTES.test(text)) {
    const wanted = text.toLowerCase().replace(/[\s,]/g, '');
    const alike = (/** @type {number} */ bytes) =>
      [formatBytes(bytes), formatExactBytes(bytes)].some(
        (shown) => shown.toLowerCase().replace(/[\s,]/g, '') === wanted,
      );
    return (bytes, requestedBytes) => alike(bytes) || (requestedBytes !== bytes && alike(requestedBytes));
  }
  const [, sign, digits, unit = 'b'] = SIZE.exec(text) ?? [];
  const limit = Number((digits ?? '').replaceAll(',', ''));
  if (sign === undefined || !Number.isFinite(limit)) return null;
  const power = UNITS.findIndex((name) => name[0] === unit[0].toLowerCase());
  const compare = COMPARISONS[sign.replace('≤', '<=').replace('≥', '>=')];
  const edge = limit * 1024 ** power;
  return (bytes, requestedBytes) => compare(bytes, edge) || (sign === '=' && requestedBytes === edge);
}

/**
 * A test for a part of a text. A line number is a whole number: "net.py:4" is not a part of "net.py:44".
 * @param {string} text
 */
function partTest(text) {
  const wanted = text.toLowerCase();
  if (!/:\d+$/.test(wanted)) return (/** @type {string} */ given) => given.toLowerCase().includes(wanted);
  return (/** @type {string} */ given) => {
    const all = given.toLowerCase();
    for (let at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, at + 1))
      if (!/\d/.test(all[at + wanted.length] ?? '')) return true;
    return false;
  };
}

/**
 * "/attn\.(q|k)/" is a regular expression, "0x7f..." an address, ">1GiB" a size, anything else a part of a
 * text as the page shows it; case does not matter.
 * @param {string} text not empty
 * @returns {Query}
 */
export function compileQuery(text) {
  const nothing = {
    test: () => false,
    address: -1,
    bytes: null,
    hasPath: false,
    hasCallers: false,
    problem: '',
  };
  if (/^0x[0-9a-f]{1,13}$/i.test(text)) return { ...nothing, address: parseInt(text, 16) };
  const bytes = sizeTest(text);
  if (bytes !== null) return { ...nothing, bytes };
  const pattern = /^\/(.+?)\/?$/.exec(text);
  const kind = { hasPath: text.includes('›') || text.includes(' > '), hasCallers: text.includes(' < ') };
  if (pattern === null)
    return { ...nothing, ...kind, test: partTest(text.replaceAll(' > ', PATH_SEPARATOR)) };
  try {
    const expression = new RegExp(pattern[1], 'i');
    return { ...nothing, ...kind, test: (given) => expression.test(given) };
  } catch {
    return { ...nothing, problem: 'not a regular expression' };
  }
}

/** The distinct texts of scopes, and the text of each scope: most repeat those of the previous step. */
const scopeTexts = oncePer((/** @type {import('../run/format.js').Snapshot} */ snapshot) => {
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
 * 1 for each scope that matches or is in one that does.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {Query} query
 */
function foundScopes(snapshot, query) {
  const { count, parent } = snapshot.scopes;
  const { texts, textOf } = scopeTexts(snapshot);
  const isFound = texts.map(query.test);
  const { paths, pathOf } = query.hasPath ? scopeGroups(snapshot) : { paths: [], pathOf: new Int32Array(0) };
  const isPath = paths.map(query.test);
  const found = new Uint8Array(count);
  for (let s = 0; s < count; s++)
    found[s] =
      isFound[textOf[s]] ||
      (parent[s] >= 0 && found[parent[s]]) ||
      (query.hasPath && (isPath[pathOf[s]] || query.test(scopePath(snapshot, s))))
        ? 1
        : 0;
  return found;
}

/** The texts of each frame: as the page shows it, and its whole place. */
const frameTexts = oncePer((/** @type {import('../run/format.js').Snapshot} */ snapshot) =>
  Array.from(snapshot.frames.function, (_, f) => [frameText(snapshot, f), framePlace(snapshot, f)]),
);

/**
 * 1 for each call stack with a frame whose function, file or line matches, or with frames and callers that
 * do.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {Uint8Array} texts
 * @param {Query} query
 */
function foundStacks(snapshot, texts, query) {
  const { stacks, frames } = snapshot;
  const found = new Uint8Array(stacks.parent.length);
  const has = (/** @type {number} */ text) => text >= 0 && texts[text] === 1;
  const isFound = frameTexts(snapshot).map(
    (shown, f) => has(frames.function[f]) || has(frames.file[f]) || shown.some(query.test),
  );
  for (let s = 0; s < found.length; s++) {
    const isAbove = stacks.parent[s] >= 0 && found[stacks.parent[s]] === 1;
    found[s] =
      isAbove || isFound[stacks.frame[s]] || (query.hasCallers && query.test(callersText(snapshot, s)))
        ? 1
        : 0;
  }
  return found;
}

/**
 * The user's frames of a stack, as the tree shows them: "forward (net.py:44) < train (train.py:88)".
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} stack
 */
function callersText(snapshot, stack) {
  const frames = foldedStack(snapshot, stack).flatMap((part) => (part.isFolded ? [] : part.frames));
  return frames.map((frame) => frameText(snapshot, frame)).join(' < ');
}

/** Each text with stars in place of numbers, as the tree shows names. */
const patterns = oncePer((/** @type {import('../run/format.js').Snapshot} */ { strings }) =>
  strings.map(namePattern),
);

/**
 * Which of a snapshot's texts, scopes, call stacks and categories match, 1 or 0 each.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {Query} query
 */
export function findTexts(snapshot, query) {
  const shown = patterns(snapshot);
  const texts = Uint8Array.from(snapshot.strings, (text, i) =>
    query.test(text) || (shown[i] !== text && query.test(shown[i])) ? 1 : 0,
  );
  return {
    texts,
    scopes: foundScopes(snapshot, query),
    stacks: foundStacks(snapshot, texts, query),
    categories: Uint8Array.from(snapshot.categories, (name) =>
      query.test(categoryText(name)) || query.test(name) ? 1 : 0,
    ),
  };
}

/**
 * Which blocks match, 1 or 0 each.
 * @param {import('../run/run.js').Run} run
 * @param {Query} query
 * @returns {Uint8Array}
 */
export function searchBlocks({ snapshot, index: { blocks } }, query) {
  const found = new Uint8Array(blocks.count);
  if (query.problem !== '') return found;
  const { address, bytes } = query;
  if (address >= 0 || bytes !== null) {
    for (let b = 0; b < blocks.count; b++) {
      const begin = blocks.address[b];
      const isFound =
        bytes !== null
          ? bytes(blocks.bytes[b], blocks.requestedBytes[b])
          : address >= begin && address < begin + blocks.bytes[b];
      found[b] = isFound ? 1 : 0;
    }
    return found;
  }
  const { texts, scopes, stacks, categories } = findTexts(snapshot, query);
  const { name, category, scope, stack, bornState } = blocks;
  const [isOld, isBare] = [BEFORE_RECORDING, NO_FRAME].map((site) => query.test(siteText(snapshot, site)));
  for (let b = 0; b < blocks.count; b++) {
    if (
      (name[b] >= 0 && texts[name[b]]) ||
      categories[category[b]] ||
      (scope[b] >= 0 && scopes[scope[b]]) ||
      (stack[b] >= 0 ? stacks[stack[b]] : bornState[b] === 0 ? isOld : isBare)
    )
      found[b] = 1;
  }
  return found;
}

/**
 * The totals of a search.
 * @param {import('../run/run.js').Run} run
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
