/* harmless.js - texts from files, which may hold characters that change how the page draws the text around
 * them: controls, and marks of direction. They are shown as the program shows them, as \u202e.
 */

const HARMFUL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * @param {string} text
 * @returns {string} the same text where it has no such character
 */
export function harmless(text) {
  return text.replace(HARMFUL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Replaces the texts and keys within a part of a document.
 * @param {unknown} value
 * @returns {any}
 */
export function harmlessTree(value) {
  if (typeof value === 'string') return harmless(value);
  if (Array.isArray(value)) return value.map(harmlessTree);
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [harmless(key), harmlessTree(inner)]),
  );
}

/**
 * Parses JSON as the engine writes it, and replaces the texts and keys. It is only walked where one may need
 * that, because the walk takes half of the time. The engine escapes controls and `<`.
 * @param {string} text
 * @returns {any}
 */
export function parseHarmless(text) {
  const value = JSON.parse(text);
  return text.search(HARMFUL) >= 0 || /\\u00(?!3c)/.test(text) ? harmlessTree(value) : value;
}
