/* tooltips.js - the tooltips of blocks, scopes and instants. */
import { element, swatch } from '../elements/dom.js';
import { NO_INTERVAL } from '../words/format_names.js';
import { foldedStack, frameText } from '../run/frames.js';
import { scopePath, threadName } from '../run/lanes.js';
import { amountAt, pendingOf } from '../run/pending.js';
import { frameItem } from '../elements/stack_view.js';
import {
  certainCategoryText,
  formatBytes,
  formatCount,
  formatDuration,
  formatExactBytes,
  formatPlural,
} from '../words/text.js';

/**
 * A block's lifetime in words.
 * @param {import('../run/run.js').Run} run
 * @param {number} block
 */
function lifetimeText(run, block) {
  const { blocks } = run.index;
  const { events } = run.snapshot;
  const born = blocks.bornState[block] - 1;
  const died = blocks.diedState[block] - 1;
  const never = died >= events.count;
  const from = born < 0 ? 'before the first event' : `event ${formatCount(born)}`;
  const to = never ? 'the end' : `event ${formatCount(died)}`;
  const ns = born < 0 || never ? null : events.timeNs[died] - events.timeNs[born];
  return `${from} to ${to}${ns !== null && run.hasClock ? ` (${formatDuration(ns)})` : ''}`;
}

/**
 * A block's tooltip, with the user's frames of its call stack.
 * @param {import('../run/run.js').Run} run
 * @param {number} block
 * @param {number} maxFrames
 * @returns {HTMLElement[]}
 */
export function blockFacts(run, block, maxFrames) {
  const { blocks } = run.index;
  const { snapshot } = run;
  const category = snapshot.categories[blocks.category[block]];
  const requested = blocks.requestedBytes[block];
  const whole = blocks.bytes[block];
  const stack = blocks.stack[block];
  const frame = stack < 0 ? -1 : run.snapshot.stacks.userFrame[stack];
  const code = frame < 0 ? '' : frameText(snapshot, frame);
  const isNamed = blocks.name[block] >= 0;
  const name = isNamed ? snapshot.strings[blocks.name[block]] : code || '(no name)';
  const fact = (/** @type {string} */ key, /** @type {(Node | string)[]} */ ...value) => [
    element('dt', {}, key),
    element('dd', {}, ...value),
  ];
  const parts = foldedStack(snapshot, blocks.stack[block]);
  const frames = parts.flatMap((part) => (part.isFolded ? [] : part.frames));
  const shown = frames.slice(0, maxFrames);
  const list = element('ol', { class: 'frames' }, ...shown.map((frame) => frameItem(snapshot, frame)));
  const left = parts.reduce((sum, part) => sum + part.frames.length, 0) - shown.length;
  if (left > 0) list.append(element('li', { class: 'muted more' }, `${left} more`));
  return [
    element('p', { class: 'block-name' }, name),
    element(
      'dl',
      {},
      ...fact('category', swatch(category), certainCategoryText(category, blocks.certainty?.[block])),
      ...fact('size', element('b', {}, formatBytes(requested)), ` = ${formatExactBytes(requested)}`),
      ...(whole === requested
        ? []
        : fact('block', `${formatBytes(whole)}, ${formatExactBytes(whole - requested)} of it unused`)),
      ...fact('lifetime', lifetimeText(run, block)),
      ...fact('scope', scopePath(snapshot, blocks.scope[block]) || 'outside every scope'),
      ...(isNamed && frame >= 0 && snapshot.stacks.frame[stack] !== frame ? fact('code', code) : []),
      ...fact('stack', frames.length > 0 ? list : 'not recorded'),
    ),
  ];
}

/**
 * A scope's tooltip.
 * @param {import('../run/run.js').Run} run
 * @param {number} scope
 * @returns {HTMLElement[]}
 */
export function scopeFacts(run, scope) {
  const { snapshot, extents } = run;
  const ns = snapshot.scopes.durationNs[scope];
  const first = extents.first[scope];
  const parts = first < 0 ? ['no events'] : [formatPlural(extents.last[scope] - first + 1, 'event')];
  if (ns === NO_INTERVAL) parts.unshift('known only at its allocations');
  else if (run.hasClock) parts.unshift(ns < 0 ? 'still open' : formatDuration(ns));
  const { thread } = snapshot.scopes;
  if (thread.some((each) => each !== thread[0])) parts.push(`on ${threadName(snapshot, thread[scope])}`);
  return [
    element('p', { class: 'block-name' }, scopePath(snapshot, scope)),
    element('p', { class: 'muted' }, parts.join(' · ')),
  ];
}

/**
 * The tooltip of an instant, for places without a block.
 * @param {import('../run/run.js').Run} run
 * @param {number} state
 * @returns {HTMLElement[]}
 */
export function stateFacts(run, state) {
  const { snapshot, reserved } = run;
  const k = reserved.state.findLastIndex((s) => s <= state);
  const pending = amountAt(pendingOf(run.index.blocks), state);
  const scope = state > 0 ? snapshot.events.scope[state - 1] : -1;
  return [
    element('p', { class: 'block-name' }, `${formatBytes(run.index.totals[state])} allocated`),
    element(
      'p',
      { class: 'muted' },
      `${pending > 0 ? `${formatBytes(pending)} freed, but still in use by another stream · ` : ''}${formatBytes(reserved.bytes[k])} reserved${scope >= 0 ? ` · ${scopePath(snapshot, scope)}` : ''}`,
    ),
  ];
}
