/* events.js - the events of a run as rows: the ones that pass a filter, the row of an event, and the text of
 * each.
 */
import { csvLine } from '../words/csv.js';
import { frameText } from '../run/frames.js';
import { scopePath } from '../run/lanes.js';
import { oncePer } from '../run/once.js';
import { findTexts } from './search.js';
import { ACTION, NO_BLOCK, subjectOf } from '../run/subjects.js';
import { categoryText, formatBytes, formatCount } from '../words/text.js';

/** @type {Record<number, string>} */
const ACTION_TEXTS = {
  [ACTION.ALLOC]: 'allocate',
  [ACTION.FREE]: 'free',
  [ACTION.FREE_REQUESTED]: 'free, pending',
  [ACTION.FREE_COMPLETED]: 'free completed',
  [ACTION.SEGMENT_ALLOC]: 'segment bought',
  [ACTION.SEGMENT_FREE]: 'segment returned',
  [ACTION.SEGMENT_MAP]: 'memory mapped',
  [ACTION.SEGMENT_UNMAP]: 'memory unmapped',
  [ACTION.OOM]: 'out of memory',
  [ACTION.MARK]: 'mark',
};

/**
 * The choices of actions.
 * @type {{text: string, actions: number[] | null}[]}
 */
export const ACTION_CHOICES = [
  { text: 'all actions', actions: null },
  { text: 'allocations', actions: [ACTION.ALLOC] },
  { text: 'frees', actions: [ACTION.FREE, ACTION.FREE_REQUESTED, ACTION.FREE_COMPLETED] },
  {
    text: 'segments',
    actions: [ACTION.SEGMENT_ALLOC, ACTION.SEGMENT_FREE, ACTION.SEGMENT_MAP, ACTION.SEGMENT_UNMAP],
  },
  { text: 'out of memory, marks', actions: [ACTION.OOM, ACTION.MARK] },
];

export const EVENT_COLUMNS = Object.freeze([
  'event',
  'time',
  'action',
  'requested',
  'block',
  'name',
  'category',
  'address',
  'stream',
  'scope',
]);

/**
 * @typedef {object} EventFilter
 * @property {number[] | null} actions null: all
 * @property {import('./search.js').Query | null} query null: all
 * @property {number} first state of the range; its events lead to the states first <= s < last
 * @property {number} last
 *
 * @typedef {object} EventRows the events that pass a filter, in order
 * @property {number} count
 * @property {(row: number) => number} eventAt
 * @property {(event: number) => number} rowOf the last row at or before an event; 0 if there is none
 */

/**
 * The rows from one event up to another.
 * @param {number} from
 * @param {number} to
 * @returns {EventRows}
 */
function rowsBetween(from, to) {
  const count = Math.max(0, to - from);
  return {
    count,
    eventAt: (row) => from + row,
    rowOf: (event) => Math.max(0, Math.min(count - 1, event - from)),
  };
}

/**
 * @param {Int32Array} list of events, in order
 * @returns {EventRows}
 */
