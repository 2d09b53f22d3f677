/* load.js - loads each run in its own worker, so that the page stays responsive and the worker's memory is
 * released.
 *
 * The worker runs the page's own script, which sees that it is in a worker (main.js). Where the browser, or a
 * page around this one, allows no worker, and where a file is small, the page reads the file itself.
 */
import { FormatError, release } from './columns.js';
import { engineModule } from './engine_module.js';
import { makeRun } from './run.js';
import { isPacked, located, openSource, readSource, TOO_LONG } from './unpack.js';
import { explained } from './worker.js';

/** @typedef {(progress: import('./unpack.js').Progress) => void} OnProgress */

// bytes, or characters of base64: such a source is read before a worker would have started
const SMALL_SOURCE = 200_000;
// bytes of uncompressed text: a small file may expand to any size, which would block the page
const SMALL_TEXT = 2 ** 24;
const PIECE_BYTES = 2 ** 19; // bytes of text per message
const PIECE_ROOM = 64; // bytes kept free before the text, for the begin of a number that continues in it
const PIECES_AHEAD = 16; // pieces sent before the worker asks for more
const ANSWER_MS = 25; // of decompression, after which the page handles events
const START_MS = 5000; // a worker that has not started by then is given up

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
 * Sends a worker the text as it arrives, a few pieces ahead, so that decompression and parsing run in
 * parallel.
 * @param {Worker} worker
 * @param {import('./document.js').Pull} pull
 * @param {() => Promise<ArrayBuffer>} room a buffer for a piece, as soon as the worker can take more
 */
async function sendText(worker, pull, room) {
  let piece = new Uint8Array(await room());
  let end = PIECE_ROOM;
  let answered = performance.now();
  const send = () => worker.postMessage({ piece: piece.subarray(PIECE_ROOM, end) }, [piece.buffer]);
  for (let part = await pull(); part !== null; part = await pull()) {
    for (let at = 0; at < part.length;) {
      const some = part.subarray(at, at + PIECE_BYTES - end);
      piece.set(some, end);
      end += some.length;
      at += some.length;
      if (end < PIECE_BYTES) continue;
      send();
      piece = new Uint8Array(await room());
      end = PIECE_ROOM;
      if (performance.now() - answered < ANSWER_MS) continue;
      await new Promise((resolve) => setTimeout(resolve));
      answered = performance.now();
    }
    release(part);
  }
  if (end > PIECE_ROOM) send();
  worker.postMessage({ piece: null });
}

/**
 * Hands a file that is not compressed to the worker, or sends it the text of any other source.
 * @param {Worker} worker
 * @param {import('./unpack.js').Source} source
 * @param {{pull: import('./document.js').Pull}} opened
 * @param {() => Promise<ArrayBuffer>} room
 */
async function send(worker, source, { pull }, room) {
  const isPlain = source instanceof Blob && !isPacked(new Uint8Array(await source.slice(0, 2).arrayBuffer()));
  if (isPlain) worker.postMessage({ file: source });
  else await sendText(worker, pull, room);
}

/** @returns {Promise<import('./worker.js').Code>} */
async function codeOf() {
  try {
    return { engine: await engineModule() };
  } catch (problem) {
    return { problem: /** @type {Error} */ (problem).message };
  }
}

/**
 * @param {Worker} worker
 * @param {import('./unpack.js').Source} source
 * @param {OnProgress} onProgress
 * @returns {Promise<import('./unpack.js').Loaded>}
 */
function readInWorker(worker, source, onProgress) {
  let bytes = 0;
  let nAhead = PIECES_AHEAD;
  let wake = () => {};
  const used = /** @type {ArrayBuffer[]} */ ([]);
  const room = async () => {
    while (nAhead === 0) await new Promise((resolve) => (wake = () => resolve(undefined)));
    nAhead--;
    return used.pop() ?? new ArrayBuffer(PIECE_BYTES);
  };
  return new Promise((resolve, reject) => {
    const opened = openSource(source, (n) => (bytes += n));
    const take = async (/** @type {any} */ data) => {
      if (data.wants) {
        nAhead++;
        if (data.used !== null) used.push(data.used);
        wake();
      } else if (data.wantsEngine) worker.postMessage(await codeOf());
      else if (data.loaded) resolve(data.loaded);
      else if (data.problem)
        reject(
          data.isFormat
            ? await located(source, new FormatError(data.problem, data.place))
            : new Error(data.problem),
        );
      else onProgress({ bytes: data.bytes || bytes, totalBytes: (await opened).totalBytes, rows: data.rows });
    };
    worker.onmessage = ({ data }) => void take(data).catch(reject);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(
        new FormatError(`reading it failed (${event.message || 'the browser has not enough memory for it'})`),
      );
    };
    worker.onmessageerror = () => reject(new FormatError('it holds more than this browser has memory for'));
    opened.then((text) => send(worker, source, text, room)).catch(reject);
  }).finally(() => worker.terminate());
}

/**
 * @param {import('./unpack.js').Source} source
 * @param {OnProgress} onProgress
 * @param {number} [most] bytes of text
 * @returns {Promise<import('./unpack.js').Loaded | null>} null: the text is longer
 */
async function readHere(source, onProgress, most) {
  try {
    return await readSource(source, onProgress, most);
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
 * @returns {Promise<import('./unpack.js').Loaded>}
 */
async function readInBackground(source, onProgress) {
  const worker = await takeWorker();
  return worker === null
    ? /** @type {import('./unpack.js').Loaded} */ (await readHere(source, onProgress))
    : readInWorker(worker, source, onProgress);
}

/**
 * @param {import('./unpack.js').Source} source a snapshot: a file, its bytes, or base64
 * @param {string} label
 * @param {OnProgress} [onProgress]
 * @returns {Promise<import('./run.js').Run>}
 * @throws {FormatError} its message is a sentence without the full stop
 */
export async function loadRun(source, label, onProgress = () => undefined) {
  const isSmall = (source instanceof Blob ? source.size : source.length) < SMALL_SOURCE;
  const loaded =
    (isSmall ? await readHere(source, onProgress, SMALL_TEXT) : null) ??
    (await readInBackground(source, onProgress));
  const { snapshot, derived } = loaded;
  const run = makeRun(snapshot, label, undefined, derived);
  // the rest runs in a new task, so that the page handles events in between
  await new Promise((resolve) => setTimeout(resolve));
  return run;
}
