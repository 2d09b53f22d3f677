/* stacking.js - assigns blocks to groups by the chosen colouring, and computes what remains when groups are
 * hidden.
 *
 * Groups are common to all runs on the page, so that a key has one colour and one place in every stack. Sums
 * per group in every n-th state make bands cheap at any zoom. Hiding groups costs a pass over the events for
 * the totals of the rest, so that the peak of every column stays exact.
 */
import { classifierOf } from './classify.js';
import { CATEGORIES, rankedColour } from '../words/colours.js';
import { replacedAt } from '../run/blocks.js';
import { buildPyramid, largestState } from '../run/index.js';
import { NO_BLOCK } from '../run/subjects.js';

const MIN_SUM_STATES = 64;

/**
 * @typedef {'category' | 'scope' | 'stack' | 'size' | 'age'} ColourBy
 *
 * @typedef {object} StackGroup
 * @property {string} key unique among all colourings, the same in all runs
 * @property {string} label
 * @property {string} title full text
 * @property {string} colour "#rrggbb"
 * @property {number} peakBytes at the peaks of all runs
 * @property {boolean} isOld blocks from before the recording, about which nothing else is known
 *
 * @typedef {object} Grouping one run's blocks by group
 * @property {import('../run/run.js').Run} run
 * @property {Uint8Array | Uint16Array | Int32Array} groupOf per block
 * @property {Uint8Array} isLight per block: its lightness step, which differs from that of the block below it
 *   at its birth
 * @property {number} sumStates states from one row of `sums` to the next
 * @property {Float64Array} sums bytes per group, for the states 0, sumStates, ...
 *
 * @typedef {object} Colouring
 * @property {ColourBy} colourBy
 * @property {StackGroup[]} groups bottom first
 * @property {Grouping[]} groupings per run
 *
 * @typedef {object} Stacking the groups of a run that a timeline draws, without hidden ones
 * @property {Colouring} colouring
 * @property {Grouping} grouping
 * @property {import('../run/blocks.js').Blocks} blocks
 * @property {Uint8Array} isShown per group
 * @property {boolean} isFiltered whether any group is hidden
 * @property {number} nStates
 * @property {Float64Array} totals bytes shown, per state
 * @property {Int32Array[]} pyramid over `totals`
 * @property {number} peakState first state with most bytes shown
 */

/**
 * Sorts the groups of all runs for the stack: persistent blocks at the bottom, short-lived ones on top.
 * @param {import('./classify.js').Kind[]} kinds
 * @param {{peakBytes: Float64Array, bytes: Float64Array, lifetime: Float64Array}} measures per kind
 * @returns {{groups: StackGroup[], place: Int32Array}} place: the position of each kind
 */
