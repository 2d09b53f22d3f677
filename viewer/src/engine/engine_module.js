/* engine_module.js - the engine's code, compiled once for the page and all of its workers. */
import { bytesOfBase64 } from './base64.js';
import { FormatError } from '../run/columns.js';

/** @typedef {() => Promise<WebAssembly.Module>} Provider */

/** The code that the page holds, as base64 of gzip. */
async function compileEmbedded() {
  const packed = document.getElementById('engine')?.textContent ?? '';
  const stream = new Blob([bytesOfBase64(packed.trim())])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** @type {Provider} */
let provider = compileEmbedded;
/** @type {Promise<WebAssembly.Module> | null} null: not asked for yet */
let compiled = null;

/**
 * A worker gets the code from the page, and tests from a file.
 * @param {Provider} other
 */
export function provideEngine(other) {
  provider = other;
  compiled = null;
}

/**
 * @returns {Promise<WebAssembly.Module>}
 * @throws {FormatError} the browser runs no WebAssembly
 */
export async function engineModule() {
  if (typeof WebAssembly === 'undefined')
    throw new FormatError('this browser has no WebAssembly, which the page needs to read snapshots');
  try {
    return await (compiled ??= provider());
  } catch (problem) {
    const { message } = /** @type {Error} */ (problem);
    throw new FormatError(`this browser does not start the reader of snapshots (${message})`);
  }
}
