/* classify.js - assigns each block to a kind of group: by category, scope, call stack, size or lifetime. */
import { categoryColour, rankedColour, sequentialColour } from '../words/colours.js';
import { frameText } from '../run/frames.js';
import { scopeGroups } from '../run/lanes.js';
import { categoryText, formatCount, formatDuration } from '../words/text.js';

/**
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
 * @typedef {(run: import('../run/run.js').Run, group: (kind: Kind) => number) => (block: number) => number}
 *   Classifier gives the group of a block, per run
 */

/**
 * One group per row of a table that blocks refer to. Blocks from before the recording without a reference
 * form a group of their own.
 * @param {import('../run/blocks.js').Blocks} blocks
 * @param {object} table
 * @param {import('../run/format.js').Indices} table.column of `blocks`
 * @param {import('../run/columns.js').Indices} table.identities the identity of each row of the table
 * @param {string} table.prefix
 * @param {string} table.without label of blocks without a reference
 * @param {(identity: number) => Kind} table.kind
 * @param {(kind: Kind) => number} group
 */
function byTable(blocks, { column, identities, prefix, without, kind }, group) {
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

/**
 * @param {import('./stacking.js').ColourBy} colourBy
 * @param {import('../run/run.js').Run[]} runs
 * @returns {Classifier}
 */
export function classifierOf(colourBy, runs) {
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
        {
          column: blocks.scope,
          identities: pathOf,
          prefix: 'scope',
          without: paths[0],
          kind: (path) => kindOf(`scope:${paths[path]}`, paths[path]),
        },
        group,
      );
    };
  }
  if (colourBy === 'stack') {
    return (run, group) => {
      const {
        index: { blocks },
        snapshot,
      } = run;
      return byTable(
        blocks,
        {
          column: blocks.stack,
          identities: snapshot.stacks.userFrame,
          prefix: 'stack',
          without: 'no call stack',
          kind: (frame) => {
            const label = frameText(snapshot, frame);
            const file = snapshot.frames.file[frame];
            return kindOf(`stack:${label} ${file < 0 ? '' : snapshot.strings[file]}`, label, {
              title: file < 0 ? label : `${label} in ${snapshot.strings[file]}`,
            });
          },
        },
        group,
      );
    };
  }
  return colourBy === 'size' ? classifyBySize : classifierByAge(runs.every((run) => run.hasClock));
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
