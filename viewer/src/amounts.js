/* amounts.js - splits the bytes that are alive at an instant, or were allocated, freed or kept in a range,
 * level by level: by category, scope, name and call stack, in several orders. Each level adds up exactly to
 * the one above it.
 *
 * A level gives each block a number; labels are made only for groups that are shown. Children are computed on
 * demand, so a range of a million events costs one pass over its blocks, and so does each group that is
 * opened.
 */
import { replacedAt } from './blocks.js';
import { CATEGORIES } from './colours.js';
import { SCOPE } from './format.js';
import { foldedStack, frameText, sitesOf, siteText } from './frames.js';
import { aliveAt, largestState } from './index.js';
import { scopeGroup, scopeText } from './lanes.js';
import { oncePer } from './once.js';
import { stackFrames } from './peak.js';
import { NO_BLOCK } from './subjects.js';
import { categoryText, layersText, namePattern } from './text.js';

const LABEL_FRAMES = 3;

/**
 * @typedef {'category' | 'scope' | 'site' | 'stack'} Split the key of the first level; site: the frame that
 *   stands for a stack
 *
 * @typedef {object} Level one way to group blocks
 * @property {string} name of the level
 * @property {(block: number) => number} of the group of a block
 * @property {(group: number) => string} text identifies a group in every run
 * @property {(group: number) => string} label a group's label; "layer #" stands for all its layers
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
 * Scope paths without steps, with or without the numbers of layers: a group per scope, and the paths of the
 * groups.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {boolean} singleLayers
 */
function groupScopes(snapshot, singleLayers) {
  const { scopes } = snapshot;
  const group = new Int32Array(scopes.count);
  const layer = new Int32Array(scopes.count).fill(-1);
  /** @type {{scope: number, children: Map<string, number>}[]} group 0: outside every scope */
  const groups = [{ scope: -1, children: new Map() }];
  for (let s = 0; s < scopes.count; s++) {
    const parent = scopes.parent[s];
    const above = parent < 0 ? 0 : group[parent];
    const isLayer = scopes.kind[s] === SCOPE.LAYER && scopes.index[s] >= 0;
    layer[s] = parent >= 0 && layer[parent] >= 0 ? layer[parent] : isLayer ? scopes.index[s] : -1;
    if (scopes.kind[s] === SCOPE.STEP) {
      group[s] = above;
      continue;
    }
    const key = isLayer && !singleLayers ? '#' : scopeText(snapshot, s);
    let found = groups[above].children.get(key);
    if (found === undefined) {
      found = groups.length;
      groups.push({ scope: s, children: new Map() });
      groups[above].children.set(key, found);
    }
    group[s] = found;
  }
  return { group, layer, scopes: Int32Array.from(groups, ({ scope }) => scope) };
}

const foldedScopes = oncePer((/** @type {import('./format.js').Snapshot} */ snapshot) =>
  groupScopes(snapshot, false),
);
const singleScopes = oncePer((/** @type {import('./format.js').Snapshot} */ snapshot) =>
  groupScopes(snapshot, true),
);

/**
 * Merges names that differ only in numbers: maps each string to the first such string.
 * @type {(snapshot: import('./format.js').Snapshot) => Int32Array}
 */
const patternOf = oncePer((/** @type {import('./format.js').Snapshot} */ snapshot) => {
  /** @type {Map<string, number>} */
  const first = new Map();
  return Int32Array.from(snapshot.strings, (text, i) => {
    const pattern = namePattern(text);
    const known = first.get(pattern);
    if (known === undefined) first.set(pattern, i);
    return known ?? i;
  });
});

/**
 * A whole stack as text, which identifies it in other runs.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} stack
 */
function stackText(snapshot, stack) {
  return (
    stackFrames(snapshot, stack)
      .map((frame) => `${frame.function} (${frame.place})`)
      .join(' < ') || 'no call stack'
  );
}

/**
 * The user's frames of a stack: "linear (ops.c:12) < block (block.c:40)".
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} stack
 */
function stackLabel(snapshot, stack) {
  const frames = foldedStack(snapshot, stack).flatMap((part) => (part.isFolded ? [] : part.frames));
  const shown = frames.slice(0, LABEL_FRAMES);
  return (
    shown.map((frame) => frameText(snapshot, frame)).join(' < ') +
      (shown.length < frames.length ? ' < …' : '') || 'no call stack'
  );
}

/**
 * @param {import('./run.js').Run} run
 * @param {boolean} singleLayers
 * @returns {Level}
 */
function scopeLevel(run, singleLayers) {
  const {
    snapshot,
    index: { blocks },
  } = run;
  /** @type {ReturnType<typeof groupScopes> | null} */
  let kept = null;
  // computed when the level is opened
  const groups = () => (kept ??= (singleLayers ? singleScopes : foldedScopes)(snapshot));
  const text = (/** @type {number} */ g) => scopeGroup(snapshot, groups().scopes[g], singleLayers).path;
  return {
    name: 'scope',
    text,
    label: text,
    of: (block) => (blocks.scope[block] < 0 ? 0 : groups().group[blocks.scope[block]]),
    layer: singleLayers
      ? null
      : (block) => (blocks.scope[block] < 0 ? -1 : groups().layer[blocks.scope[block]]),
  };
}

