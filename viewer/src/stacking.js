/* stacking.js - assigns blocks to groups by the chosen colouring, and computes what remains when groups are
 * hidden.
 *
 * Groups are common to all runs on the page, so that a key has one colour and one place in every stack. Sums
 * per group in every n-th state make bands cheap at any zoom. Hiding groups costs a pass over the events for
 * the totals of the rest, so that the peak of every column stays exact.
 */
import { CATEGORIES, categoryColour, rankedColour, sequentialColour } from './colours.js';
import { replacedAt } from './blocks.js';
import { frameText } from './frames.js';
import { buildPyramid, largestState } from './index.js';
import { scopeGroups } from './lanes.js';
import { NO_BLOCK } from './subjects.js';
import { categoryText, formatCount, formatDuration } from './text.js';

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
 * @property {import('./run.js').Run} run
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
 * @property {import('./blocks.js').Blocks} blocks
 * @property {Uint8Array} isShown per group
 * @property {boolean} isFiltered whether any group is hidden
 * @property {number} nStates
 * @property {Float64Array} totals bytes shown, per state
 * @property {Int32Array[]} pyramid over `totals`
 * @property {number} peakState first state with most bytes shown
 *
 * @typedef {{key: string, label: string, title: string, colour: string, order: number, isOld?: boolean}} Kind
 *   a future group; an order of NaN and a colour of "" are chosen later
 */

/**
 * @param {string} key
 * @param {string} label
 * @param {Partial<Kind>} [more]
 * @returns {Kind}
 */
function kindOf(key, label, more = {}) {
  return { key, label, title: label, colour: '', order: NaN, ...more };
}

/**
 * @typedef {(run: import('./run.js').Run, group: (kind: Kind) => number) => (block: number) => number}
 *   Classifier gives the group of a block, per run
 */

/**
 * One group per row of a table that blocks refer to. Blocks from before the recording without a reference
 * form a group of their own.
 * @param {import('./blocks.js').Blocks} blocks
 * @param {import('./format.js').Indices} column of `blocks`
 * @param {Int32Array} identities the identity of each row of the table
 * @param {string} prefix
 * @param {string} without label of blocks without a reference
 * @param {(identity: number) => Kind} kind
 * @param {(kind: Kind) => number} group
 */
function byTable(blocks, column, identities, prefix, without, kind, group) {
  const none = kindOf(`${prefix}:none`, without, { colour: rankedColour(-1) });
  const before = kindOf(`${prefix}:before`, 'from before the recording', {
    colour: rankedColour(-1),
    isOld: true,
  });
  return byNumber(
    (block) => (column[block] >= 0 ? identities[column[block]] : blocks.bornState[block] === 0 ? -2 : -1),
    (row) => (row >= 0 ? kind(row) : row === -1 ? none : before),
    group,
  );
}

/**
 * @param {(block: number) => number} numberOf the identity of a block's group, at least -2
 * @param {(number: number) => Kind} kind the kind of such a number
 * @param {(kind: Kind) => number} group
 */
function byNumber(numberOf, kind, group) {
  /** @type {number[]} */
  const known = [];
  return (/** @type {number} */ block) => {
    const number = numberOf(block) + 2;
    return (known[number] ??= group(kind(number - 2)));
  };
}

const SIZE_BOUNDS = Object.freeze([
  4 * 2 ** 10,
  32 * 2 ** 10,
  256 * 2 ** 10,
  2 * 2 ** 20,
  16 * 2 ** 20,
  128 * 2 ** 20,
  2 ** 30,
]);
const SIZE_TEXTS = Object.freeze([
  'below 4 KiB',
  '4 – 32 KiB',
  '32 – 256 KiB',
  '256 KiB – 2 MiB',
  '2 – 16 MiB',
  '16 – 128 MiB',
  '128 MiB – 1 GiB',
  '1 GiB and more',
]);
const AGE_DECADES = 8; // classes of lifetimes, besides blocks that are never freed

/**
 * The label of a class of lifetimes: below 10 µs, 100 µs, ..., or below 10, 100, ... events without a clock.
 * @param {boolean} isTimed
 * @param {number} decade
 */
function ageText(isTimed, decade) {
  const text = (/** @type {number} */ d) =>
    isTimed ? formatDuration(10 ** (d + 4)).replace(/\.0+(?=\s)/, '') : formatCount(10 ** (d + 1));
  const unit = isTimed ? '' : ' events';
  return decade === 0
    ? `below ${text(0)}${unit}`
    : decade === AGE_DECADES - 1
      ? `${text(decade - 1)}${unit} and longer`
      : `${text(decade - 1)} – ${text(decade)}${unit}`;
}

