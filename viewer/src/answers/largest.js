/* largest.js - answers what fills the card: the largest groups of blocks alive at an instant, by category and
 * name, or, in files without names, by the allocating line of the program.
 */
import { blocksOf, leavesOf, wholeOf } from './amounts.js';
import { scopeGroup } from '../run/lanes.js';
import { levelsOf, usualSplit } from './levels.js';

/**
 * @typedef {object} LargeGroup
 * @property {string[]} path texts of its levels, which identify the group in any run
 * @property {string} label
 * @property {string} where the scopes of its allocations, or ""
 * @property {number} largest a block
 * @property {number} bytes whole blocks
 * @property {number} count
 */

/**
 * The grouping levels of this list.
 * @param {import('../run/run.js').Run} run
 */
function largestLevels(run) {
  const levels = levelsOf(run, usualSplit(run), false);
  const named = levels.filter(({ name }) => name === 'category' || name === 'name');
  return levels.some(({ name }) => name === 'name') ? named : levelsOf(run, 'site', false).slice(0, 1);
}

/**
 * The texts that identify a group in other runs.
 * @param {ReturnType<typeof largestLevels>} levels
 * @param {number} block
 */
function pathOfBlock(levels, block) {
  return levels.map((level) => level.text(level.of(block)));
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {number} state
 * @returns {LargeGroup[]} largest first
 */
export function largestAt(run, state) {
  const levels = largestLevels(run);
  const {
    snapshot,
    index: { blocks },
  } = run;
  return leavesOf(run, levels, wholeOf(run, blocksOf(run, { kind: 'alive', state }, null)))
    .map(({ amount }) => {
      const scopes = new Set(Array.from(amount.blocks, (block) => blocks.scope[block]));
      const paths = new Set();
      for (const scope of scopes)
        paths.add(scope < 0 ? '' : scopeGroup(snapshot, scope).path.replace('layer *', 'layers'));
      return {
        path: pathOfBlock(levels, amount.largest),
        label: amount.label,
        where: paths.size === 1 ? String([...paths][0]) : `${paths.size} scopes`,
        largest: amount.largest,
        bytes: amount.bytes,
        count: amount.count,
      };
    })
    .sort((a, b) => b.bytes - a.bytes || b.count - a.count);
}

/**
 * The blocks of a group, in any run.
 * @param {import('../run/run.js').Run} run
 * @param {string[]} path
 * @returns {Uint8Array} per block 1 or 0
 */
export function blocksOfGroup(run, path) {
  const levels = largestLevels(run);
  const { count } = run.index.blocks;
  const found = new Uint8Array(count);
  /** @type {Map<number, boolean>[]} */
  const known = levels.map(() => new Map());
  for (let b = 0; b < count && levels.length === path.length; b++) {
    found[b] = levels.every((level, i) => {
      const group = level.of(b);
      let is = known[i].get(group);
      if (is === undefined) known[i].set(group, (is = level.text(group) === path[i]));
      return is;
    })
      ? 1
      : 0;
  }
  return found;
}
