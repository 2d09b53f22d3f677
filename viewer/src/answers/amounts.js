/* amounts.js - splits the bytes that are alive at an instant, or were allocated, freed or kept in a range,
 * level by level: by category, scope, name and call stack, in several orders. Each level adds up exactly to
 * the one above it.
 *
 * A level gives each block a number; labels are made only for groups that are shown. Children are computed on
 * demand, so a range of a million events costs one pass over its blocks, and so does each group that is
 * opened.
 */
import { replacedAt } from '../run/blocks.js';
import { aliveAt, largestState } from '../run/index.js';
import { levelsOf } from './levels.js';
import { NO_BLOCK } from '../run/subjects.js';
import { layersText } from '../words/text.js';

/**
 * @typedef {'category' | 'scope' | 'site' | 'stack'} Split the key of the first level; site: the frame that
 *   represents a stack
 *
 * @typedef {object} Level one way to group blocks
 * @property {string} name of the level
 * @property {(block: number) => number} of the group of a block
 * @property {(group: number) => string} text identifies a group in every run
 * @property {(group: number) => string} label a group's label; "layer *" means all its layers
 * @property {((block: number) => number) | null} layer of a block, if groups hold several layers
 *
 * @typedef {object} Amount a group of blocks
 * @property {string} label for people
 * @property {number} depth the level that made it; -1: all blocks
 * @property {number} group number in its level
 * @property {number} bytes whole blocks
 * @property {number} requestedBytes
 * @property {number} count blocks
 * @property {number} largest a block
 * @property {Int32Array} blocks
 *
 * @typedef {'bytes' | 'requestedBytes' | 'count' | 'label'} Order
 */

/**
 * The first block born in `state` or later. Blocks are sorted by birth.
 * @param {Int32Array} bornState
 * @param {number} state
 */
