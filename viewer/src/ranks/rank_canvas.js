/* rank_canvas.js - draws the heat map of ranks and the strip of their timelines. */
import { heatPixels, scaleColour } from './rank_rows.js';
import { formatTickBytes } from '../words/text.js';

/**
 * Sizes a canvas to its box, for sharp pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} height CSS pixels
 * @returns {{context: CanvasRenderingContext2D, width: number, ratio: number}} width: CSS pixels
 */
export function prepareCanvas(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  const width = Math.max(1, canvas.clientWidth);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  return { context, width, ratio };
}

/** @param {string} name of a colour of the theme */
export function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {import('./rank_rows.js').Heat} heat
 * @param {import('./rank_rows.js').Fold[]} folds
 * @param {{height: number, place: (bytes: number) => number}} how CSS pixels; place on the scale
 */
export function drawHeat(canvas, heat, folds, { height, place }) {
  const { context } = prepareCanvas(canvas, height);
  const { width, height: rows } = canvas;
  const pixels = heatPixels(heat, width, rows);
  const image = context.createImageData(width, rows);
  for (let i = 0; i < pixels.length; i++) {
    if (pixels[i] < 0) continue;
    const colour = scaleColour(place(pixels[i]));
    image.data.set(colour, 4 * i);
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  // rows that are high enough to be distinguished get a line between them
  const size = rows / Math.max(1, heat.nRows);
  context.fillStyle = themeColour('bg');
  if (size >= 6) for (let r = 1; r < heat.nRows; r++) context.fillRect(0, Math.round(r * size), width, 1);
  for (const [r, { first }] of folds.entries())
    if (first.oom !== null)
      drawCross(context, lastCell(heat, r, width), (r + 0.5) * size, Math.max(3, size / 4));
}

/**
 * Where the last step of a row ends.
 * @param {import('./rank_rows.js').Heat} heat
 * @param {number} r
 * @param {number} width
 */
function lastCell({ cells, steps }, r, width) {
  let c = steps.length - 1;
  while (c > 0 && cells[r * steps.length + c] < 0) c--;
  return ((c + 0.5) * width) / Math.max(1, steps.length);
}

/**
 * The sign of an end without memory, in two colours, so that it can be seen on every ground.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
function drawCross(context, x, y, size) {
  for (const [colour, width] of /** @type {[string, number][]} */ ([
    [themeColour('bg'), 4],
    [themeColour('danger'), 2],
  ])) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x - size, y - size);
    context.lineTo(x + size, y + size);
    context.moveTo(x - size, y + size);
    context.lineTo(x + size, y - size);
    context.stroke();
  }
}

/**
 * One small timeline: reserved and allocated bytes, the capacity, and where memory ran out.
 * @param {CanvasRenderingContext2D} context
 * @param {import('../engine/rank_digests.js').Rank} rank
 * @param {{x: number, y: number, w: number, h: number}} box CSS pixels
 * @param {{mostBytes: number, place: (timeNs: number) => number}} scale place: 0..1 of the width
 */
export function drawTimeline(context, rank, box, { mostBytes, place }) {
  const at = (/** @type {number} */ bytes) => box.y + box.h - (Math.max(0, bytes) / mostBytes) * box.h;
  const xOf = (/** @type {number} */ timeNs) => box.x + place(timeNs) * box.w;
  for (const [values, colour] of /** @type {[number[], string][]} */ ([
    [rank.reservedOverTime, themeColour('lane-alt')],
    [rank.allocatedBytes, '#0072b2'],
  ])) {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(xOf(rank.timeNs[0]), box.y + box.h);
    for (const [i, value] of values.entries()) {
      context.lineTo(xOf(rank.timeNs[Math.max(0, i - 1)]), at(value));
      context.lineTo(xOf(rank.timeNs[i]), at(value));
    }
    context.lineTo(xOf(rank.timeNs[values.length - 1]), box.y + box.h);
    context.fill();
  }
  if (rank.totalBytes > 0 && rank.totalBytes <= mostBytes) {
    context.strokeStyle = themeColour('danger');
    context.setLineDash([4, 3]);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(box.x, at(rank.totalBytes) + 0.5);
    context.lineTo(box.x + box.w, at(rank.totalBytes) + 0.5);
    context.stroke();
    context.setLineDash([]);
  }
  if (rank.oom !== null) {
    const time = rank.oom.timeNs >= 0 ? rank.oom.timeNs : rank.timeNs[rank.timeNs.length - 1];
    drawCross(context, xOf(time), box.y + 6, 4);
  }
}

/**
 * The legend of the heat map's colours.
 * @param {HTMLCanvasElement} canvas
 */
export function drawScale(canvas) {
  const { context } = prepareCanvas(canvas, 12);
  for (let x = 0; x < canvas.width; x++) {
    context.fillStyle = `rgb(${scaleColour(x / Math.max(1, canvas.width - 1)).join(' ')})`;
    context.fillRect(x, 0, 1, canvas.height);
  }
}

/**
 * "capacity 80 GiB".
 * @param {number} totalBytes
 */
export function capacityText(totalBytes) {
  return totalBytes > 0 ? `capacity ${formatTickBytes(totalBytes)}` : 'capacity not known';
}
