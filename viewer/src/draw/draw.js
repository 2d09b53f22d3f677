/* draw.js - paints one run onto canvases: raster, axes, lines, markers and lanes, and the overlay of what the
 * pointer is on and what is pinned. It uses drawing contexts and numbers, never the document.
 */
import { inkOn } from '../words/colours.js';
import { drawByteAxis, drawEventAxis } from './draw_axes.js';
import { drawLanes, drawPhaseSpans } from './draw_lanes.js';
import {
  drawLimits,
  drawPending,
  drawReserved,
  labelLeftOut,
  labelReserved,
  placeFailures,
  placePeak,
} from './draw_lines.js';
import { scopeSpan } from '../run/lanes.js';
import { bandLabels, copyToImage, shiftImage } from './raster.js';
import { drawInPlot, drawPill, fitText, FONT_STRONG, haloText, pillBox, place, toPixel } from './scene.js';
import { placeOfStateOn, spanOfStates } from '../run/spans.js';
import { formatBytes, formatCount, formatDuration } from '../words/text.js';

const MAX_NAME = 260; // CSS pixels

/**
 * Writes the names of groups into bands that have room.
 * @param {import('./scene.js').Scene} scene
 * @param {import('./scene.js').Box[]} taken
 */
function drawBandNames(scene, taken) {
  const {
    context,
    geometry: { plot },
    raster,
    pixelRatio,
    theme,
    stacking: {
      colouring: { groups },
    },
  } = scene;
  context.font = FONT_STRONG;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  const widths = new Map(
    [...raster.named].map((group) => [
      group,
      Math.min(MAX_NAME, context.measureText(groups[group].label).width),
    ]),
  );
  for (const { group, column, row } of bandLabels(
    raster,
    17 * pixelRatio,
    (g) => ((widths.get(g) ?? 0) + 16) * pixelRatio,
  )) {
    const { label, colour } = groups[group];
    const isPale = (raster.view?.picking ?? null) !== null;
    const w = widths.get(group) ?? 0;
    const x = plot.x + column / pixelRatio;
    const y = plot.y + plot.h - row / pixelRatio;
    if (place(taken, [{ x: x - w / 2, y: y - 8, w, h: 16 }]) !== null)
      haloText(
        scene,
        fitText(context, label, MAX_NAME),
        x,
        y,
        isPale ? theme.ink : inkOn(colour),
        isPale ? theme.bg : colour,
      );
  }
}

/**
 * @typedef {{canvas: HTMLCanvasElement | OffscreenCanvas, context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D, data: ImageData}}
 *   RasterImage a canvas of the raster's size
 */

/**
 * Brings the image up to date.
 * @param {import('./raster.js').Raster} raster
 * @param {RasterImage} image
 * @param {[number, number]} drawn columns that changed in the raster
 */
export function refreshImage(raster, { context, data }, [c0, c1]) {
  if (c0 === c1) return;
  const pixels = new Uint32Array(data.data.buffer);
  if (c1 - c0 < raster.width) shiftImage(raster, pixels, c0 > 0 ? c1 - c0 : c0 - c1);
  copyToImage(raster, pixels, c0, c1);
  context.putImageData(data, 0, 0);
}

/**
 * Paints everything but the overlay.
 * @param {import('./scene.js').Scene} scene
 * @param {CanvasImageSource} image of the raster
 */
export function drawScene(scene, image) {
  const { context, geometry, theme } = scene;
  const { plot } = geometry;
  context.fillStyle = theme.bg;
  context.fillRect(0, 0, geometry.width, geometry.height);
  drawByteAxis(scene);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, plot.x, plot.y, plot.w, plot.h);
  context.fillStyle = theme.muted;
  context.fillRect(plot.x, plot.y + plot.h, plot.w, 1);
  drawEventAxis(scene);
  drawLanes(scene);
  drawInPlot(scene, () => drawPending(scene));
  /** @type {import('./scene.js').Box[]} */
  const taken = [];
  const drawPeak = placePeak(scene, taken);
  const drawFailures = placeFailures(scene, taken);
  drawBandNames(scene, taken);
  drawPhaseSpans(scene);
  drawInPlot(scene, () => drawReserved(scene));
  drawLimits(scene, taken);
  labelLeftOut(scene, taken);
  labelReserved(scene, taken);
  drawFailures();
  drawPeak();
}

/**
 * Draws the outline of a block.
 * @param {import('./scene.js').Scene} scene
 * @param {[number, number, number][]} spans of columns
 * @param {string} colour
 * @param {number} thick CSS pixels
 */
function strokeSpans({ context, geometry: { plot }, pixelRatio }, spans, colour, thick) {
  const unit = 1 / pixelRatio;
  const half = thick / 2;
  const line = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ row) =>
    context.fillRect(plot.x + from * unit, plot.y + plot.h - row * unit - half, (to - from) * unit, thick);
  const bar = (/** @type {number} */ column, /** @type {number} */ bottom, /** @type {number} */ top) =>
    context.fillRect(
      plot.x + column * unit - half,
      plot.y + plot.h - top * unit - half,
      thick,
      (top - bottom) * unit + thick,
    );
  context.fillStyle = colour;
  for (let i = 0; i < spans.length;) {
    const [column, bottom, top] = spans[i];
    const before = spans[i - 1];
    let end = i + 1; // end of the columns that are alike
    while (
      end < spans.length &&
      spans[end][0] === column + end - i &&
      spans[end][1] === bottom &&
      spans[end][2] === top
    )
      end++;
    line(column, column + end - i, top);
    line(column, column + end - i, bottom);
    if (before === undefined || before[0] !== column - 1) {
      bar(column, bottom, top);
    } else {
      if (before[1] !== bottom) bar(column, Math.min(before[1], bottom), Math.max(before[1], bottom));
      if (before[2] !== top) bar(column, Math.min(before[2], top), Math.max(before[2], top));
    }
    if (end === spans.length || spans[end][0] !== column + end - i) bar(column + end - i, bottom, top);
    i = end;
  }
}

