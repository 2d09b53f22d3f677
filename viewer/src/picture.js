/* picture.js - draws the timelines as one picture to save: title, legend, and each run with its axes and
 * lanes.
 */
import { fitText } from './scene.js';
import { formatBytes } from './text.js';

const PICTURE_MARGIN = 16; // CSS pixels
const LINE = 20;
const PICTURE_FONT = 'system-ui, sans-serif';

/** @typedef {{x: number, y: number, colour: string, text: string}} Entry of a legend */

/**
 * Wraps a legend into lines.
 * @param {{colour: string, text: string}[]} entries
 * @param {number} room CSS pixels
 * @param {(text: string) => number} measure
 * @returns {{placed: Entry[], height: number}}
 */
export function flowLegend(entries, room, measure) {
  /** @type {Entry[]} */
  const placed = [];
  let x = 0;
  let y = 0;
  for (const { colour, text } of entries) {
    const width = 16 + measure(text) + 18;
    if (x > 0 && x + width > room) {
      x = 0;
      y += LINE;
    }
    placed.push({ x, y, colour, text });
    x += width;
  }
  return { placed, height: placed.length > 0 ? y + LINE : 0 };
}

/**
 * The timelines of all stages, one below the other.
 * @param {import('./stage.js').Stage[]} stages
 * @param {string} title
 * @returns {HTMLCanvasElement | null} null: there is no timeline
 */
export function pictureOf(stages, title) {
  const shown = stages.filter((stage) => stage.scene !== null);
  const [first] = shown;
  if (first === undefined || first.scene === null) return null;
  const { theme, pixelRatio } = first.scene;
  const width = Math.max(...shown.map((stage) => stage.base.width / pixelRatio)) + 2 * PICTURE_MARGIN;
  const canvas = document.createElement('canvas');
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const room = width - 2 * PICTURE_MARGIN;
  const {
    colouring: { groups },
    isShown,
  } = first.stacking;
  context.font = `12px ${PICTURE_FONT}`;
  const largest = groups
    .map((_, g) => g)
    .filter((g) => isShown[g] && groups[g].peakBytes > 0)
    .sort((a, b) => groups[b].peakBytes - groups[a].peakBytes)
    .slice(0, 24);
  const entries = largest
    .sort((a, b) => a - b)
    .map((g) => ({ colour: groups[g].colour, text: groups[g].label }));
  const { placed, height: legendHeight } = flowLegend(
    entries,
    room,
    (text) => context.measureText(text).width,
  );
  const height =
    2 * PICTURE_MARGIN +
    LINE +
    6 +
    legendHeight +
    shown.reduce((sum, stage) => sum + 6 + LINE + stage.base.height / pixelRatio, 0);
  canvas.width = Math.round(width * pixelRatio);
  canvas.height = Math.round(height * pixelRatio);
  context.scale(pixelRatio, pixelRatio);
  context.fillStyle = theme.bg;
  context.fillRect(0, 0, width, height);
  context.textBaseline = 'middle';
  context.fillStyle = theme.ink;
  context.font = `600 15px ${PICTURE_FONT}`;
  let y = PICTURE_MARGIN;
  context.fillText(fitText(context, title, room), PICTURE_MARGIN, y + LINE / 2);
  y += LINE + 6;
  context.font = `12px ${PICTURE_FONT}`;
  for (const entry of placed) {
    context.fillStyle = entry.colour;
    context.fillRect(PICTURE_MARGIN + entry.x, y + entry.y + 5, 10, 10);
    context.fillStyle = theme.ink;
    context.fillText(entry.text, PICTURE_MARGIN + entry.x + 16, y + entry.y + LINE / 2);
  }
  y += legendHeight;
  for (const { run, base, stacking } of shown) {
    context.font = `600 13px ${PICTURE_FONT}`;
    context.fillStyle = theme.ink;
    const peak = `${stacking.isFiltered ? 'peak of what is shown' : 'peak'} ${formatBytes(stacking.totals[stacking.peakState])}`;
    context.fillText(
      fitText(
        context,
        `${shown.length > 1 ? `${run.short}: ` : ''}${peak}${run.title ? ` · ${run.title}` : ''}`,
        room,
      ),
      PICTURE_MARGIN,
      y + 6 + LINE / 2,
    );
    y += 6 + LINE;
    context.drawImage(base, PICTURE_MARGIN, y, base.width / pixelRatio, base.height / pixelRatio);
    y += base.height / pixelRatio;
  }
  return canvas;
}
