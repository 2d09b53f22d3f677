/* verdict.js - the answer of `tidemark explain`, for snapshots of PyTorch: whether the run ran out of memory
 * and why, what fills the peak, and what grows from step to step. The sentences are those of the command
 * line.
 */
import { beforeText, lineText, representativeFrames } from './frames.js';
import { growthText } from './growth.js';
import { aliveAt } from './index.js';
import { layoutAt } from './layout.js';
import { ACTION, subjectOf } from './subjects.js';
import { formatBytes } from './text.js';

const SHOWN_LINES = 3; // of what fills the peak
const SPARE_PERCENT = 3; // of the whole, that fragmentation must have kept from the request
const LARGE_SEGMENT = 20 * 2 ** 20;
const MIB = 2 ** 20;
const MOST_FREE = 2 ** 53; // free bytes from here on mean: not known
const BEFORE = -2; // the line of blocks from before the recording

/** @typedef {import('./run.js').Run} Run */

/** @param {Run} run */
function noHistory({ snapshot }) {
  return snapshot.events.count > 0
    ? []
    : [
        'This file has no history, only what was allocated when it was written. To record one, put ' +
          'torch.cuda.memory._record_memory_history(max_entries=1000000) before the work and ' +
          "torch.cuda.memory._dump_snapshot('memory.pickle') after it.",
      ];
}

/** @param {Run} run */
function cut({ snapshot }) {
  const { events, nDropped: n, origin } = snapshot;
  if (n === 0) return [];
  let entries = 1000000;
  while (entries <= (origin?.events ?? events.count)) entries *= 10;
  return [
    `The history was cut${origin?.events === 1 ? ' (_record_memory_history(True) keeps one event)' : ''}: ${n} ` +
      `${n === 1 ? 'block has' : 'blocks have'} the call stack of ${n === 1 ? 'its' : 'their'} allocation, which was ` +
      'recorded, but the events of that are missing. The peak is not known. To keep all events, record with ' +
      `torch.cuda.memory._record_memory_history(max_entries=${entries}) and start it only once.`,
  ];
}

/**
 * Whether growth or sheer size may have filled the memory, and not fragmentation: a line grows, or the lowest
 * level rose, or so much was never needed before.
 * @param {Run} run
 * @param {string} growth
 * @param {number} event
 * @param {number} asked bytes
 * @param {number} spare bytes that would have been left of the free memory in one piece
 */
function mayHaveGrown({ snapshot, index: { totals }, device }, growth, event, asked, spare) {
  let highest = totals[0];
  let survived = 0;
  const levels = [];
  for (let e = 0; e < event; e++) {
    const bytes = totals[e + 1];
    highest = Math.max(highest, bytes);
    if (bytes <= highest - spare) survived = highest;
    if (snapshot.events.device[e] === device) levels.push(bytes);
  }
  const end = totals[event];
  const third = Math.trunc(levels.length / 3);
  const lowest = (/** @type {number[]} */ some) => some.reduce((least, bytes) => Math.min(least, bytes));
  const rise =
    third === 0
      ? end
      : lowest(levels.slice(levels.length - third)) - lowest(levels.slice(third, levels.length - third));
  const most = Math.trunc(spare / 4);
  return growth !== '' || rise > most || end + asked - survived > most;
}

/**
 * @param {Run} run
 * @param {string} growth
 * @param {number} event
 * @param {number} asked bytes
 * @param {number} freeBytes of the device
 */