/**
 * @typedef {object} Marks what is drawn over the picture
 * @property {number | null} x of the pointer, in CSS pixels
 * @property {number} state under the pointer, or -1
 * @property {number} block under the pointer
 * @property {number} scope pointed at
 * @property {number} pinned block
 * @property {[number, number, number][]} spans of the block under the pointer
 * @property {[number, number, number][]} pinnedSpans
 * @property {number} cursor state under the cursor, here or at the corresponding place of another run; -1:
 *   none
 * @property {boolean} isHeld the cursor does not follow the pointer
 * @property {{first: number, last: number} | null} range of states
 */

/**
 * Draws the cursor's line, with place and bytes below it.
 * @param {import('./scene.js').Scene} scene
 * @param {number} x CSS pixels
 * @param {number} state
 * @param {boolean} isHeld
 */
function drawCursor(scene, x, state, isHeld) {
  const { context, geometry, run, stacking, axis, theme } = scene;
  const { plot } = geometry;
  if (x < plot.x || x > plot.x + plot.w) return;
  context.fillStyle = theme.ink;
  context.globalAlpha = isHeld ? 1 : 0.45;
  context.fillRect(Math.round(x) - (isHeld ? 0.5 : 0), plot.y, isHeld ? 1.5 : 1, geometry.height - plot.y);
  context.globalAlpha = 1;
  if (state < 0) return;
  const at = axis.ofEvent(Math.max(0, state - 1));
  const where = axis.kind === 'event' ? `event ${formatCount(at)}` : formatDuration(at);
  const text = `${where} · ${formatBytes(stacking.totals[state])}${stacking.isFiltered ? ` of ${formatBytes(run.index.totals[state])}` : ''}`;
  drawPill(scene, text, pillBox(scene, text, x, plot.y + plot.h + 3, Infinity), theme.ink, theme.bg);
}

/**
 * Draws a range of states, with the bytes at both ends.
 * @param {import('./scene.js').Scene} scene
 * @param {{first: number, last: number}} range
 */
function drawRange(scene, range) {
  const {
    context,
    geometry: { plot },
    run: {
      index: { totals },
    },
    theme,
  } = scene;
  const [left, right] = spanOfStates(scene.axis, range).map((x) => toPixel(scene, x));
  const from = Math.max(plot.x, left);
  const to = Math.min(plot.x + plot.w, right);
  if (to < from) return;
  context.fillStyle = theme.accent;
  context.globalAlpha = 0.16;
  context.fillRect(from, plot.y, Math.max(1, to - from), plot.h);
  context.globalAlpha = 1;
  if (left >= plot.x) context.fillRect(left - 0.75, plot.y, 1.5, plot.h);
  if (right <= plot.x + plot.w) context.fillRect(right - 0.75, plot.y, 1.5, plot.h);
  const a = totals[range.first];
  const b = totals[range.last - 1];
  const text = `${formatBytes(a)} → ${formatBytes(b)}, ${b >= a ? '+' : '−'}${formatBytes(Math.abs(b - a))}`;
  drawPill(scene, text, pillBox(scene, text, (from + to) / 2, plot.y + 2, Infinity), theme.accent, theme.bg);
}

/**
 * @param {import('./scene.js').Scene} scene
 * @param {number} scope pointed at
 */
function drawScopeSpan(scene, scope) {
  const {
    context,
    geometry: { plot },
    theme,
  } = scene;
  const [x0, x1] = scopeSpan(scene.run.snapshot, scene.run.extents, scene.axis, scope).map((x) =>
    toPixel(scene, x),
  );
  const left = Math.max(plot.x, x0);
  const right = Math.min(plot.x + plot.w, x1);
  context.fillStyle = theme.accent;
  context.globalAlpha = 0.13;
  context.fillRect(left, plot.y, Math.max(1, right - left), plot.h);
  context.globalAlpha = 1;
  context.fillRect(left, plot.y, 1, plot.h);
  context.fillRect(right - 1, plot.y, 1, plot.h);
}

/**
 * @param {import('./scene.js').Scene} scene
 * @param {Marks} marks
 */
export function drawOverlay(scene, marks) {
  const { context, geometry, theme } = scene;
  context.clearRect(0, 0, geometry.width, geometry.height);
  if (marks.range !== null) drawRange(scene, marks.range);
  if (marks.scope >= 0) drawScopeSpan(scene, marks.scope);
  strokeSpans(scene, marks.pinnedSpans, theme.bg, 4);
  strokeSpans(scene, marks.pinnedSpans, theme.ink, 2);
  if (marks.block >= 0 && marks.block !== marks.pinned) strokeSpans(scene, marks.spans, theme.ink, 1.5);
  const isPointing = marks.x !== null;
  if (marks.cursor >= 0 && (marks.isHeld || !isPointing))
    drawCursor(scene, toPixel(scene, placeOfStateOn(scene.axis, marks.cursor)), marks.cursor, marks.isHeld);
  if (marks.x !== null) drawCursor(scene, marks.x, marks.isHeld ? -1 : marks.state, false);
}
