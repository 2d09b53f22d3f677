/* pools_table.js - what is reserved, by pool and stream, in the words of `tidemark summary`. */
import { element } from '../elements/dom.js';
import { poolIdText } from '../run/pools.js';
import { formatBytes, formatPlural } from '../words/text.js';

/**
 * @typedef {object} PoolRow
 * @property {string} poolId "": the default pools
 * @property {string} pool "default", or which private one
 * @property {'small' | 'large'} blocks
 * @property {number} stream index
 * @property {number} count of segments
 * @property {number} reservedBytes
 * @property {number} freeBytes
 */

/**
 * @param {import('../run/run.js').Run} run
 * @param {number} stream index
 */
export function streamText({ snapshot }, stream) {
  const handle = snapshot.streams[stream]?.handle ?? 0;
  return handle === 0 ? 'default stream' : `stream 0x${handle.toString(16)}`;
}

/**
 * The default pools first, then the private ones by number.
 * @param {import('../run/layout.js').Segment[]} segments
 * @returns {PoolRow[]} empty without a private pool
 */
export function poolRows(segments) {
  /** @type {Map<string, PoolRow>} */
  const rows = new Map();
  for (const { poolId, pool, stream, bytes, cachedBytes } of segments) {
    const key = `${poolId} ${stream} ${pool}`;
    let row = rows.get(key);
    if (row === undefined)
      rows.set(
        key,
        (row = {
          poolId,
          pool: poolIdText(poolId) || 'default',
          blocks: pool,
          stream,
          count: 0,
          reservedBytes: 0,
          freeBytes: 0,
        }),
      );
    row.count++;
    row.reservedBytes += bytes;
    row.freeBytes += cachedBytes;
  }
  const idOf = (/** @type {PoolRow} */ { poolId }) =>
    poolId === '' ? [0, 0] : poolId.split(', ').map(Number);
  const found = [...rows.values()].sort((a, b) => {
    const [x, y] = [idOf(a), idOf(b)];
    return x[0] - y[0] || x[1] - y[1] || a.stream - b.stream || (a.blocks === 'large' ? -1 : 1);
  });
  return found.some(({ poolId }) => poolId !== '') ? found : [];
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {import('../run/layout.js').Segment[]} segments
 * @returns {HTMLElement[]} nothing without a private pool
 */
export function poolsTable(run, segments) {
  const rows = poolRows(segments);
  if (rows.length === 0) return [];
  return [
    element(
      'table',
      { class: 'compare' },
      element('caption', {}, 'Reserved, by pool and stream'),
      element(
        'tbody',
        {},
        ...rows.map((row) =>
          element(
            'tr',
            {},
            element(
              'th',
              { scope: 'row' },
              element('div', {}, row.pool),
              element(
                'div',
                { class: 'muted small' },
                `${row.blocks} blocks, ${streamText(run, row.stream)}, ${formatPlural(row.count, 'segment')}`,
              ),
            ),
            element(
              'td',
              { class: 'number' },
              element('div', {}, formatBytes(row.reservedBytes)),
              element('div', { class: 'muted small' }, `${formatBytes(row.freeBytes)} free`),
            ),
          ),
        ),
      ),
    ),
  ];
}