function rowsOfList(list) {
  return {
    count: list.length,
    eventAt: (row) => list[row],
    rowOf: (event) => {
      let lo = 0;
      let hi = list.length;
      while (lo < hi) {
        const middle = (lo + hi) >> 1;
        if (list[middle] <= event) lo = middle + 1;
        else hi = middle;
      }
      return Math.max(0, lo - 1);
    },
  };
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {EventFilter} filter
 * @returns {EventRows}
 */
export function filterEvents({ snapshot }, { actions, query, first, last }) {
  const { events } = snapshot;
  const from = Math.max(0, first - 1);
  const to = Math.min(events.count, last - 1);
  if (actions === null && query === null) return rowsBetween(from, to);
  const isWanted = new Uint8Array(256).fill(actions === null ? 1 : 0);
  for (const action of actions ?? []) isWanted[action] = 1;
  const isFound = query === null ? () => true : eventTest(snapshot, query);
  const list = new Int32Array(Math.max(0, to - from));
  let n = 0;
  for (let e = from; e < to; e++) if (isWanted[events.action[e]] && isFound(e)) list[n++] = e;
  return rowsOfList(list.slice(0, n));
}

/**
 * Whether a search matches an event: by name, category, scope, call stack, size or an address inside its
 * block.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {import('./search.js').Query} query
 * @returns {(event: number) => boolean}
 */
function eventTest(snapshot, query) {
  const { address, bytes, requestedBytes, name, category } = snapshot.subjects;
  const { act, scope, stack } = snapshot.events;
  const wanted = query.address;
  if (query.problem !== '') return () => false;
  if (wanted >= 0) {
    return (e) => {
      const s = subjectOf(act[e]);
      return wanted >= address[s] && wanted < address[s] + Math.max(1, bytes[s]);
    };
  }
  const isSize = query.bytes;
  if (isSize !== null) {
    return (e) => {
      const s = subjectOf(act[e]);
      return hasBytes(snapshot, e) && isSize(bytes[s], requestedBytes[s]);
    };
  }
  const { texts, scopes, stacks, categories } = findTexts(snapshot, query);
  return (e) => {
    const s = subjectOf(act[e]);
    return (
      (name[s] >= 0 && texts[name[s]] === 1) ||
      (scope[e] >= 0 && scopes[scope[e]] === 1) ||
      (stack[e] >= 0 && stacks[stack[e]] === 1) ||
      (hasCategory(snapshot, e) && categories[category[s]] === 1)
    );
  };
}

/**
 * Marks have no size.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} event
 */
function hasBytes({ events }, event) {
  return events.action[event] < ACTION.OOM;
}

/**
 * Only events of blocks have a category.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} event
 */
function hasCategory({ events }, event) {
  return events.action[event] <= ACTION.FREE_COMPLETED;
}

/** @param {number} action */
export function actionText(action) {
  return ACTION_TEXTS[action] ?? '?';
}

/**
 * Whether events of this action have an address.
 * @param {number} action
 */
function isPlaced(action) {
  return action !== ACTION.OOM && action !== ACTION.MARK;
}

/**
 * An address as "0x7f12a0000000".
 * @param {number} address
 */
export function addressText(address) {
  return `0x${address.toString(16)}`;
}

/**
 * A time such as "5,657.123 ms", precise enough that neighbours differ.
 * @param {number} ns
 */
function eventTime(ns) {
  const us = Math.round(ns / 1000);
  return `${formatCount(Math.floor(us / 1000))}.${String(us % 1000).padStart(3, '0')} ms`;
}

/** The call stack that allocated the block of each subject; -1: none, or the subject is no block. */
const allocatingStacks = oncePer((/** @type {import('../run/format.js').Snapshot} */ snapshot) => {
  const { events, subjects, start } = snapshot;
  const stacks = new Int32Array(subjects.count).fill(-1);
  subjects.atStart.forEach(({ row }, s) => (stacks[s] = start.blocks.stack[row]));
  for (let e = 0; e < events.count; e++) if (events.act[e] >= 0) stacks[events.act[e]] = events.stack[e];
  return stacks;
});

/**
 * The call stack that names an event: of a free, the one that allocated what it frees.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} event
 * @returns {number} -1: none
 */
function namingStack(snapshot, event) {
  const { events } = snapshot;
  const isFree = events.action[event] !== ACTION.ALLOC && hasCategory(snapshot, event);
  return isFree ? allocatingStacks(snapshot)[subjectOf(events.act[event])] : events.stack[event];
}

/**
 * A row's texts in the order of EVENT_COLUMNS. The line that allocated stands in for a missing name.
 * @param {import('../run/run.js').Run} run
 * @param {number} e event
 * @returns {string[]}
 */
export function eventTexts(run, e) {
  const { snapshot, hasClock } = run;
  const { events, subjects, strings, devices } = snapshot;
  const action = events.action[e];
  const s = subjectOf(events.act[e]);
  const stack = namingStack(snapshot, e);
  const isBlock = hasCategory(snapshot, e);
  const bytes = (/** @type {number} */ n) => (n >= 0 && n < Number.MAX_SAFE_INTEGER ? formatBytes(n) : '');
  return [
    formatCount(e),
    !hasClock ? '' : eventTime(events.timeNs[e]),
    actionText(action),
    action === ACTION.MARK ? '' : bytes(subjects.requestedBytes[s]),
    action === ACTION.MARK
      ? ''
      : action === ACTION.OOM
        ? `${bytes(subjects.bytes[s])} free`
        : bytes(subjects.bytes[s]),
    subjects.name[s] >= 0
      ? strings[subjects.name[s]]
      : stack >= 0
        ? frameText(snapshot, snapshot.stacks.userFrame[stack])
        : '',
    isBlock ? categoryText(snapshot.categories[subjects.category[s]]) : '',
    isPlaced(action) ? addressText(subjects.address[s]) : '',
    devices.length > 1 ? `${events.device[e]}:${subjects.stream[s]}` : String(subjects.stream[s]),
    scopePath(snapshot, events.scope[e]),
  ];
}

/**
 * The block that an event allocates or frees; -1: none.
 * @param {import('../run/run.js').Run} run
 * @param {number} event
 */
export function blockOfEvent({ index: { blocks } }, event) {
  const act = blocks.act[event];
  return act > NO_BLOCK ? subjectOf(act) : -1;
}

/** The table's header as CSV. */
export function eventsCsvHead() {
  return csvLine([
    'event',
    'time_ns',
    'action',
    'requested_bytes',
    'block_bytes',
    'name',
    'category',
    'address',
    'device',
    'stream',
    'scope',
    'stack',
  ]);
}

/**
 * One event as a line of CSV, with exact numbers.
 * @param {import('../run/run.js').Run} run
 * @param {number} e
 * @param {(stack: number) => string} stackText
 */
export function eventCsvLine({ snapshot }, e, stackText) {
  const { events, subjects, strings } = snapshot;
  const s = subjectOf(events.act[e]);
  return csvLine([
    e,
    events.timeNs[e],
    actionText(events.action[e]),
    subjects.requestedBytes[s],
    subjects.bytes[s],
    subjects.name[s] < 0 ? '' : strings[subjects.name[s]],
    hasCategory(snapshot, e) ? snapshot.categories[subjects.category[s]] : '',
    isPlaced(events.action[e]) ? addressText(subjects.address[s]) : '',
    events.device[e],
    subjects.stream[s],
    scopePath(snapshot, events.scope[e]),
    stackText(events.stack[e]),
  ]);
}
