/* map_account.js - beside the memory map: where the reserved bytes are, and which segments a block keeps from
 * the device.
 */
import { colourSwatch, element, pushButton } from '../elements/dom.js';
import { frameText } from '../run/frames.js';
import { blockColours } from './instant.js';
import { poolsTable } from './pools_table.js';
import { formatBytes, formatCount, formatPlural, formatShare } from '../words/text.js';

const LISTED_SEGMENTS = 12;

/** @typedef {import('./map_panel.js').Drawn} Drawn */

/**
 * The rows of the account, in the words of `tidemark summary`.
 * @type {[keyof import('../run/layout.js').Account, string, string][]}
 */
const ACCOUNT_ROWS = [
  ['asked', 'requested', 'bytes that the program requested'],
  ['rounding', 'rounding', 'bytes added by rounding requests up to 512'],
  ['unsplit', 'unsplit', 'the rest of blocks that were too small to be split'],
  ['pending', 'pending', 'freed, but another stream still uses it'],
  ['splittable', 'cached, held', 'free, in segments that hold blocks: only for requests that fit'],
  ['releasable', 'cached, releasable', 'free segments, which emptying the cache would return to the device'],
  ['unexplained', 'unexplained', 'the recording contradicts itself'],
];

/**
 * The account of the bytes, and the list of segments that hold the most free bytes.
 * @param {Drawn} drawn
 * @param {import('../elements/store.js').Store} store
 * @returns {HTMLElement[]}
 */
export function accountOf(drawn, store) {
  const { account, segments } = drawn.layout;
  const rows = ACCOUNT_ROWS.filter(([key]) => account[key] !== 0).map(([key, name, what]) =>
    element(
      'tr',
      { title: what },
      element('th', { scope: 'row' }, name),
      element('td', { class: 'number' }, formatBytes(account[key])),
      element(
        'td',
        { class: 'number muted' },
        formatShare(account.reserved > 0 ? account[key] / account.reserved : 0),
      ),
    ),
  );
  const largest = (/** @type {string} */ pool) =>
    Math.max(
      0,
      ...segments.filter((segment) => segment.pool === pool).map((segment) => segment.largestFreeBytes),
    );
  return [
    element(
      'table',
      { class: 'compare' },
      element('caption', {}, 'Where the reserved bytes are'),
      element('tbody', {}, ...rows),
    ),
    element(
      'p',
      { class: 'muted small' },
      `Largest free block: ${formatBytes(largest('large'))} in the large pool, ${formatBytes(largest('small'))} in the small one. A larger request needs new memory.`,
    ),
    ...poolsTable(drawn.run, segments),
    heldTable(drawn, store),
  ];
}

/**
 * The segments whose free bytes only smaller requests can use, because a block is in them.
 * @param {Drawn} drawn
 * @param {import('../elements/store.js').Store} store
 */
function heldTable(drawn, store) {
  const held = drawn.layout.segments
    .filter(
      (segment) =>
        segment.cachedBytes > segment.releasableBytes && segment.pieces.some((piece) => piece.block >= 0),
    )
    .sort((a, b) => b.cachedBytes - a.cachedBytes);
  if (held.length === 0)
    return element('p', { class: 'muted small' }, 'No segment keeps free memory because of a block in it.');
  const rows = held.slice(0, LISTED_SEGMENTS).map((segment) => heldRow(drawn, segment, store));
  const others = held.slice(LISTED_SEGMENTS);
  if (others.length > 0) {
    const bytes = others.reduce((sum, segment) => sum + segment.cachedBytes, 0);
    rows.push(
      element(
        'tr',
        {},
        element('th', { scope: 'row', class: 'muted' }, formatPlural(others.length, 'more segment')),
        element('td', { class: 'number muted' }, formatBytes(bytes)),
      ),
    );
  }
  return element(
    'table',
    { class: 'compare' },
    element('caption', {}, 'Free memory that blocks hold'),
    element('tbody', {}, ...rows),
  );
}

/**
 * @param {Drawn} drawn
 * @param {import('../run/layout.js').Segment} segment that holds a block
 * @param {import('../elements/store.js').Store} store
 */
function heldRow({ run, number, state }, segment, store) {
  const { blocks } = run.index;
  const held = segment.pieces.filter((piece) => piece.block >= 0);
  const keeper = held.reduce((a, b) => (b.bytes > a.bytes ? b : a)).block;
  const stack = blocks.stack[keeper];
  const name =
    blocks.name[keeper] >= 0
      ? run.snapshot.strings[blocks.name[keeper]]
      : stack >= 0
        ? frameText(run.snapshot, run.snapshot.stacks.userFrame[stack])
        : 'no call stack';
  const button = pushButton(
    name,
    () =>
      store.set({
        pinned: { run: number, block: keeper },
        cursor: { run: number, state, held: true },
      }),
    { class: 'link', title: `${name}: show this block` },
  );
  return element(
    'tr',
    {},
    element(
      'th',
      { scope: 'row' },
      colourSwatch(blockColours({ ...store.get(), shown: number })(keeper)),
      button,
      held.length > 1 ? element('span', { class: 'muted small' }, ` +${formatCount(held.length - 1)}`) : null,
    ),
    element(
      'td',
      { class: 'number', title: `in the segment at 0x${segment.address.toString(16)}` },
      `${formatBytes(segment.cachedBytes)} of ${formatBytes(segment.bytes)}`,
    ),
  );
}
