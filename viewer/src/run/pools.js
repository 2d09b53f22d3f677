/* pools.js - the private pools of a snapshot, and the one that a block was allocated in. */
import { list } from './format_values.js';

const MOST_POOLS = 65_535;

/**
 * The texts of all pools, as of a segment's `poolId`: those that events refer to first, then others that only
 * segments of the start have.
 * @param {any} doc
 * @param {string[]} ofSegments "" for none
 * @returns {string[]}
 */
export function readPools(doc, ofSegments) {
  const given = list(doc, 'pools').map((pair) => pair.join(', '));
  const known = new Set(given);
  const others = [...new Set(ofSegments)].filter((text) => text !== '' && !known.has(text));
  return [...given, ...others].slice(0, MOST_POOLS);
}

/**
 * What a pool is, in words; "" for none.
 * @param {string[]} pools
 * @param {number} number 0: none; n: the n-th of the pools
 */
export function poolText(pools, number) {
  return number === 0 ? '' : poolIdText(pools[number - 1]);
}

/** @param {string} id "" for none */
export function poolIdText(id) {
  if (id === '') return '';
  const [graph, own] = id.split(', ').map(Number);
  const whose = graph > 0 && own === 0 ? ', of a graph' : graph === 0 && own > 0 ? ', of the program' : '';
  return `private${whose} (${id})`;
}