/**
 * @param {import('./run.js').Run} run
 * @param {boolean} singleLayers
 * @returns {Level}
 */
function nameLevel(run, singleLayers) {
  const {
    snapshot,
    index: { blocks },
  } = run;
  const pattern = patternOf(snapshot);
  const { strings } = snapshot;
  const text = (/** @type {number} */ g) =>
    g < 0 ? '(no name)' : singleLayers ? strings[g] : namePattern(strings[g]);
  return {
    name: 'name',
    of: (block) =>
      singleLayers || blocks.name[block] < 0 ? blocks.name[block] : pattern[blocks.name[block]],
    text,
    label: text,
    layer: null,
  };
}

/** The ways to split a run's blocks. */
const partsOf = oncePer((/** @type {import('./run.js').Run} */ run) => {
  const {
    snapshot,
    index: { blocks },
  } = run;
  const unknown = CATEGORIES.indexOf('unknown');
  return {
    categories: blocks.category.some((c) => c !== unknown),
    scopes: snapshot.scopes.count > 0 && blocks.scope.some((s) => s >= 0),
    names: blocks.name.some((n) => n >= 0),
  };
});

/**
 * The default split of a run: by category if it has any, else by the user's frames.
 * @param {import('./run.js').Run} run
 * @returns {Split}
 */
export function usualSplit(run) {
  return partsOf(run).categories ? 'category' : 'site';
}

/**
 * The levels of a tree, without those that put all blocks of the run into one group.
 * @param {import('./run.js').Run} run
 * @param {Split} split
 * @param {boolean} singleLayers false: layers, and names that differ only in numbers, are merged
 * @returns {Level[]}
 */
export function levelsOf(run, split, singleLayers) {
  const {
    snapshot,
    index: { blocks },
  } = run;
  const has = partsOf(run);
  /** @type {Level} */
  const category = {
    name: 'category',
    of: (block) => blocks.category[block],
    text: (g) => snapshot.categories[g],
    label: (g) => categoryText(snapshot.categories[g]),
    layer: null,
  };
  /** @type {Level} */
  const site = {
    name: 'call site',
    layer: null,
    text: (g) => siteText(snapshot, g),
    label: (g) => siteText(snapshot, g),
    of: sitesOf(snapshot, blocks),
  };
  /** @type {Level} */
  const stack = {
    name: 'call stack',
    layer: null,
    text: (g) => stackText(snapshot, g),
    label: (g) => stackLabel(snapshot, g),
    of: (block) => blocks.stack[block],
  };
  const scope = has.scopes ? [scopeLevel(run, singleLayers)] : [];
  const name = has.names ? [nameLevel(run, singleLayers)] : [];
  const categories = has.categories ? [category] : [];
  if (split === 'category') return [...categories, ...scope, ...name, stack];
  if (split === 'scope') return [...scope, ...categories, ...name, stack];
  if (split === 'stack') return [stack, ...categories, ...scope, ...name];
  return [site, ...scope, ...categories, ...name, stack];
}

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
 */

/**
 * @param {import('./blocks.js').Blocks} blocks
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
 * @param {import('./blocks.js').Blocks} blocks
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
 * @param {import('./run.js').Run} run
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
 * @param {import('./run.js').Run} run
 * @param {import('./store.js').State['instant']} instant
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
 * @param {import('./run.js').Run} run
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
 * The groups of the next level inside a group, largest first.
 * @param {import('./run.js').Run} run
 * @param {Level[]} levels
 * @param {Amount} parent
 * @returns {Amount[]} empty at the last level
 */
export function splitAmount(run, levels, parent) {
  const level = levels[parent.depth + 1];
  const { bytes, requestedBytes } = run.index.blocks;
  if (level === undefined) return [];
  /** @type {Map<number, number>} */
  const slots = new Map();
  /**
   * @type {{group: number, bytes: number, requestedBytes: number, count: number, largest: number, layers: Set<number> | null, from: number}[]}
   */
  const sums = [];
  const list = parent.blocks;
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
        from: 0,
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
  const sorted = new Int32Array(list.length);
  let at = 0;
  for (const sum of sums) {
    sum.from = at;
    at += sum.count;
  }
  const next = Int32Array.from(sums, (sum) => sum.from);
  for (let i = 0; i < list.length; i++) sorted[next[slotOf[i]]++] = list[i];
  return sums
    .map(({ group, layers, from, ...sum }) => {
      const label =
        layers === null || layers.size === 0
          ? level.label(group)
          : level.label(group).replace('layer #', layersText(layers));
      return {
        label,
        depth: parent.depth + 1,
        group,
        ...sum,
        blocks: sorted.subarray(from, from + sum.count),
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
 * @param {import('./run.js').Run} run
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
 * @param {import('./run.js').Run} run
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
