/* differences_panel.js - a table of the blocks only in the base, in both runs and only in the other, with the
 * difference in bytes.
 */
import { alignedState, alignRuns } from '../answers/alignment.js';
import { copyText, saveFile } from '../elements/clipboard.js';
import { csvLine, textTable } from '../words/csv.js';
import { blocksOfRow, differencesAt, sideOf, usualDifference } from '../answers/differences.js';
import { breakable, element, pushButton, swatch } from '../elements/dom.js';
import { oncePer } from '../run/once.js';
import { peakWord } from '../run/peak.js';
import { formatBytes, formatCount, formatExactBytes, formatRatio } from '../words/text.js';

const CHUNK = 200; // rows added at a time

/** @type {Record<import('../answers/differences.js').DifferenceKey, string>} */
const BY_TEXTS = { site: 'call site', stack: 'call stack', scope: 'scope', name: 'name' };

/** @typedef {'all' | 'first' | 'both' | 'second'} Side */

/** @param {number} bytes */
function signed(bytes) {
  return bytes > 0 ? `+${formatBytes(bytes)}` : bytes === 0 ? '0 B' : formatBytes(bytes);
}

/**
 * The rows as a table of exact numbers, with a header.
 * @param {import('../run/run.js').Run} a
 * @param {import('../run/run.js').Run} b
 * @param {import('../answers/differences.js').DifferenceRow[]} rows
 */
function exportTable(a, b, rows) {
  const columns = (/** @type {string} */ unit) => [`${a.short} ${unit}`, `${b.short} ${unit}`];
  return [
    ['category', 'row', 'within', ...columns('bytes'), 'difference bytes', ...columns('blocks')],
    ...rows.map(({ category, label, detail, bytes, difference, count }) => [
      category,
      label,
      detail,
      bytes[0],
      bytes[1],
      difference,
      count[0],
      count[1],
    ]),
  ];
}

/** The panel. */
class DifferencesPanel {
  /** @param {import('../elements/store.js').Store} store */
  constructor(store) {
    this.store = store;
    /** @type {import('../answers/differences.js').DifferenceKey} */
    this.by = 'name';
    this.isChosen = false; // by the user, and not by what the runs hold
    /** @type {Side} */
    this.side = 'all';
    this.nShown = CHUNK;
    this.pickedRow = ''; // key of the row that is isolated
    this.controls = element('div', { class: 'controls' });
    this.sides = element('div', { class: 'tabs', role: 'group', 'aria-label': 'Rows' });
    this.scroll = element('div', {
      class: 'scroll tall',
      tabindex: '0',
      role: 'region',
      'aria-label': 'Differences',
    });
    this.element = element('div', {}, this.controls, this.sides, this.scroll);
    store.on(['runs', 'shown', 'cursor'], () => this.show());
  }

  /** The base and the run compared with it. */
  pair() {
    const { runs, shown } = this.store.get();
    const other = shown > 0 ? shown : 1;
    return { a: runs[0], b: runs[other], other };
  }

  /**
   * The instants compared: each run's peak, or the cursor and the corresponding instant of the other run.
   * @returns {[number, number]}
   */
  instants() {
    const { cursor, axis } = this.store.get();
    const { a, b, other } = this.pair();
    if (cursor === null || !cursor.held || (cursor.run !== 0 && cursor.run !== other))
      return [a.peakState, b.peakState];
    const [from, to] = cursor.run === 0 ? [a, b] : [b, a];
    const there = alignedState(
      alignRuns(from, to, axis),
      from.axes[axis],
      to.axes[axis],
      cursor.state,
      to.index.nStates,
    );
    return cursor.run === 0 ? [cursor.state, there] : [there, cursor.state];
  }

  show() {
    const { a, b } = this.pair();
    if (this.element.hidden || b === undefined || !a.isRecorded || !b.isRecorded) return;
    if (!this.isChosen) this.by = usualDifference([a, b]);
    const found = differencesAt([a, b], this.instants(), this.by);
    const rows = found.rows.filter((row) => this.side === 'all' || sideOf(row) === this.side);
    this.showControls(a, b, rows);
    this.showSides(a, b, found);
    this.scroll.replaceChildren(this.tableOf(a, b, rows));
  }

  /**
   * @param {import('../run/run.js').Run} a
   * @param {import('../run/run.js').Run} b
   * @param {import('../answers/differences.js').DifferenceRow[]} rows
   */
  showControls(a, b, rows) {
    const options = /** @type {const} */ (['site', 'stack', 'scope', 'name']).map((by) => {
      /** @type {Record<string, string>} */
      const attributes = by === this.by ? { value: by, selected: '' } : { value: by };
      return element('option', attributes, `by ${BY_TEXTS[by]}`);
    });
    const select = /** @type {HTMLSelectElement} */ (
      element('select', { 'aria-label': 'Rows by' }, ...options)
    );
    select.addEventListener('change', () => {
      this.isChosen = true;
      this.by = /** @type {import('../answers/differences.js').DifferenceKey} */ (select.value);
      this.nShown = CHUNK;
      this.show();
    });
    const { cursor, runs } = this.store.get();
    const when = cursor?.held ? 'at the cursor' : `at the ${peakWord(...runs)} of each`;
    const active = document.activeElement;
    const hadFocus = active instanceof HTMLElement && this.controls.contains(active);
    this.controls.replaceChildren(
      element('b', {}, `${b.short} against ${a.short}, ${when}`),
      select,
      pushButton('Copy', () => copyText(textTable(exportTable(a, b, rows)))),
      pushButton('CSV', () => saveFile('differences.csv', exportTable(a, b, rows).map(csvLine))),
    );
    if (hadFocus) select.focus();
  }

