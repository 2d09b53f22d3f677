/* load.js - loads each run in two workers, one after the other: the page stays responsive, and a worker's
 * memory is released when it ends. The first question about the layout of its memory reads the file again, in
 * a worker that stays; the page itself keeps the engine of a small file for that.
 *
 * A worker runs the page's own script, which sees that it is in a worker (main.js). Where the browser, or a
 * page around this one, allows no worker, and where a file is small, the page reads the file itself.
 */
import { FormatError } from '../run/columns.js';
import { readLayoutText } from './document.js';
import { engineModule } from './engine_module.js';
import { Layouts } from '../run/layouts.js';
import { makeRun } from '../run/run.js';
import { isPacked, loadedOf, openInEngine, openSource, readSource, TOO_LONG } from './unpack.js';
import { buffersOf, explained } from './worker.js';

/** @typedef {(progress: import('./unpack.js').Progress) => void} OnProgress */

// bytes, or characters of base64: such a source is read before a worker would have started
const SMALL_SOURCE = 200_000;
// bytes of uncompressed text: a small file may expand to any size, which would block the page
const SMALL_TEXT = 2 ** 24;
const PIECE_BYTES = 2 ** 19; // bytes of text per message
const PIECES_AHEAD = 16; // pieces sent before the worker asks for more
const ANSWER_MS = 25; // of decompression, after which the page handles events
const START_MS = 5000; // a worker that has not started by then is given up
// Events of a file whose engine the page keeps, which takes 55 bytes an event. That of a worker ends, because
// the other worker then needs the most memory.
const MOST_KEPT = 100_000;

/** @type {string | null} created once; null: not created yet */
let workerUrl = null;
/** @type {Promise<Worker | null> | null} the idle worker for the next file */
let waiting = null;

/** Creates the address of the worker's script. The policy lets only this address through. */
function makeWorkerUrl() {
  const script = document.getElementById('viewer')?.textContent ?? '';
  if (script === '') throw new Error('the page holds no script to make a worker of');
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const trusted = /** @type {any} */ (globalThis).trustedTypes;
  const same = (/** @type {string} */ given) => {
    if (given !== url) throw new TypeError('not the address of the worker');
    return given;
  };
  return trusted
    ? trusted.createPolicy('tidemark-worker', { createScriptURL: same }).createScriptURL(url)
    : url;
}

/** @returns {Promise<Worker | null>} null: no worker can be created */
function startWorker() {
  return new Promise((resolve) => {
    try {
      workerUrl ??= makeWorkerUrl();
      const worker = new Worker(/** @type {string} */ (workerUrl));
      const timer = setTimeout(() => finish(null), START_MS);
      const finish = (/** @type {Worker | null} */ made) => {
        clearTimeout(timer);
        worker.onmessage = worker.onerror = null;
        if (made === null) worker.terminate();
        resolve(made);
      };
      worker.onmessage = () => finish(worker);
      worker.onerror = (event) => {
        event.preventDefault();
        finish(null);
      };
    } catch {
      resolve(null);
    }
  });
}

/** Starts a worker before there is anything to load. */
export function prepareLoading() {
  waiting ??= startWorker();
}

/**
 * Takes the idle worker, or starts one.
 * @returns {Promise<Worker | null>}
 */
function takeWorker() {
  const starting = waiting ?? startWorker();
  waiting = null; // this file owns it; another file starts its own
  return starting;
}

/**
 * The pieces on the way to a worker: a few that it has not read, so that decompression and parsing run in
 * parallel, and buffers for more.
 */
class Pieces {
  /**
   * @param {Worker} worker
   * @param {number} turn which the worker gave this reading of the text
   */
  constructor(worker, turn) {
    this.worker = worker;
    this.turn = turn;
    this.nAhead = PIECES_AHEAD;
    this.used = /** @type {ArrayBuffer[]} */ ([]);
    this.wake = () => {};
  }

  /** @param {ArrayBuffer} buffer of a piece that the worker has read */
  take(buffer) {
    this.nAhead++;
    this.used.push(buffer);
    this.wake();
  }

