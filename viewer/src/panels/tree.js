/* tree.js - the tree of amounts as a panel: a grid of rows that open and close, down to single blocks, sorted
 * by any column. Choosing a row isolates its blocks in the timelines.
 */
import { leavesOf, pickOf, splitAmount } from '../answers/amounts.js';
import { copyText, saveFile } from '../elements/clipboard.js';
import { csvLine, textTable } from '../words/csv.js';
import { element, pushButton } from '../elements/dom.js';
import { beforePicture } from '../elements/frame.js';
import { amountText, blockColours, selectBlocks, makeInstantBar, whatText } from './instant.js';
import { levelsOf, usualSplit } from '../answers/levels.js';
import { formatBytes, formatCount, formatExactBytes, formatShare } from '../words/text.js';
import { CHUNK_ROWS, treeRows } from '../answers/tree_rows.js';

/** @type {{order: import('../answers/amounts.js').Order, text: string, isNumber: boolean}[]} */
const COLUMNS = [
  { order: 'label', text: 'name', isNumber: false },
  { order: 'bytes', text: 'bytes', isNumber: true },
  { order: 'requestedBytes', text: 'requested', isNumber: true },
  { order: 'count', text: 'blocks', isNumber: true },
];

/**
 * The words for what is summed: a segment has no requested bytes of its own.
 * @param {import('../run/run.js').Run | undefined} run
 */
function wordsOf(run) {
  return run?.blocksRun
    ? { requestedBytes: 'reserved', count: 'segments' }
    : { requestedBytes: 'requested', count: 'blocks' };
}

/** @type {[import('../answers/amounts.js').Split, string][]} */
const SPLITS = [
  ['category', 'category › scope › name › stack'],
  ['scope', 'scope › category › name › stack'],
  ['site', 'call site › scope › name › stack'],
  ['stack', 'call stack › category › scope › name'],
];

/** The elements of one row, which are reused. */
class RowView {
  constructor() {
    this.twisty = element('span', { class: 'twisty', 'aria-hidden': 'true' });
    this.swatch = element('span', { class: 'swatch', 'aria-hidden': 'true' });
    this.label = element('span', { class: 'label' });
    this.bar = element('span', { class: 'share-bar' });
    this.share = element('span', {});
    this.cells = COLUMNS.slice(1).map(() => element('span', { role: 'gridcell', class: 'number' }));
    this.element = element(
      'div',
      { role: 'row', class: 'tree-row' },
      element('span', { role: 'gridcell', class: 'tree-name' }, this.twisty, this.swatch, this.label),
      element(
        'span',
        { role: 'gridcell', class: 'tree-share' },
        element('span', { class: 'share-track', 'aria-hidden': 'true' }, this.bar),
        this.share,
      ),
      ...this.cells,
    );
    /** @type {Map<Node | string, string>} the contents of each cell, so that only changes are written */
    this.written = new Map();
  }

  /**
   * @param {HTMLElement} to
   * @param {string} text
   */
  write(to, text) {
    if (this.written.get(to) === text) return;
    this.written.set(to, text);
    to.textContent = text;
  }

  /**
   * @param {string} name
   * @param {string | null} value
   * @param {HTMLElement} [of]
   */
  mark(name, value, of = this.element) {
    const key = of === this.element ? name : `${name} ${this.cells.indexOf(of)}`;
    if (this.written.get(key) === String(value)) return;
    this.written.set(key, String(value));
    if (value === null) of.removeAttribute(name);
    else of.setAttribute(name, value);
  }

  /**
   * @param {import('../answers/tree_rows.js').TreeRow} row
   * @param {number} total bytes
   * @param {{isPicked: boolean, hasFocus: boolean}} marks
   */
  fill(row, total, { isPicked, hasFocus }) {
    const share = total > 0 ? row.bytes / total : 0;
    this.write(this.label, row.label);
    this.write(this.share, formatShare(share));
    [row.bytes, row.requestedBytes].forEach((bytes, i) => {
      this.write(this.cells[i], formatBytes(bytes));
      this.mark('title', formatExactBytes(bytes), this.cells[i]);
    });
    this.write(this.cells[2], formatCount(row.count));
    this.mark('title', row.title);
    this.mark('aria-level', String(row.level));
    this.mark('aria-expanded', row.isOpen === null ? null : String(row.isOpen));
    this.mark('aria-selected', row.kind === 'more' ? null : String(isPicked));
    this.mark('data-kind', row.kind);
    this.mark('tabindex', hasFocus ? '0' : '-1');
    this.element.style.setProperty('--level', String(row.level));
    this.swatch.style.background = row.colour;
    this.bar.style.width = `${(100 * share).toFixed(2)}%`;
    this.bar.style.background = row.colour;
  }
}

