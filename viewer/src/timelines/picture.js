/* picture.js - draws the timelines as one picture to save: title, legend, and each run with its axes and
 * lanes.
 */
import { peakWord } from '../run/peak.js';
import { fitText } from '../draw/scene.js';
import { formatBytes } from '../words/text.js';

const PICTURE_MARGIN = 16; // CSS pixels
const LINE = 20;
const LEGEND_GROUPS = 24;
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
 * The entries of the legend: the largest groups shown, in stacking order.
 * @param {import('../draw/stacking.js').Stacking} stacking
 */
function legendEntries({ colouring: { groups }, isShown }) {
  return groups
    .map((_, g) => g)
    .filter((g) => isShown[g] && groups[g].peakBytes > 0)
    .sort((a, b) => groups[b].peakBytes - groups[a].peakBytes)
    .slice(0, LEGEND_GROUPS)
    .sort((a, b) => a - b)
    .map((g) => ({ colour: groups[g].colour, text: groups[g].label }));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Entry[]} placed
 * @param {number} top
 * @param {string} ink
 */
function drawLegend(context, placed, top, ink) {
  context.font = `12px ${PICTURE_FONT}`;
  for (const { x, y, colour, text } of placed) {
    context.fillStyle = colour;
    context.fillRect(PICTURE_MARGIN + x, top + y + 5, 10, 10);
    context.fillStyle = ink;
    context.fillText(text, PICTURE_MARGIN + x + 16, top + y + LINE / 2);
  }
}

/**
 * The line above a timeline.
 * @param {import('./stage.js').Stage} stage
 * @param {boolean} isAlone
 */
function stageTitle({ run, stacking }, isAlone) {
  const name = isAlone ? '' : `${run.short}: `;
  const peak = `${peakWord(run)}${stacking.isFiltered ? ' of what is shown' : ''} ${formatBytes(stacking.totals[stacking.peakState])}`;
  return `${name}${peak}${run.title ? ` · ${run.title}` : ''}`;
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
  context.font = `12px ${PICTURE_FONT}`;
  const { placed, height: legendHeight } = flowLegend(
    legendEntries(first.stacking),
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
  drawLegend(context, placed, y, theme.ink);
  y += legendHeight;
  for (const stage of shown) {
    const { base } = stage;
    context.font = `600 13px ${PICTURE_FONT}`;
    context.fillStyle = theme.ink;
    const line = fitText(context, stageTitle(stage, shown.length === 1), room);
    context.fillText(line, PICTURE_MARGIN, y + 6 + LINE / 2);
    y += 6 + LINE;
    context.drawImage(base, PICTURE_MARGIN, y, base.width / pixelRatio, base.height / pixelRatio);
    y += base.height / pixelRatio;
  }
  return canvas;
}