function causeOf(run, growth, event, asked, freeBytes) {
  const { segments, account } = layoutAt(run, event + 1);
  const free = segments.flatMap(({ pieces }) =>
    pieces.filter(({ block }) => block < 0).map(({ bytes }) => bytes),
  );
  const cached = free.reduce((sum, bytes) => sum + bytes, 0);
  const largest = free.reduce((most, bytes) => Math.max(most, bytes), 0);
  const spare = cached + freeBytes - asked;
  if (cached === 0) return 'Fragmentation is not to blame: no reserved memory was free.';
  if (spare < Math.trunc((account.reserved + freeBytes) / 100) * SPARE_PERCENT)
    return (
      `Fragmentation is not to blame: ${formatBytes(freeBytes)} on the device and ${formatBytes(cached)} in ` +
      `reserved memory were free, ${spare < 0 ? 'less' : `only ${formatBytes(spare)} more`} than the request together.`
    );
  if (largest >= asked)
    return (
      `A free block of ${formatBytes(largest)} was large enough, but the allocator could not use it for this ` +
      'request: it belongs to another stream or another pool.'
    );
  const onDevice = cached < asked ? `${formatBytes(freeBytes)} on the device and ` : '';
  return (
    `${mayHaveGrown(run, growth, event, asked, spare) ? '' : 'Fragmentation is to blame: '}${onDevice}` +
    `${formatBytes(cached)} of reserved memory were free, but in ${free.length} ` +
    `${free.length === 1 ? 'piece' : 'pieces'}, the largest of ${formatBytes(largest)}.`
  );
}

/**
 * Why the device gave out nothing where it had more free than was asked for.
 * @param {Run} run
 * @param {number} asked bytes
 * @param {number} freeBytes
 */
function whyNot({ snapshot }, asked, freeBytes) {
  if (freeBytes < asked) return '';
  const large = Number(snapshot.allocator?.large_segment_size ?? LARGE_SEGMENT);
  const rounded = Math.ceil(asked / (2 * MIB)) * 2 * MIB;
  const segment = asked <= MIB ? 2 * MIB : asked < 10 * MIB ? large : rounded;
  return freeBytes < segment ? ', too little for a new segment' : ', and yet it gave out no more';
}

/**
 * What set the bound: the limit of the process, if one is known that is below the device's memory.
 * @param {Run} run
 */
function whoseLimit({ snapshot, device }) {
  const limit = Number(snapshot.run.memory_limit_bytes ?? -1);
  const total = snapshot.devices[device]?.totalBytes ?? -1;
  return limit < 0 || (total >= 0 && limit >= total)
    ? 'on the device'
    : `of the limit of ${formatBytes(limit)}`;
}

/**
 * @param {Run} run
 * @param {string} growth
 */
function outOfMemory(run, growth) {
  const { snapshot, device } = run;
  const { events, subjects } = snapshot;
  const failed = snapshot.oom.filter(({ event }) => events.device[event] === device);
  if (failed.length === 0) return [];
  const [{ event, requestedBytes }] = failed;
  const freeBytes = subjects.bytes[subjectOf(events.act[event])];
  const isUnlimited = freeBytes >= MOST_FREE;
  const isEnd = snapshot.run.outcome === 'oom';
  const who = events.stack[event] < 0 ? 'the program' : lineText(snapshot, events.stack[event]);
  const again = failed.length > 1 ? ` It ran out ${failed.length} times in all.` : '';
  const what =
    `Out of memory at event ${event}${isEnd ? ', where the run ended' : ''}: ${who} asked for ` +
    `${formatBytes(requestedBytes)}; ${isUnlimited ? 'unlimited bytes' : formatBytes(freeBytes)} ` +
    `${whoseLimit(run)} were free` +
    `${isUnlimited ? '' : whyNot(run, requestedBytes, freeBytes)}.${again}`;
  return isUnlimited ? [what] : [what, causeOf(run, growth, event, requestedBytes, freeBytes)];
}

/**
 * Requests that the device refused at first: rows that free segments, directly followed by one that allocates
 * a segment, all with one call stack. As in the command line.
 * @param {Run} run
 */
