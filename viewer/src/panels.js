/* panels.js - the tables and cards beside the timeline, as elements. Text from files goes into text
 * nodes only.
 */
import { CATEGORIES, categoryColour } from './colours.js';
import { compareRuns } from './compare.js';
import { card, element, swatch } from './dom.js';
import { frameText } from './frames.js';
import { scopePath } from './lanes.js';
import { stackFrames } from './peak.js';
import { amountAt, pendingOf } from './pending.js';
import { endedEarly } from './run.js';
import { categoryText, formatBytes, formatCount, formatDuration, formatExactBytes, formatMeanStd, formatMs, formatRatio, formatShare } from './text.js';

const SHOWN_ROWS = 14;
const SHOWN_CHILDREN = 30;

/** A row of a tree table; with `below`, the name stands above it on a line of its own.
 * @param {{label: (Node | string)[], bytes: number, count: number, total: number, colour: string, depth: number, title?: string, below?: string}} row */
function amountRow({ label, bytes, count, total, colour, depth, title, below }) {
  const bar = element('span', { class: 'bar', 'aria-hidden': 'true' });
  bar.style.width = `${(100 * bytes) / total}%`;
  bar.style.background = colour;
  const made = element('div', { class: below === undefined ? 'amount' : 'amount tall' }, element('span', { class: 'name', title: title ?? '' }, ...label),
    below === undefined ? null : element('span', { class: 'name small muted' }, below), element('span', { class: 'number' }, formatBytes(bytes)),
    element('span', { class: 'number share' }, formatShare(bytes / total)), element('span', { class: 'number count' }, formatCount(count)),
    bar);
  made.style.setProperty('--depth', String(depth));
  return made;
}

/** @param {import('./peak.js').Group} group @param {number} total @param {number} depth @param {string} category
 * @param {boolean} open @returns {HTMLElement} */
function groupTree(group, total, depth, category, open) {
  const isCategory = CATEGORIES.includes(group.key);
  const own = isCategory ? group.key : category;
  const label = isCategory ? [swatch(group.key), categoryText(group.key)] : [group.label];
  const row = amountRow({ label, bytes: group.bytes, count: group.count, total, colour: categoryColour(own), depth, title: group.label });
  if (group.children.length === 0) return row;
  const details = element('details', {}, element('summary', {}, row));
  const fill = () => {
    if (details.childElementCount > 1) return;
    const shown = group.children.slice(0, SHOWN_CHILDREN), rest = group.children.slice(SHOWN_CHILDREN);
    details.append(...shown.map((child) => groupTree(child, total, depth + 1, own, false)));
    if (rest.length > 0) details.append(restRow(rest, total, depth + 1));
  };
  if (open) {
    details.setAttribute('open', '');
    fill();
  } else {
    details.addEventListener('toggle', fill);
  }
  return details;
}

/** The smallest ones in one row, so that the sum stays exact. @param {{bytes: number, count: number}[]} rest
 * @param {number} total @param {number} depth */
function restRow(rest, total, depth) {
  const sum = (/** @type {'bytes' | 'count'} */ key) => rest.reduce((a, b) => a + b[key], 0);
  return amountRow({ label: [`${formatCount(rest.length)} smaller`], bytes: sum('bytes'), count: sum('count'), total, colour: 'transparent', depth });
}

/** @param {import('./format.js').Snapshot} snapshot @param {number} stack */
function stackList(snapshot, stack) {
  const frames = stackFrames(snapshot, stack);
  if (frames.length === 0) return element('p', { class: 'muted' }, 'no call stack recorded');
  return element('ol', { class: 'frames' }, ...frames.map((frame) =>
    element('li', {}, element('code', {}, frame.function), ' ', element('span', { class: 'muted' }, frame.place))));
}

