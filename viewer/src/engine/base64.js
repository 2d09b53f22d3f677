/* base64.js - bytes that a page holds as text. */
import { FormatError } from '../run/columns.js';

/**
 * @param {string} text base64
 * @returns {Uint8Array<ArrayBuffer>}
 * @throws {FormatError}
 */
export function bytesOfBase64(text) {
  const decoder = /** @type {any} */ (Uint8Array);
  try {
    if (typeof decoder.fromBase64 === 'function') return decoder.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    throw new FormatError('the data in this page is damaged');
  }
}
