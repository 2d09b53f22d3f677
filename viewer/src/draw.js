/* draw.js - paints one run onto canvases: raster, axes, lines, markers, lanes; and the overlay with
 * what is pointed at and pinned. Knows contexts and numbers, never the document.
 */
import { CATEGORIES, categoryColour, inkOn } from './colours.js';
import { laneItems, scopeSpan, scopeText } from './lanes.js';
import { bandLabels, copyToImage } from './raster.js';
import { byteTicks, decimalTicks, timeTickText } from './ticks.js';
import { categoryText, formatBytes, formatCount, formatTickBytes } from './text.js';

const GUTTER = 74; // CSS pixels left of the plot, for labels
const RIGHT = 10;
const TOP = 10;
const TICK_ROW = 24;
const LANE_HEIGHT = 20;
const LANE_GAP = 3;
const FONT = '12px system-ui, sans-serif';
const FONT_STRONG = '600 12px system-ui, sans-serif';

/**
 * @typedef {object} Geometry in CSS pixels
 * @property {number} width
 * @property {number} height
 * @property {{x: number, y: number, w: number, h: number}} plot
 * @property {{y: number, h: number, lane: import('./lanes.js').Lane}[]} lanes
 *
 * @typedef {{x0: number, x1: number}} View a piece of the axis
 * @typedef {Record<'bg' | 'ink' | 'muted' | 'grid' | 'accent' | 'danger' | 'lane' | 'laneAlt' | 'measured', string>} Theme
 *
 * @typedef {object} Scene all that a picture needs
 * @property {CanvasRenderingContext2D} context scaled to CSS pixels
 * @property {Geometry} geometry
 * @property {import('./run.js').Run} run
 * @property {import('./axis.js').Axis} axis
 * @property {View} view
 * @property {number} maxBytes
 * @property {import('./raster.js').Raster} raster
 * @property {Theme} theme
 * @property {number} pixelRatio raster columns per CSS pixel
 */

/** @param {number} width @param {number} height @param {import('./lanes.js').Lane[]} lanes @returns {Geometry} */
export function layOut(width, height, lanes) {
  const lanesHeight = lanes.length * (LANE_HEIGHT + LANE_GAP);
  const plot = { x: GUTTER, y: TOP, w: Math.max(50, width - GUTTER - RIGHT), h: Math.max(60, height - TOP - TICK_ROW - lanesHeight) };
  const y0 = plot.y + plot.h + TICK_ROW;
  return { width, height, plot, lanes: lanes.map((lane, i) => ({ lane, y: y0 + i * (LANE_HEIGHT + LANE_GAP), h: LANE_HEIGHT })) };
}

/** Height of everything but the plot. @param {number} nLanes */
export function heightBesidesPlot(nLanes) {
  return TOP + TICK_ROW + nLanes * (LANE_HEIGHT + LANE_GAP);
}

/** @param {Scene} scene @param {number} x */
function toPixel({ geometry, view }, x) {
  return geometry.plot.x + ((x - view.x0) / (view.x1 - view.x0)) * geometry.plot.w;
}

/** @param {Scene} scene @param {number} nBytes */
function toRow({ geometry, maxBytes }, nBytes) {
  return geometry.plot.y + geometry.plot.h * (1 - nBytes / maxBytes);
}

/** Text with a rim, by default in the background's colour, so that it reads on anything.
 * @param {Scene} scene @param {string} text @param {number} x @param {number} y @param {string} colour @param {string} [rim] */