function arrangeGroups(kinds, { peakBytes, bytes, lifetime }) {
  const all = kinds.map((_, k) => k);
  const bySize = [...all].sort((a, b) => peakBytes[b] - peakBytes[a] || lifetime[b] - lifetime[a]);
  let rank = 0;
  for (const k of bySize) if (kinds[k].colour === '') kinds[k].colour = rankedColour(rank++);
  const persistence = all.map((k) => (kinds[k].isOld ? Infinity : lifetime[k] / Math.max(1, bytes[k])));
  const order = [...all].sort((a, b) =>
    Number.isNaN(kinds[a].order) || Number.isNaN(kinds[b].order)
      ? persistence[b] - persistence[a] || peakBytes[b] - peakBytes[a]
      : kinds[a].order - kinds[b].order,
  );
  const place = new Int32Array(kinds.length);
  order.forEach((k, at) => (place[k] = at));
  return {
    place,
    groups: order.map((k) => ({
      key: kinds[k].key,
      label: kinds[k].label,
      title: kinds[k].title,
      colour: kinds[k].colour,
      peakBytes: peakBytes[k],
      isOld: kinds[k].isOld === true,
    })),
  };
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {Int32Array} kindOfBlock renumbered in place
 * @param {Int32Array} place
 * @returns {Grouping}
 */
function buildGrouping(run, kindOfBlock, place) {
  const { blocks, nStates } = run.index;
  const { act, bytes, diedState, count } = blocks;
  const nGroups = place.length;
  const groupOf =
    nGroups <= 256
      ? new Uint8Array(count)
      : nGroups <= 65536
        ? new Uint16Array(count)
        : new Int32Array(count);
  for (let b = 0; b < count; b++) groupOf[b] = place[kindOfBlock[b]];
  const sumStates = 2 ** Math.ceil(Math.log2(Math.max(MIN_SUM_STATES, 4 * nGroups)));
  const sums = new Float64Array(Math.ceil(nStates / sumStates) * nGroups);
  const now = new Float64Array(nGroups);
  const isLight = new Uint8Array(count);
  const below = new Int32Array(count);
  const youngest = new Int32Array(nGroups).fill(-1);
  const addBlock = (/** @type {number} */ b, /** @type {number} */ state) => {
    const g = groupOf[b];
    let under = youngest[g];
    while (under >= 0 && diedState[under] <= state) under = below[under];
    below[b] = under;
    isLight[b] = under < 0 ? 0 : 1 - isLight[under];
    youngest[g] = b;
    now[g] += bytes[b];
  };
  const replaced = replacedAt(blocks);
  for (let b = 0; b < blocks.nAtStart; b++) if (diedState[b] > 0) addBlock(b, 0);
  for (let s = 0; s < nStates; s++) {
    if (s > 0) {
      const a = act[s - 1];
      if (a >= 0) addBlock(a, s);
      else if (a > NO_BLOCK) now[groupOf[~a]] -= bytes[~a];
      const replacedBlock = replaced?.get(s - 1);
      if (replacedBlock !== undefined) now[groupOf[replacedBlock]] -= bytes[replacedBlock];
    }
    if (s % sumStates === 0) sums.set(now, (s / sumStates) * nGroups);
  }
  return { run, groupOf, isLight, sumStates, sums };
}

/**
 * @param {import('../run/run.js').Run[]} runs
 * @param {ColourBy} colourBy
 * @returns {Colouring}
 */
export function buildColouring(runs, colourBy) {
  /** @type {import('./classify.js').Kind[]} */
  const kinds = [];
  /** @type {Map<string, number>} */
  const ids = new Map();
  const group = (/** @type {import('./classify.js').Kind} */ kind) => {
    let id = ids.get(kind.key);
    if (id === undefined) {
      ids.set(kind.key, (id = kinds.length));
      kinds.push(kind);
    }
    return id;
  };
  const classify = classifierOf(colourBy, runs);
  const kindsOfBlocks = runs.map((run) => {
    const { count } = run.index.blocks;
    const of = classify(run, group);
    const kindOfBlock = new Int32Array(count);
    for (let b = 0; b < count; b++) kindOfBlock[b] = of(b);
    return kindOfBlock;
  });
  const measures = {
    peakBytes: new Float64Array(kinds.length),
    bytes: new Float64Array(kinds.length),
    lifetime: new Float64Array(kinds.length),
  };
  runs.forEach(
    (
      {
        index: {
          blocks: { count, bytes, bornState, diedState },
          nStates,
        },
        peakState,
      },
      r,
    ) => {
      const kindOfBlock = kindsOfBlocks[r];
      const { bytes: all, lifetime, peakBytes } = measures;
      for (let b = 0; b < count; b++) {
        const k = kindOfBlock[b];
        const born = bornState[b];
        const died = diedState[b];
        all[k] += bytes[b];
        lifetime[k] += (bytes[b] * (died - born)) / nStates;
        if (born <= peakState && peakState < died) peakBytes[k] += bytes[b];
      }
    },
  );
  const { groups, place } = arrangeGroups(kinds, measures);
  return { colourBy, groups, groupings: runs.map((run, r) => buildGrouping(run, kindsOfBlocks[r], place)) };
}

/** @type {WeakMap<import('../run/run.js').Run[], Map<ColourBy, Colouring>>} */
const colourings = new WeakMap();

/**
 * As `buildColouring`, cached as long as the list of runs.
 * @param {import('../run/run.js').Run[]} runs
 * @param {ColourBy} colourBy
 */
export function colouringOf(runs, colourBy) {
  let kept = colourings.get(runs);
  if (kept === undefined) colourings.set(runs, (kept = new Map()));
  let colouring = kept.get(colourBy);
  if (colouring === undefined) kept.set(colourBy, (colouring = buildColouring(runs, colourBy)));
  return colouring;
}

/**
 * Bytes in every state of the blocks of some groups.
 * @param {Grouping} grouping
 * @param {Uint8Array} isShown per group
 */
function shownTotals({ run, groupOf }, isShown) {
  const { blocks, nStates } = run.index;
  const { act, bytes } = blocks;
  const totals = new Float64Array(nStates);
  const replaced = replacedAt(blocks);
  let total = 0;
  for (let b = 0; b < blocks.nAtStart; b++)
    if (blocks.diedState[b] > 0 && isShown[groupOf[b]]) total += bytes[b];
  totals[0] = total;
  for (let e = 0; e < nStates - 1; e++) {
    const a = act[e];
    if (a >= 0) total += isShown[groupOf[a]] ? bytes[a] : 0;
    else if (a > NO_BLOCK) total -= isShown[groupOf[~a]] ? bytes[~a] : 0;
    const replacedBlock = replaced?.get(e);
    if (replacedBlock !== undefined && isShown[groupOf[replacedBlock]]) total -= bytes[replacedBlock];
    totals[e + 1] = total;
  }
  return totals;
}

/**
 * @param {Colouring} colouring
 * @param {number} r the run
 * @param {Set<string>} hidden keys of groups
 * @returns {Stacking}
 */
export function buildStacking(colouring, r, hidden) {
  const grouping = colouring.groupings[r];
  const { index } = grouping.run;
  const isShown = Uint8Array.from(colouring.groups, ({ key }) => (hidden.has(key) ? 0 : 1));
  const isFiltered = isShown.includes(0);
  const stacking = {
    colouring,
    grouping,
    blocks: index.blocks,
    isShown,
    isFiltered,
    nStates: index.nStates,
    totals: index.totals,
    pyramid: index.pyramid,
    peakState: grouping.run.peakState,
  };
  if (isFiltered) {
    stacking.totals = shownTotals(grouping, isShown);
    stacking.pyramid = buildPyramid(stacking.totals);
    stacking.peakState = largestState(stacking, 0, stacking.nStates);
  }
  return stacking;
}

/**
 * @typedef {object} Picking the blocks that keep their colours
 * @property {Uint8Array} isPicked per block
 * @property {Float64Array} sums their bytes, as in Grouping
 */

/**
 * @param {Grouping} grouping
 * @param {Uint8Array} isPicked per block
 * @returns {Picking}
 */
export function buildPicking({ run, groupOf, sumStates, sums: whole }, isPicked) {
  const {
    blocks: { count, bytes, bornState, diedState },
    nStates,
  } = run.index;
  const nGroups = whole.length / Math.ceil(nStates / sumStates);
  const sums = new Float64Array(whole.length);
  // A block adds its bytes to the first row in its lifetime and subtracts them from the first row after it;
  // prefix sums follow.
  const shift = Math.log2(sumStates);
  const last = sumStates - 1;
  for (let b = 0; b < count; b++) {
    if (isPicked[b] === 0) continue;
    const from = ((bornState[b] + last) >> shift) * nGroups;
    const to = ((diedState[b] + last) >> shift) * nGroups;
    if (from >= to) continue;
    sums[from + groupOf[b]] += bytes[b];
    if (to < sums.length) sums[to + groupOf[b]] -= bytes[b];
  }
  for (let i = nGroups; i < sums.length; i++) sums[i] += sums[i - nGroups];
  return { isPicked, sums };
}

/**
 * The default colouring: by call stack if no block has a category, because that says more, and without a
 * history, by which PyTorch's categories are known.
 * @param {import('../run/run.js').Run[]} runs
 * @returns {ColourBy}
 */
export function usualColour(runs) {
  const unknown = CATEGORIES.indexOf('unknown');
  const isBare =
    runs.length > 0 &&
    runs.every(
      (run) =>
        run.snapshot.events.count === 0 ||
        run.index.blocks.category.every((category) => category === unknown),
    );
  return isBare && runs.some((run) => run.snapshot.stacks.frame.length > 0) ? 'stack' : 'category';
}