/** @param {import('./run.js').Run} run */
function hasClock(run) {
  return !run.isVirtual && run.snapshot.clockSource !== 'none';
}

/**
 * @param {ColourBy} colourBy
 * @param {import('./run.js').Run[]} runs
 * @returns {Classifier}
 */
function classifierOf(colourBy, runs) {
  if (colourBy === 'category') {
    return ({ index: { blocks }, snapshot: { categories } }, group) =>
      byNumber(
        (block) => blocks.category[block],
        (c) =>
          kindOf(categories[c], categoryText(categories[c]), {
            colour: categoryColour(categories[c]),
            order: c,
          }),
        group,
      );
  }
  if (colourBy === 'scope') {
    return ({ index: { blocks }, snapshot }, group) => {
      const { paths, pathOf } = scopeGroups(snapshot);
      return byTable(
        blocks,
        blocks.scope,
        pathOf,
        'scope',
        paths[0],
        (path) => kindOf(`scope:${paths[path]}`, paths[path]),
        group,
      );
    };
  }
  if (colourBy === 'stack') {
    return (run, group) => {
      const {
        index: { blocks },
        snapshot,
        userFrame,
      } = run;
      return byTable(
        blocks,
        blocks.stack,
        userFrame,
        'stack',
        'no call stack',
        (frame) => {
          const label = frameText(snapshot, frame);
          const file = snapshot.frames.file[frame];
          return kindOf(`stack:${label} ${file < 0 ? '' : snapshot.strings[file]}`, label, {
            title: file < 0 ? label : `${label} in ${snapshot.strings[file]}`,
          });
        },
        group,
      );
    };
  }
  return colourBy === 'size' ? classifyBySize : classifierByAge(runs.every(hasClock));
}

/** @type {Classifier} */
function classifyBySize({ index: { blocks } }, group) {
  const n = SIZE_TEXTS.length;
  return byNumber(
    (block) => {
      const at = SIZE_BOUNDS.findIndex((bound) => blocks.bytes[block] < bound);
      return at < 0 ? n - 1 : at;
    },
    (k) => kindOf(`size:${k}`, SIZE_TEXTS[k], { colour: sequentialColour(k, n), order: n - k }),
    group,
  );
}

/**
 * @param {boolean} isTimed
 * @returns {Classifier}
 */
function classifierByAge(isTimed) {
  const n = AGE_DECADES;
  const unit = isTimed ? 'time' : 'events';
  return (
    {
      index: {
        blocks: { bornState, diedState },
      },
      snapshot: { events },
    },
    group,
  ) =>
    byNumber(
      (block) => {
        const born = bornState[block];
        const died = diedState[block];
        if (died > events.count || died === 0) return n; // 0: pending from the start, never shown
        const life = isTimed
          ? (events.timeNs[died - 1] - (born > 0 ? events.timeNs[born - 1] : 0)) / 1000
          : died - born;
        return Math.max(0, Math.min(n - 1, Math.floor(Math.log10(Math.max(life, 1)) + 1e-9)));
      },
      (k) =>
        k === n
          ? kindOf('age:never', 'never freed', { colour: sequentialColour(n, n + 1), order: 0 })
          : kindOf(`age:${unit}:${k}`, ageText(isTimed, k), {
              colour: sequentialColour(k, n + 1),
              order: n - k,
            }),
      group,
    );
}

/**
 * Sorts the groups of all runs for the stack: persistent blocks at the bottom, short-lived ones on top.
 * @param {Kind[]} kinds
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
 * @param {import('./run.js').Run} run
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
 * @param {import('./run.js').Run[]} runs
 * @param {ColourBy} colourBy
 * @returns {Colouring}
 */
export function buildColouring(runs, colourBy) {
  /** @type {Kind[]} */
  const kinds = [];
  /** @type {Map<string, number>} */
  const ids = new Map();
  const group = (/** @type {Kind} */ kind) => {
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

/** @type {WeakMap<import('./run.js').Run[], Map<ColourBy, Colouring>>} */
const colourings = new WeakMap();

/**
 * As `buildColouring`, cached as long as the list of runs.
 * @param {import('./run.js').Run[]} runs
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
 * The default colouring: by call stack if no block has a category, because that says more.
 * @param {import('./run.js').Run[]} runs
 * @returns {ColourBy}
 */
export function usualColour(runs) {
  const unknown = CATEGORIES.indexOf('unknown');
  const isBare =
    runs.length > 0 &&
    runs.every((run) => run.index.blocks.category.every((category) => category === unknown));
  return isBare && runs.some((run) => run.snapshot.stacks.frame.length > 0) ? 'stack' : 'category';
}
