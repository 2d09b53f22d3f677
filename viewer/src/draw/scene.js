/* scene.js - the geometry of a timeline, and the basic shapes of its drawings. It uses drawing contexts and
 * numbers, never the document.
 */

const GUTTER = 74; // CSS pixels left of the plot, for labels
export const RIGHT = 10;
const TOP = 10;
const TOP_WITH_PILL = 36; // a pill above the plot covers nothing
const TICK_ROW = 24;
const LANE_HEIGHT = 20;
const THIN_HEIGHT = 8;
const LANE_GAP = 3;
export const FONT = '12px system-ui, sans-serif';
export const FONT_STRONG = '600 12px system-ui, sans-serif';

/**
 * @typedef {{x: number, y: number, w: number, h: number}} Box in CSS pixels
 *
 * @typedef {object} Geometry in CSS pixels
 * @property {number} width
 * @property {number} height
 * @property {Box} plot
 * @property {{y: number, h: number, lane: import('../run/lanes.js').Lane}[]} lanes
 *
 * @typedef {{x0: number, x1: number}} View a part of the axis
 * @typedef {Record<'bg' | 'ink' | 'muted' | 'grid' | 'accent' | 'danger' | 'lane' | 'laneAlt' | 'measured', string>}
 *   Theme
 *
 * @typedef {object} Scene everything that a picture needs
 * @property {CanvasRenderingContext2D} context scaled to CSS pixels
 * @property {Geometry} geometry
 * @property {import('../run/run.js').Run} run
 * @property {import('./stacking.js').Stacking} stacking
 * @property {import('../run/axis.js').Axis} axis
 * @property {View} view
 * @property {number} minBytes at the bottom of the plot
 * @property {number} maxBytes at its top
 * @property {string} leftOut what is above the scale; "": nothing
 * @property {import('./raster.js').Raster} raster
 * @property {Theme} theme
 * @property {number} pixelRatio raster columns per CSS pixel
 * @property {string | null} phase its scopes are highlighted
 */

/** @param {import('../run/lanes.js').Lane} lane */
function laneHeight({ isThin }) {
  return isThin ? THIN_HEIGHT : LANE_HEIGHT;
}

/**
 * @param {number} width
 * @param {number} height
 * @param {import('../run/lanes.js').Lane[]} lanes
 * @param {boolean} hasPill above the plot
 * @returns {Geometry}
 */
export function layOut(width, height, lanes, hasPill) {
  const plot = {
    x: GUTTER,
    y: hasPill ? TOP_WITH_PILL : TOP,
    w: Math.max(50, width - GUTTER - RIGHT),
    h: Math.max(60, height - heightBesidesPlot(lanes, hasPill)),
  };
  let y = plot.y + plot.h + TICK_ROW;
  return {
    width,
    height,
    plot,
    lanes: lanes.map((lane) => {
      const row = { lane, y, h: laneHeight(lane) };
      y += row.h + LANE_GAP;
      return row;
    }),
  };
}

/**
 * Height of everything except the plot.
 * @param {import('../run/lanes.js').Lane[]} lanes
 * @param {boolean} hasPill
 */
export function heightBesidesPlot(lanes, hasPill) {
  return (
    (hasPill ? TOP_WITH_PILL : TOP) +
    TICK_ROW +
    lanes.reduce((sum, lane) => sum + laneHeight(lane) + LANE_GAP, 0)
  );
}

/**
 * @param {Scene} scene
 * @param {number} x on the axis
 */
export function toPixel({ geometry, view }, x) {
  return geometry.plot.x + ((x - view.x0) / (view.x1 - view.x0)) * geometry.plot.w;
}

/**
 * @param {Scene} scene
 * @param {number} nBytes
 */
export function toRow({ geometry, minBytes, maxBytes }, nBytes) {
  return geometry.plot.y + geometry.plot.h * (1 - (nBytes - minBytes) / (maxBytes - minBytes));
}

/**
 * True if a row is in the plot.
 * @param {Scene} scene
 * @param {number} y
 */
export function isInPlot({ geometry: { plot } }, y) {
  return y >= plot.y && y <= plot.y + plot.h;
}

/**
 * Draws nothing outside the plot.
 * @param {Scene} scene
 * @param {() => void} draw
 */
export function drawInPlot({ context, geometry: { plot } }, draw) {
  context.save();
  context.beginPath();
  context.rect(plot.x, plot.y - 1, plot.w, plot.h + 1);
  context.clip();
  draw();
  context.restore();
}

/**
 * Draws text with an outline, by default in the background's colour, so that it is legible on anything.
 * @param {Scene} scene
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {string} colour
 * @param {string} [rim]
 */
export function haloText({ context, theme }, text, x, y, colour, rim = theme.bg) {
  context.lineJoin = 'round';
  context.lineWidth = 4;
  context.strokeStyle = rim;
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/**
 * The first box that overlaps no reserved box, which is then reserved too; or null.
 * @template {Box} T
 * @param {Box[]} taken
 * @param {T[]} choices
 * @returns {T | null}
 */
export function place(taken, choices) {
  const free = (/** @type {Box} */ a) =>
    taken.every((b) => a.x >= b.x + b.w || b.x >= a.x + a.w || a.y >= b.y + b.h || b.y >= a.y + a.h);
  const box = choices.find(free);
  if (box === undefined) return null;
  taken.push(box);
  return box;
}

/**
 * A pill's box: centred at x, but inside the plot and left of `limit`.
 * @param {Scene} scene
 * @param {string} text
 * @param {number} x
 * @param {number} y top
 * @param {number} limit
 * @returns {Box}
 */
export function pillBox({ context, geometry: { plot } }, text, x, y, limit) {
  context.font = FONT_STRONG;
  const w = context.measureText(text).width + 14;
  return {
    x: Math.max(plot.x + 2, Math.min(Math.min(plot.x + plot.w - 2, limit) - w, x - w / 2)),
    y,
    w,
    h: 20,
  };
}

/**
 * @param {Scene} scene
 * @param {string} text
 * @param {Box} box
 * @param {string} fill
 * @param {string} ink
 */
export function drawPill({ context }, text, box, fill, ink) {
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

/**
 * Draws slanted lines in a frame, for bytes that no block has.
 * @param {Scene} scene
 * @param {Box} box
 * @param {string} colour
 */
export function drawHatch({ context }, box, colour) {
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.w, box.h);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 2;
  for (let d = -box.h; d < box.w; d += 6) {
    context.beginPath();
    context.moveTo(box.x + d, box.y + box.h);
    context.lineTo(box.x + d + box.h, box.y);
    context.stroke();
  }
  context.restore();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.strokeRect(box.x, box.y, box.w, box.h);
}

/**
 * The longest prefix of a text that fits, with "…" if it is cut; "": fewer than three letters fit.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room CSS pixels
 */
export function fitText(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let lo = 0;
  let hi = text.length;
  while (lo < hi) {
    const middle = (lo + hi + 1) >>> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) lo = middle;
    else hi = middle - 1;
  }
  return lo < 3 ? '' : `${text.slice(0, lo).trimEnd()}…`;
}