  /**
   * @param {import('../run/run.js').Run} a
   * @param {import('../run/run.js').Run} b
   * @param {ReturnType<typeof differencesAt>} found
   */
  showSides(a, b, { rows, sums: { first, both, second } }) {
    const button = (/** @type {Side} */ key, /** @type {string} */ text) => {
      const press = () => {
        this.side = key;
        this.nShown = CHUNK;
        this.show();
      };
      return pushButton(text, press, { 'aria-pressed': String(this.side === key) });
    };
    this.sides.replaceChildren(
      button('all', `all ${formatCount(rows.length)}`),
      button('first', `only in ${a.short}: ${formatCount(first.rows)}, ${formatBytes(first.bytes[0])}`),
      button('both', `in both: ${formatCount(both.rows)}, ${signed(both.bytes[1] - both.bytes[0])}`),
      button('second', `only in ${b.short}: ${formatCount(second.rows)}, ${formatBytes(second.bytes[1])}`),
    );
  }

  /**
   * @param {import('../run/run.js').Run} a
   * @param {import('../run/run.js').Run} b
   * @param {import('../answers/differences.js').DifferenceRow[]} rows the largest difference first
   */
  tableOf(a, b, rows) {
    const names = [BY_TEXTS[this.by], a.short, b.short, 'difference', '×'];
    const head = names.map((text, i) =>
      element('th', { scope: 'col', class: i > 0 ? 'number' : '' }, breakable(text)),
    );
    const most = Math.max(1, Math.abs(rows[0]?.difference ?? 0));
    const table = element(
      'table',
      { class: 'compare wide' },
      element('thead', {}, element('tr', {}, ...head)),
      element('tbody', {}, ...rows.slice(0, this.nShown).map((row) => this.rowOf(row, most))),
    );
    const rest = rows.length - this.nShown;
    const showMore = () => {
      this.nShown += CHUNK;
      this.show();
    };
    return element(
      'div',
      {},
      table,
      rows.length === 0 ? element('p', { class: 'muted' }, 'no such row') : null,
      rest > 0
        ? pushButton(`show ${formatCount(Math.min(rest, CHUNK))} more of ${formatCount(rest)}`, showMore)
        : null,
    );
  }

  /**
   * Isolates the blocks of a row, or shows all again.
   * @param {import('../answers/differences.js').DifferenceRow} row
   */
  pick(row) {
    const isSame = this.pickedRow === row.key && this.store.get().pick !== null;
    const { by } = this;
    const ofRun = oncePer((/** @type {import('../run/run.js').Run} */ run) => blocksOfRow(run, by, row.key));
    this.pickedRow = isSame ? '' : row.key;
    this.store.set({ pick: isSame ? null : { label: row.label, ofRun } });
  }

  /**
   * @param {import('../answers/differences.js').DifferenceRow} row
   * @param {number} most bytes of the longest bar
   */
  rowOf(row, most) {
    const kind = row.difference > 0 ? 'difference more' : 'difference less';
    const bar = element('span', { class: kind, 'aria-hidden': 'true' });
    bar.style.width = `${(60 * Math.abs(row.difference)) / most}px`;
    const isolate = pushButton('', () => this.pick(row), { class: 'link', title: 'Show these alone' });
    isolate.append(breakable(row.label));
    const detail = row.detail
      ? element('span', { class: 'muted small', title: row.detail }, ` ${row.detail}`)
      : null;
    const cell = (/** @type {0 | 1} */ i) => {
      const title = `${formatExactBytes(row.bytes[i])} in ${formatCount(row.count[i])}`;
      const text = row.count[i] === 0 ? '–' : formatBytes(row.bytes[i]);
      return element('td', { class: 'number', title }, text);
    };
    const exact = formatExactBytes(row.difference);
    const ratio = row.count[0] > 0 && row.count[1] > 0 ? row.bytes[1] / row.bytes[0] : NaN;
    return element(
      'tr',
      {},
      element(
        'th',
        { scope: 'row' },
        element('span', { class: 'row-name' }, swatch(row.category), element('span', {}, isolate, detail)),
      ),
      cell(0),
      cell(1),
      element('td', { class: 'number', title: exact }, bar, signed(row.difference)),
      element('td', { class: 'number muted' }, formatRatio(ratio)),
    );
  }
}

/**
 * @param {import('../elements/store.js').Store} store
 * @returns {import('./dock.js').DockPanel}
 */
export function makeDifferencesPanel(store) {
  return new DifferencesPanel(store);
}