/** The panel. Rows are filled at most once a frame, and only while it is visible. */
class TreePanel {
  /** @param {import('../elements/store.js').Store} store */
  constructor(store) {
    this.store = store;
    /** @type {import('../answers/tree_rows.js').TreeState} */
    this.state = {
      rootKey: '',
      open: new Set(),
      shownOf: new Map(),
      order: 'bytes',
      isDescending: true,
      colourOf: () => '',
    };
    /** @type {import('../answers/amounts.js').Split | null} null: the default of the run */
    this.split = null;
    this.singleLayers = false;
    /** @type {import('../answers/tree_rows.js').TreeRow[]} */
    this.rows = [];
    /** @type {RowView[]} */
    this.views = [];
    this.focusKey = '';
    /** @type {{key: string, pick: import('../elements/store.js').Pick} | null} the pick that a row has set */
    this.own = null;
    /** @type {import('./instant.js').Selection | null} */
    this.selection = null;
    /** @type {import('../run/run.js').Run | null} roots whose largest group was opened initially */
    this.begun = null;
    this.fillRows = () => this.update();
    this.splitSelect = /** @type {HTMLSelectElement} */ (
      element(
        'select',
        { 'aria-label': 'Split by' },
        ...SPLITS.map(([value, text]) => element('option', { value }, text)),
      )
    );
    this.summary = element('p', { class: 'panel-summary' });
    this.headers = COLUMNS.map(({ order, text, isNumber }) => ({
      order,
      text,
      cell: element(
        'span',
        { role: 'columnheader', class: isNumber ? 'number' : 'tree-name' },
        pushButton(text, () => this.sortBy(order)),
      ),
    }));
    this.body = element('div', { role: 'rowgroup' });
    this.grid = this.makeGrid();
    this.element = element('div', { class: 'tree-panel' }, this.makeBar(), this.summary, this.grid);
    store.on(['runs', 'shown', 'cursor', 'range', 'instant', 'hidden', 'colourBy', 'pick', 'pinned'], () =>
      this.update(),
    );
  }

  makeBar() {
    this.splitSelect.addEventListener('change', () => {
      this.split = /** @type {import('../answers/amounts.js').Split} */ (this.splitSelect.value);
      this.update();
    });
    const layers = /** @type {HTMLInputElement} */ (element('input', { type: 'checkbox' }));
    layers.addEventListener('change', () => {
      this.singleLayers = layers.checked;
      this.update();
    });
    const done = element('span', { class: 'muted small', role: 'status' });
    const copy = pushButton(
      'copy',
      async () => {
        done.textContent = (await copyText(this.asText())) ? 'copied' : 'the browser did not allow it';
      },
      { title: 'Copy the visible rows as text' },
    );
    const save = pushButton('CSV', () => this.save(), {
      title: 'Save every group down to its call stack, with exact numbers',
    });
    return element(
      'div',
      { class: 'panel-bar' },
      makeInstantBar(this.store),
      this.splitSelect,
      element(
        'label',
        {
          class: 'check',
          title: 'One row for each layer, and for each of the names that differ only in numbers',
        },
        layers,
        'single layers',
      ),
      element('span', { class: 'spring' }),
      done,
      copy,
      save,
    );
  }

  makeGrid() {
    const [name, ...numbers] = this.headers.map(({ cell }) => cell);
    const head = element(
      'div',
      { role: 'row', class: 'tree-row tree-head' },
      name,
      element('span', { role: 'columnheader', class: 'tree-share' }, 'share'),
      ...numbers,
    );
    const grid = element(
      'div',
      { role: 'treegrid', class: 'tree-grid', 'aria-label': 'Blocks by group' },
      element('div', { role: 'rowgroup' }, head),
      this.body,
    );
    grid.addEventListener('keydown', (event) => this.onKey(event));
    this.body.addEventListener('click', (event) => this.onClick(event));
    this.body.addEventListener('focusin', (event) => this.setFocus(this.indexOf(event.target), false));
    return grid;
  }

  show() {
    this.update();
  }

  /** @param {import('../run/run.js').Run} run */
  splitOf(run) {
    return this.split ?? usualSplit(run);
  }

