/* hash.js - encodes the state of the page in the address, and decodes it. Parts that do not fit the runs on
 * the page are dropped.
 */
import { initialState } from '../elements/store.js';
import { isOneOf } from '../words/text.js';

const AXES = /** @type {const} */ (['event', 'time']);
const COLOURS = /** @type {const} */ (['category', 'scope', 'stack', 'size', 'age']);
const DOCKS = /** @type {const} */ (['tree', 'flame', 'map', 'events', 'differences']);
const INSTANTS = /** @type {const} */ (['peak', 'cursor', 'range-alive', 'range-allocated', 'range-freed']);
const MAX_TEXT = 200; // characters of the search text

/**
 * @typedef {object} Address the contents of an address besides the store's state
 * @property {Partial<import('../elements/store.js').State>} state
 * @property {{x0: number, x1: number} | null} view of the first run, on its axis
 * @property {string} find search text
 * @property {number} device shown; -1: the default
 * @property {boolean} isBySegment the timeline draws segments
 * @property {number} base number of the run that others are compared with, in the order of the files
 */

/**
 * @param {import('../elements/store.js').State} state
 * @param {{x0: number, x1: number} | null} view null: the default view
 * @param {string} find
 * @param {'event' | 'time'} usualAxis the default axis
 * @param {import('../elements/store.js').State['colourBy']} usualColour
 * @param {number} [device] that is shown; -1: the one that the page opens with
 * @returns {string} without "#"; "" for the default state
 */
export function encodeAddress(state, view, find, usualAxis, usualColour, device = -1) {
  const out = new URLSearchParams();
  const usual = initialState();
  if (device >= 0) out.set('device', String(device));
  if (state.axis !== usualAxis) out.set('x', state.axis);
  if (state.colourBy !== usualColour) out.set('colour', state.colourBy);
  if (state.dock !== usual.dock) out.set('panel', state.dock);
  if (state.instant !== usual.instant) out.set('of', state.instant);
  if (state.shown !== 0) out.set('run', String(state.shown));
  for (const key of state.hidden) out.append('hide', key);
  if (state.hasAllLines) out.set('lines', 'all');
  if (state.cursor?.held) out.set('cursor', `${state.cursor.run}.${state.cursor.state}`);
  if (state.range) out.set('range', `${state.range.run}.${state.range.first}.${state.range.last}`);
  if (state.pinned) out.set('block', `${state.pinned.run}.${state.pinned.block}`);
  if (view !== null) out.set('view', `${Number(view.x0.toPrecision(12))}_${Number(view.x1.toPrecision(12))}`);
  if (find !== '') out.set('find', find);
  return out.toString();
}

/**
 * Whole numbers joined by dots, each below its limit; null otherwise.
 * @param {string | null} text
 * @param {number} n
 */
function numbers(text, n) {
  const parts = (text ?? '').split('.').map((part) => (/^\d{1,15}$/.test(part) ? Number(part) : NaN));
  return parts.length === n && parts.every(Number.isInteger) ? parts : null;
}

/**
 * @param {string} hash with or without "#"
 * @param {import('../run/run.js').Run[]} runs
 * @returns {Address}
 */
export function decodeAddress(hash, runs) {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  /** @type {Partial<import('../elements/store.js').State>} */
  const state = {};
  const x = given.get('x');
  const colour = given.get('colour');
  const dock = given.get('panel');
  const instant = given.get('of');
  if (isOneOf(AXES, x)) state.axis = x;
  if (isOneOf(COLOURS, colour)) state.colourBy = colour;
  if (isOneOf(DOCKS, dock)) state.dock = dock;
  if (isOneOf(INSTANTS, instant)) state.instant = instant;
  if (given.has('hide')) state.hidden = new Set(given.getAll('hide'));
  if (given.get('lines') === 'all') state.hasAllLines = true;
  const device = numbers(given.get('device'), 1)?.[0] ?? -1;
  const shown = numbers(given.get('run'), 1);
  const cursor = numbers(given.get('cursor'), 2);
  const range = numbers(given.get('range'), 3);
  const pinned = numbers(given.get('block'), 2);
  if (shown && shown[0] < runs.length) state.shown = shown[0];
  const states = (/** @type {number} */ run) => runs[run]?.index.nStates ?? 0;
  if (cursor && cursor[1] < states(cursor[0]))
    state.cursor = { run: cursor[0], state: cursor[1], held: true };
  if (range && range[1] < range[2] && range[2] <= states(range[0]))
    state.range = { run: range[0], first: range[1], last: range[2] };
  if (pinned && pinned[1] < (runs[pinned[0]]?.index.blocks.count ?? 0))
    state.pinned = { run: pinned[0], block: pinned[1] };
  const ends = (given.get('view') ?? '').split('_').map(Number);
  const view =
    ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1]
      ? { x0: ends[0], x1: ends[1] }
      : null;
  const base = numbers(given.get('base'), 1)?.[0] ?? 0;
  const isBySegment = given.get('show') === 'segments';
  return { state, view, find: (given.get('find') ?? '').slice(0, MAX_TEXT), device, isBySegment, base };
}
