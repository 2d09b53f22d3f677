/* largest_card.js - the largest groups of blocks at the peak or at the cursor, beside the timeline; a click
 * isolates one.
 */
import { card, colourSwatch, element, pushButton } from '../elements/dom.js';
import { blockColours } from './instant.js';
import { blocksOfGroup, largestAt } from '../answers/largest.js';
import { oncePer } from '../run/once.js';
import { peakWord } from '../run/peak.js';
import { formatBytes, formatPlural, formatShare } from '../words/text.js';

const LISTED_GROUPS = 10;

/**
 * The row of a group.
 * @param {import('../answers/largest.js').LargeGroup} group
 * @param {number} share of all bytes
 * @param {string} colour
 * @param {boolean} isChosen
 * @param {() => void} press
 */
function groupRow(group, share, colour, isChosen, press) {
  const where = group.where === '' ? '' : `, ${group.where}`;
  const button = pushButton(group.label, press, {
    class: 'link',
    'aria-pressed': String(isChosen),
    title: `${group.label}, ${formatPlural(group.count, 'block')}${where}: show these alone`,
  });
  return element(
    'li',
    {},
    colourSwatch(colour),
    element('span', { class: 'name' }, button),
    element('span', { class: 'number' }, formatBytes(group.bytes)),
    element('span', { class: 'number share' }, formatShare(share)),
  );
}

/**
 * The text about the groups that the list leaves out.
 * @param {import('../answers/largest.js').LargeGroup[]} others
 */
function restText(others) {
  if (others.length === 0) return '';
  const bytes = others.reduce((sum, group) => sum + group.bytes, 0);
  return `${formatPlural(others.length, 'smaller group')}: ${formatBytes(bytes)}`;
}

/**
 * @param {HTMLElement} title
 * @param {HTMLElement[]} content
 */
function makeCard(title, ...content) {
  const made = card('', ...content);
  made.classList.add('largest-card');
  made.querySelector('h2')?.append(title);
  return made;
}

/**
 * @param {import('../elements/store.js').Store} store
 * @returns {HTMLElement} updates with the store; hidden if the run has no blocks
 */
export function makeLargestCard(store) {
  const list = element('ol', { class: 'largest' });
  const rest = element('p', { class: 'muted small' });
  const title = element('span', {});
  const made = makeCard(title, list, rest);
  let chosen = '';
  let shownFor = ''; // identifies the instant and the contents of the list

  const pickGroup = (/** @type {import('../answers/largest.js').LargeGroup} */ group) => {
    const key = group.path.join('\n');
    const isChosen = chosen === key && store.get().pick !== null;
    const ofRun = (/** @type {import('../run/run.js').Run} */ run) => blocksOfGroup(run, group.path);
    const pick = { label: group.label, ofRun: oncePer(ofRun) };
    chosen = isChosen ? '' : key;
    store.set({ pick: isChosen ? null : pick });
  };
  const rowOf = (
    /** @type {import('../answers/largest.js').LargeGroup} */ group,
    /** @type {number} */ share,
    /** @type {string} */ colour,
  ) => {
    const isChosen = chosen === group.path.join('\n') && store.get().pick !== null;
    return groupRow(group, share, colour, isChosen, () => pickGroup(group));
  };

  const update = () => {
    const { runs, shown, cursor } = store.get();
    const held = cursor?.held ? cursor : null;
    const run = runs[held?.run ?? shown];
    made.hidden = run === undefined || !run.isRecorded;
    if (made.hidden) return;
    const { colourBy, pick } = store.get();
    const names = runs.map(({ label, device, blocksRun }) => `${label} ${device} ${blocksRun !== undefined}`);
    const now = [names, held?.run ?? shown, held?.state, colourBy, pick?.label].join();
    if (now === shownFor) return; // the cursor follows the pointer: the list stays
    shownFor = now;
    const state = held?.state ?? run.peakState;
    const total = run.index.totals[state];
    const groups = largestAt(run, state);
    const colourOf = blockColours({ ...store.get(), shown: held?.run ?? shown });
    title.textContent = `Largest at the ${held ? 'cursor' : peakWord(run)}${runs.length > 1 ? ` of ${run.short}` : ''}`;
    const had = document.activeElement;
    const focused = list.contains(had)
      ? [...list.querySelectorAll('button')].indexOf(/** @type {HTMLButtonElement} */ (had))
      : -1;
    const shownGroups = groups.slice(0, LISTED_GROUPS);
    list.replaceChildren(
      ...shownGroups.map((group) =>
        rowOf(group, total > 0 ? group.bytes / total : 0, colourOf(group.largest)),
      ),
    );
    if (focused >= 0) list.querySelectorAll('button')[focused]?.focus();
    rest.textContent = restText(groups.slice(LISTED_GROUPS));
  };
  store.on(['runs', 'shown', 'cursor', 'pick', 'colourBy'], update);
  return made;
}
