/* raster.js - the stacked picture, column by column, into buffers of pixels and block numbers.
 *
 * Each pixel column shows the instant of its span that has the largest total, so no peak is lost at
 * any zoom, and its cost is the number of blocks alive there, whatever the number of events. The
 * buffers are column-major (column * height + row, row 0 at the bottom), so that a pan moves them and
 * draws only the new columns, and what lies under the pointer is one array read.
 */
import { CATEGORIES, categoryPixels } from './colours.js';
import { largestState, walkAlive } from './index.js';

const EDGE_ROWS = 5; // blocks at least this tall get a line between them and their neighbours
const SHADE_ROWS = 3; // and at least this tall the lightness step
const N_CATEGORIES = CATEGORIES.length;

/**
 * @typedef {object} RasterView
 * @property {number} x0 left edge, on the axis
 * @property {number} perColumn axis units per pixel column
 * @property {number} maxBytes at the top
 * @property {boolean} bands category bands instead of blocks: for when a column holds much
 * @property {'event' | 'time'} kind
 *
 * @typedef {object} Raster
 * @property {number} width
 * @property {number} height
 * @property {Uint32Array} pixels column-major; 0: empty
 * @property {Int32Array} ids column-major; block, or -1
 * @property {Int32Array} states per column: the state it shows, or -1
 * @property {Int32Array} tops per column and category: row above its band
 * @property {RasterView | null} view what the buffers hold
 * @property {number} nDrawn columns drawn by the last call, for tests
 */

/** @param {number} width @param {number} height @returns {Raster} */
export function createRaster(width, height) {
  const n = width * height;
  return {
    width, height, pixels: new Uint32Array(n), ids: new Int32Array(n).fill(-1), states: new Int32Array(width).fill(-1),
    tops: new Int32Array(width * N_CATEGORIES), view: null, nDrawn: 0,
  };
}

/** The view with its left edge on a whole column, so that pans reuse columns. @param {RasterView} view */
function snapped(view) {
  return { ...view, x0: Math.round(view.x0 / view.perColumn) * view.perColumn };
}

/**
 * Whole columns by which `view` lies to the right of what the raster holds, or null.
 * @param {Raster} raster @param {RasterView} view
 */
function panDistance(raster, view) {
  const old = raster.view;
  if (old === null || old.perColumn !== view.perColumn || old.maxBytes !== view.maxBytes || old.bands !== view.bands || old.kind !== view.kind) {
    return null;
  }
  const distance = Math.round((view.x0 - old.x0) / view.perColumn);
  return Math.abs(distance) < raster.width ? distance : null;
}

/** Moves what is there by `distance` columns to the left. @param {Raster} raster @param {number} distance */
function shift(raster, distance) {
  for (const [buffer, size] of /** @type {[Uint32Array | Int32Array, number][]} */ ([
    [raster.pixels, raster.height], [raster.ids, raster.height], [raster.states, 1], [raster.tops, N_CATEGORIES]])) {
    if (distance > 0) buffer.copyWithin(0, distance * size);
    else buffer.copyWithin(-distance * size, 0, buffer.length + distance * size);
  }
}

/**
 * Brings the buffers up to date and returns the range of columns that was drawn.
 * @param {Raster} raster @param {import('./index.js').MemoryIndex} index
 * @param {import('./axis.js').Axis} axis @param {RasterView} wanted
 * @returns {[number, number]}
 */
export function renderRaster(raster, index, axis, wanted) {
  const view = snapped(wanted), distance = panDistance(raster, view);
  /** @type {[number, number]} */
  let range = [0, raster.width];
  if (distance !== null) {
    if (distance !== 0) shift(raster, distance);
    range = distance > 0 ? [raster.width - distance, raster.width] : [0, -distance];
  }
  raster.view = view;
  raster.nDrawn = range[1] - range[0];
  drawColumns(raster, index, axis, range[0], range[1]);
  return range;
}

/**
 * The state that a span shows: the one with the largest total; -1 outside the run.
 * @param {import('./index.js').MemoryIndex} index @param {import('./axis.js').Axis} axis
 * @param {number} x0 @param {number} x1
 */
export function columnState(index, axis, x0, x1) {
  const [lo, hi] = axis.states(x0, x1);
  return lo >= hi ? -1 : largestState(index, lo, Math.min(hi, index.nStates));
}

/** @param {Raster} raster @param {import('./index.js').MemoryIndex} index
 * @param {import('./axis.js').Axis} axis @param {number} c0 @param {number} c1 */
