/* pinned_card.js - one allocation in full: its facts, where it was allocated and freed, and buttons that go
 * to these events.
 */
import { allocRow, freeRow } from '../run/blocks.js';
import { copyText } from '../elements/clipboard.js';
import { card, element, pushButton, swatch } from '../elements/dom.js';
import { addressText } from '../answers/events.js';
import { frameText } from '../run/frames.js';
import { scopePath } from '../run/lanes.js';
import { poolText } from '../run/pools.js';
import { stackLines, stackView } from '../elements/stack_view.js';
import {
  certainCategoryText,
  formatBytes,
  formatCount,
  formatDuration,
  formatExactBytes,
} from '../words/text.js';

/**
 * @typedef {object} Endpoint allocation or free
 * @property {number} event -1: none
 * @property {string} text for the reader if there is no event
 * @property {number} scope
 * @property {number} stack
 */

/**
 * Where a block was allocated and freed.
 * @param {import('../run/run.js').Run} run
 * @param {number} block
 * @returns {[Endpoint, Endpoint]}
 */
function endpointsOf({ snapshot: { events }, index: { blocks } }, block) {
  const free = freeRow(blocks, block);
  const died = blocks.diedState[block];
  const end =
    died > events.count
      ? 'never: alive at the end'
      : free < 0
        ? `replaced by event ${formatCount(died - 1)} without a free`
        : '';
  return [
    {
      event: allocRow(blocks, block),
      text: 'before the first event',
      scope: blocks.scope[block],
      stack: blocks.stack[block],
    },
    {
      event: free,
      text: end,
      scope: free < 0 ? -1 : events.scope[free],
      stack: free < 0 ? -1 : events.stack[free],
    },
  ];
}

/**
 * A block's facts as pairs of key and value.
 * @param {import('../run/run.js').Run} run
 * @param {number} block
 * @returns {[string, string][]}
 */
function factsOf(run, block) {
  const { blocks } = run.index;
  const { snapshot } = run;
  const requested = blocks.requestedBytes[block];
  const whole = blocks.bytes[block];
  const [born, died] = endpointsOf(run, block);
  const pool = poolText(snapshot.pools, blocks.pool?.[block] ?? 0);
  const ns =
    born.event >= 0 && died.event >= 0 && run.hasClock
      ? snapshot.events.timeNs[died.event] - snapshot.events.timeNs[born.event]
      : -1;
  return [
    ['category', certainCategoryText(snapshot.categories[blocks.category[block]], blocks.certainty?.[block])],
    ['size', `${formatBytes(requested)} = ${formatExactBytes(requested)}`],
    .../** @type {[string, string][]} */ (
      whole === requested
        ? []
        : [['block', `${formatBytes(whole)}, ${formatExactBytes(whole - requested)} of it unused`]]
    ),
    ['address', `${addressText(blocks.address[block])}, stream ${blocks.stream[block]}`],
    .../** @type {[string, string][]} */ (pool === '' ? [] : [['pool', pool]]),
    .../** @type {[string, string][]} */ (ns >= 0 ? [['lifetime', formatDuration(ns)]] : []),
  ];
}

/**
 * A block's name, or a substitute.
 * @param {import('../run/run.js').Run} run
 * @param {number} block
 */
function nameOf({ snapshot, index: { blocks } }, block) {
  const name = blocks.name[block];
  const stack = blocks.stack[block];
  return name >= 0
    ? snapshot.strings[name]
    : stack >= 0
      ? frameText(snapshot, snapshot.stacks.userFrame[stack])
      : '(no name)';
}

/**
 * The allocation as text.
 * @param {import('../run/run.js').Run} run
 * @param {number} block
 */
export function blockText(run, block) {
  const { snapshot } = run;
  const [born, died] = endpointsOf(run, block);
  const end = (/** @type {string} */ verb, /** @type {Endpoint} */ { event, text, scope, stack }) => [
    `${verb} ${event < 0 ? text : `by event ${formatCount(event)}`}`,
    ...(scope >= 0 ? [`  in ${scopePath(snapshot, scope)}`] : []),
    ...stackLines(snapshot, stack),
  ];
  return `${[nameOf(run, block), ...factsOf(run, block).map(([key, value]) => `${key}: ${value}`), ...end('allocated', born), ...end('freed', died)].join('\n')}\n`;
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {number} block
 * @param {{close: () => void, goTo: (event: number) => void}} actions goTo holds the cursor at an event
 */
export function pinnedCard(run, block, { close, goTo }) {
  const { snapshot } = run;
  const category = snapshot.categories[run.index.blocks.category[block]];
  const done = element('span', { class: 'muted small', role: 'status' });
  const copy = pushButton(
    'copy',
    async () => {
      done.textContent = (await copyText(blockText(run, block))) ? 'copied' : 'the browser did not allow it';
    },
    { title: 'Copy the allocation as text' },
  );
  const end = (/** @type {string} */ verb, /** @type {Endpoint} */ { event, text, scope, stack }) =>
    element(
      'div',
      { class: 'life-end' },
      element(
        'p',
        {},
        element('b', {}, verb),
        ' ',
        event < 0
          ? text
          : pushButton(`event ${formatCount(event)}`, () => goTo(event), { title: 'Hold the cursor there' }),
        scope >= 0
          ? element('span', { class: 'muted' }, ` in ${scopePath(snapshot, scope)}`)
          : event >= 0
            ? element('span', { class: 'muted' }, ' outside every scope')
            : null,
      ),
      event >= 0 || stack >= 0 ? stackView(snapshot, stack) : null,
    );
  const facts = element(
    'dl',
    {},
    ...factsOf(run, block).flatMap(([key, value]) => [
      element('dt', {}, key),
      element('dd', {}, key === 'category' ? swatch(category) : '', value),
    ]),
  );
  const [born, died] = endpointsOf(run, block);
  const made = card(
    'Pinned allocation',
    pushButton('×', close, { class: 'close', 'aria-label': 'Unpin', title: 'Unpin (Esc)' }),
    element('p', { class: 'block-name' }, nameOf(run, block)),
    facts,
    end('allocated', born),
    end('freed', died),
    element('div', { class: 'links' }, copy, done),
  );
  made.classList.add('pinned');
  return made;
}
