/* rank_cards.js - the texts of the page of ranks: its table, and two ranks side by side. */
import { copyText } from '../elements/clipboard.js';
import { card, element, pushButton } from '../elements/dom.js';
import { peakWord } from '../run/peak.js';
import {
  compareCommand,
  differencesOf,
  differenceText,
  foldName,
  noteOf,
  roleOf,
  signedBytes,
  spreadOf,
} from './rank_rows.js';
import { formatBytes, formatExactBytes, formatPlural, formatShare } from '../words/text.js';

/**
 * @typedef {import('./rank_rows.js').Fold} Fold
 * @typedef {import('../engine/rank_digests.js').Rank} Rank
 */

const ROWS_SHOWN = 60; // differences

/** @param {number} bytes -1: not known */
export function bytesText(bytes) {
  return bytes === -1 ? '–' : formatBytes(bytes);
}

/**
 * What stands of one cell or row when it is pointed at.
 * @param {Fold} fold
 */
export function foldLines({ ranks, first }) {
  return [
    ranks.length > 1 ? `${formatPlural(ranks.length, 'rank')} with equal figures` : '',
    [roleOf(first), first.node].filter(Boolean).join(' · '),
    `${peakWord({ snapshot: first })} ${bytesText(first.peakBytes)}, reserved ${bytesText(first.reservedBytes)}, left ${bytesText(first.headroomBytes)}`,
    noteOf(first),
  ].filter(Boolean);
}

/**
 * @typedef {object} Column of the table of all rows
 * @property {string} head
 * @property {string} kind class of its cells: "number", "note-cell", or "" for words
 * @property {(fold: Fold) => string} textOf
 * @property {(rank: Rank) => number} [bytesOf] the number that the text rounds, to be shown exactly
 */

/** @type {Column[]} */
const COLUMNS = [
  { head: 'Role', kind: '', textOf: ({ first }) => roleOf(first) },
  { head: 'Node', kind: '', textOf: nodeText },
  ...[
    { head: 'Peak', bytesOf: (/** @type {Rank} */ rank) => rank.peakBytes },
    { head: 'Reserved', bytesOf: (/** @type {Rank} */ rank) => rank.reservedBytes },
    { head: 'Left on the device', bytesOf: (/** @type {Rank} */ rank) => rank.headroomBytes },
  ].map(({ head, bytesOf }) => ({
    head,
    kind: 'number',
    textOf: (/** @type {Fold} */ { first }) => bytesText(bytesOf(first)),
    bytesOf,
  })),
  { head: 'Low to high', kind: 'number', textOf: ({ first }) => rangeText(first) },
  { head: 'What stands out', kind: 'note-cell', textOf: ({ first }) => noteOf(first) },
];

/**
 * The table of all rows, without the columns in which no row has anything.
 * @param {Fold[]} folds
 * @param {(fold: Fold) => void} choose
 */
export function rankTable(folds, choose) {
  const columns = COLUMNS.filter(({ textOf }) => folds.some((fold) => !['', '–'].includes(textOf(fold))));
  const cell = (/** @type {Column} */ { kind, textOf, bytesOf }, /** @type {Fold} */ fold) => {
    const bytes = bytesOf?.(fold.first) ?? -1;
    return element(
      'td',
      { class: kind, ...(bytes >= 0 ? { title: formatExactBytes(bytes) } : {}) },
      textOf(fold),
    );
  };
  return element(
    'table',
    { class: 'compare rank-table' },
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        element('th', { scope: 'col' }, 'Rank'),
        ...columns.map(({ head, kind }) => element('th', { scope: 'col', class: kind }, head)),
      ),
    ),
    element(
      'tbody',
      {},
      ...folds.map((fold) =>
        element(
          'tr',
          {},
          element(
            'th',
            { scope: 'row' },
            pushButton(foldName(fold), () => choose(fold), { class: 'link' }),
          ),
          ...columns.map((column) => cell(column, fold)),
        ),
      ),
    ),
  );
}

/**
 * The ends of the peak's range that were run.
 * @param {import('../engine/rank_digests.js').Rank} rank
 */
export function rangeText({ lowBytes, highBytes }) {
  if (lowBytes >= 0 && highBytes >= 0) return `${formatBytes(lowBytes)} to ${formatBytes(highBytes)}`;
  if (lowBytes >= 0) return `${formatBytes(lowBytes)} to ?`;
  return highBytes >= 0 ? `? to ${formatBytes(highBytes)}` : '–';
}

/** @param {Fold} fold */
function nodeText({ ranks, first }) {
  const nodes = new Set(ranks.map(({ node }) => node));
  return nodes.size > 1 ? formatPlural(nodes.size, 'node') : first.node;
}

