/* differences_panel.js - a table of the blocks only in the base, in both runs and only in the other, with the
 * difference in bytes.
 */
import { alignedState, alignRuns } from './alignment.js';
import { copyText, saveFile } from './clipboard.js';
import { csvLine, textTable } from './csv.js';
import { blocksOfRow, differencesAt, sideOf } from './differences.js';
import { element, pushButton, swatch } from './dom.js';
import { formatBytes, formatCount, formatExactBytes, formatRatio } from './text.js';

const CHUNK = 200; // rows added at a time

/** @typedef {'all' | 'first' | 'both' | 'second'} Side */

/**
 * @param {import('./store.js').Store} store
 * @returns {import('./dock.js').DockPanel}
 */
export function makeDifferencesPanel(store) {
  const controls = element('div', { class: 'controls' });
  const sides = element('div', { class: 'tabs', role: 'group', 'aria-label': 'Rows' });
  const scroll = element('div', {
    class: 'scroll tall',
    tabindex: '0',
    role: 'region',
    'aria-label': 'Differences',
  });
  const panel = element('div', {}, controls, sides, scroll);
  const choice = {
    by: /** @type {import('./differences.js').DifferenceKey} */ ('name'),
    side: /** @type {Side} */ ('all'),
    nShown: CHUNK,
    row: '',
  };

  /** The base and the run compared with it. */
  const pair = () => {
    const { runs, shown } = store.get();
    const other = shown > 0 ? shown : 1;
    return { a: runs[0], b: runs[other], other };
  };
  /**
   * The instants compared: each run's peak, or the cursor and the corresponding instant of the other run.
   * @returns {[number, number]}
   */
  const instants = () => {
    const { cursor, axis } = store.get();
    const { a, b, other } = pair();
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
  };

  const show = () => {
    const { a, b } = pair();
    if (panel.hidden || b === undefined || !a.isRecorded || !b.isRecorded) return;
    const { cursor } = store.get();
    const found = differencesAt([a, b], instants(), choice.by);
    const rows = found.rows.filter((row) => choice.side === 'all' || sideOf(row) === choice.side);
    const select = /** @type {HTMLSelectElement} */ (
      element(
        'select',
        { 'aria-label': 'Rows by' },
        ...['name', 'scope', 'stack'].map((by) =>
          element(
            'option',
            by === choice.by ? { value: by, selected: '' } : { value: by },
            `by ${by === 'stack' ? 'call stack' : by}`,
          ),
        ),
      )
    );
    select.addEventListener('change', () => {
      choice.by = /** @type {import('./differences.js').DifferenceKey} */ (select.value);
      choice.nShown = CHUNK;
      show();
    });
    const when = cursor?.held ? 'at the cursor' : 'at the peak of each';
    const table = () => [
      [
        'category',
        'row',
        'within',
        `${a.short} bytes`,
        `${b.short} bytes`,
        'difference bytes',
        `${a.short} blocks`,
        `${b.short} blocks`,
      ],
      ...rows.map((row) => [
        row.category,
        row.label,
        row.detail,
        row.bytes[0],
        row.bytes[1],
        row.difference,
        row.count[0],
        row.count[1],
      ]),
    ];
    const hadFocus =
      document.activeElement instanceof HTMLElement && controls.contains(document.activeElement);
    controls.replaceChildren(
      element('b', {}, `${b.short} against ${a.short}, ${when}`),
      select,
      pushButton('Copy', () => copyText(textTable(table()))),
      pushButton('CSV', () => saveFile('differences.csv', table().map(csvLine))),
    );
    if (hadFocus) select.focus();
    const of = (/** @type {'first' | 'both' | 'second'} */ side) => found.sums[side];
    const side = (/** @type {Side} */ key, /** @type {string} */ text) =>
      pushButton(
        text,
        () => {
          choice.side = key;
          choice.nShown = CHUNK;
          show();
        },
        { 'aria-pressed': String(choice.side === key) },
      );
    sides.replaceChildren(
      side('all', `all ${formatCount(found.rows.length)}`),
      side(
        'first',
        `only in ${a.short}: ${formatCount(of('first').rows)}, ${formatBytes(of('first').bytes[0])}`,
      ),
      side(
        'both',
        `in both: ${formatCount(of('both').rows)}, ${signed(of('both').bytes[1] - of('both').bytes[0])}`,
      ),
      side(
        'second',
        `only in ${b.short}: ${formatCount(of('second').rows)}, ${formatBytes(of('second').bytes[1])}`,
      ),
    );
    scroll.replaceChildren(tableOf(a, b, rows));
  };

  /**
   * @param {import('./run.js').Run} a
   * @param {import('./run.js').Run} b
   * @param {import('./differences.js').DifferenceRow[]} rows
   */
  const tableOf = (a, b, rows) => {
    const head = element(
      'tr',
      {},
      ...[choice.by === 'stack' ? 'call stack' : choice.by, a.short, b.short, 'difference', '×'].map(
        (text, i) => element('th', { scope: 'col', class: i > 0 ? 'number' : '' }, text),
      ),
    );
    const most =
      rows.length > 0 ? Math.max(1, ...rows.slice(0, 1).map((row) => Math.abs(row.difference))) : 1;
    const table = element(
      'table',
      { class: 'compare wide' },
      element('thead', {}, head),
      element('tbody', {}, ...rows.slice(0, choice.nShown).map((row) => rowOf(row, most))),
    );
    const rest = rows.length - choice.nShown;
    return element(
      'div',
      {},
      table,
      rows.length === 0 ? element('p', { class: 'muted' }, 'no such row') : null,
      rest > 0
        ? pushButton(`show ${formatCount(Math.min(rest, CHUNK))} more of ${formatCount(rest)}`, () => {
            choice.nShown += CHUNK;
            show();
          })
        : null,
    );
  };

  /**
   * @param {import('./differences.js').DifferenceRow} row
   * @param {number} most bytes of the longest bar
   */
  const rowOf = (row, most) => {
    const bar = element('span', {
      class: row.difference > 0 ? 'difference more' : 'difference less',
      'aria-hidden': 'true',
    });
    bar.style.width = `${(60 * Math.abs(row.difference)) / most}px`;
    const isolate = pushButton(
      row.label,
      () => {
        const isSame = choice.row === row.key && store.get().pick !== null;
        const { by } = choice;
        const memory = new Map();
        choice.row = isSame ? '' : row.key;
        store.set({
          pick: isSame
            ? null
            : {
                label: row.label,
                ofRun: (run) => {
                  if (!memory.has(run)) memory.set(run, blocksOfRow(run, by, row.key));
                  return memory.get(run);
                },
              },
        });
      },
      { class: 'link', title: 'Show these alone' },
    );
    const cell = (/** @type {0 | 1} */ i) =>
      element(
        'td',
        { class: 'number', title: `${formatExactBytes(row.bytes[i])} in ${formatCount(row.count[i])}` },
        row.count[i] === 0 ? '–' : formatBytes(row.bytes[i]),
      );
    return element(
      'tr',
      {},
      element(
        'th',
        { scope: 'row' },
        swatch(row.category),
        isolate,
        row.detail ? element('span', { class: 'muted small', title: row.detail }, ` ${row.detail}`) : null,
      ),
      cell(0),
      cell(1),
      element(
        'td',
        { class: 'number', title: formatExactBytes(row.difference) },
        bar,
        signed(row.difference),
      ),
      element(
        'td',
        { class: 'number muted' },
        formatRatio(row.count[0] > 0 && row.count[1] > 0 ? row.bytes[1] / row.bytes[0] : NaN),
      ),
    );
  };

  store.on(['runs', 'shown', 'cursor'], () => show());
  return { element: panel, show };
}

/** @param {number} bytes */
function signed(bytes) {
  return bytes > 0 ? `+${formatBytes(bytes)}` : bytes === 0 ? '0 B' : formatBytes(bytes);
}
