/* colours.js - one colour per category, found by its name: the same in every run and every file.
 *
 * Okabe and Ito's palette, which stays apart for colour-blind eyes; grey for what has no category.
 */

/** Categories in the order in which they are stacked, bottom first. */
export const CATEGORIES = Object.freeze([
  'parameter', 'optimizer_state', 'gradient', 'input', 'workspace', 'activation', 'temporary', 'unknown',
]);

const CATEGORY_COLOURS = new Map([
  ['parameter', '#0072b2'], ['optimizer_state', '#cc79a7'], ['gradient', '#e69f00'],
  ['input', '#56b4e9'], ['workspace', '#d55e00'], ['activation', '#009e73'],
  ['temporary', '#f0e442'], ['unknown', '#999999'],
]);

/** @param {string} name @returns {string} "#rrggbb" */
export function categoryColour(name) {
  return CATEGORY_COLOURS.get(name) ?? '#999999';
}

/** @param {string} hex @returns {[number, number, number]} 0..255 */
function channels(hex) {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** Mixes towards white (amount > 0) or black (amount < 0). @param {string} hex @param {number} amount */
function shade(hex, amount) {
  const target = amount > 0 ? 255 : 0, share = Math.abs(amount);
  return channels(hex).map((c) => Math.round(c + (target - c) * share));
}

/** A pixel as ImageData stores it on a little-endian machine. @param {number[]} rgb */
function pixel([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Text that reads on a category's colour. @param {string} name */
export function inkOn(name) {
  const [r, g, b] = channels(categoryColour(name)).map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? '#14171c' : '#ffffff';
}

/**
 * Pixels per category (index in CATEGORIES): plain, the two lightness steps between which
 * neighbours alternate, and the line that separates blocks.
 * @returns {{plain: Uint32Array, even: Uint32Array, odd: Uint32Array, edge: Uint32Array}}
 */
export function categoryPixels() {
  const make = (/** @type {number} */ amount) =>
    Uint32Array.from(CATEGORIES, (name) => pixel(shade(categoryColour(name), amount)));
  return { plain: make(0), even: make(0), odd: make(0.14), edge: make(-0.16) };
}
