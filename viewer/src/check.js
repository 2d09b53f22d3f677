/* check.js - checks that the tables of a document agree with each other. It mirrors the program's validation
 * (snapshot/format/reader.c, snapshot/document/validate.c): the same checks in the same order, so that both
 * report the same place.
 *
 * The minimum and maximum of a column settle most checks; rows are visited only if something can be wrong.
 */
import { CATEGORIES } from './colours.js';
import { FormatError } from './columns.js';
import { MOST_INTEGER } from './json.js';

const N_ACTIONS = 10;
const N_KINDS = 5;
const N_STATES = 3;
const LAST_FREE = 3; // actions up to this one concern blocks
const LAST_ADDRESS = 7; // actions up to this one have an address of their own
const NO_NUMBER = 255;
const MANY = 2 ** 62; // from this bound on, sums use exact numbers

/** @typedef {import('./columns.js').Column} Column */

/**
 * @param {string} place
 * @param {string} message
 * @returns {never}
 */
function refusePlace(place, message) {
  throw new FormatError(`${place}: ${message}`, place);
}

/**
 * A value as it stands in the file.
 * @param {Column} column
 * @param {number} row
 * @returns {number | bigint}
 */
function exactAt({ values, exact }, row) {
  return exact?.get(row) ?? values[row];
}

/** @param {Column} column */
const hasExact = ({ exact }) => exact !== undefined && exact !== null;

/**
 * @typedef {object} Test of the rows of a table
 * @property {boolean} isPossible whether any row may fail
 * @property {(row: number) => boolean} fails
 * @property {(row: number) => string} place
 * @property {(row: number) => string} message
 */

/**
 * Refuses the first row that fails a test, with the message of the first test it fails.
 * @param {number} count
 * @param {Test[]} tests
 */
function testRows(count, tests) {
  const possible = tests.filter((test) => test.isPossible);
  if (possible.length === 0) return;
  for (let row = 0; row < count; row++) {
    for (const test of possible) if (test.fails(row)) refusePlace(test.place(row), test.message(row));
  }
}

/**
 * @param {any} table
 * @param {string} name
 * @param {string} key
 * @param {number} n rows of the other table
 * @param {string} what those are
 * @param {number} lo
 * @returns {Test}
 */
function indexTest(table, name, key, n, what, lo = -1) {
  const column = /** @type {Column} */ (table[key]);
  const { values } = column;
  return {
    isPossible: column.max >= n || column.min < lo,
    fails: (row) => values[row] >= n || values[row] < lo,
    place: (row) => `${name}.${key}[${row}]`,
    message: (row) =>
      values[row] < lo ? '-1 is not allowed here' : `${values[row]} refers to none of the ${n} ${what}`,
  };
}

/**
 * @param {any} table
 * @param {string} name
 * @returns {Test}
 */
function parentTest(table, name) {
  const values = /** @type {Column} */ (table.parent).values;
  let isPossible = false;
  for (let row = 0; row < values.length && !isPossible; row++) isPossible = values[row] >= row;
  return {
    isPossible,
    fails: (row) => values[row] >= row,
    place: (row) => `${name}.parent[${row}]`,
    message: (row) => `a parent must have a smaller index, not ${values[row]}`,
  };
}

/**
 * Maps the numbers of a file to ours; null: they are the same.
 * @param {string[] | undefined} names of the file
 * @param {string[]} ours
 * @param {number} other number for an unknown name
 */
function numbersOf(names, ours, other) {
  return names === undefined ? null : names.map((name) => (ours.includes(name) ? ours.indexOf(name) : other));
}

/**
 * @param {any} table
 * @param {string} name
 * @param {string} key
 * @param {number[] | null} map
 * @param {string} mapName
 * @returns {Test} the number that has no name
 */
function nameTest(table, name, key, map, mapName) {
  const column = /** @type {Column} */ (table[key]);
  const { values } = column;
  return {
    isPossible: map !== null && (column.max >= map.length || map.includes(NO_NUMBER)),
    fails: (row) => (map?.[values[row]] ?? NO_NUMBER) === NO_NUMBER,
    place: (row) => `${name}.${key}[${row}]`,
    message: () => `the file's '${mapName}' has no known name for it`,
  };
}

