/* verdict.js - the answer of `tidemark explain`, for snapshots of PyTorch: whether the run ran out of memory
 * and why, what fills the peak, and what grows from step to step. The sentences are those of the command
 * line.
 */
import { beforeText, lineText, representativeFrames } from './frames.js';
import { aliveAt } from './index.js';
import { layoutAt } from './layout.js';
import { stepText } from './steps.js';
import { ACTION, subjectOf } from './subjects.js';
import { formatBytes } from './text.js';

const SHOWN_LINES = 3; // of what fills the peak
const GROWING_LINES = 2;
const LEAST_STEPS = 3; // that keep something of a line that grows
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
          "torch.cuda.memory._dump_snapshot('memory.pickle') behind it.",
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
 * @param {Run} run
 * @param {number} event
 * @param {number} asked bytes
 * @param {number} freeBytes of the device
 */
function causeOf(run, event, asked, freeBytes) {
  const free = layoutAt(run, event + 1).segments.flatMap(({ pieces }) =>
    pieces.filter(({ block }) => block < 0).map(({ bytes }) => bytes),
  );
  const cached = free.reduce((sum, bytes) => sum + bytes, 0);
  const largest = free.reduce((most, bytes) => Math.max(most, bytes), 0);
  if (cached + freeBytes < asked)
    return (
      `Fragmentation is not to blame: ${formatBytes(freeBytes)} on the device and ${formatBytes(cached)} in ` +
      'reserved memory were free, less than the request together.'
    );
  if (largest >= asked)
    return (
      `A free block of ${formatBytes(largest)} was large enough, but the allocator could not use it for this ` +
      'request: it belongs to another stream or another pool.'
    );
  return (
    `Fragmentation is to blame: ${formatBytes(cached)} of reserved memory were free, but in ${free.length} ` +
    `${free.length === 1 ? 'piece' : 'pieces'}, the largest of ${formatBytes(largest)}.`
  );
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

/** @param {Run} run */
function outOfMemory(run) {
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
    `${!isUnlimited && freeBytes >= requestedBytes ? ', too little for a new segment' : ''}.${again}`;
  return isUnlimited ? [what] : [what, causeOf(run, event, requestedBytes, freeBytes)];
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
  const parts = lines.slice(0, SHOWN_LINES).map(({ site, stack, bytes }) => {
    if (site >= 0) return `${formatBytes(bytes)} at ${lineText(snapshot, stack)}`;
    return `${formatBytes(bytes)} ${site === BEFORE ? beforeText(snapshot) : 'without a call stack'}`;
  });
  const others = lines.slice(SHOWN_LINES);
  const rest = others.reduce((sum, { bytes }) => sum + bytes, 0);
  if (others.length > 0)
    parts.push(`${formatBytes(rest)} at ${others.length} other ${others.length === 1 ? 'line' : 'lines'}`);
  const isKnown = snapshot.nDropped === 0 && snapshot.events.device.includes(device);
  const when = isKnown ? 'at the peak' : 'when the file was written';
  return [`${formatBytes(index.totals[stateOf(run)])} allocated ${when}: ${parts.join(', ')}.`];
}

/* ---- growth ---- */

/**
 * @typedef {object} Kept what one line of the program keeps
 * @property {number} site the frame that stands for it; -1: no call stack
 * @property {number} stack of one of its blocks
 * @property {number} change bytes, from the end of the first measured step to that of the last
 * @property {number} nSteps in which blocks were born that are kept
 * @property {number} firstStep of these
 * @property {number} lastStep
 */

/**
 * The step that an event lies in or behind; -1: before the first.
 * @param {import('./steps.js').Step[]} steps
 * @param {number} event
 */
function stepAt(steps, event) {
  let lo = 0;
  let hi = steps.length;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (steps[middle].first <= event) lo = middle + 1;
    else hi = middle;
  }
  return lo - 1;
}

/**
 * @param {Run} run
 * @param {import('./steps.js').Step[]} steps
 * @param {number} from state at the end of the first measured step
 * @param {number} to state at that of the last
 * @returns {Kept[]}
 */
