/* worker.js - the worker's side of loading: a source in, columns out. This module and those that stand before it in the
 * joined script are the worker; the page begins after it.
 */
import { FormatError } from './columns.js';
import { readSource } from './unpack.js';

/**
 * @typedef {{ready: true} | {progress: import('./unpack.js').Progress} | {loaded: import('./unpack.js').Loaded}
 *   | {problem: string, isFormat: boolean}} Answer
 */

/** The buffers of all typed arrays in a value, to be handed over instead of copied. @param {any} value @param {Set<ArrayBuffer>} found */
export function buffersOf(value, found = new Set()) {
  if (ArrayBuffer.isView(value)) found.add(/** @type {ArrayBuffer} */ (value.buffer));
  else if (Array.isArray(value) && typeof value[0] !== 'object') return found;
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) buffersOf(each, found);
  return found;
}

/** What a failure is called, for people. @param {unknown} problem @returns {{problem: string, isFormat: boolean}} */
export function explained(problem) {
  const { name, message } = /** @type {Error} */ (problem);
  if (name === 'RangeError' && /alloc|length|size/i.test(message)) return { problem: 'it holds more than this browser has memory for', isFormat: true };
  return { problem: message, isFormat: problem instanceof FormatError };
}

/** @param {any} scope the worker's global object */
function serve(scope) {
  const say = (/** @type {Answer} */ answer, /** @type {ArrayBuffer[]} */ buffers = []) => scope.postMessage(answer, buffers);
  scope.onmessage = async (/** @type {MessageEvent} */ { data }) => {
    try {
      const loaded = await readSource(data.source, (progress) => say({ progress }));
      say({ loaded }, [...buffersOf(loaded)]);
    } catch (problem) {
      say(explained(problem));
    }
  };
  say({ ready: true });
}

if (typeof document === 'undefined' && 'WorkerGlobalScope' in globalThis) serve(globalThis);