  update() {
    if (this.element.hidden) return;
    const state = this.store.get();
    const selection = selectBlocks(state);
    this.selection = selection;
    this.grid.hidden = selection === null;
    if (selection === null) {
      this.summary.textContent = 'Nothing was recorded.';
      return;
    }
    const { run, whole } = selection;
    const levels = levelsOf(run, this.splitOf(run), this.singleLayers);
    this.splitSelect.value = this.splitOf(run);
    const words = /** @type {Record<string, string>} */ (wordsOf(run));
    for (const { order, text, cell } of this.headers)
      /** @type {HTMLElement} */ (cell.firstElementChild).textContent = words[order] ?? text;
    this.state.rootKey = `${state.shown}${this.splitOf(run)}${this.singleLayers}`;
    if (this.begun !== run && whole.count > 0) {
      this.begun = run;
      this.state.open.add(`${this.state.rootKey}/${splitAmount(run, levels, whole)[0].group}`);
    }
    this.summary.replaceChildren(
      element('b', { title: formatExactBytes(whole.bytes) }, formatBytes(whole.bytes)),
      amountText(selection).slice(formatBytes(whole.bytes).length),
      element('span', { class: 'muted' }, `; ${whatText(selection)}`),
    );
    this.state.colourOf = blockColours(state);
    this.rows = treeRows(this.state, run, whole, levels);
    this.draw();
  }

  draw() {
    const { pick, pinned, shown } = this.store.get();
    const total = this.selection?.whole.bytes ?? 0;
    if (this.own !== null && this.own.pick !== pick) this.own = null;
    const hadFocus = this.body.contains(document.activeElement);
    if (!this.rows.some(({ key }) => key === this.focusKey)) this.focusKey = this.rows[0]?.key ?? '';
    while (this.views.length < this.rows.length) this.views.push(new RowView());
    this.rows.forEach((row, i) => {
      const isPicked =
        row.kind === 'block'
          ? pinned?.run === shown && pinned.block === row.block
          : this.own?.key === row.key;
      this.views[i].fill(row, total, { isPicked, hasFocus: row.key === this.focusKey });
    });
    const shownRows = this.rows.map((_, i) => this.views[i].element);
    if (shownRows.length !== this.body.childElementCount) this.body.replaceChildren(...shownRows);
    this.grid.classList.toggle('has-pick', this.own !== null);
    for (const { order, cell } of this.headers)
      cell.setAttribute(
        'aria-sort',
        order !== this.state.order ? 'none' : this.state.isDescending ? 'descending' : 'ascending',
      );
    if (hadFocus)
      this.views[this.rows.findIndex(({ key }) => key === this.focusKey)]?.element.focus({
        preventScroll: true,
      });
  }

  /** @param {import('../answers/amounts.js').Order} order */
  sortBy(order) {
    this.state.isDescending = this.state.order === order ? !this.state.isDescending : order !== 'label';
    this.state.order = order;
    this.update();
  }

  /**
   * @param {EventTarget | null} target
   * @returns {number} -1: none
   */
  indexOf(target) {
    const row = target instanceof Element ? target.closest('.tree-row') : null;
    return this.views.findIndex((view, i) => i < this.rows.length && view.element === row);
  }

  /**
   * @param {number} index
   * @param {boolean} moves whether to move the focus of the page
   */
  setFocus(index, moves) {
    const at = Math.max(0, Math.min(this.rows.length - 1, index));
    const row = this.rows[at];
    if (row === undefined) return;
    this.focusKey = row.key;
    this.rows.forEach(({ key }, i) => this.views[i].mark('tabindex', key === row.key ? '0' : '-1'));
    if (moves) this.views[at].element.focus();
  }

  /**
   * @param {import('../answers/tree_rows.js').TreeRow} row
   * @param {boolean} isOpen
   */
  setOpen(row, isOpen) {
    if (isOpen) this.state.open.add(row.key);
    else this.state.open.delete(row.key);
    this.askUpdate();
  }

  /**
   * Opens a row and its siblings.
   * @param {number} index
   */
  openSiblings(index) {
    const { level } = this.rows[index];
    const from = this.rows.findLastIndex((each, i) => i < index && each.level < level) + 1;
    for (let i = from; i < this.rows.length && this.rows[i].level >= level; i++)
      if (this.rows[i].level === level && this.rows[i].isOpen === false)
        this.state.open.add(this.rows[i].key);
    this.askUpdate();
  }

  /** Refills the rows, at any number of open rows. */
  askUpdate() {
    beforePicture(this.fillRows);
  }