/**
 * Figures and settings of two ranks, side by side; settings only where they differ.
 * @param {Fold} a
 * @param {Fold} b
 */
function figureRows({ first: a }, { first: b }) {
  /** @type {[string, number, number][]} */
  const figures = [
    ['peak allocated', a.peakBytes, b.peakBytes],
    ['most reserved', a.reservedBytes, b.reservedBytes],
    ['left on the device', a.headroomBytes, b.headroomBytes],
    ['allocated at the end', a.endBytes, b.endBytes],
  ];
  const names = new Map([...a.settings, ...b.settings]);
  /** @type {[string, string, string][]} */
  const texts = [
    ['role', roleOf(a), roleOf(b)],
    ['node', a.node, b.node],
    ['device', a.deviceName, b.deviceName],
    ['stands out', noteOf(a), noteOf(b)],
    ...[...names.keys()].map((name) => {
      const of = (/** @type {Rank} */ rank) => rank.settings.find(([key]) => key === name)?.[1] ?? '';
      return /** @type {[string, string, string]} */ ([name, of(a), of(b)]);
    }),
  ];
  return [
    ...figures.map(([name, x, y]) => [
      name,
      bytesText(x),
      bytesText(y),
      x === -1 || y === -1 || x === y ? '' : signedBytes(y - x),
    ]),
    ...texts.filter(([, x, y]) => x !== y).map(([name, x, y]) => [name, x || '–', y || '–', '']),
  ];
}

/**
 * The figures of two ranks as a table.
 * @param {Fold} a
 * @param {Fold} b
 */
function figureTable(a, b) {
  const heads = [foldName(a), foldName(b), 'difference'];
  const head = element(
    'tr',
    {},
    element('td'),
    ...heads.map((text) => element('th', { scope: 'col' }, text)),
  );
  const rows = figureRows(a, b).map(([name, ...values]) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, name),
      ...values.map((text) => element('td', { class: 'note-cell' }, text)),
    ),
  );
  return element(
    'div',
    { class: 'scroll' },
    element('table', { class: 'compare' }, element('thead', {}, head), element('tbody', {}, ...rows)),
  );
}

/**
 * The rows that differ, with bars of their size.
 * @param {import('./rank_rows.js').Difference[]} rows the largest first
 */
function differenceList(rows) {
  const widest = rows.length > 0 ? Math.abs(rows[0].b - rows[0].a) : 1;
  return element(
    'ol',
    { class: 'rank-differences', tabindex: '0', 'aria-label': 'Differences by line of the program' },
    ...rows.slice(0, ROWS_SHOWN).map((row) => {
      const bar = element('span', { class: `difference ${row.b > row.a ? 'more' : 'less'}` });
      bar.style.width = `${Math.max(1, (Math.abs(row.b - row.a) / widest) * 60)}px`;
      const title = `${formatExactBytes(row.a)} against ${formatExactBytes(row.b)}`;
      return element('li', { title }, bar, differenceText(row));
    }),
  );
}

/**
 * Two ranks side by side: what differs by line of the program first.
 * @param {Fold} a
 * @param {Fold} b
 */
export function pairCard(a, b) {
  const pair = differencesOf(a.first, b.first);
  const command = compareCommand(a.first, b.first);
  const said = element('span', { class: 'muted small', role: 'status' });
  const copy = pushButton('copy', async () => {
    said.textContent = (await copyText(command)) ? 'copied' : 'the browser refused';
  });
  const left = pair.rows.length - ROWS_SHOWN;
  const sum =
    pair.rows.length === 0
      ? 'Nothing differs at the peak by line of the program.'
      : `Rows of the peak that differ: ${pair.rows.length}. Equal: ${pair.nEqual}, with ${formatBytes(pair.equalBytes)}.`;
  return card(
    `${foldName(b)} against ${foldName(a)}`,
    element('p', {}, sum),
    pair.rows.length > 0 ? differenceList(pair.rows) : null,
    left > 0 ? element('p', { class: 'muted' }, `and ${formatPlural(left, 'smaller difference')}`) : null,
    figureTable(a, b),
    element('p', { class: 'rank-command' }, element('code', {}, command), ' ', copy, ' ', said),
  );
}

/** @param {Rank[]} ranks */
export function ranksSubtitle(ranks) {
  const devices = [...new Set(ranks.map(({ deviceName }) => deviceName))];
  const nodes = new Set(ranks.map(({ node }) => node).filter(Boolean)).size;
  const spread = spreadOf(ranks);
  return [
    devices.length > 3 ? formatPlural(devices.length, 'kind') : devices.join(', '),
    nodes > 0 ? formatPlural(nodes, 'node') : '',
    Number.isFinite(spread) ? `spread of the peak ${formatShare(spread)}` : '',
  ]
    .filter(Boolean)
    .join(' · ');
}
