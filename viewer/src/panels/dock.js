/* dock.js - the panels below the timelines; one is open at a time. */
import { byId, element } from '../elements/dom.js';

/**
 * The panels in the order of their tabs, which the digit keys open.
 * @type {{key: import('../elements/store.js').State['dock'], title: string}[]}
 */
export const DOCK_PANELS = [
  { key: 'tree', title: 'Tree' },
  { key: 'flame', title: 'Flame graph' },
  { key: 'map', title: 'Memory map' },
  { key: 'events', title: 'Events' },
  { key: 'differences', title: 'Differences' },
];

/**
 * @typedef {{element: HTMLElement, show: () => void}} DockPanel show is called when the panel becomes visible
 */

/** The row of tabs and the panel that is open. */
export class Dock {
  /**
   * @param {import('../elements/store.js').Store} store
   * @param {Record<string, DockPanel>} panels by key; an absent panel has no tab
   */
  constructor(store, panels) {
    this.panels = panels;
    this.tabs = new Map(
      DOCK_PANELS.filter(({ key }) => panels[key]).map(({ key, title }) => {
        const tab = element(
          'button',
          { type: 'button', role: 'tab', id: `tab-${key}`, 'aria-controls': `panel-${key}` },
          title,
        );
        tab.addEventListener('click', () => store.set({ dock: key }));
        const { element: panel } = panels[key];
        panel.id = `panel-${key}`;
        panel.setAttribute('role', 'tabpanel');
        panel.setAttribute('aria-labelledby', `tab-${key}`);
        return [key, tab];
      }),
    );
    byId('dock-tabs').replaceChildren(...this.tabs.values());
    byId('dock-panels').replaceChildren(...Object.values(panels).map((panel) => panel.element));
    store.on(['dock', 'runs'], (state) => this.update(state));
    this.update(store.get());
  }

  /** @param {import('../elements/store.js').State} state */
  update({ dock, runs }) {
    const hasTimelines = runs.some((run) => run.isRecorded);
    byId('dock').hidden = !hasTimelines;
    const differences = this.tabs.get('differences');
    if (differences) differences.hidden = runs.length < 2;
    const open = this.tabs.has(dock) && !(dock === 'differences' && runs.length < 2) ? dock : 'tree';
    for (const [key, tab] of this.tabs) {
      tab.setAttribute('aria-selected', String(key === open));
      tab.tabIndex = key === open ? 0 : -1;
      this.panels[key].element.hidden = key !== open;
    }
    if (hasTimelines) this.panels[open]?.show();
  }
}
