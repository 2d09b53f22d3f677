/* format_start.js - reads the segments before the first event, with their blocks. */
import { FormatError, MOST_BYTES, shownValue } from './columns.js';
import { CATEGORY_NAMES, CERTAINTY_NAMES, STATE_NAMES } from './format_names.js';
import { isObject, list, listOfObjects, section } from './format_values.js';

/**
 * @typedef {{strings: number, stacks: number, scopes: number, devices: number, streams: number, categories: Uint8Array, addressUnit: number}}
 *   Tables the tables that rows may refer to
 */

/**
 * @param {any} row
 * @param {string} place
 * @param {string} key
 * @param {number} lo
 * @param {number} hi
 */
function cell(row, place, key, lo, hi) {
  const value = Number(row[key] ?? (lo < 0 ? -1 : 0));
  if (!Number.isInteger(value) || value < lo || value > hi) {
    throw new FormatError(`${place}.${key} is ${shownValue(value)}, which is out of range`);
  }
  return value;
}

/**
 * A number, or the name of one.
 * @param {any} value
 * @param {string[]} names
 */
function numbered(value, names) {
  return typeof value === 'string' ? names.indexOf(value) : value;
}

/**
 * @param {any} block
 * @param {string} place
 * @param {Tables} tables
 * @param {string[]} states
 * @param {string[]} categories names of the file
 */
function readBlock(block, place, tables, states, categories) {
  if (!isObject(block)) throw new FormatError(`${place} is not an object`);
  const state = STATE_NAMES.indexOf(states[numbered(block.state, states)]);
  const category = numbered(block.category ?? 0, categories);
  if (state < 0)
    throw new FormatError(`${place}.state is ${shownValue(block.state)}, which this viewer does not know`);
  if (!(category >= 0 && category < tables.categories.length))
    throw new FormatError(`${place}.category is unknown`);
  const row = {
    offset: cell(block, place, 'offset_bytes', 0, MOST_BYTES),
    bytes: cell(block, place, 'block_bytes', 0, MOST_BYTES),
    requested: cell(block, place, 'requested_bytes', 0, MOST_BYTES),
    state,
    stack: cell(block, place, 'stack', -1, tables.stacks - 1),
    scope: cell(block, place, 'scope', -1, tables.scopes - 1),
    category: tables.categories[category],
    certainty: cell(block, place, 'certainty', 0, CERTAINTY_NAMES.length - 1),
    name: cell(block, place, 'name', -1, tables.strings - 1),
  };
  if (row.requested > row.bytes)
    throw new FormatError(`${place}.requested_bytes is ${row.requested}, more than the block's ${row.bytes}`);
  return row;
}

const placeOf = (/** @type {number} */ i) => `start.segments[${i}]`;

/**
 * Reads the blocks of all segments, which must tile them.
 * @param {any} doc
 * @param {Tables} tables
 * @param {any[]} segments
 * @returns {{blocks: ReturnType<typeof readBlock>[], firstBlock: Int32Array}}
 */
function readBlocks(doc, tables, segments) {
  const states = doc.block_states === undefined ? STATE_NAMES : list(doc, 'block_states', 'block_states');
  const categories = doc.categories === undefined ? CATEGORY_NAMES : list(doc, 'categories', 'categories');
  /** @type {ReturnType<typeof readBlock>[]} */
  const blocks = [];
  const firstBlock = new Int32Array(segments.length + 1);
  segments.forEach((segment, i) => {
    let end = 0;
    list(segment, 'blocks', `${placeOf(i)}.blocks`).forEach((given, j) => {
      const block = readBlock(given, `${placeOf(i)}.blocks[${j}]`, tables, states, categories);
      if (block.offset !== end)
        throw new FormatError(
          `${placeOf(i)}.blocks[${j}].offset_bytes is ${block.offset}: the block before it ends at ${end}`,
        );
      end += block.bytes;
      blocks.push(block);
    });
    firstBlock[i + 1] = blocks.length;
    const total = cell(segment, placeOf(i), 'total_bytes', 0, MOST_BYTES);
    if (end !== total)
      throw new FormatError(`${placeOf(i)}.total_bytes is ${total}, but its blocks fill ${end}`);
  });
  return { blocks, firstBlock };
}

/**
 * @param {ReturnType<typeof readBlock>[]} blocks
 * @param {boolean} hasCertainty
 * @returns {import('./format.js').SegmentBlocks}
 */
function blockColumns(blocks, hasCertainty) {
  const pick = (/** @type {any} */ Type, /** @type {keyof typeof blocks[0]} */ key) =>
    Type.from(blocks, (/** @type {typeof blocks[0]} */ row) => row[key]);
  return {
    count: blocks.length,
    offsetBytes: pick(Float64Array, 'offset'),
    blockBytes: pick(Float64Array, 'bytes'),
    requestedBytes: pick(Float64Array, 'requested'),
    state: pick(Uint8Array, 'state'),
    stack: pick(Int32Array, 'stack'),
    scope: pick(Int32Array, 'scope'),
    category: pick(Uint8Array, 'category'),
    certainty: hasCertainty ? pick(Uint8Array, 'certainty') : null,
    name: pick(Int32Array, 'name'),
  };
}

/**
 * @param {any} doc
 * @param {Tables} tables
 * @returns {import('./format.js').Segments}
 */
export function readStart(doc, tables) {
  const segments = listOfObjects(section(doc, 'start'), 'segments', 'start.segments', Infinity);
  const { blocks, firstBlock } = readBlocks(doc, tables, segments);
  const hasCertainty = segments.some(({ blocks: given }) =>
    given?.some((/** @type {any} */ block) => block.certainty !== undefined),
  );
  const column = (
    /** @type {any} */ Type,
    /** @type {string} */ key,
    /** @type {number} */ lo,
    /** @type {number} */ hi,
  ) =>
    Type.from(segments, (/** @type {any} */ segment, /** @type {number} */ i) =>
      cell(segment, placeOf(i), key, lo, hi),
    );
  return {
    count: segments.length,
    device: column(Uint8Array, 'device', 0, tables.devices - 1),
    address: column(Float64Array, 'address', 0, MOST_BYTES).map(
      (/** @type {number} */ a) => a * tables.addressUnit,
    ),
    totalBytes: column(Float64Array, 'total_bytes', 0, MOST_BYTES),
    stream: column(Uint8Array, 'stream', 0, tables.streams - 1),
    isExpandable: Uint8Array.from(segments, (segment) => (segment.is_expandable === true ? 1 : 0)),
    pool: segments.map((segment) => (['small', 'large'].includes(segment.pool) ? segment.pool : '')),
    poolId: segments.map((segment) =>
      Array.isArray(segment.pool_id) && segment.pool_id.some((/** @type {any} */ n) => n > 0)
        ? segment.pool_id.map(Number).join(', ')
        : '',
    ),
    firstBlock,
    blocks: blockColumns(blocks, hasCertainty),
  };
}
