/* document.js - a snapshot's document as the program's code reads it: tidemark's own files, PyTorch's pickles
 * and their JSON.
 */
import { FormatError } from '../run/columns.js';
import { bytesInMemory, CAN_WAIT, Engine } from './engine.js';
import { engineModule } from './engine_module.js';
import { parseHarmless } from '../words/harmless.js';

const PROGRESS_MS = 50;
const NAME = 'the file'; // the page names it before each message
const MOST_BYTES = 2 ** 31; // of the text, as in the program

/**
 * @typedef {() => Promise<Uint8Array | null>} Pull the next bytes, null at the end; the buffer before them
 *   may be overwritten
 * @typedef {() => Promise<Pull>} Open opens the text at its beginning
 * @typedef {Pick<import('../run/format.js').Snapshot, 'sentences' | 'rules'>} Answer
 */

/**
 * The same bytes, with a report now and then.
 * @param {import('./engine.js').Bytes} source
 * @param {() => void} report
 * @returns {import('./engine.js').Bytes}
 */
function reported(source, report) {
  let reportedAt = 0;
  return {
    read: (most) => {
      const now = performance.now();
      if (now - reportedAt > PROGRESS_MS) {
        reportedAt = now;
        report();
      }
      return source.read(most);
    },
    rewind: () => source.rewind(),
  };
}

/**
 * The bytes as they arrive.
 * @param {Open} open
 * @returns {import('./engine.js').Bytes}
 */
function bytesArriving(open) {
  /** @type {Promise<Pull> | null} null: at the beginning */
  let opened = null;
  let rest = new Uint8Array(0);
  const take = (/** @type {number} */ most) => {
    const some = rest.subarray(0, most);
    rest = rest.subarray(some.length);
    return some;
  };
  const more = async (/** @type {number} */ most) => {
    const pull = await (opened ??= open());
    const part = await pull();
    rest = /** @type {Uint8Array<ArrayBuffer>} */ (part ?? new Uint8Array(0));
    return part === null ? null : take(most);
  };
  return {
    read: (most) => (rest.length > 0 ? take(most) : more(most)),
    rewind: () => {
      opened = null;
      rest = new Uint8Array(0);
    },
  };
}

/**
 * The whole text in memory. A longer one than the engine reads is cut, which the engine refuses.
 * @param {Open} open
 * @returns {Promise<import('./engine.js').Bytes>}
 */
async function bytesArrived(open) {
  const pull = await open();
  const parts = [];
  let length = 0;
  for (let part = await pull(); part !== null && length <= MOST_BYTES; part = await pull()) {
    parts.push(part.slice()); // the buffer is used again
    length += part.length;
  }
  return bytesInMemory(parts);
}

/**
 * @param {Open} open
 * @returns {Promise<import('./engine.js').Bytes>}
 */
export async function bytesOf(open) {
  return CAN_WAIT ? bytesArriving(open) : bytesArrived(open);
}

/**
 * Does something with an engine; its messages name the file as the page does.
 * @template T
 * @param {() => T | Promise<T>} work
 * @throws {FormatError}
 */
async function inWordsOfThePage(work) {
  try {
    return await work();
  } catch (problem) {
    if (!(problem instanceof FormatError)) throw problem;
    const { message } = problem;
    throw new FormatError(message.replace(`cannot read '${NAME}': `, '').replaceAll(`'${NAME}'`, NAME));
  }
}

/**
 * @param {Engine} engine that has opened a file
 * @returns {Record<string, any>} for readSnapshot
 */
export function documentOf(engine) {
  const doc = JSON.parse(engine.answer('document'));
  return { ...doc, ...engine.columns(), odd: doc.odd.count > 0 ? doc.odd : null };
}

/**
 * The sentences about the recording and what each rule explains, by device. Once per engine, after the
 * document.
 * @param {Engine} engine
 * @returns {Answer}
 */
export function readAnswer(engine) {
  return parseHarmless(engine.answer('answer'));
}

/**
 * Reads a file with an engine of its own.
 * @param {import('./engine.js').Bytes} source
 * @param {string} by the engine's export that reads it
 * @returns {Promise<Engine>}
 * @throws {FormatError}
 */
async function openBy(source, by) {
  const engine = await Engine.start(await engineModule(), source);
  await inWordsOfThePage(() => (CAN_WAIT ? engine.openWaiting(NAME, by) : engine.open(NAME, by)));
  return engine;
}

/**
 * @param {import('./engine.js').Bytes} source
 * @param {() => void} report called now and then
 * @param {boolean} isForLayouts readDocument is not needed
 * @returns {Promise<Engine>} that has opened the file
 * @throws {FormatError}
 */
export async function openDocument(source, report, isForLayouts) {
  const engine = await openBy(reported(source, report), isForLayouts ? 'open_layouts' : 'open');
  report();
  return engine;
}

/**
 * @param {Engine} engine that has opened a file
 * @returns {Promise<Record<string, any>>} for readSnapshot
 * @throws {FormatError}
 */
export async function readDocument(engine) {
  return inWordsOfThePage(() => documentOf(engine));
}

/**
 * @param {Engine} engine that has opened a file
 * @param {number} device
 * @param {number} state
 * @returns {Promise<string>} for readLayout
 * @throws {FormatError}
 */
export async function readLayoutText(engine, device, state) {
  return inWordsOfThePage(() => engine.answer('layout', device, state));
}

/**
 * Reads a digest, or a list of digests.
 * @param {import('./engine.js').Bytes} source
 * @returns {Promise<string>} what the engine answers, as JSON
 * @throws {FormatError}
 */
export async function readDigests(source) {
  return (await openBy(source, 'ranks')).answered();
}