  /** A buffer for a piece, as soon as the worker can take more. */
  async room() {
    while (this.nAhead === 0) await new Promise((resolve) => (this.wake = () => resolve(undefined)));
    this.nAhead--;
    return new Uint8Array(this.used.pop() ?? new ArrayBuffer(PIECE_BYTES));
  }

  /**
   * Sends the text as it arrives.
   * @param {import('./document.js').Pull} pull
   */
  async send(pull) {
    const { turn } = this;
    let piece = await this.room();
    let end = 0;
    let answered = performance.now();
    const post = () => this.worker.postMessage({ piece: piece.subarray(0, end), turn }, [piece.buffer]);
    for (let part = await pull(); part !== null; part = await pull()) {
      for (let at = 0; at < part.length;) {
        const some = part.subarray(at, at + PIECE_BYTES - end);
        piece.set(some, end);
        end += some.length;
        at += some.length;
        if (end < PIECE_BYTES) continue;
        post();
        piece = await this.room();
        end = 0;
        if (performance.now() - answered < ANSWER_MS) continue;
        await new Promise((resolve) => setTimeout(resolve));
        answered = performance.now();
      }
    }
    if (end > 0) post();
    this.worker.postMessage({ piece: null, turn });
  }
}

/**
 * The source as a file that is not compressed, which a worker reads itself; null: it is another one.
 * @param {import('./unpack.js').Source} source
 */
async function plainFile(source) {
  if (!(source instanceof Blob)) return null;
  return isPacked(new Uint8Array(await source.slice(0, 2).arrayBuffer())) ? null : source;
}

/**
 * Gives a worker work.
 * @template T
 * @param {Worker} worker
 * @param {(data: any, fail: (problem: unknown) => void) => T | undefined} take an answer; the last one has a
 *   result
 * @param {() => Promise<void>} begin
 * @returns {Promise<T>}
 */
function workOf(worker, take, begin) {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => {
      if (data.problem) reject(data.isFormat ? new FormatError(data.problem) : new Error(data.problem));
      const result = take(data, reject);
      if (result !== undefined) resolve(result);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      reject(
        new FormatError(`reading it failed (${event.message || 'the browser has not enough memory for it'})`),
      );
    };
    worker.onmessageerror = () => reject(new FormatError('it holds more than this browser has memory for'));
    begin().catch(reject);
  });
}

/**
 * @param {Worker} worker
 * @param {import('./unpack.js').Source} source
 * @param {OnProgress} onProgress
 * @param {boolean} isForLayouts nothing else of the file is needed
 * @returns {Promise<Record<string, any> | null>} the document; null: it is not needed
 */
function readInWorker(worker, source, onProgress, isForLayouts) {
  let pieces = new Pieces(worker, 0); // those of an earlier turn wait for ever
  let bytes = 0;
  let totalBytes = source instanceof Blob ? source.size : 1;
  const sendText = async (/** @type {number} */ turn) => {
    const now = (pieces = new Pieces(worker, turn));
    bytes = 0;
    const opened = await openSource(source, (n) => (bytes += n));
    totalBytes = opened.totalBytes;
    await now.send(opened.pull);
  };
  const take = (/** @type {any} */ data, /** @type {(problem: unknown) => void} */ fail) => {
    if (data.used) pieces.take(data.used);
    else if (data.turn) sendText(data.turn).catch(fail);
    else if (data.bytes !== undefined) onProgress({ bytes: data.bytes || bytes, totalBytes });
    return data.document;
  };
  return workOf(worker, take, async () =>
    worker.postMessage({ file: await plainFile(source), engine: await engineModule(), isForLayouts }),
  );
}

/**
 * @param {Worker} worker
 * @param {Record<string, any>} document
 * @returns {Promise<import('./unpack.js').Loaded>}
 */
function deriveInWorker(worker, document) {
  return workOf(
    worker,
    (data) => data.loaded,
    async () => worker.postMessage({ document }, [...buffersOf(document)]),
  );
}

/**
 * @param {Worker} worker that has read a file
 * @returns {Promise<import('./document.js').Answer | null>} null: it could not answer
 */
