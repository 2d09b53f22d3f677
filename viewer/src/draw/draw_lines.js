/* draw_lines.js - draws lines over the stack: reserved bytes, the capacity, the peak, and where memory ran
 * out. No label covers another.
 */
import {
  drawHatch,
  drawPill,
  fitText,
  FONT,
  FONT_STRONG,
  haloText,
  isInPlot,
  pillBox,
  place,
  toPixel,
  toRow,
} from './scene.js';
import { failuresOf, failuresText } from '../run/failures.js';
import { peakWord } from '../run/peak.js';
import { amountAt, pendingOf } from '../run/pending.js';
import { formatBytes } from '../words/text.js';

/**
 * Hatches, on top of the stack, the bytes whose free waits for another stream.
 * @param {import('./scene.js').Scene} scene
 */
export function drawPending(scene) {
  const {
    context,
    geometry: { plot },
    run,
    stacking,
    raster,
    pixelRatio,
    theme,
  } = scene;
  const pending = pendingOf(run.index.blocks);
  if (pending.maxBytes === 0 || stacking.isFiltered) return;
  context.save();
  context.beginPath();
  for (let x = 0; x < plot.w; x++) {
    const state = raster.states[Math.min(raster.width - 1, Math.round(x * pixelRatio))];
    const amount = state < 0 ? 0 : amountAt(pending, state);
    if (amount === 0) continue;
    const total = stacking.totals[state];
    const top = toRow(scene, total + amount);
    context.rect(plot.x + x, top, 1, Math.max(1, toRow(scene, total) - top));
  }
  context.clip();
  context.fillStyle = theme.lane;
  context.fillRect(plot.x, plot.y, plot.w, plot.h);
  context.strokeStyle = theme.muted;
  context.lineWidth = 1;
  context.beginPath();
  for (let d = -plot.h; d < plot.w; d += 5) {
    context.moveTo(plot.x + d, plot.y + plot.h);
    context.lineTo(plot.x + d + plot.h, plot.y);
  }
  context.stroke();
  context.restore();
}

/**
 * The largest reserved bytes per pixel, as a line.
 * @param {import('./scene.js').Scene} scene
 */
