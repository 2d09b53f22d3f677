/* unpack.js - turns the bytes of a file into the parts of a run: base64, gzip, then the document. It runs in
 * a worker, without a page.
 */
import { bytesOfBase64 } from './base64.js';
import { FormatError } from '../run/columns.js';
import { bytesOf, openDocument, readAnswer, readDocument } from './document.js';
import { readSnapshot } from '../run/format.js';
import { harmlessTree } from '../words/harmless.js';
import { deriveRun } from '../run/run.js';

const PART_LENGTH = 2 ** 18; // a multiple of 4 for base64
// Bytes that are decompressed at once: a stream holds all of the text that it makes of them.
const PACKED_LENGTH = 2 ** 15;
const TEXTS = ['strings', 'run', 'devices']; // parts of a document with texts that sentences repeat

/**
 * @typedef {Blob | Uint8Array<ArrayBuffer> | string} Source a file, bytes, or base64; gzip-compressed or
 *   plain
 * @typedef {object} Progress
 * @property {number} bytes of the file that were read
 * @property {number} totalBytes of the file
 * @typedef {{snapshot: import('../run/format.js').Snapshot, derived: import('../run/run.js').Derived}} Loaded
 */

/**
 * The bytes of a source as a stream.
 * @param {Source} source
 * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
 */
function streamOf(source) {
  if (source instanceof Blob) return source.stream();
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= source.length) return controller.close();
      const part = source.slice(at, (at += PART_LENGTH));
      return controller.enqueue(typeof part === 'string' ? bytesOfBase64(part) : part);
    },
  });
}

/**
 * True if a file with these first bytes is gzip-compressed.
 * @param {Uint8Array} bytes
 */
export function isPacked([first, second]) {
  return first === 0x1f && second === 0x8b;
}

// the data of a snapshot in a page: of tidemark, or of PyTorch's memory_viz
const IN_PAGE = /(?:class="tidemark-snapshot"[^>]*>|"base64": ?")([A-Za-z0-9+/=]+)/;

/**
 * The first snapshot in a file that is a page; of other files, the file.
 * @param {Source} source
 * @returns {Promise<Source>}
 */
export async function snapshotIn(source) {
  if (!(source instanceof Blob) || !/^\s*</.test(await source.slice(0, 64).text())) return source;
  return IN_PAGE.exec(await source.text())?.[1] ?? source;
}

/**
 * @param {Source} source
 * @param {(bytes: number) => void} count called with the number of bytes read from the file
 * @returns {Promise<import('./document.js').Pull>} of the uncompressed text
 */
async function uncompressed(source, count) {
  const reader = streamOf(source).getReader();
  let next = await reader.read();
  const isCompressed = isPacked(next.value ?? new Uint8Array(0));
  let at = 0;
  const counted = new ReadableStream({
    async pull(controller) {
      if (next.done) return controller.close();
      const some = next.value.subarray(at, at + PACKED_LENGTH);
      at += some.length;
      count(some.length);
      controller.enqueue(some);
      if (at < next.value.length) return;
      next = await reader.read();
      at = 0;
    },
  });
  const pulled = (isCompressed ? counted.pipeThrough(new DecompressionStream('gzip')) : counted).getReader();
  return async () => {
    try {
      for (;;) {
        const { value } = await pulled.read();
        if (value?.length !== 0) return value ?? null;
      }
    } catch (problem) {
      throw !isCompressed || problem instanceof FormatError
        ? problem
        : new FormatError('the file is damaged or cut off: it does not decompress');
    }
  };
}

/**
 * Opens the text of a snapshot, or the bytes of a pickle.
 * @param {Source} source
 * @param {(bytes: number) => void} count called with the number of bytes read from the file
 * @returns {Promise<{pull: import('./document.js').Pull, totalBytes: number}>}
 * @throws {FormatError}
 */
export async function openSource(source, count) {
  const totalBytes =
    source instanceof Blob
      ? source.size
      : typeof source === 'string'
        ? (source.length * 3) / 4 - source.slice(-2).split('=').length + 1
        : source.length;
  if (totalBytes === 0) throw new FormatError('the file is empty');
  return { pull: await uncompressed(source, count), totalBytes };
}

/**
 * @param {Record<string, any>} doc as readDocument returns it
 * @returns {Loaded}
 */
export function loadedOf(doc) {
  for (const key of TEXTS) {
    if (doc[key] !== undefined) doc[key] = harmlessTree(doc[key]);
  }
  const snapshot = readSnapshot(doc);
  return { snapshot, derived: deriveRun(snapshot) };
}

/** Thrown when a source holds more text than the caller allows. */
export const TOO_LONG = Symbol('too long');

/**
 * @param {Source} source
 * @param {(progress: Progress) => void} report
 * @param {number} most bytes of text that are read; then TOO_LONG is thrown
 * @param {boolean} isForLayouts readDocument is not needed
 * @returns {Promise<import('./engine.js').Engine>} that has opened it
 * @throws {FormatError}
 */
export async function openInEngine(source, report, most, isForLayouts) {
  let bytes = 0;
  let totalBytes = 1;
  const open = async () => {
    let nText = 0;
    bytes = 0;
    const opened = await openSource(source, (n) => (bytes += n));
    totalBytes = opened.totalBytes;
    return async () => {
      const part = await opened.pull();
      if ((nText += part?.length ?? 0) > most) throw TOO_LONG;
      return part;
    };
  };
  return openDocument(await bytesOf(open), () => report({ bytes, totalBytes }), isForLayouts);
}

/**
 * @param {Source} source
 * @param {(progress: Progress) => void} report
 * @param {number} [most] bytes of text that are read; then TOO_LONG is thrown
 * @returns {Promise<Loaded & {engine: import('./engine.js').Engine | null}>} null: it failed to answer
 * @throws {FormatError}
 */
export async function readSource(source, report, most = Infinity) {
  const engine = await openInEngine(source, report, most, false);
  const loaded = loadedOf(await readDocument(engine));
  try {
    Object.assign(loaded.snapshot, readAnswer(engine));
  } catch {
    return { ...loaded, engine: null };
  }
  return { ...loaded, engine };
}
