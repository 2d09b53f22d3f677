/* tree_rows.js - the visible rows of a tree of amounts, sorted, down to single blocks. Children are shown in
 * chunks, and a row sums those not shown yet, so that the rows of a level add up.
 */
import { sortAmounts, splitAmount } from './amounts.js';
import { scopePath } from '../run/lanes.js';
import { formatCount } from '../words/text.js';

export const CHUNK_ROWS = 200; // children shown initially, and added by each press of "more"

/**
 * @typedef {object} TreeState the view of a tree
 * @property {string} rootKey identifies a tree; each keeps its own open rows
 * @property {Set<string>} open keys of the rows that are open
 * @property {Map<string, number>} shownOf number of children shown of a row, if more than the first chunk
 * @property {import('./amounts.js').Order} order
 * @property {boolean} isDescending
 * @property {(block: number) => string} colourOf
 *
 * @typedef {object} TreeRow
 * @property {string} key path of groups, unique in the tree
 * @property {'group' | 'block' | 'more'} kind
 * @property {number} level from 1
 * @property {boolean | null} isOpen null: it has no children
 * @property {string} label
 * @property {string} title full text
 * @property {number} bytes
 * @property {number} requestedBytes
 * @property {number} count
 * @property {string} colour
 * @property {import('./amounts.js').Amount | null} amount
 * @property {number[]} path groups, outermost first
 * @property {number} block -1: none
 */

/** Collects the visible rows of a tree. */
class RowList {
  /**
   * @param {TreeState} state
   * @param {import('../run/run.js').Run} run
   * @param {import('./amounts.js').Level[]} levels
   */
  constructor(state, run, levels) {
    this.state = state;
    this.run = run;
    this.levels = levels;
    /** @type {TreeRow[]} */
    this.rows = [];
  }

  /**
   * Adds the rows to show, and a row that sums the others.
   * @template T
   * @param {string} key
   * @param {number} level
   * @param {T[]} all
   * @param {(item: T) => void} add
   * @param {(item: T) => {bytes: number, requestedBytes: number, count: number}} amountOf
   */
  addShown(key, level, all, add, amountOf) {
    const n = this.state.shownOf.get(key) ?? CHUNK_ROWS;
    for (const item of all.slice(0, n)) add(item);
    if (all.length <= n) return;
    const rest = { bytes: 0, requestedBytes: 0, count: 0 };
    for (const item of all.slice(n)) {
      const { bytes, requestedBytes, count } = amountOf(item);
      rest.bytes += bytes;
      rest.requestedBytes += requestedBytes;
      rest.count += count;
    }
    const left = all.length - n;
    const next = Math.min(CHUNK_ROWS, left);
    this.rows.push({
      key: `${key}/more`,
      kind: 'more',
      level,
      isOpen: null,
      label: `${formatCount(left)} more: show ${formatCount(next)}`,
      title: 'Enter or a click shows them',
      ...rest,
      colour: 'transparent',
      amount: null,
      path: [],
      block: -1,
    });
  }

  /**
   * @param {string} key
   * @param {number} level
   * @param {number} block
   * @returns {TreeRow}
   */
  blockRow(key, level, block) {
    const { snapshot, index } = this.run;
    const { blocks } = index;
    const name = blocks.name[block] < 0 ? '' : snapshot.strings[blocks.name[block]];
    const path = scopePath(snapshot, blocks.scope[block]);
    const label = [name, path].filter(Boolean).join(', ') || `block ${formatCount(block)}`;
    return {
      key: `${key}/b${block}`,
      kind: 'block',
      level,
      isOpen: null,
      label,
      title: `${label}: Enter or a click shows it in full`,
      bytes: blocks.bytes[block],
      requestedBytes: blocks.requestedBytes[block],
      count: 1,
      colour: this.state.colourOf(block),
      amount: null,
      path: [],
      block,
    };
  }

  /**
   * @param {string} key
   * @param {import('./amounts.js').Amount} amount
   */
  addBlocks(key, amount) {
    const { bytes, requestedBytes } = this.run.index.blocks;
    const list = [...amount.blocks].sort((a, b) => bytes[b] - bytes[a] || a - b);
    const level = amount.depth + 2;
    this.addShown(
      key,
      level,
      list,
      (block) => this.rows.push(this.blockRow(key, level, block)),
      (block) => ({ bytes: bytes[block], requestedBytes: requestedBytes[block], count: 1 }),
    );
  }

  /**
   * @param {string} key
   * @param {import('./amounts.js').Amount} amount
   * @param {number[]} above path of the parent
   */
  addGroup(key, amount, above) {
    const isOpen = this.state.open.has(key);
    const path = [...above, amount.group];
    this.rows.push({
      key,
      kind: 'group',
      level: amount.depth + 1,
      isOpen,
      label: amount.label,
      title: amount.label,
      bytes: amount.bytes,
      requestedBytes: amount.requestedBytes,
      count: amount.count,
      colour: this.state.colourOf(amount.largest),
      amount,
      path,
      block: -1,
    });
    if (isOpen && amount.depth + 1 < this.levels.length) this.addGroups(key, amount, path);
    else if (isOpen) this.addBlocks(key, amount);
  }

  /**
   * @param {string} key
   * @param {import('./amounts.js').Amount} parent
   * @param {number[]} above path of the parent
   */
  addGroups(key, parent, above) {
    const { order, isDescending } = this.state;
    const children = sortAmounts(splitAmount(this.run, this.levels, parent), order, isDescending);
    this.addShown(
      key,
      parent.depth + 2,
      children,
      (amount) => this.addGroup(`${key}/${amount.group}`, amount, above),
      (amount) => amount,
    );
  }
}

/**
 * The visible rows, from the outermost group.
 * @param {TreeState} state
 * @param {import('../run/run.js').Run} run
 * @param {import('./amounts.js').Amount} whole
 * @param {import('./amounts.js').Level[]} levels
 * @returns {TreeRow[]}
 */
export function treeRows(state, run, whole, levels) {
  const list = new RowList(state, run, levels);
  list.addGroups(state.rootKey, whole, []);
  return list.rows;
}