function haloText({ context, theme }, text, x, y, colour, rim = theme.bg) {
  context.lineJoin = 'round';
  context.lineWidth = 4;
  context.strokeStyle = rim;
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** @param {Scene} scene */
function drawByteAxis(scene) {
  const { context, geometry: { plot }, theme, maxBytes } = scene;
  context.font = FONT;
  context.textBaseline = 'middle';
  for (const tick of byteTicks(maxBytes, Math.max(2, Math.floor(plot.h / 40)))) {
    const y = Math.round(toRow(scene, tick)) + 0.5;
    if (y < plot.y + 4) continue;
    context.fillStyle = theme.grid;
    context.fillRect(plot.x, y - 0.5, plot.w, 1);
    context.fillStyle = theme.muted;
    context.textAlign = 'right';
    context.fillText(formatTickBytes(tick), plot.x - 8, tick === 0 ? y - 4 : y);
  }
}

/** @param {Scene} scene */
function drawEventAxis(scene) {
  const { context, geometry: { plot }, theme, axis, view } = scene;
  const y = plot.y + plot.h + 14;
  const lo = Math.max(view.x0, axis.lo), hi = Math.min(view.x1, axis.hi), room = toPixel(scene, hi) - toPixel(scene, lo);
  const { ticks, step } = decimalTicks(lo, hi, Math.max(1, Math.floor(room / 100)), axis.kind === 'event' ? 1 : 0);
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = theme.muted;
  context.textAlign = 'right';
  context.fillText(axis.kind === 'event' ? 'event' : 'time', plot.x - 8, y);
  for (const tick of ticks) {
    const x = toPixel(scene, tick), text = axis.kind === 'event' ? formatCount(tick) : timeTickText(tick, step, axis.hi);
    context.fillRect(Math.round(x), plot.y + plot.h, 1, 4);
    const half = context.measureText(text).width / 2;
    if (x - half < plot.x - 2 || x + half > plot.x + plot.w + RIGHT) continue;
    context.textAlign = 'center';
    context.fillText(text, x, y);
  }
}

/** The largest reserved bytes per pixel, as a line. @param {Scene} scene */
function drawReserved(scene) {
  const { context, geometry: { plot }, run, raster, pixelRatio, theme } = scene, { state, bytes } = run.reserved;
  context.beginPath();
  let k = 0, drawing = false;
  for (let x = 0; x < plot.w; x++) {
    const here = raster.states[Math.min(raster.width - 1, Math.round(x * pixelRatio))];
    if (here < 0) {
      drawing = false;
      continue;
    }
    if (state[k] > here) k = 0;
    while (k + 1 < state.length && state[k + 1] <= here) k++;
    const y = toRow(scene, bytes[k]);
    if (drawing) context.lineTo(plot.x + x, y);
    else context.moveTo(plot.x + x, y);
    context.lineTo(plot.x + x + 1, y);
    drawing = true;
  }
  context.strokeStyle = theme.ink;
  context.lineWidth = 1.25;
  context.stroke();
}

/** @typedef {{x: number, y: number, w: number, h: number}} Box in CSS pixels */

/** The first box that overlaps none that is taken, or null; it is taken from then on.
 * @param {Box[]} taken @param {Box[]} choices @returns {Box | null} */
function place(taken, choices) {
  const free = (/** @type {Box} */ a) => taken.every((b) => a.x >= b.x + b.w || b.x >= a.x + a.w || a.y >= b.y + b.h || b.y >= a.y + a.h);
  const box = choices.find(free);
  if (box === undefined) return null;
  taken.push(box);
  return box;
}

/** The most that is reserved in view, at either end of where it is, or beside what stands there. @param {Scene} scene @param {Box[]} taken */
function labelReserved(scene, taken) {
  const { context, geometry: { plot }, run, maxBytes, theme, raster } = scene, { state, bytes } = run.reserved;
  let most = -1, from = 0, to = 0, k = 0;
  for (let c = 0; c < raster.width; c++) {
    if (raster.states[c] < 0) continue;
    while (k + 1 < state.length && state[k + 1] <= raster.states[c]) k++;
    if (bytes[k] > most) from = c;
    if (bytes[k] >= most) to = c;
    most = Math.max(most, bytes[k]);
  }
  if (most <= 0) return;
  const beyond = run.capacityBytes > maxBytes ? ` of ${formatBytes(run.capacityBytes)} ${run.capacityText}` : '';
  context.font = FONT;
  const text = `reserved ${formatBytes(most)}${beyond}`, w = context.measureText(text).width + 8, y = toRow(scene, most);
  const inside = (/** @type {number} */ x) => Math.max(plot.x + 2, Math.min(plot.x + plot.w - w, x));
  const left = inside(plot.x + (from / raster.width) * plot.w + 4), right = inside(plot.x + (to / raster.width) * plot.w - w - 2);
  const rows = [y - 17, y + 2].filter((row) => row > 0 && row + 14 < plot.y + plot.h);
  const ends = taken.some((other) => other.x + other.w / 2 < plot.x + plot.w / 2) ? [right, left] : [left, right];
  const besides = taken.flatMap((other) => [inside(other.x - w - 6), inside(other.x + other.w + 6)]).sort((a, b) => Math.abs(a - right) - Math.abs(b - right));
  const box = place(taken, rows.flatMap((row) => [...ends, ...besides].map((x) => ({ x, y: row, w, h: 15 }))));
  if (box === null) return;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  haloText(scene, text, box.x + 4, box.y + 8, theme.ink);
}

/** Memory limit or device capacity, where it is in sight. @param {Scene} scene @param {Box[]} taken */
function drawCapacity(scene, taken) {
  const { context, geometry: { plot }, run, maxBytes, theme } = scene;
  if (run.capacityBytes <= 0 || run.capacityBytes > maxBytes) return;
  const text = `${run.capacityText} ${formatBytes(run.capacityBytes)}`, y = Math.round(toRow(scene, run.capacityBytes)) + 0.5;
  context.strokeStyle = theme.danger;
  context.lineWidth = 1.5;
  context.setLineDash([6, 4]);
  context.beginPath();
  context.moveTo(plot.x, y);
  context.lineTo(plot.x + plot.w, y);
  context.stroke();
  context.setLineDash([]);
  context.font = FONT;
  const w = context.measureText(text).width + 8;
  const choices = [plot.x + 2, plot.x + plot.w - w - 2].map((x) => ({ x, y: y - 17, w, h: 16 }));
  const box = place(taken, choices) ?? choices[0];
  taken.push({ x: plot.x, y: y - 1, w: plot.w, h: 2 });
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  haloText(scene, text, box.x + 4, box.y + 8, theme.danger);
}

/** A pill's box: about x, kept inside the plot and left of `limit`. @param {Scene} scene @param {string} text
 * @param {number} x @param {number} y top @param {number} limit @returns {Box} */
function pillBox({ context, geometry: { plot } }, text, x, y, limit) {
  context.font = FONT_STRONG;
  const w = context.measureText(text).width + 14;
  return { x: Math.max(plot.x + 2, Math.min(Math.min(plot.x + plot.w - 2, limit) - w, x - w / 2)), y, w, h: 20 };
}

/** @param {Scene} scene @param {string} text @param {Box} box @param {string} fill @param {string} ink */
function drawPill({ context }, text, box, fill, ink) {
  context.font = FONT_STRONG;
  context.fillStyle = fill;
  context.beginPath();
  context.roundRect(box.x, box.y, box.w, box.h, 10);
  context.fill();
  context.fillStyle = ink;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.fillText(text, box.x + 7, box.y + 10.5);
}

/** The peak's marker. Returns what draws it, so that other labels can keep clear of it first.
 * @param {Scene} scene @param {Box[]} taken @returns {() => void} */
function placePeak(scene, taken) {
  const { context, geometry: { plot }, run, axis, view, theme } = scene;
  const at = axis.ofEvent(Math.max(0, run.peakState - 1)), next = axis.ofEvent(run.peakState);
  if (next < view.x0 || at > view.x1 || run.peak.bytes === 0) return () => {};
  const x = Math.max(plot.x, Math.min(plot.x + plot.w, toPixel(scene, axis.kind === 'event' ? at + 0.5 : at)));
  const y = toRow(scene, run.peak.bytes), room = y - plot.y > 25, text = `peak ${formatBytes(run.peak.bytes)}`;
  const { oom } = run.snapshot, end = oom.length > 0 ? toPixel(scene, axis.ofEvent(oom[oom.length - 1].event)) : -Infinity;
  const box = pillBox(scene, text, x, room ? y - 29 : y + 6, end >= x ? end - 10 : Infinity);
  taken.push(box);
  return () => {
    context.fillStyle = theme.ink;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 5, y - 8);
    context.lineTo(x + 5, y - 8);
    context.fill();
    drawPill(scene, text, box, theme.ink, theme.bg);
  };
}

