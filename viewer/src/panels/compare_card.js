/* compare_card.js - the table that compares runs. */
import { compareRuns } from '../answers/compare.js';
import { breakable, card, element, swatch } from '../elements/dom.js';
import { endedEarly } from '../run/run.js';
import { categoryText, formatBytes, formatMs, formatRatio } from '../words/text.js';

/**
 * @param {number} value
 * @param {string} unit
 */
function valueText(value, unit) {
  if (!Number.isFinite(value)) return unit === 'ms' ? 'not computed' : 'not recorded';
  if (unit === 'ms') return `${formatMs(value)} ms`;
  return value === 0 ? '–' : formatBytes(value);
}

/**
 * @param {import('../run/run.js').Run[]} runs
 * @param {boolean} hasRatios
 * @param {string} toBase what a ratio means
 */
function headRow(runs, hasRatios, toBase) {
  const cells = runs.flatMap((run, i) => {
    const name = element('th', { scope: 'col', class: 'number', title: run.label }, breakable(run.short));
    if (i === 0 || !hasRatios) return [name];
    const attributes = { title: `${run.short}: ${toBase}`, 'aria-label': toBase };
    return [name, element('th', { scope: 'col', class: 'number ratio', ...attributes }, '×')];
  });
  return element('tr', {}, element('td'), ...cells);
}

/**
 * @param {import('../answers/compare.js').Row} row
 * @param {boolean} hasRatios
 * @param {string} toBase what a ratio means
 * @param {string} whyNone the reason for a missing ratio
 */
function valueRow(row, hasRatios, toBase, whyNone) {
  const cells = row.values.flatMap((value, i) => {
    const cell = element('td', { class: 'number' }, valueText(value, row.unit));
    if (i === 0 || !hasRatios) return [cell];
    const title = Number.isFinite(row.ratios[i]) ? toBase : whyNone;
    return [cell, element('td', { class: 'number ratio', title }, formatRatio(row.ratios[i]))];
  });
  const name = row.category ? categoryText(row.category) : row.label;
  return element(
    'tr',
    {},
    element('th', { scope: 'row', title: name }, row.category ? swatch(row.category) : null, breakable(name)),
    ...cells,
  );
}

/**
 * A choice of the run that the others are compared with.
 * @param {import('../run/run.js').Run[]} runs the base first
 * @param {(run: import('../run/run.js').Run) => void} choose
 */
function baseChoice(runs, choose) {
  const select = /** @type {HTMLSelectElement} */ (
    element(
      'select',
      { id: 'base-select', title: 'The run that the others are compared with' },
      ...runs.map((run, i) => element('option', { value: String(i) }, run.short)),
    )
  );
  select.addEventListener('change', () => choose(runs[Number(select.value)]));
  return element('p', { class: 'controls' }, element('label', { for: 'base-select' }, 'base'), select);
}

/**
 * @param {import('../run/run.js').Run[]} runs the base first
 * @param {(run: import('../run/run.js').Run) => void} chooseBase
 */
export function compareCard(runs, chooseBase) {
  const sections = compareRuns(runs);
  const hasRatios = sections.some(({ rows }) =>
    rows.some((row) => row.ratios.slice(1).some(Number.isFinite)),
  );
  const ended = runs.filter(endedEarly).map((run) => run.short);
  const toBase = `times as much as ${runs[0].short}`;
  const whyNone =
    ended.length > 0
      ? 'no ratio: a run that ended out of memory shows the bytes it reached, not the bytes it needs'
      : 'no ratio: one of the two has none';
  const bodies = sections.map(({ title, rows }) => {
    const columns = String(2 * runs.length);
    const head = element('th', { scope: 'rowgroup', class: 'section', colspan: columns }, title);
    return element(
      'tbody',
      {},
      element('tr', {}, head),
      ...rows.map((row) => valueRow(row, hasRatios, toBase, whyNone)),
    );
  });
  const table = element(
    'table',
    { class: 'compare' },
    element('thead', {}, headRow(runs, hasRatios, toBase)),
    ...bodies,
  );
  const note = `${ended.join(', ')} ran out of memory: these are the bytes it reached, not the bytes it needs${hasRatios ? '' : '; so there are no ratios'}.`;
  return card(
    'Comparison',
    baseChoice(runs, chooseBase),
    element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Runs compared' }, table),
    ended.length > 0 ? element('p', { class: 'muted small' }, note) : null,
  );
}