function firstBorn(bornState, state) {
  let lo = 0;
  let hi = bornState.length;
  while (lo < hi) {
    const middle = (lo + hi) >> 1;
    if (bornState[middle] < state) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/**
 * @typedef {{kind: 'alive', state: number}} Alive in a state
 * @typedef {{kind: 'allocated' | 'freed' | 'kept', first: number, last: number}} Happened by the events that
 *   led to the states first <= s < last; kept: allocated there and still alive in the last of these states
 *
 * @typedef {'peak' | 'cursor' | 'range-alive' | 'range-allocated' | 'range-freed'} Instant the page's choice
 */

/**
 * @param {import('../run/blocks.js').Blocks} blocks
 * @param {Happened} what
 */
function allocatedIn(blocks, { kind, first, last }) {
  const from = firstBorn(blocks.bornState, Math.max(1, first));
  const to = Math.max(from, firstBorn(blocks.bornState, last));
  const list = new Int32Array(to - from);
  let n = 0;
  for (let block = from; block < to; block++)
    if (kind === 'allocated' || blocks.diedState[block] >= last) list[n++] = block;
  return list.subarray(0, n);
}

/**
 * Blocks that were freed, or replaced without a free.
 * @param {import('../run/blocks.js').Blocks} blocks
 * @param {Happened} what
 */
function freedIn(blocks, { first, last }) {
  const { act } = blocks;
  const replaced = replacedAt(blocks);
  const list = [];
  for (let e = Math.max(0, first - 1); e < last - 1 && e < act.length; e++) {
    if (act[e] < 0 && act[e] > NO_BLOCK) list.push(~act[e]);
    const replacedBlock = replaced?.get(e);
    if (replacedBlock !== undefined) list.push(replacedBlock);
  }
  return Int32Array.from(list);
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {Alive | Happened} what
 * @param {Uint8Array | null} visible per block 1 or 0; null: all
 * @returns {Int32Array}
 */
export function blocksOf(run, what, visible) {
  const { blocks } = run.index;
  const list =
    what.kind === 'alive'
      ? Int32Array.from(aliveAt(run.index, what.state))
      : what.kind === 'freed'
        ? freedIn(blocks, what)
        : allocatedIn(blocks, what);
  return visible === null ? list : list.filter((block) => visible[block] !== 0);
}

/**
 * The blocks of one run that the page's choice of an instant selects. A range has its own peak.
 * @param {import('../run/run.js').Run} run
 * @param {Instant} instant
 * @param {number} cursor state; -1: none, which selects the peak
 * @param {{first: number, last: number} | null} range null: the whole run
 * @returns {Alive | Happened}
 */
export function whatOf(run, instant, cursor, range) {
  const { nStates } = run.index;
  const last = Math.min(range?.last ?? nStates, nStates);
  const first = Math.min(range?.first ?? 0, last - 1);
  if (instant === 'cursor' && cursor >= 0) return { kind: 'alive', state: Math.min(cursor, nStates - 1) };
  if (instant === 'range-allocated') return { kind: 'allocated', first, last };
  if (instant === 'range-freed') return { kind: 'freed', first, last };
  if (instant === 'range-alive') return { kind: 'kept', first, last };
  return { kind: 'alive', state: range === null ? run.peakState : largestState(run.index, first, last) };
}

/**
 * All blocks as one group.
 * @param {import('../run/run.js').Run} run
 * @param {Int32Array} list
 * @returns {Amount}
 */
export function wholeOf(run, list) {
  const { bytes, requestedBytes } = run.index.blocks;
  let sum = 0;
  let requested = 0;
  let largest = list.length > 0 ? list[0] : -1;
  for (const block of list) {
    sum += bytes[block];
    requested += requestedBytes[block];
    if (bytes[block] > bytes[largest]) largest = block;
  }
  return {
    label: 'all',
    depth: -1,
    group: -1,
    bytes: sum,
    requestedBytes: requested,
    count: list.length,
    largest,
    blocks: list,
  };
}

/**
 * @typedef {{group: number, bytes: number, requestedBytes: number, count: number, largest: number, layers: Set<number> | null}}
 *   GroupSum the sums of one group; layers: null unless groups hold several layers
 */

/**
 * Sums blocks by group.
 * @param {import('../run/blocks.js').Blocks} blocks
 * @param {ArrayLike<number>} list
 * @param {Level} level
 * @returns {{sums: GroupSum[], slotOf: Int32Array}} slotOf: index in sums, per block of the list
 */
function sumGroups({ bytes, requestedBytes }, list, level) {
  /** @type {Map<number, number>} */
  const slots = new Map();
  /** @type {GroupSum[]} */
  const sums = [];
  const slotOf = new Int32Array(list.length);
  for (let i = 0; i < list.length; i++) {
    const block = list[i];
    const group = level.of(block);
    let slot = slots.get(group);
    if (slot === undefined) {
      slots.set(group, (slot = sums.length));
      sums.push({
        group,
        bytes: 0,
        requestedBytes: 0,
        count: 0,
        largest: block,
        layers: level.layer === null ? null : new Set(),
      });
    }
    const sum = sums[slot];
    slotOf[i] = slot;
    sum.bytes += bytes[block];
    sum.requestedBytes += requestedBytes[block];
    sum.count++;
    if (bytes[block] > bytes[sum.largest]) sum.largest = block;
    if (level.layer !== null) {
      const layer = level.layer(block);
      if (layer >= 0) /** @type {Set<number>} */ (sum.layers).add(layer);
    }
  }
  return { sums, slotOf };
}

/**
 * The groups of the next level inside a group, largest first.
 * @param {import('../run/run.js').Run} run
 * @param {Level[]} levels
 * @param {Amount} parent
 * @returns {Amount[]} empty at the last level
 */
export function splitAmount(run, levels, parent) {
  const level = levels[parent.depth + 1];
  if (level === undefined) return [];
  const list = parent.blocks;
  const { sums, slotOf } = sumGroups(run.index.blocks, list, level);
  const sorted = new Int32Array(list.length);
  const begins = new Int32Array(sums.length + 1);
  sums.forEach((sum, slot) => (begins[slot + 1] = begins[slot] + sum.count));
  const next = begins.slice();
  for (let i = 0; i < list.length; i++) sorted[next[slotOf[i]]++] = list[i];
  return sums
    .map(({ group, layers, ...sum }, slot) => {
      const label =
        layers === null || layers.size === 0
          ? level.label(group)
          : level.label(group).replace('layer *', layersText(layers));
      return {
        label,
        depth: parent.depth + 1,
        group,
        ...sum,
        blocks: sorted.subarray(begins[slot], begins[slot + 1]),
      };
    })
    .sort((a, b) => b.bytes - a.bytes || b.count - a.count);
}

/**
 * @param {Amount[]} amounts sorted in place
 * @param {Order} order
 * @param {boolean} isDescending
 */
export function sortAmounts(amounts, order, isDescending) {
  const sign = isDescending ? -1 : 1;
  return amounts.sort(
    (a, b) =>
      (order === 'label'
        ? sign * a.label.localeCompare(b.label, 'en', { numeric: true })
        : sign * (a[order] - b[order])) || b.bytes - a.bytes,
  );
}

/**
 * The blocks of any run that lie on a path of groups. Texts identify the groups.
 * @param {import('../run/run.js').Run} run
 * @param {Split} split
 * @param {boolean} singleLayers
 * @param {string[]} path texts of the groups, outermost first
 * @returns {Uint8Array} per block 1 or 0
 */
export function pickOf(run, split, singleLayers, path) {
  const levels = levelsOf(run, split, singleLayers).slice(0, path.length);
  const { count } = run.index.blocks;
  const mask = new Uint8Array(count);
  if (levels.length < path.length) return mask;
  /** @type {Map<number, boolean>[]} */
  const known = levels.map(() => new Map());
  const isOn = (/** @type {number} */ block, /** @type {number} */ l) => {
    const group = levels[l].of(block);
    let on = known[l].get(group);
    if (on === undefined) known[l].set(group, (on = levels[l].text(group) === path[l]));
    return on;
  };
  for (let block = 0; block < count; block++) {
    let l = 0;
    while (l < levels.length && isOn(block, l)) l++;
    if (l === levels.length) mask[block] = 1;
  }
  return mask;
}

/**
 * Every group of the last level with its whole path, for a table.
 * @param {import('../run/run.js').Run} run
 * @param {Level[]} levels
 * @param {Amount} whole
 * @returns {{path: string[], amount: Amount}[]}
 */
export function leavesOf(run, levels, whole) {
  /** @type {{path: string[], amount: Amount}[]} */
  const leaves = [];
  const descend = (/** @type {Amount} */ amount, /** @type {string[]} */ path) => {
    if (amount.depth === levels.length - 1) leaves.push({ path, amount });
    else
      for (const child of splitAmount(run, levels, amount))
        descend(child, [
          ...path,
          levels[child.depth].name === 'call stack' ? levels[child.depth].text(child.group) : child.label,
        ]);
  };
  descend(whole, []);
  return leaves;
}