/** Where the run ended for want of memory. Returns what draws it. @param {Scene} scene @param {Box[]} taken
 * @returns {(() => void)[]} */
function placeOom(scene, taken) {
  const { geometry: { plot }, run, axis, view, theme } = scene;
  return run.snapshot.oom.filter((oom) => axis.ofEvent(oom.event) >= view.x0 && axis.ofEvent(oom.event) <= view.x1).map((oom) => {
    const x = toPixel(scene, axis.ofEvent(oom.event)), total = run.index.totals[oom.event + 1], bottom = toRow(scene, total);
    const top = Math.max(plot.y, toRow(scene, total + oom.requestedBytes)), text = `out of memory: ${formatBytes(oom.requestedBytes)} more`;
    const at = (/** @type {number} */ middle, /** @type {number} */ below, /** @type {number} */ limit) =>
      pillBox(scene, text, middle, Math.max(plot.y, Math.min(plot.y + plot.h - 26, bottom + below)), limit);
    const width = at(x, 0, Infinity).w, roomRight = x + width + 30 < plot.x + plot.w;
    const choices = [24, 50, -60].map((below) => (roomRight ? at(x + 24 + width / 2, below, Infinity) : at(x, below, x - 10)));
    const box = place(taken, choices) ?? choices[0];
    taken.push({ x: x - 3, y: plot.y, w: 20, h: plot.h });
    return () => {
      drawHatch(scene, { x: Math.min(x, plot.x + plot.w - 14), y: Math.min(top, bottom - 6), w: 14, h: Math.max(6, bottom - top) });
      scene.context.fillStyle = theme.danger;
      scene.context.fillRect(x - 0.75, plot.y, 1.5, plot.h);
      drawPill(scene, text, box, theme.danger, theme.bg);
    };
  });
}

