/* colours.js - one colour per category name, the same in every run and every file; and the colours of other
 * groupings.
 *
 * Okabe and Ito's palette, which colour-blind readers can distinguish, and a grey for blocks without a
 * category that they can distinguish as well.
 */
import { BUILT_IN, NO_COLOUR } from './category_table.js';

/**
 * The built-in categories in stacking order, bottom first. A snapshot may add categories of its own, which
 * are stacked above these.
 */
export const CATEGORIES = Object.freeze(BUILT_IN.map(({ name }) => name));

/**
 * The names of all categories of several snapshots, the built-in ones first.
 * @param {{categories: readonly string[]}[]} snapshots
 */
export function categoriesOf(snapshots) {
  return [...new Set([...CATEGORIES, ...snapshots.flatMap(({ categories }) => categories)])];
}

const CATEGORY_COLOURS = new Map(BUILT_IN.map(({ name, colour }) => [name, colour]));

/**
 * For groups without a colour of their own, largest first: the palette, then lighter and darker steps of its
 * hues. Each is as far as possible from all before it, for normal and for colour-blind vision.
 */
const RANKED = Object.freeze([
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#d55e00',
  '#56b4e9',
  '#f0e442',
  '#651b4a',
  '#73ecbd',
  '#9f4502',
  '#27577b',
  '#cec877',
  '#98caf4',
  '#783812',
  '#d39fba',
  '#693d55',
  '#a29c4b',
  '#fdb533',
  '#3e99dc',
  '#a5603c',
  '#e7b2ce',
  '#74b499',
  '#b4af5e',
  '#b8724e',
]);

/** Those that no built-in category has. */
const FREE = Object.freeze(RANKED.filter((colour) => ![...CATEGORY_COLOURS.values()].includes(colour)));

/** A sequence from little to much: cividis in equal steps of lightness. */
const SEQUENCE = Object.freeze([
  '#001f4c',
  '#183468',
  '#404c6b',
  '#60646f',
  '#7f7d77',
  '#9f9775',
  '#c0b26d',
  '#e1ce5b',
  '#ffeb45',
]);

/**
 * A file's own category gets one of the colours that no built-in category has, chosen by its letters alone.
 * So its colour is the same in every file, but two such categories may share one.
 * @param {string} name
 * @returns {string} "#rrggbb"
 */
export function categoryColour(name) {
  return (
    CATEGORY_COLOURS.get(name) ??
    FREE[[...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % FREE.length, 0)]
  );
}

/**
 * The colour of a group by its rank in size, 0 for the largest; -1: blocks in no group.
 * @param {number} rank
 */
export function rankedColour(rank) {
  if (rank < 0) return NO_COLOUR;
  const round = Math.floor(rank / RANKED.length);
  const colour = RANKED[rank % RANKED.length];
  return round === 0 ? colour : hexOf(shade(colour, [0.3, -0.25, 0.15, -0.12][(round - 1) % 4]));
}

/**
 * The colour of a class in a sequence.
 * @param {number} at 0: the least
 * @param {number} n classes, at most 9
 */
export function sequentialColour(at, n) {
  return SEQUENCE[n > 1 ? Math.round((at * (SEQUENCE.length - 1)) / (n - 1)) : 0];
}

/**
 * @param {string} hex
 * @returns {[number, number, number]} 0..255
 */
function channels(hex) {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** @param {number[]} rgb */
function hexOf([r, g, b]) {
  return `#${((r << 16) | (g << 8) | b).toString(16).padStart(6, '0')}`;
}

/**
 * @param {number[]} from
 * @param {number[]} to
 * @param {number} share of `to`
 */
function mixed(from, to, share) {
  return from.map((c, i) => Math.round(c + (to[i] - c) * share));
}

/**
 * Mixes towards white (amount > 0) or black (amount < 0).
 * @param {string} hex
 * @param {number} amount
 */
function shade(hex, amount) {
  return mixed(channels(hex), amount > 0 ? [255, 255, 255] : [0, 0, 0], Math.abs(amount));
}

/**
 * Almost the background, with a trace of the colour's own hue.
 * @param {string} hex
 * @param {string} background
 */
function dimmed(hex, background) {
  const own = channels(hex);
  const grey = luminance(hex) ** (1 / 2.2) * 255;
  return mixed(mixed(own, [grey, grey, grey], 0.6), channels(background), 0.74);
}

/**
 * A pixel as ImageData stores it on a little-endian machine.
 * @param {number[]} rgb
 */
function pixel([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/**
 * @param {string} hex
 * @returns {number} 0..1
 */
function luminance(hex) {
  const [r, g, b] = channels(hex).map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * The text colour that is legible on a colour.
 * @param {string} hex
 */
export function inkOn(hex) {
  return luminance(hex) > 0.2 ? '#14171c' : '#ffffff';
}

/**
 * @typedef {object} Pixels per group
 * @property {Uint32Array} plain
 * @property {Uint32Array} light the other lightness step: neighbours alternate
 * @property {Uint32Array} edge the line that separates blocks
 * @property {Uint32Array} hatch lines over blocks from before the recording
 * @property {Uint32Array} dim for blocks that are not picked
 * @property {Uint32Array} dimEdge
 */

/**
 * @param {{colour: string}[]} groups
 * @param {string} given the background, "#rrggbb"; a named colour counts as grey
 * @returns {Pixels}
 */
export function groupPixels(groups, given) {
  const background = /^#[0-9a-f]{6}$/i.test(given) ? given : '#808080';
  const make = (/** @type {(colour: string) => number[]} */ of) =>
    Uint32Array.from(groups, ({ colour }) => pixel(of(colour)));
  return {
    plain: make(channels),
    light: make((c) => shade(c, luminance(c) > 0.7 ? -0.1 : 0.16)),
    edge: make((c) => shade(c, -0.22)),
    hatch: make((c) => shade(c, luminance(c) < 0.12 ? 0.45 : -0.38)),
    dim: make((c) => dimmed(c, background)),
    dimEdge: make((c) => mixed(dimmed(c, background), channels(c), 0.25)),
  };
}
