/* draw_axes.js - draws the axes of a timeline: bytes at the left, events or time below. */
import { FONT, RIGHT, toPixel, toRow } from './scene.js';
import { byteTicks, decimalTicks, timeTickText } from '../words/ticks.js';
import { formatCount, formatTickBytes } from '../words/text.js';

/** @param {import('./scene.js').Scene} scene */
export function drawByteAxis(scene) {
  const {
    context,
    geometry: { plot },
    theme,
    minBytes,
    maxBytes,
  } = scene;
  context.font = FONT;
  context.textBaseline = 'middle';
  const { ticks, step } = byteTicks(maxBytes, Math.max(2, Math.floor(plot.h / 40)), minBytes);
  for (const tick of ticks) {
    const y = Math.round(toRow(scene, tick)) + 0.5;
    if (y < plot.y + 4) continue;
    context.fillStyle = theme.grid;
    context.fillRect(plot.x, y - 0.5, plot.w, 1);
    context.fillStyle = theme.muted;
    context.textAlign = 'right';
    context.fillText(formatTickBytes(tick, step), plot.x - 8, y > plot.y + plot.h - 4 ? y - 4 : y);
  }
}

/** @param {import('./scene.js').Scene} scene */
export function drawEventAxis(scene) {
  const {
    context,
    geometry: { plot },
    theme,
    axis,
    view,
  } = scene;
  const y = plot.y + plot.h + 14;
  const lo = Math.max(view.x0, axis.lo);
  const hi = Math.min(view.x1, axis.hi);
  const room = toPixel(scene, hi) - toPixel(scene, lo);
  const { ticks, step } = decimalTicks(
    lo,
    hi,
    Math.max(1, Math.floor(room / 100)),
    axis.kind === 'event' ? 1 : 0,
  );
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = theme.muted;
  context.textAlign = 'right';
  context.fillText(axis.kind === 'event' ? 'event' : 'time', plot.x - 8, y);
  for (const tick of ticks) {
    const x = toPixel(scene, tick);
    const text = axis.kind === 'event' ? formatCount(tick) : timeTickText(tick, step, axis.hi);
    context.fillRect(Math.round(x), plot.y + plot.h, 1, 4);
    const half = context.measureText(text).width / 2;
    if (x - half < plot.x - 2 || x + half > plot.x + plot.w + RIGHT) continue;
    context.textAlign = 'center';
    context.fillText(text, x, y);
  }
}
