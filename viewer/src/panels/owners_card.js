/* owners_card.js - what is in use on the device that is shown, and whose it is. */
import { card, element } from '../elements/dom.js';
import { accountLines } from '../run/owners.js';

/**
 * @param {import('../elements/store.js').Store} store
 * @returns {HTMLElement} updates with the store; hidden if the file does not say
 */
export function makeOwnersCard(store) {
  const list = element('dl', {});
  const note = element('p', { class: 'muted small' });
  const made = card('', list, note);
  const title = element('span', {});
  made.querySelector('h2')?.append(title);
  const update = () => {
    const { runs, shown } = store.get();
    const run = runs[shown];
    const lines = run === undefined ? [] : accountLines(run.snapshot.owners, run.device);
    made.hidden = lines.length === 0;
    title.textContent = `In use on the device${runs.length > 1 ? `, ${run?.short}` : ''}`;
    const isPytorch = run?.snapshot.owners.rows.some(({ name }) => name === 'PyTorch');
    note.textContent = `As the driver counts it, of all programs.${isPytorch ? ' PyTorch holds what it reserved.' : ''}`;
    list.replaceChildren(
      ...lines.flatMap(({ when, text }) => [element('dt', {}, when), element('dd', {}, text)]),
    );
  };
  store.on(['runs', 'shown'], update);
  return made;
}
