/* worker.js - the worker's side of loading. One worker reads a file with the engine, and explains it while
 * another one makes of the document what the page draws from. Then it ends, because the memory of WebAssembly
 * never shrinks. A third one reads the file again if the page asks for layouts, and stays to answer.
 */
import { FormatError, release } from '../run/columns.js';
import { bytesOf, openDocument, readAnswer, readDocument, readLayoutText } from './document.js';
import { provideEngine } from './engine_module.js';
import { loadedOf } from './unpack.js';

/**
 * @typedef {{file: Blob | null, engine: WebAssembly.Module, isForLayouts: boolean}} Reading file: one that is
 *   not compressed, as a whole; null: the text comes in pieces when the worker asks
 * @typedef {Reading | {piece: Uint8Array | null, turn: number} | {isForAnswer: true} | {document: Record<string, any>} | {device: number, state: number}} Order
 *   piece: the next one of the text, null at its end. isForAnswer, state: asks for the answer about the file
 *   that was read, or for its layout
 * @typedef {{isStarted: true} | {turn: number} | {used: ArrayBuffer} | {bytes: number} | {document: Record<string, any> | null} | {answer: import('./document.js').Answer} | {layout: string} | {loaded: import('./unpack.js').Loaded} | {problem: string, isFormat: boolean}}
 *   Answer turn: asks for the text from its beginning, in pieces that have this number. used: requests one
 *   more; the buffer of a piece that was read, for reuse. bytes: of the file that the worker read itself.
 *   document: null if it is not needed
 */

// Of a file, read at once: 186 MB take 1.3 s in parts of 2 MiB, and 0.6 s in these.
const PART_BYTES = 2 ** 24;

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
 * @returns {{problem: string, isFormat: boolean}}
 */
export function explained(problem) {
  const { name, message } = /** @type {Error} */ (problem);
  if (name === 'RangeError' && /alloc|length|size/i.test(message))
    return { problem: 'it holds more than this browser has memory for', isFormat: true };
  return { problem: message, isFormat: problem instanceof FormatError };
}

/** Reads a file part by part, and keeps one part. */
class FileParts {
  /** @param {Blob} file */
  constructor(file) {
    this.file = file;
    this.reader = new /** @type {any} */ (globalThis).FileReaderSync();
    this.at = 0;
    this.part = new Uint8Array(0);
    this.rest = this.part; // what `read` has not returned of the part
  }

  /**
   * The next bytes, at most so many.
   * @param {number} most
   */
  read(most) {
    if (this.rest.length === 0) {
      if (this.at >= this.file.size) return null;
      release(this.part);
      const end = this.at + PART_BYTES;
      this.part = new Uint8Array(this.reader.readAsArrayBuffer(this.file.slice(this.at, end)));
      this.at += this.part.length;
      this.rest = this.part;
    }
    const some = this.rest.subarray(0, most);
    this.rest = this.rest.subarray(some.length);
    return some;
  }

  rewind() {
    this.at = 0;
    this.rest = new Uint8Array(0);
  }
}

/**
 * The text that the page sends in pieces.
 * @param {(answer: Answer, buffers?: ArrayBuffer[]) => void} say
 */
function piecesOf(say) {
  let turn = 0;
  const coming = /** @type {(Uint8Array | null)[]} */ ([]);
  let wake = () => {};
  return {
    take: (/** @type {{piece: Uint8Array | null, turn: number}} */ order) => {
      if (order.turn === turn) coming.push(order.piece);
      wake();
    },
    open: async () => {
      let read = /** @type {Uint8Array | null} */ (null);
      coming.length = 0;
      say({ turn: ++turn });
      return async () => {
        const used = /** @type {ArrayBuffer | null} */ (read?.buffer ?? null);
        if (used !== null) say({ used }, [used]);
        while (coming.length === 0) await new Promise((resolve) => (wake = () => resolve(undefined)));
        return (read = /** @type {Uint8Array | null} */ (coming.shift()));
      };
    },
  };
}

/** @param {any} scope the worker's global object */
export function serveLoading(scope) {
  const say = (/** @type {Answer} */ answer, /** @type {ArrayBuffer[]} */ buffers = []) =>
    scope.postMessage(answer, buffers);
  const pieces = piecesOf(say);
  /** @type {import('./engine.js').Engine | null} null: no file was read */
  let opened = null;
  const read = async (/** @type {Reading} */ { file, engine, isForLayouts }) => {
    provideEngine(async () => engine);
    const parts = file === null ? null : new FileParts(file);
    const report = () => say({ bytes: parts?.at ?? 0 });
    opened = await openDocument(parts ?? (await bytesOf(pieces.open)), report, isForLayouts);
    const document = isForLayouts ? null : await readDocument(opened);
    say({ document }, [...buffersOf(document)]);
  };
  const explain = async () =>
    say({ answer: readAnswer(/** @type {import('./engine.js').Engine} */ (opened)) });
  const derive = async (/** @type {{document: Record<string, any>}} */ { document }) => {
    const loaded = loadedOf(document);
    say({ loaded }, [...buffersOf(loaded)]);
  };
  const divide = async (/** @type {{device: number, state: number}} */ { device, state }) =>
    say({
      layout: await readLayoutText(/** @type {import('./engine.js').Engine} */ (opened), device, state),
    });
  scope.onmessage = (/** @type {MessageEvent} */ { data }) => {
    if (data.piece !== undefined) return pieces.take(data);
    const work = data.isForAnswer
      ? explain()
      : data.document
        ? derive(data)
        : data.state !== undefined
          ? divide(data)
          : read(data);
    return work.catch((problem) => say(explained(problem)));
  };
  say({ isStarted: true });
}
