/* worker.js - the worker's side of loading: it receives text, or reads a file, and returns columns. */
import { FormatError, release } from './columns.js';
import { provideEngine } from './engine_module.js';
import { readText } from './unpack.js';

/**
 * @typedef {{piece: Uint8Array | null, file?: undefined} | {file: Blob}} Text the next piece of the text, null
 *   at its end; or a file that is not compressed, as a whole
 * @typedef {{engine: WebAssembly.Module} | {problem: string}} Code the engine, or why the page has none
 * @typedef {{wants: true, used: ArrayBuffer | null} | {wantsEngine: true} | {rows: number, bytes: number} | {loaded: import('./unpack.js').Loaded} | {problem: string, place: string, isFormat: boolean}}
 *   Answer wants: requests more text; the first such message says that the worker has started. used: the
 *   buffer of a piece that was read, for reuse. wantsEngine: requests the code of the engine. bytes: of the
 *   file that the worker read itself
 */

const PART_BYTES = 2 ** 21; // of a file, read at once
// The same for the engine, which keeps one part: 186 MB take 1.3 s in parts of 2 MiB, and 0.6 s in these.
const ENGINE_PART_BYTES = 2 ** 24;

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

/** Reads a file part by part. What was read before the last part is not needed any more. */
class FileParts {
  /** @param {Blob} file */
  constructor(file) {
    this.file = file;
    this.reader = new /** @type {any} */ (globalThis).FileReaderSync();
    this.at = 0;
    this.partBytes = PART_BYTES;
    /** @type {Uint8Array[]} the last part, and the one before it */
    this.parts = [];
    /** @type {Uint8Array | null} what `read` has not returned of the last part; null: nothing */
    this.rest = null;
  }

  /** @returns {Uint8Array | null} null: the end */
  next() {
    if (this.at >= this.file.size) return null;
    const part = this.reader.readAsArrayBuffer(this.file.slice(this.at, this.at + this.partBytes));
    this.parts.unshift(new Uint8Array(part));
    if (this.parts.length > 2) release(/** @type {Uint8Array} */ (this.parts.pop()));
    this.at += part.byteLength;
    return this.parts[0];
  }

  /** The next part, without the ones before it. */
  nextAlone() {
    this.parts.forEach(release);
    this.parts = [];
    return this.next();
  }

  /**
   * The next bytes, at most so many.
   * @param {number} most
   */
  read(most) {
    const part = this.rest ?? this.nextAlone();
    this.rest = part !== null && part.length > most ? part.subarray(most) : null;
    return part?.subarray(0, most) ?? null;
  }

  /** From now on `read` is called alone. */
  rewind() {
    this.at = 0;
    this.rest = null;
    this.parts.forEach(release);
    this.parts = [];
    this.partBytes = ENGINE_PART_BYTES;
  }
}

/** @param {any} scope the worker's global object */
export function serveLoading(scope) {
  const say = (/** @type {Answer} */ answer, /** @type {ArrayBuffer[]} */ buffers = []) =>
    scope.postMessage(answer, buffers);
  const coming = /** @type {Text[]} */ ([]);
  let wake = () => {};
  let takeCode = (/** @type {Code} */ _code) => {};
  let last = /** @type {Uint8Array | null} */ (null);
  let read = last; // the last piece may hold the beginning of a number
  let parts = /** @type {FileParts | null} */ (null);
  scope.onmessage = (/** @type {MessageEvent} */ { data }) => {
    if (data.engine || data.problem) return takeCode(data);
    coming.push(data);
    wake();
  };
  provideEngine(
    () =>
      new Promise((resolve, reject) => {
        takeCode = (code) => ('engine' in code ? resolve(code.engine) : reject(new Error(code.problem)));
        say({ wantsEngine: true });
      }),
  );
  const pull = async () => {
    if (parts !== null) return parts.next();
    const used = /** @type {ArrayBuffer | null} */ (read?.buffer ?? null);
    say({ wants: true, used }, used === null ? [] : [used]);
    read = last;
    while (coming.length === 0) await new Promise((resolve) => (wake = () => resolve(undefined)));
    const text = /** @type {Text} */ (coming.shift());
    if (text.file !== undefined) return (parts = new FileParts(text.file)).next();
    return (last = text.piece);
  };
  const report = (/** @type {number} */ rows) => say({ rows, bytes: parts?.at ?? 0 });
  readText(pull, report, () => parts)
    .then((loaded) => say({ loaded }, [...buffersOf(loaded)]))
    .catch((problem) => say(explained(problem)));
}