export function drawReserved(scene) {
  const {
    context,
    geometry: { plot },
    run,
    raster,
    pixelRatio,
    theme,
  } = scene;
  const { state, bytes } = run.reserved;
  context.beginPath();
  let k = 0;
  let drawing = false;
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

/**
 * Labels the most reserved bytes in view, at either end of their line, or beside another label there.
 * @param {import('./scene.js').Scene} scene
 * @param {import('./scene.js').Box[]} taken
 */
export function labelReserved(scene, taken) {
  const {
    context,
    geometry: { plot },
    run,
    theme,
    raster,
  } = scene;
  const { state, bytes } = run.reserved;
  let most = -1;
  let from = 0;
  let to = 0;
  let k = 0;
  for (let c = 0; c < raster.width; c++) {
    if (raster.states[c] < 0) continue;
    while (k + 1 < state.length && state[k + 1] <= raster.states[c]) k++;
    if (bytes[k] > most) from = c;
    if (bytes[k] >= most) to = c;
    most = Math.max(most, bytes[k]);
  }
  const y = toRow(scene, most);
  if (most <= 0 || !isInPlot(scene, y)) return;
  context.font = FONT;
  const text = `reserved ${formatBytes(most)}`;
  const w = context.measureText(text).width + 8;
  const inside = (/** @type {number} */ x) => Math.max(plot.x + 2, Math.min(plot.x + plot.w - w, x));
  const left = inside(plot.x + (from / raster.width) * plot.w + 4);
  const right = inside(plot.x + (to / raster.width) * plot.w - w - 2);
  const rows = [y - 17, y + 2].filter((row) => row > 0 && row + 14 < plot.y + plot.h);
  const ends = taken.some((other) => other.x + other.w / 2 < plot.x + plot.w / 2)
    ? [right, left]
    : [left, right];
  const besides = taken
    .flatMap((other) => [inside(other.x - w - 6), inside(other.x + other.w + 6)])
    .sort((a, b) => Math.abs(a - right) - Math.abs(b - right));
  const box = place(
    taken,
    rows.flatMap((row) => [...ends, ...besides].map((x) => ({ x, y: row, w, h: 15 }))),
  );
  if (box === null) return;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  haloText(scene, text, box.x + 4, box.y + 8, theme.ink);
}

/**
 * What limits memory, in fewer words.
 * @param {string} text
 */
const shortName = (text) => text.replace('device capacity', 'capacity');

/**
 * Says, at the top, which lines lie above the scale. Beside another label it is said in fewer words; if they
 * do not fit either, they are cut.
 * @param {import('./scene.js').Scene} scene
 * @param {import('./scene.js').Box[]} taken
 */
export function labelLeftOut(scene, taken) {
  const {
    context,
    geometry: { plot },
    leftOut,
    theme,
  } = scene;
  if (leftOut === '') return;
  context.font = FONT;
  const [x, y, h] = [plot.x + 2, plot.y - 6, 16];
  const widthOf = (/** @type {string} */ text) => context.measureText(text).width + 8;
  let text = `↑ ${leftOut}`;
  const right = plot.x + plot.w - widthOf(text) - 2;
  const choices = right < x ? [] : [x, (x + right) / 2, right];
  let box = place(
    taken,
    choices.map((at) => ({ x: at, y, w: widthOf(text), h })),
  );
  if (box === null) {
    const beside = taken.filter((other) => other.y < y + h && other.y + other.h > y);
    const end = Math.min(plot.x + plot.w, ...beside.map((other) => other.x));
    text = fitText(context, `↑ ${shortName(leftOut.replace('above: ', ''))}`, end - x - 8);
    if (text === '') return;
    box = place(taken, [{ x, y, w: widthOf(text), h }]);
  }
  if (box === null) return;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  haloText(scene, text, box.x + 4, box.y + 8, theme.muted);
}

/**
 * Draws the memory limit and the device's capacity, if they are in view.
 * @param {import('./scene.js').Scene} scene
 * @param {import('./scene.js').Box[]} taken
 */
export function drawLimits(scene, taken) {
  const {
    context,
    geometry: { plot },
    theme,
  } = scene;
  for (const { text: name, bytes } of scene.run.limits) {
    const y = Math.round(toRow(scene, bytes)) + 0.5;
    if (!isInPlot(scene, y)) continue;
    context.strokeStyle = theme.danger;
    context.lineWidth = 1.5;
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(plot.x, y);
    context.lineTo(plot.x + plot.w, y);
    context.stroke();
    context.setLineDash([]);
    context.font = FONT;
    const choices = [name, shortName(name)].flatMap((words) => {
      const text = `${words} ${formatBytes(bytes)}`;
      const w = context.measureText(text).width + 8;
      const ends = [plot.x + 2, plot.x + plot.w - w - 2];
      return [y - 17, y + 2, y + 8].flatMap((row) => ends.map((x) => ({ text, x, y: row, w, h: 16 })));
    });
    const box = place(taken, choices);
    taken.push({ x: plot.x, y: y - 1, w: plot.w, h: 2 });
    if (box === null) continue;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    haloText(scene, box.text, box.x + 4, box.y + 8, theme.danger);
  }
}

/**
 * Places the peak's marker and returns a function that draws it, so that other labels can avoid it first.
 * @param {import('./scene.js').Scene} scene
 * @param {import('./scene.js').Box[]} taken
 * @returns {() => void}
 */
export function placePeak(scene, taken) {
  const {
    context,
    geometry: { plot },
    run,
    stacking,
    axis,
    view,
    theme,
  } = scene;
  const { peakState } = stacking;
  const peakBytes = stacking.totals[peakState];
  const at = axis.ofEvent(Math.max(0, peakState - 1));
  const next = axis.ofEvent(peakState);
  const y = toRow(scene, peakBytes);
  if (next < view.x0 || at > view.x1 || peakBytes === 0 || !isInPlot(scene, y)) return () => {};
  const x = Math.max(
    plot.x,
    Math.min(plot.x + plot.w, toPixel(scene, axis.kind === 'event' ? at + 0.5 : at)),
  );
  const room = y - plot.y > 25;
  const text = `${peakWord(run)} ${stacking.isFiltered ? 'of what is shown ' : ''}${formatBytes(peakBytes)}`;
  const last = failuresOf(run).at(-1);
  const end = last !== undefined ? toPixel(scene, axis.ofEvent(last.event)) : -Infinity;
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

/**
 * Marks where memory ran out in the view, with one label above the plot for all places. Returns a function
 * that draws it.
 * @param {import('./scene.js').Scene} scene
 * @param {import('./scene.js').Box[]} taken
 * @returns {() => void}
 */
export function placeFailures(scene, taken) {
  const {
    context,
    geometry: { plot },
    stacking,
    axis,
    view,
    theme,
  } = scene;
  const shown = failuresOf(scene.run).filter(({ event }) => {
    const at = axis.ofEvent(event);
    return at >= view.x0 && at <= view.x1;
  });
  if (shown.length === 0) return () => {};
  const places = shown.map(({ event }) => toPixel(scene, axis.ofEvent(event)));
  for (const x of places) taken.push({ x: x - 3, y: plot.y, w: 20, h: plot.h });
  context.font = FONT_STRONG;
  const text = fitText(context, failuresText(shown), plot.w - 20);
  const box = pillBox(scene, text, (places[0] + places[places.length - 1]) / 2, plot.y - 30, Infinity);
  return () => {
    shown.forEach(({ event, requestedBytes }, i) => {
      const x = places[i];
      const total = stacking.totals[event + 1];
      const bottom = Math.min(plot.y + plot.h, toRow(scene, total));
      const top = Math.max(plot.y, toRow(scene, total + requestedBytes));
      const hatched = { x: Math.min(x, plot.x + plot.w - 14), y: Math.min(top, bottom - 6), w: 14 };
      if (bottom > plot.y) drawHatch(scene, { ...hatched, h: Math.max(6, bottom - top) }, theme.danger);
      context.fillStyle = theme.danger;
      context.fillRect(x - 0.75, plot.y - 11, 1.5, plot.h + 11);
    });
    drawPill(scene, text, box, theme.danger, theme.bg);
  };
}
