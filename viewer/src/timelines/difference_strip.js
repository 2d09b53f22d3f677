/* difference_strip.js - below the timelines of two runs: how many bytes more or less than the base the other
 * run holds, per category and pixel column.
 */
import { alignedPlace } from '../answers/alignment.js';
import { BUILT_IN } from '../words/category_table.js';
import { categoriesOf, categoryColour } from '../words/colours.js';
import { categoryBytesAt } from '../answers/differences.js';
import { element } from '../elements/dom.js';
import { columnState } from '../draw/raster.js';
import { fitText } from '../draw/scene.js';
import { categoryText, formatBytes } from '../words/text.js';

const STRIP_ROW = 26; // CSS pixels
const MORE = '#d55e00';
const LESS = '#0072b2'; // colour-blind readers can distinguish these two; the direction differs as well

/**
 * The differences along a stage's view. In each column both runs show the instant of their largest total
 * there.
 * @param {import('./stage.js').Stage} base
 * @param {import('./stage.js').Stage} other
 * @param {import('../answers/alignment.js').Alignment} alignment
 * @param {number} nColumns
 * @returns {{rows: Float64Array[], states: [number, number][]}} per category of the two snapshots
 *   (categoriesOf) and column: bytes, NaN outside either run
 */
export function differenceColumns(base, other, alignment, nColumns) {
  const names = categoriesOf([base.run.snapshot, other.run.snapshot]);
  const rows = names.map(() => new Float64Array(nColumns).fill(NaN));
  const places = [base, other].map(({ run: { snapshot } }) =>
    names.map((name) => snapshot.categories.indexOf(name)),
  );
  const [a, b] = [base, other].map(({ run: { snapshot } }) => new Float64Array(snapshot.categories.length));
  const { x0, x1 } = base.scene?.view ?? base.view;
  const per = (x1 - x0) / nColumns;
  const states = /** @type {[number, number][]} */ ([]);
  let before = /** @type {[number, number]} */ ([-1, -1]);
  for (let column = 0; column < nColumns; column++) {
    const from = x0 + column * per;
    const to = from + per;
    const sa = columnState(base.run.index, base.axis, from, to);
    const sb = columnState(
      other.run.index,
      other.axis,
      alignedPlace(alignment, from),
      alignedPlace(alignment, to),
    );
    states.push([sa, sb]);
    if (sa < 0 || sb < 0) continue;
    if (sa !== before[0]) categoryBytesAt(base.run, sa, a);
    if (sb !== before[1]) categoryBytesAt(other.run, sb, b);
    before = [sa, sb];
    for (let c = 0; c < rows.length; c++) rows[c][column] = (b[places[1][c]] ?? 0) - (a[places[0][c]] ?? 0);
  }
  return { rows, states };
}

/** The strip for one pair of runs. */
export class DifferenceStrip {
  /**
   * @param {import('./stage.js').Stage} base
   * @param {import('./stage.js').Stage} other
   * @param {() => import('../answers/alignment.js').Alignment} alignment of the base with the other, on the axis that
   *   is shown
   */
  constructor(base, other, alignment) {
    this.base = base;
    this.other = other;
    this.alignment = alignment;
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas', { role: 'img' }));
    this.frame = element('div', { class: 'difference-rows' }, this.canvas);
    this.legend = element('p', { class: 'muted small difference-legend' });
    this.element = element(
      'section',
      { class: 'strip' },
      element(
        'div',
        { class: 'strip-title' },
        element('h2', {}, `${other.run.short} − ${base.run.short}`),
        this.legend,
      ),
      this.frame,
    );
    /** The categories that either run has. */
    this.categories = categoriesOf([base.run.snapshot, other.run.snapshot]);
    this.present = this.categories
      .map((_, c) => c)
      .filter((c) =>
        [base, other].some(({ run }) =>
          run.peak.categories.some((group) => group.key === this.categories[c] && group.bytes > 0),
        ),
      );
  }

