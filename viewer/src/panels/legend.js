/* legend.js - explains the colours and filters by them: a click hides a group, and Alt-click hides all
 * others.
 */
import { byId, element, pushButton } from '../elements/dom.js';
import { peakWord } from '../run/peak.js';
import { ruleRows, ruleTable } from './rule_coverage.js';
import { colouringOf } from '../draw/stacking.js';
import { makeBandSweep } from '../draw/sweep.js';
import { certaintiesText, formatBytes, formatCount, formatShare } from '../words/text.js';

const SHOWN_GROUPS = 12; // number of groups shown; a button shows all
const SHOWN_NARROW = 6; // the same in narrow windows

/** @type {[import('../draw/stacking.js').ColourBy, string][]} */
const COLOUR_CHOICES = [
  ['category', 'category'],
  ['scope', 'scope'],
  ['stack', 'call stack'],
  ['size', 'size'],
  ['age', 'lifetime'],
];

/** The legend, which is also the filter. */
export class Legend {
  /** @param {import('../elements/store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.isOpen = false;
    /** @type {import('../draw/stacking.js').Colouring | null} */
    this.colouring = null;
    /** @type {import('../draw/sweep.js').BandSweep | null} totals of the run whose bytes are shown */
    this.sweep = null;
    this.sweptRun = -1;
    /**
     * @type {Map<string, {group: number, button: HTMLElement, bytes: HTMLElement, share: HTMLElement}>} by
     *   key
     */
    this.items = new Map();
    this.select = /** @type {HTMLSelectElement} */ (
      element(
        'select',
        { 'aria-label': 'Colour by', title: 'What the colours mean' },
        ...COLOUR_CHOICES.map(([value, text]) => element('option', { value }, `by ${text}`)),
      )
    );
    this.select.addEventListener('change', () => {
      store.set({
        colourBy: /** @type {import('../draw/stacking.js').ColourBy} */ (this.select.value),
        hidden: new Set(),
      });
    });
    this.list = element('ul', { class: 'legend', 'aria-label': 'Groups: press to hide or show' });
    this.more = element('button', { type: 'button', class: 'quiet' });
    this.more.addEventListener('click', () => {
      this.isOpen = !this.isOpen;
      this.build();
    });
    this.where = element('span', { class: 'muted small' });
    this.certainties = element('span', {
      title: 'Named: the program says what the bytes are. By rule: it follows from how they are used.',
    });
    this.rules = element('div', { class: 'rules-box', hidden: '' });
    this.rulesButton = pushButton('rules', () => this.showRules(this.rules.hidden), { class: 'quiet' });
    this.certainty = element('div', { class: 'muted small' }, this.certainties, this.rulesButton, this.rules);
    byId('legend').replaceChildren(this.select, this.where, this.list, this.more, this.certainty);
    store.on(['runs', 'colourBy'], () => {
      this.isOpen = false;
      this.build();
    });
    store.on(['hidden'], () => this.showPressed());
    store.on(['cursor', 'shown', 'range'], () => this.showBytes());
    store.on(['shown'], () => this.showCertainty());
  }

  /** Rebuilds the list. */
  build() {
    const { runs, colourBy } = this.store.get();
    const recorded = runs.some((run) => run.isRecorded);
    byId('legend').hidden = !recorded;
    if (!recorded) return;
    const colouring = colouringOf(runs, colourBy);
    const { groups } = colouring;
    this.colouring = colouring;
    this.sweep = null;
    this.select.value = colourBy;
    const bySize = groups.map((_, g) => g).sort((a, b) => groups[b].peakBytes - groups[a].peakBytes);
    const most =
      colourBy === 'category' ? groups.length : window.innerWidth > 1100 ? SHOWN_GROUPS : SHOWN_NARROW;
    const chosen = new Set(this.isOpen ? bySize : bySize.slice(0, most));
    const inOrder = groups.length > most ? bySize.filter((g) => chosen.has(g)) : groups.map((_, g) => g);
    this.items = new Map(inOrder.map((g) => [groups[g].key, this.makeItem(g)]));
    this.list.replaceChildren(...[...this.items.values()].map(({ button }) => element('li', {}, button)));
    this.list.classList.toggle('open', this.isOpen);
    this.more.hidden = groups.length <= most;
    this.more.textContent = this.isOpen ? 'fewer' : `all ${formatCount(groups.length)}`;
    this.more.setAttribute('aria-expanded', String(this.isOpen));
    this.showPressed();
    this.showBytes();
    this.showCertainty();
  }

  /** Shows how the categories of the peak's bytes became known, in colours by category. */
  showCertainty() {
    const { runs, shown, colourBy } = this.store.get();
    const text = certaintiesText(runs[shown]?.peak.certainties ?? null);
    this.certainty.hidden = text === '' || colourBy !== 'category';
    this.certainties.textContent = text === '' ? '' : `categories at the ${peakWord(runs[shown])}: ${text}`;
    this.showRules(false);
  }

  /**
   * Shows what each rule explains, or hides it.
   * @param {boolean} isOpen
   */
  showRules(isOpen) {
    const { runs, shown } = this.store.get();
    const run = runs[shown];
    this.rulesButton.hidden = run === undefined || !run.isRecorded || ruleRows(run).length === 0;
    this.rulesButton.setAttribute('aria-expanded', String(isOpen));
    this.rules.hidden = !isOpen;
    this.rules.replaceChildren(...(isOpen ? [ruleTable(run)] : []));
  }

  /** @param {number} group */
  makeItem(group) {
    const { key, label, title, colour, isOld } = /** @type {import('../draw/stacking.js').Colouring} */ (
      this.colouring
    ).groups[group];
    const mark = element('span', { class: isOld ? 'swatch old' : 'swatch', 'aria-hidden': 'true' });
    mark.style.background = colour;
    const bytes = element('b');
    const share = element('span', { class: 'muted' });
    const button = element(
      'button',
      { type: 'button', class: 'group', title: `${title}\nClick hides, Alt click shows it alone` },
      mark,
      element('span', { class: 'label' }, label),
      bytes,
      share,
    );
    button.addEventListener('click', (event) => this.press(key, event.altKey));
    button.addEventListener('keydown', (event) => {
      if (!event.altKey || (event.key !== 'Enter' && event.key !== ' ')) return;
      event.preventDefault();
      this.press(key, true);
    });
    return { group, button, bytes, share };
  }

  /**
   * @param {string} key
   * @param {boolean} isSolo
   */
  press(key, isSolo) {
    const { hidden } = this.store.get();
    const keys = (this.colouring?.groups ?? []).map((group) => group.key);
    const others = keys.filter((each) => each !== key);
    const isAlone = !hidden.has(key) && others.every((each) => hidden.has(each));
    const next = new Set(hidden);
    if (isSolo) return this.store.set({ hidden: new Set(isAlone ? [] : others) });
    if (!next.delete(key)) next.add(key);
    return this.store.set({ hidden: keys.every((each) => next.has(each)) ? new Set() : next });
  }

  showPressed() {
    const { hidden } = this.store.get();
    for (const [key, { button }] of this.items) button.setAttribute('aria-pressed', String(!hidden.has(key)));
  }

  /** Shows the bytes at the cursor, or else at the peak. */
  showBytes() {
    const { runs, cursor, shown } = this.store.get();
    const at = cursor?.run ?? shown;
    const run = runs[at];
    if (
      this.colouring === null ||
      run === undefined ||
      !run.isRecorded ||
      this.colouring.groupings[at]?.run !== run
    )
      return;
    if (this.sweep === null || this.sweptRun !== at)
      this.sweep = makeBandSweep(this.colouring.groupings[at], null);
    this.sweptRun = at;
    const state = cursor?.state ?? run.peakState;
    const total = run.index.totals[state];
    this.sweep.moveTo(state);
    for (const { group, bytes, share } of this.items.values()) {
      const amount = this.sweep.sums[group];
      bytes.textContent = amount === 0 ? '–' : formatBytes(amount);
      share.textContent = amount === 0 || total === 0 ? '' : formatShare(amount / total);
    }
    this.where.textContent = `at the ${cursor === null ? peakWord(run) : 'cursor'}${runs.length > 1 ? ` of ${run.short}` : ''}`;
  }
}
