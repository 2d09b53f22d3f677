/* instant.js - selects the blocks that the tree and the flame graph show: those alive at the peak or at the
 * cursor, or those allocated, freed or kept in the range; and the buttons for this choice.
 */
import { blocksOf, whatOf, wholeOf } from '../answers/amounts.js';
import { element, pushButton } from '../elements/dom.js';
import { peakWord } from '../run/peak.js';
import { placeOfState } from '../run/run.js';
import { colouringOf } from '../draw/stacking.js';
import { formatBytes, formatCount, formatPlural } from '../words/text.js';

/** @type {{key: import('../elements/store.js').State['instant'], text: string, title: string}[]} */
const INSTANT_CHOICES = [
  {
    key: 'peak',
    text: 'at the peak',
    title: 'Blocks alive at the peak of the range, or of the run',
  },
  {
    key: 'cursor',
    text: 'at the cursor',
    title: 'Blocks alive under the pointer; a click holds the cursor there',
  },
  {
    key: 'range-allocated',
    text: 'allocated',
    title: 'Blocks allocated in the range, or in the run without one',
  },
  { key: 'range-freed', text: 'freed', title: 'Blocks freed in the range, or in the run without one' },
  {
    key: 'range-alive',
    text: 'kept',
    title: 'Blocks allocated in the range, or in the run without one, and still alive at its end',
  },
];

/**
 * @typedef {object} Selection the selection
 * @property {import('../run/run.js').Run} run
 * @property {import('../answers/amounts.js').Alive | import('../answers/amounts.js').Happened} what
 * @property {import('../answers/amounts.js').Amount} whole
 */

/**
 * Per block 1 if the legend shows its group; null: no group is hidden.
 * @param {import('../elements/store.js').State} state
 */
function visibleBlocks({ hidden, colourBy, runs, shown }) {
  if (hidden.size === 0) return null;
  const { groups, groupings } = colouringOf(runs, colourBy);
  const isShown = Uint8Array.from(groups, ({ key }) => (hidden.has(key) ? 0 : 1));
  return isShown.includes(0) ? Uint8Array.from(groupings[shown].groupOf, (group) => isShown[group]) : null;
}

/**
 * The groups by which the timelines are coloured, and each block's.
 * @param {import('../elements/store.js').State} state
 * @returns {{groups: import('../draw/stacking.js').StackGroup[], groupOf: (block: number) => number}}
 */
export function groupsOfBlocks({ colourBy, runs, shown }) {
  const { groups, groupings } = colouringOf(runs, colourBy);
  const { groupOf } = groupings[shown];
  return { groups, groupOf: (block) => groupOf[block] };
}

/**
 * Each block's colour in the timelines.
 * @param {import('../elements/store.js').State} state
 * @returns {(block: number) => string}
 */
export function blockColours(state) {
  const { groups, groupOf } = groupsOfBlocks(state);
  return (block) => groups[groupOf(block)].colour;
}

/**
 * The cursor's state in the run shown; -1: the cursor is elsewhere.
 * @param {import('../elements/store.js').State} state
 */
export function shownCursor({ cursor, shown }) {
  return cursor !== null && cursor.run === shown ? cursor.state : -1;
}

/**
 * The range in the run shown.
 * @param {import('../elements/store.js').State} state
 */
export function shownRange({ range, shown }) {
  return range !== null && range.run === shown ? range : null;
}

/**
 * @param {import('../elements/store.js').State} state
 * @returns {Selection | null} null: no run, or no recording
 */
export function selectBlocks(state) {
  const run = state.runs[state.shown];
  if (run === undefined || !run.isRecorded) return null;
  const what = whatOf(run, state.instant, shownCursor(state), shownRange(state));
  return { run, what, whole: wholeOf(run, blocksOf(run, what, visibleBlocks(state))) };
}

/**
 * "alive after event 1,234, in step 1, backward", "allocated in events 10 to 99".
 * @param {Selection} selection
 */
export function whatText({ run, what }) {
  if (what.kind !== 'alive') {
    const isWhole = what.first === 0 && what.last === run.index.nStates;
    return `${what.kind} in ${isWhole ? 'the whole run' : `events ${formatCount(Math.max(0, what.first - 1))} to ${formatCount(what.last - 2)}`}`;
  }
  const place = placeOfState(run, what.state);
  const first = run.snapshot.events.count === 0 ? 'when the file was written' : 'before the first event';
  return `alive ${what.state === 0 ? first : `after event ${formatCount(what.state - 1)}`}${place ? `, in ${place}` : ''}`;
}

/**
 * "1.50 GiB in 120 blocks, 1.49 GiB requested", "2.00 GiB in 12 segments".
 * @param {Selection} selection
 */
export function amountText({ run, whole: { bytes, count, requestedBytes } }) {
  if (run.blocksRun) return `${formatBytes(bytes)} in ${formatPlural(count, 'segment')}`;
  return `${formatBytes(bytes)} in ${formatCount(count)} block${count === 1 ? '' : 's'}, ${formatBytes(requestedBytes)} requested`;
}

/**
 * Creates the buttons that choose the selection, and keeps them up to date.
 * @param {import('../elements/store.js').Store} store
 * @returns {HTMLElement}
 */
export function makeInstantBar(store) {
  const buttons = INSTANT_CHOICES.map(({ key, text, title }) => ({
    key,
    button: pushButton(text, () => store.set({ instant: key }), { title }),
  }));
  const update = (/** @type {import('../elements/store.js').State} */ { instant, runs, shown }) => {
    for (const { key, button } of buttons) {
      button.setAttribute('aria-pressed', String(key === instant));
      if (key === 'peak' && runs[shown] !== undefined) button.textContent = `at the ${peakWord(runs[shown])}`;
    }
  };
  store.on(['instant', 'runs', 'shown'], update);
  update(store.get());
  return element(
    'div',
    { class: 'choices', role: 'group', 'aria-label': 'Blocks to show' },
    ...buttons.map(({ button }) => button),
  );
}
