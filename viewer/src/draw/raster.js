/* raster.js - draws the stacked picture, column by column, into a buffer of pixels.
 *
 * Each pixel column shows the instant in its span with the largest total, so no peak is lost at any zoom. Its
 * cost depends on the blocks that are visible, not on the number of events. The buffer is column-major
 * (column * height + row, row 0 at the bottom), so that a pan moves it and draws only the new columns.
 */
import { largestState } from '../run/index.js';
import { blockAtBytes, bytesBelow, stackAt } from './order.js';
import { makeBandSweep, makeBlockSweep } from './sweep.js';

const EDGE_ROWS = 5; // rows; blocks at least this tall are separated from their neighbours by a line
const TALL_ROWS = 2.5; // rows; blocks at least this tall alternate in lightness
const GAP_ROWS = 4; // rows; groups at least this tall are separated by a row of the background
const HATCH_ROWS = 7;
const HATCH_STEP = 8; // a power of two
const NAMED_GROUPS = 24; // number of largest groups whose bands may carry names

/**
 * @typedef {object} RasterView
 * @property {number} x0 left edge, on the axis
 * @property {number} perColumn axis units per pixel column
 * @property {number} minBytes at the bottom
 * @property {number} maxBytes at the top
 * @property {boolean} bands draw groups instead of blocks, for columns with many states
 * @property {'event' | 'time'} kind
 * @property {import('./stacking.js').Stacking} stacking
 * @property {import('./stacking.js').Picking | null} picking the blocks that are not dim
 * @property {import('../words/colours.js').Pixels} colours per group of the stacking
 *
 * @typedef {object} Raster
 * @property {number} width
 * @property {number} height
 * @property {Uint32Array} pixels column-major; 0: empty
 * @property {Int32Array} states per column: the state it shows, or -1
 * @property {Int32Array} named groups with measured bands, in stacking order
 * @property {Int32Array} bands per column and named group: its lowest row and the row above it
 * @property {RasterView | null} view the view in the buffers
 * @property {Int32Array} nodeOf scratch of the sweep
 * @property {number} nDrawn columns drawn by the last call, for tests
 */

/**
 * @param {number} width
 * @param {number} height
 * @returns {Raster}
 */
export function createRaster(width, height) {
  return {
    width,
    height,
    pixels: new Uint32Array(width * height),
    states: new Int32Array(width).fill(-1),
    named: new Int32Array(0),
    bands: new Int32Array(0),
    view: null,
    nodeOf: new Int32Array(0),
    nDrawn: 0,
  };
}

/**
 * The view with its left edge on a whole column, so that pans reuse columns.
 * @param {RasterView} view
 */
function snapped(view) {
  return { ...view, x0: Math.round(view.x0 / view.perColumn) * view.perColumn };
}

/**
 * True if both views differ only in position.
 * @param {RasterView} a
 * @param {RasterView} b
 */
function isAlike(a, b) {
  return (
    a.perColumn === b.perColumn &&
    a.minBytes === b.minBytes &&
    a.maxBytes === b.maxBytes &&
    a.bands === b.bands &&
    a.kind === b.kind &&
    a.stacking === b.stacking &&
    a.picking === b.picking &&
    a.colours === b.colours
  );
}

/**
 * The number of whole columns from the raster's view to `view`, to the right; null: not a pan.
 * @param {Raster} raster
 * @param {RasterView} view
 */
function panDistance(raster, view) {
  const old = raster.view;
  if (old === null || !isAlike(old, view)) return null;
  const distance = Math.round((view.x0 - old.x0) / view.perColumn);
  return Math.abs(distance) < raster.width ? distance : null;
}

/**
 * Moves the buffers by `distance` columns to the left.
 * @param {Raster} raster
 * @param {number} distance
 */
function shift(raster, distance) {
  for (const [buffer, size] of /** @type {[Uint32Array | Int32Array, number][]} */ ([
    [raster.pixels, raster.height],
    [raster.states, 1],
    [raster.bands, 2 * raster.named.length],
  ])) {
    if (distance > 0) buffer.copyWithin(0, distance * size);
    else buffer.copyWithin(-distance * size, 0, buffer.length + distance * size);
  }
}

/**
 * Allocates the buffers that depend on the stacking.
 * @param {Raster} raster
 * @param {RasterView} view
 */
function prepare(raster, { stacking }) {
  if (raster.view?.stacking === stacking) return;
  const { groups } = stacking.colouring;
  const named = groups
    .map((_, g) => g)
    .sort((a, b) => groups[b].peakBytes - groups[a].peakBytes)
    .slice(0, NAMED_GROUPS);
  raster.named = Int32Array.from(named).sort();
  raster.bands = new Int32Array(raster.width * 2 * named.length);
}