/** @param {import('./run.js').Run} run @returns {HTMLElement[]} */
function stackRows(run) {
  const { peak, snapshot, index: { blocks } } = run;
  const rows = peak.stacks.slice(0, SHOWN_ROWS).map((entry) => {
    const [top, ...callers] = stackFrames(snapshot, entry.stack);
    const label = top ? [element('code', {}, top.function), ' ', element('span', { class: 'muted' }, top.place)] : ['no call stack'];
    const below = callers.length > 0 ? `from ${callers[0].function}` : '';
    const colour = categoryColour(CATEGORIES[blocks.category[entry.largest]]);
    const row = amountRow({ label, bytes: entry.bytes, count: entry.count, total: peak.bytes, colour, depth: 0, below, title: top ? `${top.function} ${top.place}` : '' });
    const details = element('details', {}, element('summary', {}, row));
    details.addEventListener('toggle', () => {
      if (details.childElementCount === 1) details.append(stackList(snapshot, entry.stack));
    });
    return details;
  });
  const rest = peak.stacks.slice(SHOWN_ROWS);
  return rest.length > 0 ? [...rows, restRow(rest, peak.bytes, 0)] : rows;
}

/** What is alive at the peak: three ways to split the same bytes. @param {import('./run.js').Run} run */
export function peakCard(run) {
  const { peak } = run;
  const scopes = peak.scopes.slice(0, SHOWN_ROWS), rest = peak.scopes.slice(SHOWN_ROWS);
  const views = /** @type {[string, HTMLElement[]][]} */ ([
    ['category', peak.categories.map((group, i) => groupTree(group, peak.bytes, 0, group.key, i === 0 && peak.categories.length < 4))],
    ['scope', [...scopes.map((group) => groupTree(group, peak.bytes, 0, group.children[0].key, false)),
      ...(rest.length > 0 ? [restRow(rest, peak.bytes, 0)] : [])]],
    ['call stack', stackRows(run)],
  ]);
  const columns = element('div', { class: 'amount columns', 'aria-hidden': 'true' }, element('span'), ...['bytes', 'share', 'blocks'].map((name) =>
    element('span', { class: `number ${name === 'blocks' ? 'count' : ''}` }, name)));
  const body = element('div', { class: 'tree', role: 'tabpanel' }), tabs = element('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Split by' });
  const show = (/** @type {number} */ chosen) => {
    [...tabs.children].forEach((tab, i) => tab.setAttribute('aria-selected', String(i === chosen)));
    body.replaceChildren(columns, ...views[chosen][1]);
  };
  views.forEach(([name], i) => {
    const tab = element('button', { type: 'button', role: 'tab' }, `by ${name}`);
    tab.addEventListener('click', () => show(i));
    tabs.append(tab);
  });
  show(0);
  const total = element('p', { class: 'total' }, element('b', {}, formatBytes(peak.bytes)), ` in ${formatCount(peak.count)} blocks`,
    element('span', { class: 'muted' }, ` · ${formatBytes(peak.requestedBytes)} requested`));
  return card('Alive at the peak', total, tabs, body);
}

/** One phase's samples as dots, mean and spread. @param {import('./run.js').PhaseTiming} phase @param {number} longest ms at the right edge */
function sampleStrip(phase, longest) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'samples');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `${phase.statistics.samples.length} samples: ${phase.statistics.samples.map(formatMs).join(', ')} ms`);
  const put = (/** @type {string} */ tag, /** @type {Record<string, number | string>} */ attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
    svg.append(made);
  };
  const { mean, std, samples } = phase.statistics, at = (/** @type {number} */ ms) => `${(97 * ms) / longest}%`;
  put('rect', { class: 'mean', x: 0, y: 8, width: at(mean), height: 8 });
  put('rect', { class: 'spread', x: at(mean - std), y: 2, width: at(2 * std), height: 20 });
  samples.forEach((ms, i) => put('circle', { class: 'dot', cx: at(ms), cy: 5 + ((i * 5) % 14), r: 2.2 }));
  return svg;
}