/** Bytes that were asked for and not given. @param {Scene} scene @param {Box} box */
function drawHatch({ context, theme }, box) {
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.w, box.h);
  context.clip();
  context.strokeStyle = theme.danger;
  context.lineWidth = 2;
  for (let d = -box.h; d < box.w; d += 6) {
    context.beginPath();
    context.moveTo(box.x + d, box.y + box.h);
    context.lineTo(box.x + d + box.h, box.y);
    context.stroke();
  }
  context.restore();
  context.strokeStyle = theme.danger;
  context.lineWidth = 1.5;
  context.strokeRect(box.x, box.y, box.w, box.h);
}

/** Names of the categories, where their bands have room. @param {Scene} scene */
function drawBandNames(scene) {
  const { context, geometry: { plot }, raster, pixelRatio } = scene;
  context.font = FONT_STRONG;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (const { category, column, row } of bandLabels(raster, 17 * pixelRatio, 110 * pixelRatio)) {
    const name = CATEGORIES[category];
    haloText(scene, categoryText(name), plot.x + column / pixelRatio, plot.y + plot.h - row / pixelRatio, inkOn(name), categoryColour(name));
  }
}

/** @param {Scene} scene */
function drawLanes(scene) {
  const { context, geometry, run, axis, view, theme } = scene, { plot } = geometry;
  const perPixel = (view.x1 - view.x0) / plot.w;
  context.textBaseline = 'middle';
  for (const { lane, y, h } of geometry.lanes) {
    context.font = FONT;
    context.textAlign = 'right';
    context.fillStyle = theme.muted;
    context.fillText(lane.title, plot.x - 8, y + h / 2);
    context.save();
    context.beginPath();
    context.rect(plot.x, y, plot.w, h);
    context.clip();
    const items = laneItems(run.snapshot, run.extents, axis, lane, view.x0, view.x1, perPixel);
    const shortly = items.some((item) => run.snapshot.scopes.index[item.scope] >= 0 && item.x0 >= view.x0 && item.x1 <= view.x1 &&
      context.measureText(scopeText(run.snapshot, item.scope)).width > (item.x1 - item.x0) / perPixel - 3);
    for (const item of items) drawLaneItem(scene, item, y, h, shortly);
    context.restore();
  }
}

/** @param {Scene} scene @param {import('./lanes.js').LaneItem} item @param {number} y @param {number} h
 * @param {boolean} shortly only the number, where there is one */
function drawLaneItem(scene, item, y, h, shortly) {
  const { context, geometry: { plot }, run, theme } = scene, { scopes } = run.snapshot;
  const x0 = toPixel(scene, item.x0), x1 = toPixel(scene, item.x1), gap = x1 - x0 > 3 ? 1 : 0;
  const alternate = scopes.index[item.scope] >= 0 ? scopes.index[item.scope] & 1 : item.scope & 1;
  context.fillStyle = item.scope === run.homeScope ? theme.measured : alternate ? theme.laneAlt : theme.lane;
  context.fillRect(x0, y, Math.max(0.75, x1 - x0 - gap), h);
  const left = Math.max(x0, plot.x), right = Math.min(x1, plot.x + plot.w);
  if (right - left < 12) return;
  const text = shortly && scopes.index[item.scope] >= 0 ? String(scopes.index[item.scope]) : scopeText(run.snapshot, item.scope);
  if (context.measureText(text).width > right - left - 3) return;
  context.fillStyle = item.scope === run.homeScope ? theme.bg : theme.ink;
  context.textAlign = 'center';
  context.fillText(text, (left + right) / 2, y + h / 2 + 0.5);
}