/**
 * Updates the buffers and returns the range of columns that were drawn.
 * @param {Raster} raster
 * @param {import('../run/axis.js').Axis} axis
 * @param {RasterView} wanted
 * @returns {[number, number]}
 */
export function renderRaster(raster, axis, wanted) {
  const view = snapped(wanted);
  const distance = panDistance(raster, view);
  /** @type {[number, number]} */
  let range = [0, raster.width];
  if (distance === null) {
    prepare(raster, view);
  } else {
    if (distance !== 0) shift(raster, distance);
    range = distance > 0 ? [raster.width - distance, raster.width] : [0, Math.abs(distance)];
  }
  raster.view = view;
  raster.nDrawn = range[1] - range[0];
  if (raster.nDrawn > 0) drawColumns(raster, axis, range[0], range[1]);
  return range;
}

/**
 * The state with the largest total in a span; -1: outside the run.
 * @param {{totals: Float64Array, pyramid: Int32Array[], nStates: number}} index of all blocks, or a stacking
 * @param {import('../run/axis.js').Axis} axis
 * @param {number} x0
 * @param {number} x1
 */
export function columnState(index, axis, x0, x1) {
  const [lo, hi] = axis.states(x0, x1);
  return lo >= hi ? -1 : largestState(index, lo, Math.min(hi, index.nStates));
}

/**
 * @param {Raster} raster
 * @param {import('../run/axis.js').Axis} axis
 * @param {number} c0
 * @param {number} c1
 */
function drawColumns(raster, axis, c0, c1) {
  const { pixels, height, states, bands } = raster;
  const view = /** @type {RasterView} */ (raster.view);
  const first = Math.round(view.x0 / view.perColumn);
  const perColumnBands = 2 * raster.named.length;
  const paint = view.bands ? bandPainter(raster, view, first) : blockPainter(raster, view, first);
  for (let column = c0; column < c1; column++) {
    const base = column * height;
    const end = base + height;
    const state = columnState(
      view.stacking,
      axis,
      (first + column) * view.perColumn,
      (first + column + 1) * view.perColumn,
    );
    states[column] = state;
    if (state >= 0 && column > c0 && states[column - 1] === state && !paint.isSlanted) {
      pixels.copyWithin(base, base - height, base);
      bands.copyWithin(column * perColumnBands, (column - 1) * perColumnBands, column * perColumnBands);
      continue;
    }
    bands.fill(0, column * perColumnBands, (column + 1) * perColumnBands);
    pixels.fill(0, state < 0 ? base : paint.column(column, state), end);
  }
}

/**
 * @typedef {{isSlanted: boolean, column: (column: number, state: number) => number}} Painter column: paints
 *   one, returns where the empty rows begin; isSlanted: columns of one state differ
 */

/**
 * Finishes a group, for both painters: draws a row of the background if there is room, and measures named
 * groups.
 * @param {Raster} raster
 */
function groupBorders({ pixels, height, named, bands }) {
  const slots = new Map([...named].map((group, slot) => [group, slot]));
  return {
    /**
     * @param {number} column
     * @param {number} group
     * @param {number} from
     * @param {number} to pixels
     */
    measure: (column, group, from, to) => {
      const slot = slots.get(group);
      if (slot === undefined) return;
      bands[2 * (column * named.length + slot)] = from - column * height;
      bands[2 * (column * named.length + slot) + 1] = to - column * height;
    },
    /**
     * @param {number} from begin of the group below
     * @param {number} at its end, and the begin of the next
     */
    part: (from, at) => {
      if (at - from >= GAP_ROWS) pixels[at - 1] = 0;
    },
  };
}

/**
 * @param {Raster} raster
 * @param {RasterView} view
 * @param {number} origin ordinal of the first column on the axis
 * @returns {Painter}
 */