/**
 * @param {any} doc
 * @param {Record<string, string[]>} ours names of version 1
 */
function checkNames(doc, ours) {
  const { events, scopes } = doc;
  const categories = doc.categories === undefined ? null : doc.categories.map(() => 0);
  const actions = numbersOf(doc.actions, ours.actions, NO_NUMBER);
  const kinds = numbersOf(doc.scope_kinds, ours.kinds, N_KINDS - 1);
  testRows(events.action.values.length, [
    nameTest(events, 'events', 'action', actions, 'actions'),
    nameTest(events, 'events', 'category', categories, 'categories'),
  ]);
  testRows(scopes.kind.values.length, [nameTest(scopes, 'scopes', 'kind', kinds, 'scope_kinds')]);
  return { categories, actions, kinds, states: numbersOf(doc.block_states, ours.states, NO_NUMBER) };
}

/**
 * @param {any} doc
 * @param {bigint} unit
 */
function checkAddresses(doc, unit) {
  const { address_delta: address } = doc.events;
  const most = MOST_INTEGER / unit;
  testRows(address.values.length, [
    {
      isPossible: address.max * Number(unit) > MANY,
      fails: (row) => exactAt(address, row) > most,
      place: (row) => `events.address_delta[${row}]`,
      message: () => 'an address beyond 2^63 - 1',
    },
  ]);
  for (const key of ['start', 'end']) {
    doc[key].segments.forEach(
      (/** @type {any} */ segment, /** @type {number} */ i) =>
        segment.address > most && refusePlace(`${key}.segments[${i}]`, 'an address beyond 2^63 - 1'),
    );
  }
}

/**
 * Owners and accounts refer to devices, of which each has one account at most.
 * @param {any} doc
 */
function checkOwners({ devices, owners }) {
  const hasAccount = new Set();
  for (const key of ['accounts', 'rows']) {
    (owners?.[key] ?? []).forEach((/** @type {any} */ { device }, /** @type {number} */ i) => {
      const place = `owners.${key}[${i}].device`;
      if (device >= devices.length)
        refusePlace(place, `${device} refers to none of the ${devices.length} devices`);
      if (key === 'accounts' && hasAccount.has(device))
        refusePlace(place, `device ${device} has an account already`);
      hasAccount.add(device);
    });
  }
}

/** @param {any} doc */
function checkStreams({ devices, streams }) {
  streams.forEach((/** @type {any} */ { device }, /** @type {number} */ i) => {
    if (device >= devices.length)
      refusePlace(`streams[${i}].device`, `${device} refers to none of the ${devices.length} devices`);
  });
}

/** @param {any} doc */
function checkStacks({ strings, frames, stacks }) {
  const nFrames = frames.function.values.length;
  testRows(nFrames, [
    indexTest(frames, 'frames', 'function', strings.length, 'strings'),
    indexTest(frames, 'frames', 'file', strings.length, 'strings'),
  ]);
  testRows(stacks.frame.values.length, [
    indexTest(stacks, 'stacks', 'frame', nFrames, 'frames', 0),
    parentTest(stacks, 'stacks'),
  ]);
}

/**
 * Two columns whose sum must not exceed 2^63 - 1, in rows that have both.
 * @param {any} table
 * @param {string} begin
 * @param {string} length
 * @param {string} message
 * @returns {Test}
 */
function endTest(table, begin, length, message) {
  const from = /** @type {Column} */ (table[begin]);
  const of = /** @type {Column} */ (table[length]);
  return {
    isPossible: from.max + of.max > MANY,
    place: (row) => `scopes.${length}[${row}]`,
    message: () => message,
    fails: (row) =>
      from.values[row] >= 0 && BigInt(exactAt(from, row)) + BigInt(exactAt(of, row)) > MOST_INTEGER,
  };
}

/**
 * @param {any} doc
 * @param {number[] | null} kinds
 */