/**
 * Paints everything but the overlay. `image` is a canvas of the raster's size; the columns [c0, c1) of it are stale.
 * @param {Scene} scene @param {{canvas: HTMLCanvasElement, context: CanvasRenderingContext2D, data: ImageData}} image
 * @param {[number, number]} stale
 */
export function drawScene(scene, image, stale) {
  const { context, geometry, raster, theme } = scene, { plot } = geometry;
  context.fillStyle = theme.bg;
  context.fillRect(0, 0, geometry.width, geometry.height);
  drawByteAxis(scene);
  copyToImage(raster, new Uint32Array(image.data.data.buffer), stale[0], stale[1]);
  image.context.putImageData(image.data, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(image.canvas, plot.x, plot.y, plot.w, plot.h);
  context.fillStyle = theme.muted;
  context.fillRect(plot.x, plot.y + plot.h, plot.w, 1);
  drawEventAxis(scene);
  drawLanes(scene);
  drawBandNames(scene);
  /** @type {Box[]} */
  const taken = [];
  const drawPeak = placePeak(scene, taken), drawOoms = placeOom(scene, taken);
  drawReserved(scene);
  drawCapacity(scene, taken);
  labelReserved(scene, taken);
  for (const drawOom of drawOoms) drawOom();
  drawPeak();
}

/** The rim of a block. @param {Scene} scene @param {[number, number, number][]} spans of columns @param {string} colour
 * @param {number} thick CSS pixels */
function strokeSpans({ context, geometry: { plot }, pixelRatio }, spans, colour, thick) {
  const unit = 1 / pixelRatio;
  context.fillStyle = colour;
  /** @type {[number, number, number] | null} */
  let before = null;
  const bar = (/** @type {number} */ column, /** @type {number} */ bottom, /** @type {number} */ top) =>
    context.fillRect(plot.x + column * unit - thick / 2, plot.y + plot.h - top * unit - thick / 2, thick, (top - bottom) * unit + thick);
  for (const span of spans) {
    const [column, bottom, top] = span;
    const x = plot.x + column * unit;
    context.fillRect(x, plot.y + plot.h - top * unit - thick / 2, unit, thick);
    context.fillRect(x, plot.y + plot.h - bottom * unit - thick / 2, unit, thick);
    if (before === null || before[0] !== column - 1) {
      if (before !== null) bar(before[0] + 1, before[1], before[2]);
      bar(column, bottom, top);
    } else {
      if (before[1] !== bottom) bar(column, Math.min(before[1], bottom), Math.max(before[1], bottom));
      if (before[2] !== top) bar(column, Math.min(before[2], top), Math.max(before[2], top));
    }
    before = span;
  }
  if (before !== null) bar(before[0] + 1, before[1], before[2]);
}

/**
 * What lies above the picture: the cursor, the scope or block pointed at, the pinned block.
 * @param {Scene} scene @param {{x: number | null, block: number, scope: number, pinned: number, spans: [number, number, number][],
 *   pinnedSpans: [number, number, number][]}} marks x in CSS pixels; spans: of the block pointed at
 */
export function drawOverlay(scene, marks) {
  const { context, geometry, theme } = scene, { plot } = geometry;
  context.clearRect(0, 0, geometry.width, geometry.height);
  if (marks.scope >= 0) {
    const [x0, x1] = scopeSpan(scene.run.snapshot, scene.run.extents, scene.axis, marks.scope).map((x) => toPixel(scene, x));
    const left = Math.max(plot.x, x0), right = Math.min(plot.x + plot.w, x1);
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.13;
    context.fillRect(left, plot.y, Math.max(1, right - left), plot.h);
    context.globalAlpha = 1;
    context.fillRect(left, plot.y, 1, plot.h);
    context.fillRect(right - 1, plot.y, 1, plot.h);
  }
  if (marks.x !== null) {
    context.fillStyle = theme.ink;
    context.globalAlpha = 0.35;
    context.fillRect(Math.round(marks.x), plot.y, 1, geometry.height - plot.y);
    context.globalAlpha = 1;
  }
  strokeSpans(scene, marks.pinnedSpans, theme.bg, 4);
  strokeSpans(scene, marks.pinnedSpans, theme.ink, 2);
  if (marks.block >= 0 && marks.block !== marks.pinned) strokeSpans(scene, marks.spans, theme.ink, 1.5);
}