function bandPainter(raster, { stacking, picking, minBytes, maxBytes, colours }, origin) {
  const { pixels, height } = raster;
  const { isShown } = stacking;
  const { measure, part } = groupBorders(raster);
  const sweep = makeBandSweep(stacking.grouping, picking);
  const { sums, picked } = sweep;
  const perByte = height / (maxBytes - minBytes);
  const isOld = oldGroups(stacking);
  const column = (/** @type {number} */ c, /** @type {number} */ state) => {
    const base = c * height;
    const end = base + height;
    let at = base;
    let total = -minBytes;
    let below = base;
    sweep.moveTo(state);
    for (let g = 0; g < sums.length; g++) {
      if (!isShown[g] || sums[g] === 0) continue;
      const from = at;
      const stopPicked = Math.min(end, base + Math.round((total + picked[g]) * perByte));
      total += sums[g];
      const stop = Math.min(end, base + Math.round(total * perByte));
      if (stop <= at) continue;
      if (at > base) part(below, at);
      for (const plain = colours.plain[g]; at < stopPicked;) pixels[at++] = plain;
      if (isOld[g] && picking === null && stop - from >= HATCH_ROWS)
        hatch(pixels, from, stop, origin + c + from - base, colours.hatch[g]);
      for (const dim = colours.dim[g]; at < stop;) pixels[at++] = dim;
      measure(c, g, from, stop);
      below = from;
    }
    return at;
  };
  return { isSlanted: isOld.includes(1), column };
}

/**
 * @param {Raster} raster
 * @param {RasterView} view
 * @param {number} origin ordinal of the first column on the axis
 * @returns {Painter}
 */
function blockPainter(raster, { stacking, picking, minBytes, maxBytes, colours }, origin) {
  const { pixels, height } = raster;
  const {
    isShown,
    blocks: { bornState },
    grouping: { isLight },
  } = stacking;
  const { measure, part } = groupBorders(raster);
  if (raster.nodeOf.length !== stacking.blocks.count) raster.nodeOf = new Int32Array(stacking.blocks.count);
  const perByte = height / (maxBytes - minBytes);
  const sweep = makeBlockSweep(stacking, picking, TALL_ROWS / perByte, raster.nodeOf);
  const { first, next, block, bytes, picked } = sweep;
  const isPicked = picking?.isPicked ?? null;
  const hasOld = stacking.blocks.nAtStart > 0;
  const isOld = oldGroups(stacking);
  const column = (/** @type {number} */ c, /** @type {number} */ state) => {
    const base = c * height;
    const end = base + height;
    let at = base;
    let total = -minBytes;
    let below = base;
    sweep.moveTo(state);
    for (let g = 0; g < isShown.length; g++) {
      const from = at;
      for (let node = first[g]; node >= 0; node = next[node]) {
        const b = block[node];
        const start = at;
        const stopPicked = b < 0 ? Math.min(end, base + Math.round((total + picked[node]) * perByte)) : 0;
        total += bytes[node];
        const stop = Math.min(end, base + Math.round(total * perByte));
        if (stop <= at) continue;
        if (at === from && at > base) part(below, at);
        if (b < 0) {
          for (const plain = colours.plain[g]; at < stopPicked;) pixels[at++] = plain;
          for (const dim = colours.dim[g]; at < stop;) pixels[at++] = dim;
          continue;
        }
        const isDim = isPicked !== null && isPicked[b] === 0;
        const hatches = hasOld && !isDim && bornState[b] === 0 && !isOld[g] && stop - at >= HATCH_ROWS;
        for (
          const colour = isDim ? colours.dim[g] : isLight[b] ? colours.light[g] : colours.plain[g];
          at < stop;
        )
          pixels[at++] = colour;
        if (hatches) hatch(pixels, start, stop, origin + c + start - base, colours.hatch[g]);
        if (stop - start >= EDGE_ROWS) pixels[stop - 1] = isDim ? colours.dimEdge[g] : colours.edge[g];
      }
      if (at > from) {
        if (isOld[g] && isPicked === null && at - from >= HATCH_ROWS)
          hatch(pixels, from, at, origin + c + from - base, colours.hatch[g]);
        measure(c, g, from, at);
        below = from;
      }
    }
    return at;
  };
  return { isSlanted: hasOld, column };
}

/**
 * Per group 1 where all its blocks are from before the recording.
 * @param {import('./stacking.js').Stacking} stacking
 */
function oldGroups({ colouring: { groups } }) {
  return Uint8Array.from(groups, (group) => (group.isOld ? 1 : 0));
}

/**
 * Draws slanted lines.
 * @param {Uint32Array} pixels
 * @param {number} from
 * @param {number} to
 * @param {number} phase column + row at `from`
 * @param {number} colour
 */
function hatch(pixels, from, to, phase, colour) {
  for (let at = from + (((-phase % HATCH_STEP) + HATCH_STEP) % HATCH_STEP); at < to; at += HATCH_STEP)
    pixels[at] = colour;
}

/**
 * Transposes columns [c0, c1) into the rows of an image, top row first, in tiles that fit the cache.
 * @param {Raster} raster
 * @param {Uint32Array} image width * height
 * @param {number} c0
 * @param {number} c1
 */
