/* load.js - from bytes to the text of a document: base64, gzip, UTF-8.
 */
import { FormatError } from './columns.js';

/** @param {string} text base64 @returns {Uint8Array<ArrayBuffer>} */
export function bytesOfBase64(text) {
  const decoder = /** @type {any} */ (Uint8Array);
  if (typeof decoder.fromBase64 === 'function') return decoder.fromBase64(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** @param {Uint8Array<ArrayBuffer>} bytes gzip-compressed or plain @returns {Promise<string>} */
export async function textOfBytes(bytes) {
  if (bytes.length === 0) throw new FormatError('the file is empty');
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return new TextDecoder().decode(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  try {
    return await new Response(stream).text();
  } catch {
    throw new FormatError('the file is damaged or cut off: it does not decompress');
  }
}
