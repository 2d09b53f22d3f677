/* json_text.js - the characters and escapes of a text in JSON. */

export const BYTE = Object.freeze({
  QUOTE: 34,
  COMMA: 44,
  MINUS: 45,
  POINT: 46,
  ZERO: 48,
  COLON: 58,
  OPEN_LIST: 91,
  BACKSLASH: 92,
  CLOSE_LIST: 93,
  OPEN: 123,
  CLOSE: 125,
});

/**
 * @param {Uint8Array} bytes
 * @param {number} begin
 * @param {number} end
 * @returns {string} a letter for each byte
 */
export function lettersOf(bytes, begin, end) {
  return String.fromCharCode.apply(null, /** @type {any} */ (bytes.subarray(begin, end)));
}

/**
 * Length of the UTF-8 character at `at`; 0: the bytes are none.
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} end
 */
export function characterBytes(bytes, at, end) {
  const first = bytes[at];
  const n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0x80 ? 2 : 1;
  if (n === 1) return 1;
  if (first < 0xc2 || first > 0xf4 || n > end - at) return 0;
  for (let i = 1; i < n; i++) if ((bytes[at + i] & 0xc0) !== 0x80) return 0;
  const next = bytes[at + 1];
  return (first === 0xe0 && next < 0xa0) ||
    (first === 0xed && next > 0x9f) ||
    (first === 0xf0 && next < 0x90) ||
    (first === 0xf4 && next > 0x8f)
    ? 0
    : n;
}

/**
 * Length of the escape at `at`; 0: it is invalid.
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} end
 */
export function escapeBytes(bytes, at, end) {
  const codeAt = (/** @type {number} */ begin) => {
    const digits = begin + 4 <= end ? lettersOf(bytes, begin, begin + 4) : '';
    return /^[0-9a-fA-F]{4}$/.test(digits) ? parseInt(digits, 16) : -1;
  };
  const letter = String.fromCharCode(bytes[at + 1]);
  if (letter !== 'u') return '"\\/bfnrt'.includes(letter) ? 2 : 0;
  const code = codeAt(at + 2);
  if (code <= 0 || (code >= 0xdc00 && code <= 0xdfff)) return 0;
  if (code < 0xd800 || code > 0xdbff) return 6;
  const low = bytes[at + 6] === BYTE.BACKSLASH && bytes[at + 7] === 117 ? codeAt(at + 8) : -1;
  return low >= 0xdc00 && low <= 0xdfff ? 12 : 0;
}