  /**
   * The action of Enter and of a click.
   * @param {import('../answers/tree_rows.js').TreeRow} row
   */
  choose(row) {
    const { shown, pinned } = this.store.get();
    const { selection } = this;
    if (selection === null) return;
    if (row.kind === 'more') {
      const key = row.key.slice(0, -'/more'.length);
      const index = this.rows.indexOf(row);
      this.state.shownOf.set(key, (this.state.shownOf.get(key) ?? CHUNK_ROWS) + CHUNK_ROWS);
      this.update();
      this.setFocus(index, true);
    } else if (row.kind === 'block') {
      this.store.set({
        pinned: pinned?.run === shown && pinned.block === row.block ? null : { run: shown, block: row.block },
      });
    } else if (this.own?.key === row.key) {
      this.own = null;
      this.store.set({ pick: null });
    } else {
      this.pick(row, selection.run);
    }
  }

  /**
   * @param {import('../answers/tree_rows.js').TreeRow} row
   * @param {import('../run/run.js').Run} run
   */
  pick(row, run) {
    const split = this.splitOf(run);
    const { singleLayers } = this;
    const levels = levelsOf(run, split, singleLayers);
    const path = row.path.map((group, i) => levels[i].text(group));
    /** @type {Map<import('../run/run.js').Run, Uint8Array>} */
    const known = new Map();
    const pick = {
      label: row.label,
      ofRun: (/** @type {import('../run/run.js').Run} */ any) => {
        let mask = known.get(any);
        if (mask === undefined) known.set(any, (mask = pickOf(any, split, singleLayers, path)));
        return mask;
      },
    };
    this.own = { key: row.key, pick };
    this.store.set({ pick });
  }

  /** @param {MouseEvent} event */
  onClick(event) {
    const index = this.indexOf(event.target);
    const row = this.rows[index];
    if (row === undefined) return;
    this.setFocus(index, true);
    if (row.isOpen !== null && /** @type {Element} */ (event.target).closest('.twisty'))
      this.setOpen(row, !row.isOpen);
    else this.choose(row);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const index = this.indexOf(event.target);
    const row = this.rows[index];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const parent = this.rows.findLastIndex((each, i) => i < index && each.level < row.level);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.setFocus(index + 1, true),
      ArrowUp: () => this.setFocus(index - 1, true),
      PageDown: () => this.setFocus(index + 15, true),
      PageUp: () => this.setFocus(index - 15, true),
      Home: () => this.setFocus(0, true),
      End: () => this.setFocus(this.rows.length - 1, true),
      ArrowRight: () =>
        row.isOpen === false
          ? this.setOpen(row, true)
          : row.isOpen
            ? this.setFocus(index + 1, true)
            : undefined,
      ArrowLeft: () =>
        row.isOpen ? this.setOpen(row, false) : parent >= 0 ? this.setFocus(parent, true) : undefined,
      Enter: () => this.choose(row),
      '*': () => this.openSiblings(index),
      ' ': () => (row.isOpen === null ? this.choose(row) : this.setOpen(row, !row.isOpen)),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** Fills the visible rows. */
  asText() {
    const total = this.selection?.whole.bytes ?? 0;
    const rows = this.rows.map((row) => [
      `${'  '.repeat(row.level - 1)}${row.label}`,
      row.bytes,
      formatShare(total > 0 ? row.bytes / total : 0),
      row.requestedBytes,
      row.count,
    ]);
    const { requestedBytes, count } = wordsOf(this.selection?.run);
    return `${this.summary.textContent}\n\n${textTable([['name', 'bytes', 'share', requestedBytes, count], ...rows])}\n`;
  }

  save() {
    const { selection } = this;
    if (selection === null) return;
    const { run, whole } = selection;
    const levels = levelsOf(run, this.splitOf(run), this.singleLayers);
    const lines = leavesOf(run, levels, whole).map(({ path, amount }) =>
      csvLine([...path, amount.bytes, amount.requestedBytes, amount.count]),
    );
    const { requestedBytes, count } = wordsOf(run);
    saveFile(`${run.short}-${this.store.get().instant}.csv`, [
      csvLine([...levels.map(({ name }) => name), 'bytes', `${requestedBytes}_bytes`, count]),
      ...lines,
    ]);
  }
}

/**
 * @param {import('../elements/store.js').Store} store
 * @returns {import('./dock.js').DockPanel}
 */
export function makeTreePanel(store) {
  const panel = new TreePanel(store);
  return { element: panel.element, show: () => panel.show() };
}
