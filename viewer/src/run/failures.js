/* failures.js - the allocations of a run that found no memory, and which limit each of them hit. */
import { oncePer } from './once.js';
import { subjectOf } from './subjects.js';
import { formatBytes, formatCount } from '../words/text.js';

const SMALL_BYTES = 2 ** 20; // the largest request that a small segment serves
const LARGE_BYTES = 10 * 2 ** 20; // from it on, a request gets a segment of its own size
const SMALL_SEGMENT_BYTES = 2 * 2 ** 20; // and the granule of large ones
const LARGE_SEGMENT_BYTES = 20 * 2 ** 20;
const MOST_FREE = 2 ** 53; // free bytes from here on mean: not known

/**
 * @typedef {{text: string, bytes: number, isProcess: boolean}} Limit isProcess: set for the process, not the
 *   capacity of the card
 *
 * @typedef {object} Failure
 * @property {number} event
 * @property {number} requestedBytes
 * @property {string} cause the limit that it hit; "": the file does not say
 */

/**
 * The share of the card that the process may take, as the settings have it; 1: all of it.
 * @param {Record<string, any>} settings of the allocator
 */
function memoryFraction(settings) {
  const text = `${settings.PYTORCH_CUDA_ALLOC_CONF ?? ''},${settings.PYTORCH_ALLOC_CONF ?? ''}`;
  const written = /per_process_memory_fraction:\s*([\d.]+)/.exec(text);
  const fraction = Number(settings.per_process_memory_fraction ?? written?.[1] ?? 1);
  return fraction > 0 && fraction < 1 ? fraction : 1;
}

/**
 * What limits the reserved bytes of a device, the lowest first.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {import('./format.js').Device | undefined} device
 * @returns {Limit[]}
 */
export function limitsOf({ run, allocator }, device) {
  const total = device?.totalBytes ?? -1;
  const fraction = memoryFraction(allocator);
  const given = Number(run.memory_limit_bytes);
  const limits = [];
  if (given > 0) limits.push({ text: 'memory limit', bytes: given, isProcess: true });
  if (fraction < 1 && total > 0)
    limits.push({
      text: `memory limit (${fraction} of the card)`,
      bytes: Math.floor(fraction * total),
      isProcess: true,
    });
  if (total > 0)
    limits.push({
      text: device?.kind === 'cpu' ? 'free at the start' : 'device capacity',
      bytes: total,
      isProcess: false,
    });
  return limits.sort((a, b) => a.bytes - b.bytes);
}

/**
 * Bytes of the segment that the allocator asks the device for.
 * @param {number} requestedBytes
 */
function segmentBytes(requestedBytes) {
  if (requestedBytes <= SMALL_BYTES) return SMALL_SEGMENT_BYTES;
  if (requestedBytes < LARGE_BYTES) return LARGE_SEGMENT_BYTES;
  return Math.ceil(requestedBytes / SMALL_SEGMENT_BYTES) * SMALL_SEGMENT_BYTES;
}

/**
 * @param {import('./run.js').Run} run
 * @param {number} event
 * @param {number} requestedBytes
 */
function causeOf({ snapshot, limits, reserved, device }, event, requestedBytes) {
  const wanted = segmentBytes(requestedBytes);
  const k = reserved.state.findLastIndex((state) => state <= event + 1);
  const limit = limits.find(({ isProcess }) => isProcess);
  if (limit !== undefined && reserved.bytes[k] + wanted > limit.bytes)
    return `the ${limit.text} of the process, ${formatBytes(limit.bytes)}`;
  const free = snapshot.subjects.bytes[subjectOf(snapshot.events.act[event])];
  if (!(free < MOST_FREE)) return '';
  const of = snapshot.devices[device]?.kind === 'cpu' ? 'host' : 'card';
  return free < wanted
    ? `the ${of}'s capacity, ${formatBytes(free)} free`
    : `a limit of the process, ${formatBytes(free)} free on the ${of}`;
}

/** The failures on a run's device, in order. */
export const failuresOf = oncePer((/** @type {import('./run.js').Run} */ run) =>
  run.snapshot.oom
    .filter(({ event }) => run.snapshot.events.device[event] === run.device)
    .map(({ event, requestedBytes }) => {
      /** @type {Failure} */
      const failure = { event, requestedBytes, cause: causeOf(run, event, requestedBytes) };
      return failure;
    }),
);

/**
 * One label for all failures that a picture shows.
 * @param {Failure[]} failures at least one
 */
export function failuresText(failures) {
  const [first] = failures;
  const most = Math.max(...failures.map(({ requestedBytes }) => requestedBytes));
  const causes = [...new Set(failures.map(({ cause }) => cause.split(',')[0]))];
  if (failures.length === 1)
    return `out of memory: ${formatBytes(most)} more${first.cause && ` exceed ${first.cause}`}`;
  const why = causes.length === 1 && causes[0] !== '' ? `, beyond ${causes[0]}` : '';
  return `${formatCount(failures.length)} failures: out of memory, at most ${formatBytes(most)} more${why}`;
}