function retries({ snapshot, device }) {
  const { events, allocator } = snapshot;
  const { SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP } = ACTION;
  const threshold = allocator.garbage_collection_threshold;
  let n = 0;
  let freedBy = -1;
  for (let i = 0; i < events.count; i++) {
    if (events.device[i] !== device) continue;
    const action = events.action[i];
    if ((action === SEGMENT_ALLOC || action === SEGMENT_MAP) && freedBy >= 0 && events.stack[i] === freedBy)
      n++;
    freedBy = action === SEGMENT_FREE || action === SEGMENT_UNMAP ? events.stack[i] : -1;
  }
  if (n === 0 || typeof threshold === 'string' || threshold > 0) return [];
  return [
    `At the card's limit, ${n} ${n === 1 ? 'retry' : 'retries'}: the device refused a request at first, and the ` +
      'allocator freed its cache and asked again, which is slow.',
  ];
}

/**
 * The state that the sentences are about: the peak, or the end of a history that was cut.
 * @param {Run} run
 */
function stateOf({ snapshot, index }) {
  return snapshot.nDropped > 0 ? snapshot.events.count : index.peakState;
}

/**
 * What is allocated then by line of the program, most first.
 * @param {Run} run
 */
function linesThen(run) {
  const { snapshot, index } = run;
  const { blocks } = index;
  const representative = representativeFrames(snapshot);
  /** @type {Map<number, {site: number, stack: number, largest: number, bytes: number}>} */
  const lines = new Map();
  for (const block of aliveAt(index, stateOf(run)).sort((a, b) => a - b)) {
    const stack = blocks.stack[block];
    const site = stack >= 0 ? representative[stack] : blocks.bornState[block] === 0 ? BEFORE : -1;
    const line = lines.get(site) ?? { site, stack, largest: -1, bytes: 0 };
    if (blocks.bytes[block] > line.largest) Object.assign(line, { stack, largest: blocks.bytes[block] });
    line.bytes += blocks.bytes[block];
    lines.set(site, line);
  }
  // as in the command line, whose sites without a frame have the highest numbers
  const order = (/** @type {number} */ site) => (site >= 0 ? site : site === BEFORE ? 2 ** 32 + 1 : 2 ** 32);
  return [...lines.values()].sort((a, b) => b.bytes - a.bytes || order(a.site) - order(b.site));
}

/** @param {Run} run */
function filled(run) {
  const { snapshot, index, device } = run;
  const lines = linesThen(run);
  if (lines.length === 0) return [];
  const isShown = (/** @type {{site: number}} */ { site }, /** @type {number} */ i) =>
    i < SHOWN_LINES || site < 0;
  const parts = lines.filter(isShown).map(({ site, stack, bytes }) => {
    if (site >= 0) return `${formatBytes(bytes)} at ${lineText(snapshot, stack)}`;
    return `${formatBytes(bytes)} ${site === BEFORE ? beforeText(snapshot) : 'without a call stack'}`;
  });
  const others = lines.filter((line, i) => !isShown(line, i));
  const rest = others.reduce((sum, { bytes }) => sum + bytes, 0);
  if (others.length > 0)
    parts.push(`${formatBytes(rest)} at ${others.length} other ${others.length === 1 ? 'line' : 'lines'}`);
  const isKnown = snapshot.nDropped === 0 && snapshot.events.device.includes(device);
  const when = isKnown ? 'at the peak' : 'when the file was written';
  return [`${formatBytes(index.totals[stateOf(run)])} allocated ${when}: ${parts.join(', ')}.`];
}

/** @param {import('./steps.js').Steps} steps */
function sourceText({ source }) {
  if (source === 'profiler') return "; the steps are those that PyTorch's profiler annotated";
  return source === 'optimizer' ? "; each step ends where the optimizer's annotation does" : '';
}

/**
 * The sentences for a snapshot of PyTorch, the most urgent first.
 * @param {Run} run
 * @returns {string[]}
 */
export function verdictOf(run) {
  const { steps } = run;
  const growth = steps === null ? '' : growthText(run, steps);
  return [
    ...noHistory(run),
    ...cut(run),
    ...outOfMemory(run, growth),
    ...retries(run),
    ...filled(run),
    ...(steps === null || growth === '' ? [] : [`It grows ${growth}${sourceText(steps)}.`]),
  ];
}
