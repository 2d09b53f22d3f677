/* format_start.js - reads the segments before the first event, with their blocks. */
import { list, section } from './format_values.js';

/**
 * @param {any[]} blocks
 * @returns {import('./format.js').SegmentBlocks}
 */
function blockColumns(blocks) {
  const pick = (/** @type {any} */ Type, /** @type {string} */ key) =>
    Type.from(blocks, (/** @type {any} */ row) => row[key]);
  return {
    count: blocks.length,
    offsetBytes: pick(Float64Array, 'offset_bytes'),
    blockBytes: pick(Float64Array, 'block_bytes'),
    requestedBytes: pick(Float64Array, 'requested_bytes'),
    state: pick(Uint8Array, 'state'),
    stack: pick(Int32Array, 'stack'),
    scope: pick(Int32Array, 'scope'),
    category: pick(Uint8Array, 'category'),
    certainty: blocks.some(({ certainty }) => certainty !== undefined) ? pick(Uint8Array, 'certainty') : null,
    name: pick(Int32Array, 'name'),
  };
}

/**
 * @param {any} doc
 * @returns {import('./format.js').Segments}
 */
export function readStart(doc) {
  const segments = list(section(doc, 'start'), 'segments');
  const blocks = [];
  const firstBlock = new Int32Array(segments.length + 1);
  for (let i = 0; i < segments.length; i++) {
    for (const block of segments[i].blocks) blocks.push(block);
    firstBlock[i + 1] = blocks.length;
  }
  const column = (/** @type {any} */ Type, /** @type {string} */ key) =>
    Type.from(segments, (/** @type {any} */ segment) => segment[key]);
  return {
    count: segments.length,
    device: column(Uint8Array, 'device'),
    address: column(Float64Array, 'address'),
    totalBytes: column(Float64Array, 'total_bytes'),
    stream: column(Uint8Array, 'stream'),
    isExpandable: column(Uint8Array, 'is_expandable'),
    pool: segments.map(({ pool }) => (['small', 'large'].includes(pool) ? pool : '')),
    poolId: segments.map(({ pool_id: id }) =>
      id?.some((/** @type {number} */ n) => n > 0) ? id.join(', ') : '',
    ),
    firstBlock,
    blocks: blockColumns(blocks),
  };
}