/** @param {import('./run.js').Run} run */
export function timingCard(run) {
  const { timing, snapshot } = run;
  if (timing.length === 0) {
    const why = run.isVirtual ? 'a virtual device computes nothing' : 'the file holds no measured steps';
    return card('Time per step', element('p', { class: 'muted' }, `not computed: ${why}`));
  }
  const longest = Math.max(...timing.map(({ statistics: { max, mean, std } }) => Math.max(max, mean + std)));
  const rows = timing.map((phase) => element('div', { class: 'phase' }, element('span', { class: 'name' }, phase.name),
    sampleStrip(phase, longest), element('span', { class: 'number' }, formatMeanStd(phase.statistics.mean, phase.statistics.std))));
  const n = timing[0].statistics.samples.length;
  const note = `mean ± std of ${n} step${n === 1 ? '' : 's'} after ${Math.max(0, snapshot.timing.warmupSteps)} of warm-up, ${timing[0].clock} clock; one dot per step`;
  return card('Time per step', ...rows, element('p', { class: 'muted small' }, note));
}

/** @param {import('./run.js').Run[]} runs */
export function compareCard(runs) {
  const sections = compareRuns(runs), hasRatios = sections.some(({ rows }) => rows.some((row) => row.ratios.slice(1).some(Number.isFinite)));
  const ended = runs.filter(endedEarly).map((run) => run.short), toBase = `times as much as ${runs[0].short}`;
  const head = element('tr', {}, element('td'), ...runs.flatMap((run, i) => {
    const name = element('th', { scope: 'col', class: 'number', title: run.label }, run.short);
    return i === 0 || !hasRatios ? [name] : [name, element('th', { scope: 'col', class: 'number ratio', title: `${run.short}: ${toBase}`, 'aria-label': toBase }, '×')];
  }));
  const why = ended.length > 0 ? 'no ratio: a run that ended out of memory shows how far it came, not what it needs' : 'no ratio: one of the two has none';
  const text = (/** @type {number} */ value, /** @type {string} */ unit) =>
    !Number.isFinite(value) ? (unit === 'ms' ? 'not computed' : 'not recorded') : unit === 'ms' ? `${formatMs(value)} ms` : value === 0 ? '–' : formatBytes(value);
  const bodies = sections.map((section) => element('tbody', {},
    element('tr', {}, element('th', { scope: 'rowgroup', class: 'section', colspan: String(2 * runs.length) }, section.title)),
    ...section.rows.map((row) => element('tr', {},
      element('th', { scope: 'row' }, row.category ? swatch(row.category) : null, row.category ? categoryText(row.category) : row.label),
      ...row.values.flatMap((value, i) => {
        const cell = element('td', { class: 'number' }, text(value, row.unit));
        return i === 0 || !hasRatios ? [cell] : [cell, element('td', { class: 'number ratio', title: Number.isFinite(row.ratios[i]) ? toBase : why }, formatRatio(row.ratios[i]))];
      })))));
  return card('Comparison',
    element('div', { class: 'scroll' }, element('table', { class: 'compare' }, element('thead', {}, head), ...bodies)),
    ended.length > 0 ? element('p', { class: 'muted small' }, `${ended.join(', ')} ran out of memory: what stands here is how far it came, not what it needs${hasRatios ? '' : '; so there are no ratios'}.`) : null);
}

/** When a block lived, in words. @param {import('./run.js').Run} run @param {number} block */
function lifeText(run, block) {
  const { blocks } = run.index, { events } = run.snapshot;
  const born = blocks.bornState[block] - 1, died = blocks.diedState[block] - 1, never = died >= events.count;
  const from = born < 0 ? 'before the first event' : `event ${formatCount(born)}`;
  const to = never ? 'the end' : `event ${formatCount(died)}`;
  const ns = born < 0 || never ? null : events.timeNs[died] - events.timeNs[born];
  return `${from} to ${to}${ns !== null && !run.isVirtual ? ` (${formatDuration(ns)})` : ''}`;
}