async function answerInWorker(worker) {
  try {
    return await workOf(
      worker,
      (data) => data.answer,
      async () => worker.postMessage({ isForAnswer: true }),
    );
  } catch {
    return null;
  }
}

/**
 * @param {Worker} worker that has read a file
 * @returns {import('../run/layouts.js').Divider}
 */
function dividerInWorker(worker) {
  return {
    at: (device, state) =>
      workOf(
        worker,
        (data) => data.layout,
        async () => worker.postMessage({ device, state }),
      ),
    close: () => worker.terminate(),
  };
}

/**
 * @param {import('./engine.js').Engine} engine that has opened a file
 * @returns {import('../run/layouts.js').Divider}
 */
function dividerHere(engine) {
  return { at: (device, state) => readLayoutText(engine, device, state), close: () => undefined };
}

/**
 * Reads a source again, for its layouts.
 * @param {import('./unpack.js').Source} source
 * @returns {Promise<import('../run/layouts.js').Divider>}
 */
async function reopen(source) {
  const worker = await takeWorker();
  if (worker === null) return dividerHere(await openInEngine(source, () => undefined, Infinity, true));
  try {
    await readInWorker(worker, source, () => undefined, true);
    return dividerInWorker(worker);
  } catch (problem) {
    worker.terminate();
    throw problem;
  }
}

/**
 * A function that holds the source, and nothing else.
 * @param {import('./unpack.js').Source} source
 */
function reopener(source) {
  return () => reopen(source);
}

/** @typedef {import('./unpack.js').Loaded & {divider: import('../run/layouts.js').Divider | null}} Read */

/**
 * @param {import('./unpack.js').Source} source
 * @param {OnProgress} onProgress
 * @param {number} [most] bytes of text
 * @returns {Promise<Read | null>} null: the text is longer
 */
async function readHere(source, onProgress, most) {
  try {
    const { engine, ...loaded } = await readSource(source, onProgress, most);
    const isKept = engine !== null && loaded.snapshot.events.count <= MOST_KEPT;
    return { ...loaded, divider: isKept ? dividerHere(engine) : null };
  } catch (problem) {
    if (problem === TOO_LONG) return null;
    const { problem: text, isFormat } = explained(problem);
    throw isFormat ? new FormatError(text) : new Error(text);
  }
}

/**
 * Reads a source in a worker if one can be created.
 * @param {import('./unpack.js').Source} source
 * @param {OnProgress} onProgress
 * @returns {Promise<Read>}
 */
async function readInBackground(source, onProgress) {
  const worker = await takeWorker();
  if (worker === null) return /** @type {Read} */ (await readHere(source, onProgress));
  const starting = startWorker();
  try {
    const document = await readInWorker(worker, source, onProgress, false);
    const answering = answerInWorker(worker); // while the other worker derives the rest
    const second = await starting;
    const loaded =
      second === null
        ? loadedOf(/** @type {Record<string, any>} */ (document))
        : await deriveInWorker(second, /** @type {Record<string, any>} */ (document));
    Object.assign(loaded.snapshot, await answering);
    return { ...loaded, divider: null };
  } finally {
    worker.terminate();
    void starting.then((second) => second?.terminate());
  }
}

/**
 * @param {import('./unpack.js').Source} source a snapshot: a file, its bytes, or base64
 * @param {string} label
 * @param {OnProgress} [onProgress]
 * @returns {Promise<import('../run/run.js').Run>}
 * @throws {FormatError} its message is a sentence without the full stop
 */
export async function loadRun(source, label, onProgress = () => undefined) {
  const isSmall = (source instanceof Blob ? source.size : source.length) < SMALL_SOURCE;
  const { snapshot, derived, divider } =
    (isSmall ? await readHere(source, onProgress, SMALL_TEXT) : null) ??
    (await readInBackground(source, onProgress));
  const run = makeRun(snapshot, label, undefined, derived);
  run.layouts = new Layouts(divider ?? reopener(source));
  // the rest runs in a new task, so that the page handles events in between
  await new Promise((resolve) => setTimeout(resolve));
  return run;
}