  draw() {
    const { scene } = this.base;
    if (scene === null) return;
    const {
      geometry: { width, plot },
      theme,
      pixelRatio,
    } = scene;
    const n = Math.round(plot.w);
    const { rows } = differenceColumns(this.base, this.other, this.alignment(), n);
    const isSame = (/** @type {number} */ c) =>
      rows[c].every((bytes) => !(bytes !== 0 && Number.isFinite(bytes)));
    const shown = this.present.filter((c) => !isSame(c));
    const same = this.present.filter(isSame);
    const height = shown.length * STRIP_ROW;
    this.frame.style.height = `${height}px`;
    this.canvas.width = Math.round(width * pixelRatio);
    this.canvas.height = Math.round(height * pixelRatio);
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
    context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    let most = 1;
    for (const row of rows) for (const bytes of row) if (Math.abs(bytes) > most) most = Math.abs(bytes);
    shown.forEach((c, i) =>
      this.drawRow(context, rows[c], i * STRIP_ROW, most, plot, theme, this.categories[c]),
    );
    const names = (/** @type {number[]} */ all) =>
      all.map((c) => categoryText(this.categories[c])).join(', ');
    this.legend.replaceChildren(
      shown.length === 0
        ? 'no difference in sight'
        : `up: ${this.other.run.short} holds more, down: less; half a row is ${formatBytes(most)}${
            same.length > 0 ? `. No difference in sight: ${names(same)}` : ''
          }`,
    );
    this.canvas.setAttribute(
      'aria-label',
      `Differences of bytes per category, ${shown
        .map((c) => {
          const span = [...rows[c]].filter(Number.isFinite);
          return `${categoryText(this.categories[c])} ${formatBytes(Math.min(0, ...span))} to ${formatBytes(Math.max(0, ...span))}`;
        })
        .join(', ')}`,
    );
  }

  /**
   * One category: a middle line with more above it and less below.
   * @param {CanvasRenderingContext2D} context
   * @param {Float64Array} row
   * @param {number} top
   * @param {number} most bytes
   * @param {{x: number, w: number}} plot
   * @param {import('../draw/scene.js').Theme} theme
   * @param {string} category
   */
  drawRow(context, row, top, most, plot, theme, category) {
    const middle = top + STRIP_ROW / 2;
    const half = STRIP_ROW / 2 - 2;
    context.fillStyle = theme.grid;
    context.fillRect(plot.x, middle - 0.5, plot.w, 1);
    let largest = 0;
    for (let x = 0; x < row.length; x++) {
      const bytes = row[x];
      if (!Number.isFinite(bytes) || bytes === 0) continue;
      if (Math.abs(bytes) > Math.abs(largest)) largest = bytes;
      const rows = Math.max(1, (Math.abs(bytes) / most) * half);
      context.fillStyle = bytes > 0 ? MORE : LESS;
      context.fillRect(plot.x + x, bytes > 0 ? middle - rows : middle, 1, rows);
    }
    context.font = '10.5px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    context.fillStyle = categoryColour(category);
    context.fillRect(plot.x - 5, top + 4, 3, STRIP_ROW - 8);
    context.fillStyle = theme.muted;
    context.fillText(fitText(context, SHORT_NAMES.get(category) ?? category, plot.x - 9), plot.x - 9, middle);
    const text = largest === 0 ? 'the same' : `${largest > 0 ? '+' : ''}${formatBytes(largest)} at most`;
    context.textAlign = 'right';
    context.lineWidth = 4;
    context.lineJoin = 'round';
    context.strokeStyle = theme.bg;
    context.strokeText(text, plot.x + plot.w - 4, middle);
    context.fillStyle = theme.ink;
    context.fillText(text, plot.x + plot.w - 4, middle);
  }
}

/** The texts that fit beside a plot. */
const SHORT_NAMES = new Map(BUILT_IN.map(({ name, text, short = text }) => [name, short]));