export function copyToImage(raster, image, c0, c1) {
  const { width, height, pixels } = raster;
  const TILE = 16;
  for (let cc = c0; cc < c1; cc += TILE) {
    const cEnd = Math.min(c1, cc + TILE);
    for (let rr = 0; rr < height; rr += TILE) {
      const rEnd = Math.min(height, rr + TILE);
      for (let c = cc; c < cEnd; c++) {
        for (let r = rr; r < rEnd; r++) image[(height - 1 - r) * width + c] = pixels[c * height + r];
      }
    }
  }
}

/**
 * Moves an image by `distance` columns to the left.
 * @param {Raster} raster
 * @param {Uint32Array} image
 * @param {number} distance
 */
export function shiftImage({ width, height }, image, distance) {
  for (let row = 0, at = 0; row < height; row++, at += width) {
    if (distance > 0) image.copyWithin(at, at + distance, at + width);
    else image.copyWithin(at - distance, at, at + width + distance);
  }
}

/**
 * The order within groups in the raster.
 * @param {RasterView} view
 */
function pickedFirst({ bands, picking }) {
  return bands && picking !== null ? picking.isPicked : null;
}

/**
 * The block at a column and a row from the bottom; -1: none.
 * @param {Raster} raster
 * @param {number} column
 * @param {number} row may be fractional
 */
export function blockAt({ width, height, states, view }, column, row) {
  if (view === null || column < 0 || column >= width || row < 0 || states[column] < 0) return -1;
  const { minBytes, maxBytes } = view;
  const at = minBytes + (row * (maxBytes - minBytes)) / height;
  return blockAtBytes(view.stacking, states[column], at, pickedFirst(view));
}

/**
 * The blocks of a column that fill at least one row, bottom first.
 * @param {Raster} raster
 * @param {number} column
 * @returns {{block: number, lo: number, hi: number}[]} rows [lo, hi)
 */
export function blocksInColumn({ height, states, view }, column) {
  if (view === null || !(states[column] >= 0)) return [];
  const { bytes } = view.stacking.blocks;
  const perByte = height / (view.maxBytes - view.minBytes);
  const drawn = [];
  let total = -view.minBytes;
  for (const block of stackAt(view.stacking, states[column], pickedFirst(view))) {
    const lo = Math.max(0, Math.round(total * perByte));
    total += bytes[block];
    const hi = Math.min(height, Math.round(total * perByte));
    if (hi > lo) drawn.push({ block, lo, hi });
  }
  return drawn;
}

/**
 * The place of a block in the picture: a list of [column, bottom, top] with at least one row per column.
 * @param {Raster} raster
 * @param {number} block
 * @returns {[number, number, number][]}
 */
export function outlineOf({ height, states, view }, block) {
  if (view === null) return [];
  const { stacking, minBytes, maxBytes } = view;
  const perByte = height / (maxBytes - minBytes);
  const bytes = stacking.blocks.bytes[block];
  /** @type {[number, number, number][]} */
  const spans = [];
  bytesBelow(stacking, block, states, pickedFirst(view)).forEach((below, column) => {
    if (Number.isNaN(below) || below + bytes <= minBytes || below >= maxBytes) return;
    const bottom = Math.max(0, Math.min(height - 1, Math.round((below - minBytes) * perByte)));
    const top = Math.min(height, Math.round((below + bytes - minBytes) * perByte));
    spans.push([column, bottom, Math.max(bottom + 1, top)]);
  });
  return spans;
}

/**
 * The place for each group's name: the widest stretch of columns whose bands share `minRows` rows.
 * @param {Raster} raster
 * @param {number} minRows
 * @param {(group: number) => number} minColumns per group
 * @returns {{group: number, column: number, row: number}[]} middles
 */
export function bandLabels(raster, minRows, minColumns) {
  const { width, bands, named } = raster;
  const STEP = 8;
  const labels = [];
  for (let slot = 0; slot < named.length; slot++) {
    let best = { width: 0, column: 0, row: 0 };
    for (let from = 0; from < width; from += STEP) {
      let bottom = -1;
      let top = Infinity;
      let c = from;
      let kept = { bottom: 0, top: 0 };
      for (; c < width; c += STEP) {
        const at = 2 * (c * named.length + slot);
        bottom = Math.max(bottom, bands[at]);
        top = Math.min(top, bands[at + 1]);
        if (top - bottom < minRows) break;
        kept = { bottom, top };
      }
      if (c - from > best.width)
        best = { width: c - from, column: (from + c) / 2, row: (kept.bottom + kept.top) / 2 };
      if (c >= width) break;
    }
    if (best.width > 0 && best.width >= minColumns(named[slot]))
      labels.push({ group: named[slot], column: best.column, row: best.row });
  }
  return labels;
}
