/* pytorch_segments.js - reads the segments of a PyTorch snapshot, with their blocks. */
import { PickleContainer } from './pickle_values.js';
import { MOST_ADDRESS, MOST_PARTS, MOST_REQUEST } from './pytorch.js';
import { isOfKind, Place } from './pytorch_place.js';
import { STATE } from './subjects.js';

/**
 * @param {import('./pytorch.js').PytorchImport} found
 * @param {any} value
 * @param {Place} at
 * @param {number} place address up to which its segment is filled
 * @param {import('./pytorch_walk.js').DumpSegment} segment
 * @returns {import('./pytorch.js').DumpBlock}
 */
function readDumpBlock(found, value, at, place, segment) {
  const dict = at.dict(value);
  const states = {
    inactive: STATE.FREE,
    active_allocated: STATE.ALLOCATED,
    active_pending_free: STATE.PENDING,
    active_awaiting_free: STATE.PENDING,
  };
  let offset = place;
  const bytes = at.at('size').integer(dict.get('size'), 0, MOST_REQUEST);
  const state = new Map(Object.entries(states)).get(dict.get('state'));
  if (state === undefined)
    at.at('state').fail('inactive, active_allocated or active_pending_free was expected');
  if (dict.has('address')) {
    const address = at.at('address').integer(dict.get('address'), 0, 2 ** 63);
    if (address < segment.address + place)
      at.at('address').fail(
        `0x${address.toString(16)} is not where the block before it ends, 0x${(segment.address + place).toString(16)}`,
      );
    offset = address - segment.address;
  }
  const block = {
    offset,
    bytes,
    requested: 0,
    state: /** @type {number} */ (state),
    stack: -1,
    category: 0,
    name: -1,
  };
  if (state === STATE.FREE) return block; // requested_size may be that of the last user
  let requested = dict.get('requested_size');
  let frames = dict.get('frames');
  if (dict.has('history') && (requested === undefined || frames === undefined)) {
    // PyTorch up to 2.0 lists the block's last users, newest first; what the block itself has counts
    const history = at.at('history');
    const given = dict.get('history');
    const list = isOfKind(given, 'list') ? history.list(given) : [];
    const isUsable = list.length > 0 && isOfKind(list[0], 'dict');
    if (!isOfKind(given, 'list') || (list.length > 0 && !isUsable)) found.countOdd(history);
    const newest = isUsable ? history.at(0).dict(list[0]) : new Map();
    if (requested === undefined) requested = newest.get('real_size');
    if (frames === undefined) frames = newest.get('frames');
  }
  const isInside = typeof requested === 'number' && requested >= 0 && requested <= bytes;
  if (!isInside && requested !== undefined) found.countOdd(at.at('requested_size'));
  block.requested = isInside ? requested : bytes;
  block.stack = found.stack(frames, at);
  return block;
}

/**
 * @param {import('./pytorch.js').PytorchImport} found
 * @param {any} value
 * @param {Place} at
 */
function readDumpSegment(found, value, at) {
  const dict = at.dict(value);
  const device = at.at('device').integer(dict.get('device'), 0, MOST_PARTS - 1);
  found.nDevices = Math.max(found.nDevices, device + 1);
  const type = dict.get('segment_type');
  const poolAt = at.at('segment_pool_id');
  const segment = {
    device,
    address: at.at('address').integer(dict.get('address'), 0, MOST_ADDRESS),
    totalBytes: at.at('total_size').integer(dict.get('total_size'), 0, MOST_REQUEST),
    stream: found.stream(device, dict.get('stream'), at),
    pool: type === 'small' || type === 'large' ? type : '',
    poolId: [0, 0],
    isExpandable: dict.get('is_expandable') === true,
    blocks: /** @type {import('./pytorch.js').DumpBlock[]} */ ([]),
  };
  if (dict.has('segment_pool_id')) {
    const given = dict.get('segment_pool_id');
    const pair = isOfKind(given, 'dict') || !(given instanceof PickleContainer) ? [] : poolAt.list(given);
    if (
      pair.length === 2 &&
      pair.every((number) => typeof number === 'number' && number >= 0 && number < 2 ** 32)
    )
      segment.poolId = pair;
    else found.countOdd(poolAt);
  }
  const blocksAt = at.at('blocks');
  const blocks = blocksAt.list(dict.get('blocks'));
  found.count(blocks.length, blocksAt);
  let filled = 0;
  const addGap = (/** @type {number} */ bytes) => {
    // bytes that no block covers are free
    if (bytes <= 0) return;
    found.nContradictions++;
    segment.blocks.push({
      offset: filled,
      bytes,
      requested: 0,
      state: STATE.FREE,
      stack: -1,
      category: 0,
      name: -1,
    });
    filled += bytes;
  };
  blocks.forEach((given, i) => {
    const block = readDumpBlock(found, given, blocksAt.at(i), filled, segment);
    if (block.bytes > segment.totalBytes - block.offset)
      blocksAt.at(i).fail(`the block ends behind its segment of ${segment.totalBytes} bytes`);
    addGap(block.offset - filled);
    filled += block.bytes;
    segment.blocks.push(block);
  });
  addGap(segment.totalBytes - filled);
  found.end.push(segment);
}

/**
 * @param {import('./pytorch.js').PytorchImport} found
 * @param {any[]} segments
 * @param {number} first index of the first one
 * @param {Place} at
 */
export function addSegments(found, segments, first, at) {
  found.count(segments.length, at);
  segments.forEach((segment, i) => readDumpSegment(found, segment, at.at(first + i)));
}

/**
 * @param {import('./pytorch.js').PytorchImport} found
 * @param {any} value
 */
export function readSegments(found, value) {
  const at = new Place(null, 'segments');
  const isTaken = found.segments !== null && found.segments === value;
  if (found.segments !== null && !isTaken)
    at.fail('segments stand in a part of the file where no snapshot has them');
  addSegments(found, isTaken ? value.items : at.list(value), found.nSegmentsTaken, at);
  found.end.sort((a, b) => a.device - b.device || a.address - b.address);
}
