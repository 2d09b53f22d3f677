/* search_box.js - the search field, with its result beside it. */
import { byId } from '../elements/dom.js';
import { peakWord } from '../run/peak.js';
import { compileQuery, nextFound, searchBlocks, sumFound } from '../answers/search.js';
import { buildPicking, colouringOf } from '../draw/stacking.js';
import { formatBytes, formatCount, formatShare } from '../words/text.js';

/** The search field. Blocks that match keep their colours, and all others dim. */
export class SearchBox {
  /**
   * @param {import('../elements/store.js').Store} store
   * @param {(run: number, state: number) => void} reveal scrolls to an instant
   */
  constructor(store, reveal) {
    this.store = store;
    this.reveal = reveal;
    this.input = /** @type {HTMLInputElement} */ (byId('search-input'));
    /** @type {Map<import('../run/run.js').Run, Uint8Array>} result of the current search */
    this.found = new Map();
    /** @type {import('../elements/store.js').Pick | null} the pick that the current search has set */
    this.own = null;
    this.input.addEventListener('input', () => this.search());
    this.input.addEventListener('focus', () => this.prepare());
    this.input.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        this.clear();
        this.input.blur();
      } else if (event.key === 'Enter') {
        this.goToNext();
      }
    });
    store.on(['pick', 'runs', 'cursor', 'shown'], () => this.update());
  }

  /** Runs a first search before the first letter, because it takes longer than later ones. */
  prepare() {
    const { runs, colourBy } = this.store.get();
    const all = { ...compileQuery('x'), test: () => true };
    runs.forEach((run, r) => buildPicking(colouringOf(runs, colourBy).groupings[r], searchBlocks(run, all)));
  }

  get text() {
    return this.input.value.trim();
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  /** @param {string} text */
  setText(text) {
    this.input.value = text;
    this.search();
  }

  clear() {
    this.input.value = '';
    this.search();
  }

  search() {
    const { text } = this;
    this.found = new Map();
    if (text === '') {
      this.input.setCustomValidity('');
      if (this.store.get().pick === this.own) this.store.set({ pick: null });
      this.own = null;
      return;
    }
    const query = compileQuery(text);
    const found = this.found;
    this.own = {
      label: text,
      ofRun: (run) => {
        let blocks = found.get(run);
        if (blocks === undefined) found.set(run, (blocks = searchBlocks(run, query)));
        return blocks;
      },
    };
    this.store.set({ pick: query.problem === '' ? this.own : null });
    this.input.setCustomValidity(query.problem);
    if (query.problem !== '') this.input.reportValidity();
  }

  /** Shows the result, at the cursor or else at the peak. */
  update() {
    const { pick, runs, shown, cursor } = this.store.get();
    const run = runs[cursor?.run ?? shown];
    const result = byId('search-result');
    if (pick === null || pick !== this.own || run === undefined) {
      result.textContent = '';
      return;
    }
    const state = cursor?.state ?? run.peakState;
    const { nBlocks, nAlive, aliveBytes } = sumFound(run, pick.ofRun(run), state);
    const total = run.index.totals[state];
    result.textContent =
      nBlocks === 0
        ? 'nothing found'
        : `${formatBytes(aliveBytes)} (${formatShare(total > 0 ? aliveBytes / total : 0)}) in ${formatCount(nAlive)} alive at the ${cursor ? 'cursor' : peakWord(run)}; ${formatCount(nBlocks)} in all`;
  }

  /** Pins the next allocation found and goes there. */
  goToNext() {
    const { pick, runs, shown, pinned } = this.store.get();
    const run = runs[shown];
    if (pick === null || run === undefined) return;
    const block = nextFound(pick.ofRun(run), pinned?.run === shown ? pinned.block : -1);
    if (block < 0) return;
    const state = run.index.blocks.bornState[block];
    this.store.set({ pinned: { run: shown, block }, cursor: { run: shown, state, held: true } });
    this.reveal(shown, state);
  }
}
