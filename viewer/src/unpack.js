/* unpack.js - turns the bytes of a file into the parts of a run: base64, gzip, then the document. It runs in
 * a worker, without a page.
 */
import { bytesOfBase64 } from './base64.js';
import { checkDocument } from './check.js';
import { FormatError } from './columns.js';
import { findPlace, MOST_DOCUMENT_BYTES, readDocument } from './document.js';
import { bytesInMemory } from './engine.js';
import { readSnapshot } from './format.js';
import { USUAL_NAMES } from './format_names.js';
import { harmlessTree } from './harmless.js';
import { isPytorchJson, readPytorch } from './pytorch.js';
import { deriveRun } from './run.js';

const PROTO = 0x80;
const PART_LENGTH = 2 ** 18; // a multiple of 4 for base64
const TEXTS = ['strings', 'run', 'devices']; // parts of a document with texts that sentences repeat

/**
 * @typedef {Blob | Uint8Array<ArrayBuffer> | string} Source a file, bytes, or base64; gzip-compressed or
 *   plain
 * @typedef {object} Progress
 * @property {number} bytes of the file that were read
 * @property {number} totalBytes of the file
 * @property {number} rows events read
 * @typedef {{snapshot: import('./format.js').Snapshot, derived: import('./run.js').Derived}} Loaded
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

/**
 * @param {Source} source
 * @param {(bytes: number) => void} count called with the number of bytes read from the file
 * @returns {Promise<import('./document.js').Pull>} of the uncompressed text
 */
async function uncompressed(source, count) {
  const reader = streamOf(source).getReader();
  let next = await reader.read();
  const isCompressed = isPacked(next.value ?? new Uint8Array(0));
  const counted = new ReadableStream({
    async pull(controller) {
      if (next.done) return controller.close();
      count(next.value.length);
      controller.enqueue(next.value);
      next = await reader.read();
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
 * Everything in parts.
 * @param {import('./document.js').Pull} pull
 * @param {() => void} report
 * @returns {Promise<Uint8Array[]>}
 */
async function readAll(pull, report) {
  const parts = [];
  let length = 0;
  for (let part = await pull(); part !== null; part = await pull()) {
    parts.push(part.slice()); // the buffer is used again
    length += part.length;
    if (length > MOST_DOCUMENT_BYTES)
      throw new FormatError('it holds more than 2 GiB when it is uncompressed, which no snapshot does');
    if (parts.length % 256 === 0) report();
  }
  return parts;
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
 * @param {import('./document.js').Pull} pull
 * @param {(rows: number) => void} report events read
 * @param {() => import('./engine.js').Bytes | null} [parts] the same text from its beginning, without waiting;
 *   null: it comes by `pull` alone
 * @returns {Promise<Loaded>}
 * @throws {FormatError}
 */
export async function readText(pull, report, parts = () => null) {
  const first = await pull();
  // the first opcode of every pickle since protocol 2; no JSON begins with it
  const isPytorch = first?.[0] === PROTO || isPytorchJson(first ?? new Uint8Array(0));
  let isTaken = false;
  const again = async () => (isTaken ? pull() : ((isTaken = true), first));
  const doc = isPytorch
    ? await readPytorch(parts() ?? bytesInMemory(await readAll(again, () => report(0))), () => report(0))
    : await readDocument(again, ({ rows }) => report(rows));
  if (!isPytorch) checkDocument(doc, USUAL_NAMES);
  for (const key of TEXTS) {
    if (doc[key] !== undefined) doc[key] = harmlessTree(doc[key]);
  }
  const snapshot = readSnapshot(doc);
  report(snapshot.events.count);
  return { snapshot, derived: deriveRun(snapshot) };
}

/**
 * Adds the byte offset to a refusal that names only a key path: reads the source again up to there.
 * @param {Source} source
 * @param {unknown} problem
 * @returns {Promise<unknown>}
 */
export async function located(source, problem) {
  if (!(problem instanceof FormatError) || problem.place === '') return problem;
  const { pull } = await openSource(source, () => undefined);
  return new FormatError(`byte ${await findPlace(pull, problem.place)}, ${problem.message}`);
}

/** Thrown when a source holds more text than the caller allows. */
export const TOO_LONG = Symbol('too long');

/**
 * @param {Source} source
 * @param {(progress: Progress) => void} report
 * @param {number} [most] bytes of text that are read; then TOO_LONG is thrown
 * @returns {Promise<Loaded>}
 * @throws {FormatError}
 */
export async function readSource(source, report, most = Infinity) {
  let bytes = 0;
  let nText = 0;
  const { pull, totalBytes } = await openSource(source, (n) => (bytes += n));
  const limited = async () => {
    const part = await pull();
    if ((nText += part?.length ?? 0) > most) throw TOO_LONG;
    return part;
  };
  try {
    return await readText(limited, (rows) => report({ bytes, totalBytes, rows }));
  } catch (problem) {
    throw await located(source, problem);
  }
}