function keptLines({ snapshot, index }, steps, from, to) {
  const { blocks } = index;
  const representative = representativeFrames(snapshot);
  /** @type {Map<number, Kept>} */
  const lines = new Map();
  for (let block = 0; block < blocks.count; block++) {
    const isAlive = (/** @type {number} */ state) =>
      blocks.bornState[block] <= state && state < blocks.diedState[block];
    if (!isAlive(from) && !isAlive(to)) continue;
    const stack = blocks.stack[block];
    const site = stack < 0 ? -1 : representative[stack];
    const line = lines.get(site) ?? { site, stack, change: 0, nSteps: 0, firstStep: 0, lastStep: -1 };
    lines.set(site, line);
    line.change += (isAlive(to) ? blocks.bytes[block] : 0) - (isAlive(from) ? blocks.bytes[block] : 0);
    const step = stepAt(steps, blocks.bornState[block] - 1);
    if (!isAlive(to) || step < 0 || step === line.lastStep) continue;
    if (line.nSteps++ === 0) line.firstStep = step;
    line.lastStep = step;
  }
  const order = (/** @type {number} */ site) => (site < 0 ? 2 ** 32 : site);
  return [...lines.values()].sort((a, b) => b.change - a.change || order(a.site) - order(b.site));
}

/** @param {import('./steps.js').Steps} steps */
function sourceText({ source, nAllocs, share }) {
  if (source === 'profiler') return "; the steps are those that PyTorch's profiler annotated";
  if (source === 'optimizer') return "; each step ends where the optimizer's annotation does";
  if (source === 'recorded') return '';
  return `; the steps are inferred: ${nAllocs} allocations repeat, which make up ${(100 * share).toFixed(0)} % of all`;
}

/**
 * @param {Run} run
 * @param {import('./steps.js').Steps} found
 */
function growth(run, found) {
  const { snapshot, index } = run;
  const { steps } = found;
  const isMeasured = (/** @type {import('./steps.js').Step} */ step) => !step.isWarmup && !step.isOpen;
  const firstMeasured = steps.findIndex(isMeasured);
  const lastMeasured = steps.findLastIndex(isMeasured);
  if (firstMeasured < 0 || firstMeasured === lastMeasured) return [];
  const [first, last] = [steps[firstMeasured], steps[lastMeasured]];
  const end = lastMeasured + 1;
  const growing = keptLines(run, steps, first.last + 1, last.last + 1)
    .filter(
      ({ change, nSteps, firstStep, lastStep }) =>
        change > 0 && nSteps >= LEAST_STEPS && 2 * nSteps > end - firstStep && lastStep + LEAST_STEPS >= end,
    )
    .slice(0, GROWING_LINES)
    .map(({ site, stack, change, nSteps, firstStep }) => {
      const from = Math.max(Math.max(0, firstStep - 1), firstMeasured);
      const each = Math.trunc(change / Math.max(1, end - 1 - from));
      const place = site < 0 ? 'blocks without a call stack' : lineText(snapshot, stack);
      return `by ${formatBytes(each)} a step at ${place}, in ${nSteps} of ${end - firstStep} steps since ${stepText(steps[firstStep])}`;
    });
  const source = sourceText(found);
  const before = index.totals[first.last + 1];
  const after = index.totals[last.last + 1];
  if (growing.length > 0) return [`It grows ${growing.join(' and ')}${source}.`];
  if (before === after)
    return [
      `Nothing grows from step to step: ${formatBytes(before)} are allocated at the ends of ${stepText(first)} and ` +
        `of ${stepText(last)}${source}.`,
    ];
  return [
    `No line of the program grows from step to step: ${formatBytes(before)} are allocated at the end of ` +
      `${stepText(first)}, ${formatBytes(after)} at that of ${stepText(last)}${source}.`,
  ];
}

/**
 * The sentences for a snapshot of PyTorch, the most urgent first.
 * @param {Run} run
 * @returns {string[]}
 */
export function verdictOf(run) {
  const { steps } = run;
  return [
    ...noHistory(run),
    ...cut(run),
    ...outOfMemory(run),
    ...retries(run),
    ...filled(run),
    ...(steps === null ? [] : growth(run, steps)),
  ];
}
