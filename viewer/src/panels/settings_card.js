/* settings_card.js - the settings of the allocator of the run that is shown. */
import { byId, card, element } from '../elements/dom.js';
import { settingsOf, settingsText } from '../run/settings.js';

/**
 * @param {import('../elements/store.js').Store} store
 */
export function makeSettingsCard(store) {
  const head = element('summary', {});
  const list = element('dl', {});
  byId('settings').append(card('Settings', element('details', {}, head, list)));
  store.on(['runs', 'shown'], ({ runs, shown }) => {
    const run = runs[shown];
    if (run === undefined) return;
    head.textContent = settingsText(run.snapshot);
    list.replaceChildren(
      ...settingsOf(run.snapshot).flatMap(({ name, text }) => [
        element('dt', {}, name),
        element('dd', {}, text),
      ]),
    );
  });
}