function checkScopes({ scopes, strings }, kinds) {
  const { begin_delta: begin, kind } = scopes;
  const { values } = begin;
  let isSorted = true;
  for (let row = 1; row < values.length && isSorted; row++) isSorted = values[row] >= values[row - 1];
  testRows(values.length, [
    parentTest(scopes, 'scopes'),
    indexTest(scopes, 'scopes', 'name', strings.length, 'strings', 0),
    {
      isPossible: kinds === null && kind.max >= N_KINDS,
      fails: (row) => kind.values[row] >= N_KINDS,
      place: (row) => `scopes.kind[${row}]`,
      message: (row) => `${kind.values[row]} refers to none of the ${N_KINDS} kinds of scopes`,
    },
    {
      isPossible: !isSorted || hasExact(begin),
      fails: (row) => row > 0 && exactAt(begin, row) < exactAt(begin, row - 1),
      place: (row) => `scopes.begin_delta[${row}]`,
      message: (row) => `the scope begins at ${exactAt(begin, row)} ns, before the one above it`,
    },
    endTest(scopes, 'begin_delta', 'duration', 'the scope ends beyond 2^63 - 1 ns'),
    endTest(scopes, 'device_begin', 'device_duration', 'it ends on the device beyond 2^63 - 1 ns'),
  ]);
}

/** @param {any} doc */
function checkKernels({ kernels, strings }) {
  if (kernels === undefined) return;
  const { launches, total_ns: total, min_ns: min, max_ns: max } = kernels;
  testRows(launches.values.length, [
    indexTest(kernels, 'kernels', 'name', strings.length, 'strings', 0),
    indexTest(kernels, 'kernels', 'phase', strings.length, 'strings'),
    indexTest(kernels, 'kernels', 'path', strings.length, 'strings', 0),
    {
      isPossible: true,
      fails: (row) => exactAt(min, row) > exactAt(max, row) || exactAt(max, row) > exactAt(total, row),
      place: (row) => `kernels.launches[${row}]`,
      message: (row) =>
        `${exactAt(launches, row)} launches of ${exactAt(min, row)} to ${exactAt(max, row)} ns cannot take ${exactAt(total, row)} ns together`,
    },
  ]);
}

/**
 * @param {any} doc
 * @param {any} block
 * @param {string} place
 * @param {{categories: number[] | null, states: number[] | null}} maps
 */
function checkBlock({ stacks, scopes, strings }, block, place, { categories, states }) {
  const ours = (/** @type {number[] | null} */ map, /** @type {number} */ number) =>
    map === null ? number : (map[number] ?? NO_NUMBER);
  const indices = /** @type {[string, number, number, string][]} */ ([
    ['stack', block.stack, stacks.frame.values.length, 'stacks'],
    ['scope', block.scope, scopes.kind.values.length, 'scopes'],
    ['name', block.name, strings.length, 'strings'],
    ['category', ours(categories, block.category), CATEGORIES.length, 'categories'],
    ['state', ours(states, block.state), N_STATES, 'states of blocks'],
  ]);
  for (const [key, index, n, what] of indices)
    if (index >= n) refusePlace(`${place}.${key}`, `${index} refers to none of the ${n} ${what}`);
  if (block.requested_bytes > block.block_bytes)
    refusePlace(
      `${place}.requested_bytes`,
      `${block.requested_bytes} bytes were asked of a block of ${block.block_bytes}`,
    );
}

/**
 * @param {any} doc
 * @param {any} segment
 * @param {string} place
 * @param {bigint} unit
 * @param {{categories: number[] | null, states: number[] | null}} maps
 */