function drawColumns(raster, index, axis, c0, c1) {
  const { pixels, ids, height, states, tops } = raster, view = /** @type {RasterView} */ (raster.view);
  const colours = categoryPixels(), young = CATEGORIES.map(() => /** @type {number[]} */ ([]));
  const perByte = height / view.maxBytes, first = Math.round(view.x0 / view.perColumn);
  let sum = 0, at = 0, end = 0, base = 0, ordinal = 0, category = -1, column = 0;
  const put = (/** @type {number} */ block, /** @type {number} */ bytes, /** @type {number} */ c) => {
    if (c !== category) {
      while (category < c) tops[column * N_CATEGORIES + ++category] = at - base;
      ordinal = 0;
    }
    sum += bytes * perByte;
    ordinal++;
    const stop = Math.min(end, base + Math.round(sum));
    const rows = stop - at;
    if (rows <= 0) return;
    const colour = view.bands || rows < SHADE_ROWS ? colours.plain[c] : ordinal & 1 ? colours.even[c] : colours.odd[c];
    while (at < stop) {
      pixels[at] = colour;
      ids[at++] = block;
    }
    if (rows >= EDGE_ROWS && !view.bands) pixels[at - 1] = colours.edge[c];
    tops[column * N_CATEGORIES + c] = at - base;
  };
  for (column = c0; column < c1; column++) {
    base = at = column * height;
    end = base + height;
    const state = columnState(index, axis, (first + column) * view.perColumn, (first + column + 1) * view.perColumn);
    states[column] = state;
    if (state >= 0 && column > c0 && states[column - 1] === state) {
      pixels.copyWithin(base, base - height, base);
      ids.copyWithin(base, base - height, base);
      tops.copyWithin(column * N_CATEGORIES, (column - 1) * N_CATEGORIES, column * N_CATEGORIES);
      continue;
    }
    sum = 0;
    category = -1;
    if (state >= 0) walkAlive(index, state, put, young);
    while (category < N_CATEGORIES - 1) tops[column * N_CATEGORIES + ++category] = at - base;
    for (; at < end; at++) {
      pixels[at] = 0;
      ids[at] = -1;
    }
  }
}

/**
 * Turns columns [c0, c1) into the rows of an image, top row first; in tiles, to stay in the cache.
 * @param {Raster} raster @param {Uint32Array} image width * height @param {number} c0 @param {number} c1
 */
export function copyToImage(raster, image, c0, c1) {
  const { width, height, pixels } = raster, TILE = 16;
  for (let ct = c0; ct < c1; ct += TILE) {
    const ce = Math.min(c1, ct + TILE);
    for (let rt = 0; rt < height; rt += TILE) {
      const re = Math.min(height, rt + TILE);
      for (let c = ct; c < ce; c++) {
        for (let r = rt; r < re; r++) image[(height - 1 - r) * width + c] = pixels[c * height + r];
      }
    }
  }
}

/** The block at a column and a row from the bottom, or -1. @param {Raster} raster @param {number} column @param {number} row */
export function blockAt(raster, column, row) {
  if (column < 0 || row < 0 || column >= raster.width || row >= raster.height) return -1;
  return raster.ids[column * raster.height + row];
}

/**
 * Where a block lies: per column the rows [bottom, top), as one list of [column, bottom, top].
 * @param {Raster} raster @param {number} block
 * @returns {[number, number, number][]}
 */
export function outlineOf(raster, block) {
  const { width, height, ids } = raster;
  /** @type {[number, number, number][]} */
  const spans = [];
  for (let c = 0; c < width; c++) {
    const base = c * height, from = ids.indexOf(block, base);
    if (from < 0) break;
    if (from >= base + height) {
      c = Math.floor(from / height) - 1;
      continue;
    }
    let to = from;
    while (to < base + height && ids[to] === block) to++;
    spans.push([c, from - base, to - base]);
  }
  return spans;
}

/**
 * As `outlineOf`, but also where the block is too thin for a pixel of its own: there it is one row high.
 * @param {Raster} raster @param {import('./index.js').MemoryIndex} index @param {number} block
 * @returns {[number, number, number][]}
 */
export function wholeOutlineOf(raster, index, block) {
  const { width, height, states, view } = raster, { bornState, diedState } = index.blocks;
  if (view === null) return [];
  const seen = new Map(outlineOf(raster, block).map((span) => [span[0], span]));
  const young = CATEGORIES.map(() => /** @type {number[]} */ ([]));
  /** @type {[number, number, number][]} */
  const spans = [];
  let row = 0;
  for (let c = 0; c < width; c++) {
    if (states[c] < bornState[block] || states[c] >= diedState[block]) continue;
    const span = seen.get(c);
    if (span === undefined && (c === 0 || states[c] !== states[c - 1])) {
      let below = 0, found = false;
      walkAlive(index, states[c], (b, bytes) => {
        found ||= b === block;
        if (!found) below += bytes;
      }, young);
      row = Math.min(height - 1, Math.floor((below * height) / view.maxBytes));
    }
    spans.push(span ?? [c, row, row + 1]);
  }
  return spans;
}

/**
 * Where the name of each category fits into its band: the widest stretch in which the band keeps
 * `minRows` in common.
 * @param {Raster} raster @param {number} minRows @param {number} minColumns
 * @returns {{category: number, column: number, row: number}[]} middles
 */
export function bandLabels(raster, minRows, minColumns) {
  const { width, tops } = raster, STEP = 8, labels = [];
  for (let category = 0; category < N_CATEGORIES; category++) {
    let best = { width: 0, column: 0, row: 0 };
    for (let from = 0; from < width; from += STEP) {
      let bottom = -1, top = Infinity, c = from;
      let kept = { bottom: 0, top: 0 };
      for (; c < width; c += STEP) {
        const at = c * N_CATEGORIES + category;
        bottom = Math.max(bottom, category > 0 ? tops[at - 1] : 0);
        top = Math.min(top, tops[at]);
        if (top - bottom < minRows) break;
        kept = { bottom, top };
      }
      if (c - from > best.width) best = { width: c - from, column: (from + c) / 2, row: (kept.bottom + kept.top) / 2 };
      if (c >= width) break;
    }
    if (best.width >= minColumns) labels.push({ category, column: best.column, row: best.row });
  }
  return labels;
}
