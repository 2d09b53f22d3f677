/* largest_card.js - the largest groups of blocks at the peak or at the cursor, beside the timeline; a click
 * isolates one.
 */
import { card, colourSwatch, element, pushButton } from './dom.js';
import { blockColours } from './instant.js';
import { blocksOfGroup, largestAt } from './largest.js';
import { oncePer } from './once.js';
import { formatBytes, formatPlural, formatShare } from './text.js';

const LISTED_GROUPS = 10;

/**
 * @param {import('./store.js').Store} store
 * @returns {HTMLElement} updates with the store; hidden if the run has no blocks
 */
export function makeLargestCard(store) {
  const list = element('ol', { class: 'largest' });
  const rest = element('p', { class: 'muted small' });
  const title = element('span', {});
  const made = card('', list, rest);
  made.classList.add('largest-card');
  made.querySelector('h2')?.append(title);
  let chosen = '';
  let shownFor = ''; // identifies the instant and the contents of the list

  /**
   * @param {import('./largest.js').LargeGroup} group
   * @param {number} total
   * @param {(block: number) => string} colourOf
   */
  const rowOf = (group, total, colourOf) => {
    const key = group.path.join('\n');
    const isChosen = chosen === key && store.get().pick !== null;
    const button = pushButton(
      group.label,
      () => {
        chosen = isChosen ? '' : key;
        store.set({
          pick: isChosen
            ? null
            : { label: group.label, ofRun: oncePer((run) => blocksOfGroup(run, group.path)) },
        });
      },
      {
        class: 'link',
        'aria-pressed': String(isChosen),
        title: `${group.label}, ${formatPlural(group.count, 'block')}${group.where === '' ? '' : `, ${group.where}`}: show these alone`,
      },
    );
    return element(
      'li',
      {},
      colourSwatch(colourOf(group.largest)),
      element('span', { class: 'name' }, button),
      element('span', { class: 'number' }, formatBytes(group.bytes)),
      element('span', { class: 'number share' }, formatShare(total > 0 ? group.bytes / total : 0)),
    );
  };

  const update = () => {
    const { runs, shown, cursor } = store.get();
    const held = cursor?.held ? cursor : null;
    const run = runs[held?.run ?? shown];
    made.hidden = run === undefined || !run.isRecorded;
    if (made.hidden) return;
    const { colourBy, pick } = store.get();
    const now = [
      runs.map(({ label, device }) => `${label} ${device}`),
      held?.run ?? shown,
      held?.state,
      colourBy,
      pick?.label,
    ].join();
    if (now === shownFor) return; // the cursor follows the pointer: the list stays
    shownFor = now;
    const state = held?.state ?? run.peakState;
    const total = run.index.totals[state];
    const groups = largestAt(run, state);
    const colourOf = blockColours({ ...store.get(), shown: held?.run ?? shown });
    title.textContent = `Largest at the ${held ? 'cursor' : 'peak'}${runs.length > 1 ? ` of ${run.short}` : ''}`;
    const had = document.activeElement;
    const focused = list.contains(had)
      ? [...list.querySelectorAll('button')].indexOf(/** @type {HTMLButtonElement} */ (had))
      : -1;
    list.replaceChildren(...groups.slice(0, LISTED_GROUPS).map((group) => rowOf(group, total, colourOf)));
    if (focused >= 0) list.querySelectorAll('button')[focused]?.focus();
    const others = groups.slice(LISTED_GROUPS);
    rest.textContent =
      others.length === 0
        ? ''
        : `${formatPlural(others.length, 'smaller group')}: ${formatBytes(others.reduce((sum, group) => sum + group.bytes, 0))}`;
  };
  store.on(['runs', 'shown', 'cursor', 'pick', 'colourBy'], update);
  return made;
}