/** A block in full. @param {import('./run.js').Run} run @param {number} block @param {number} maxFrames 0: all
 * @returns {HTMLElement[]} */
export function blockFacts(run, block, maxFrames) {
  const { blocks } = run.index, { snapshot } = run, category = CATEGORIES[blocks.category[block]];
  const requested = blocks.requestedBytes[block], whole = blocks.bytes[block];
  const stack = blocks.stack[block], told = stack < 0 ? -1 : run.userFrame[stack], code = told < 0 ? '' : frameText(snapshot, told);
  const isNamed = blocks.name[block] >= 0, name = isNamed ? snapshot.strings[blocks.name[block]] : code || '(no name)';
  const fact = (/** @type {string} */ key, /** @type {(Node | string)[]} */ ...value) => [element('dt', {}, key), element('dd', {}, ...value)];
  const frames = stackFrames(snapshot, blocks.stack[block]), shown = maxFrames > 0 ? frames.slice(0, maxFrames) : frames;
  const list = element('ol', { class: 'frames' }, ...shown.map((frame) =>
    element('li', {}, element('code', {}, frame.function), ' ', element('span', { class: 'muted' }, frame.place))));
  if (shown.length < frames.length) list.append(element('li', { class: 'muted more' }, `${frames.length - shown.length} more`));
  return [
    element('p', { class: 'block-name' }, name),
    element('dl', {},
      ...fact('category', swatch(category), categoryText(category)),
      ...fact('size', element('b', {}, formatBytes(requested)), ` = ${formatExactBytes(requested)}`),
      ...(whole === requested ? [] : fact('block', `${formatBytes(whole)}, ${formatExactBytes(whole - requested)} of it unused`)),
      ...fact('life', lifeText(run, block)),
      ...fact('scope', scopePath(snapshot, blocks.scope[block]) || 'outside every scope'),
      ...(isNamed && told >= 0 && snapshot.stacks.frame[stack] !== told ? fact('code', code) : []),
      ...fact('stack', frames.length > 0 ? list : 'not recorded')),
  ];
}

/** @param {import('./run.js').Run} run @param {number} block @param {() => void} close */
export function pinnedCard(run, block, close) {
  const button = element('button', { type: 'button', class: 'close', 'aria-label': 'Unpin', title: 'Unpin (Esc)' }, '×');
  button.addEventListener('click', close);
  const made = card('Pinned allocation', button, ...blockFacts(run, block, 0));
  made.classList.add('pinned');
  return made;
}

/** A scope in a tooltip. @param {import('./run.js').Run} run @param {number} scope @returns {HTMLElement[]} */
export function scopeFacts(run, scope) {
  const { snapshot, extents } = run, ns = snapshot.scopes.durationNs[scope], first = extents.first[scope];
  const parts = first < 0 ? ['no events'] : [`${formatCount(extents.last[scope] - first + 1)} events`];
  if (!run.isVirtual) parts.unshift(ns < 0 ? 'still open' : formatDuration(ns));
  return [element('p', { class: 'block-name' }, scopePath(snapshot, scope)), element('p', { class: 'muted' }, parts.join(' · '))];
}

/** What the picture shows at an instant, where no block is. @param {import('./run.js').Run} run @param {number} state @returns {HTMLElement[]} */
export function stateFacts(run, state) {
  const { snapshot, reserved } = run, k = reserved.state.findLastIndex((s) => s <= state), pending = amountAt(pendingOf(run.index.blocks), state);
  const scope = state > 0 ? snapshot.events.scope[state - 1] : -1;
  return [element('p', { class: 'block-name' }, `${formatBytes(run.index.totals[state])} allocated`),
    element('p', { class: 'muted' }, `${pending > 0 ? `${formatBytes(pending)} freed, but still in use by another stream · ` : ''}${formatBytes(reserved.bytes[k])} reserved${scope >= 0 ? ` · ${scopePath(snapshot, scope)}` : ''}`)];
}