function checkSegment(doc, segment, place, unit, maps) {
  const { device, stream, total_bytes: total, blocks } = segment;
  if (device >= doc.devices.length || stream >= doc.streams.length)
    refusePlace(place, `device ${device} or stream ${stream} is not in the tables`);
  if (BigInt(segment.address) * unit > MOST_INTEGER - BigInt(total))
    refusePlace(place, 'it ends beyond address 2^63 - 1');
  let filled = 0n;
  blocks.forEach((/** @type {any} */ block, /** @type {number} */ j) => {
    const isNext = BigInt(block.offset_bytes) === filled;
    if (!isNext || block.block_bytes > BigInt(total) - filled) {
      refusePlace(
        `${place}.blocks[${j}].${isNext ? 'block_bytes' : 'offset_bytes'}`,
        `the blocks must fill the segment of ${total} bytes without gap or overlap: one of ${block.block_bytes} bytes at ${block.offset_bytes} follows byte ${filled}`,
      );
    }
    filled += BigInt(block.block_bytes);
    checkBlock(doc, block, `${place}.blocks[${j}]`, maps);
  });
  if (filled !== BigInt(total))
    refusePlace(`${place}.total_bytes`, `the blocks fill ${filled} of ${total} bytes`);
}

/**
 * @param {any} doc
 * @param {bigint} unit
 * @param {{actions: number[] | null, categories: number[] | null}} maps
 */
function checkEvents(doc, unit, { actions, categories }) {
  const { devices, streams, strings, stacks, scopes, events } = doc;
  const { action, address_delta: address, requested_bytes: requested, block_bytes: block } = events;
  const count = action.values.length;
  const actionAt = (/** @type {number} */ row) =>
    actions === null ? action.values[row] : actions[action.values[row]];
  const asks = requested.values;
  const has = block.values;
  const isOver = (/** @type {number} */ row) =>
    actionAt(row) <= LAST_FREE && exactAt(requested, row) > exactAt(block, row);
  let mayAsk = hasExact(requested) || hasExact(block);
  for (let row = 0; row < count && !mayAsk; row++)
    mayAsk = asks[row] > has[row] && actionAt(row) <= LAST_FREE;
  testRows(count, [
    ...(actions === null ? [indexTest(events, 'events', 'action', N_ACTIONS, 'actions')] : []),
    ...(categories === null
      ? [indexTest(events, 'events', 'category', CATEGORIES.length, 'categories')]
      : []),
    indexTest(events, 'events', 'device', devices.length, 'devices'),
    indexTest(events, 'events', 'stream', streams.length, 'streams'),
    indexTest(events, 'events', 'stack', stacks.frame.values.length, 'stacks'),
    indexTest(events, 'events', 'scope_delta', scopes.kind.values.length, 'scopes'),
    indexTest(events, 'events', 'name', strings.length, 'strings'),
    ...(events.pool === undefined
      ? []
      : [indexTest(events, 'events', 'pool', (doc.pools?.length ?? 0) + 1, 'pools', 0)]),
    {
      isPossible: address.max * Number(unit) + block.max > MANY,
      place: (row) => `events.address_delta[${row}]`,
      message: () => 'it ends beyond address 2^63 - 1',
      fails: (row) =>
        actionAt(row) <= LAST_ADDRESS &&
        BigInt(exactAt(address, row)) * unit + BigInt(exactAt(block, row)) > MOST_INTEGER + 1n,
    },
    {
      isPossible: mayAsk,
      fails: isOver,
      place: (row) => `events.requested_bytes[${row}]`,
      message: (row) => `${exactAt(requested, row)} bytes were asked of a block of ${exactAt(block, row)}`,
    },
  ]);
}

/**
 * @param {any} doc as readDocument gives it
 * @param {Record<string, string[]>} ours names of version 1: actions, kinds, states
 * @throws {FormatError}
 */
export function checkDocument(doc, ours) {
  const unit = BigInt(doc.address_unit_bytes);
  const maps = checkNames(doc, ours);
  checkAddresses(doc, unit);
  checkStreams(doc);
  checkOwners(doc);
  checkStacks(doc);
  checkScopes(doc, maps.kinds);
  checkKernels(doc);
  for (const key of ['start', 'end']) {
    doc[key].segments.forEach((/** @type {any} */ segment, /** @type {number} */ i) =>
      checkSegment(doc, segment, `${key}.segments[${i}]`, unit, maps),
    );
  }
  checkEvents(doc, unit, maps);
}
