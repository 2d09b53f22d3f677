/* worker.js - the worker's side of loading: it receives text and returns columns. */
import { FormatError } from './columns.js';
import { readText } from './unpack.js';

/**
 * @typedef {{piece: Uint8Array | null}} Text the next piece of the text; null: the end
 * @typedef {{wants: true, used: ArrayBuffer | null} | {rows: number} | {loaded: import('./unpack.js').Loaded} | {problem: string, place: string, isFormat: boolean}}
 *   Answer wants: requests more text; the first such message says that the worker has started. used: the
 *   buffer of a piece that was read, for reuse
 */

/**
 * The buffers of all typed arrays in a value, to be transferred instead of copied.
 * @param {any} value
 * @param {Set<ArrayBuffer>} found
 */
export function buffersOf(value, found = new Set()) {
  if (ArrayBuffer.isView(value)) found.add(/** @type {ArrayBuffer} */ (value.buffer));
  else if (Array.isArray(value) && typeof value[0] !== 'object') return found;
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) buffersOf(each, found);
  return found;
}

/**
 * Describes a failure for people.
 * @param {unknown} problem
 * @returns {{problem: string, place: string, isFormat: boolean}} place: a key path whose byte offset is not
 *   known yet, or ""
 */
export function explained(problem) {
  const { name, message } = /** @type {Error} */ (problem);
  if (name === 'RangeError' && /alloc|length|size/i.test(message))
    return { problem: 'it holds more than this browser has memory for', place: '', isFormat: true };
  return problem instanceof FormatError
    ? { problem: message, place: problem.place, isFormat: true }
    : { problem: message, place: '', isFormat: false };
}

/** @param {any} scope the worker's global object */
export function serveLoading(scope) {
  const say = (/** @type {Answer} */ answer, /** @type {ArrayBuffer[]} */ buffers = []) =>
    scope.postMessage(answer, buffers);
  const coming = /** @type {Text[]} */ ([]);
  let wake = () => {};
  let last = /** @type {Uint8Array | null} */ (null);
  let read = last; // the last piece may hold the beginning of a number
  scope.onmessage = (/** @type {MessageEvent} */ { data }) => {
    coming.push(data);
    wake();
  };
  const pull = async () => {
    const used = /** @type {ArrayBuffer | null} */ (read?.buffer ?? null);
    say({ wants: true, used }, used === null ? [] : [used]);
    read = last;
    while (coming.length === 0) await new Promise((resolve) => (wake = () => resolve(undefined)));
    return (last = /** @type {Text} */ (coming.shift()).piece);
  };
  readText(pull, (rows) => say({ rows })).then(
    (loaded) => say({ loaded }, [...buffersOf(loaded)]),
    (problem) => say(explained(problem)),
  );
}
