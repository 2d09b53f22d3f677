/* rank_page.js - the page of ranks: the heat map of their peaks by step, their timelines on one clock, two of
 * them compared, and the table.
 */
import { byId, card, element, pushButton } from '../elements/dom.js';
import { beforePicture } from '../elements/frame.js';
import {
  capacityText,
  drawHeat,
  drawScale,
  drawTimeline,
  prepareCanvas,
  themeColour,
} from './rank_canvas.js';
import { bytesText, foldLines, pairCard, ranksSubtitle, rankTable } from './rank_cards.js';
import {
  clockOf,
  foldName,
  foldRanks,
  groupings,
  heatOf,
  ranksAnswer,
  ranksHeadline,
  scaleOf,
  usualPair,
} from './rank_rows.js';
import { formatBytes, formatDuration, formatPlural } from '../words/text.js';
import { hideTooltip, showTooltip } from '../elements/tooltip.js';

/** @typedef {import('./rank_rows.js').Fold} Fold */

const LABEL_WIDTH = 96; // CSS pixels, of the names beside rows
const MOST_HEAT = 620; // CSS pixels of height
const ROW = 46; // CSS pixels of a timeline
const TIMELINES = 24; // shown at first, and added by the button

/**
 * @param {string} label
 * @param {string} title
 * @param {[string, string][]} options value and text
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
function choiceOf(label, title, options, chosen, choose) {
  const select = /** @type {HTMLSelectElement} */ (
    element(
      'select',
      { 'aria-label': title },
      ...options.map(([value, text]) => element('option', { value }, text)),
    )
  );
  select.value = chosen;
  select.addEventListener('change', () => choose(select.value));
  return element('label', { class: 'check' }, label, select);
}

export class RankPage {
  /** @param {import('../engine/rank_digests.js').Rank[]} ranks at least one */
  constructor(ranks) {
    this.ranks = ranks;
    /** @type {import('./rank_rows.js').Choice} */
    this.choice = { groupBy: '', orderBy: 'rank', isFolded: true };
    this.isByOrder = false; // colours
    this.folds = foldRanks(ranks, this.choice);
    this.heat = heatOf(this.folds);
    this.heatCanvas = /** @type {HTMLCanvasElement} */ (element('canvas', { 'aria-hidden': 'true' }));
    this.scaleCanvas = /** @type {HTMLCanvasElement} */ (element('canvas', { 'aria-hidden': 'true' }));
    this.stripCanvas = /** @type {HTMLCanvasElement} */ (element('canvas', { 'aria-hidden': 'true' }));
    this.mark = element('div', { class: 'rank-mark', hidden: '' });
    this.labels = element('div', { class: 'rank-labels', 'aria-hidden': 'true' });
    this.axis = element('p', { class: 'rank-axis muted small' });
    this.frame = element(
      'div',
      {
        class: 'rank-frame',
        tabindex: '0',
        role: 'group',
        'aria-label': 'Heat map of the peak by rank and step: arrow keys move, Enter compares',
      },
      this.heatCanvas,
      this.mark,
    );
    this.scaleText = element('span', { class: 'small' });
    this.controls = element('div', { class: 'controls' });
    this.stripNote = element('p', { class: 'muted small' });
    this.more = pushButton('', () => {
      this.nTimelines += TIMELINES;
      this.draw();
    });
    this.table = element('div', { class: 'scroll' });
    this.pairPlace = element('div', { id: 'rank-pair' });
    this.nTimelines = TIMELINES;
    this.cursor = { row: 0, column: 0 };
    /** @type {Fold[]} the one or two that are compared, the older first */
    this.pair = [];
    this.drawSoon = () => this.draw();
    this.build();
    this.refold();
    this.pair = usualPair(this.folds) ?? [];
    this.showPair();
  }

  build() {
    const main = byId('ranks');
    const answer = ranksAnswer(this.ranks);
    main.replaceChildren(
      ...(answer.length > 0 ? [card('Explained', ...answer.map((text) => element('p', {}, text)))] : []),
      card(
        'Peak by rank and step',
        this.controls,
        element('div', { class: 'rank-heat' }, this.labels, this.frame),
        this.axis,
        element('p', { class: 'rank-scale' }, this.scaleCanvas, this.scaleText),
      ),
      this.pairPlace,
      card('Timelines on one clock', this.stripNote, this.stripCanvas, this.more),
      card('All ranks', this.table),
    );
    main.hidden = false;
    byId('subtitle').textContent = ranksSubtitle(this.ranks);
    byId('headline').textContent = ranksHeadline(this.ranks);
    document.title = `${formatPlural(this.ranks.length, 'rank')} – tidemark`;
    this.listen();
  }

  listen() {
    this.frame.addEventListener('pointermove', (event) => {
      this.cursor = this.cellAt(event);
      this.showCell(event.clientX, event.clientY);
    });
    this.frame.addEventListener('pointerleave', hideTooltip);
    this.frame.addEventListener('click', (event) => {
      this.cursor = this.cellAt(event);
      this.choose(this.folds[this.cursor.row]);
    });
    this.frame.addEventListener('keydown', (event) => this.press(event));
    this.stripCanvas.addEventListener('click', (event) => {
      const fold = this.folds[Math.floor(event.offsetY / ROW)];
      if (fold !== undefined) this.choose(fold);
    });
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const moves = /** @type {Record<string, [number, number]>} */ ({
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-16, 0],
      PageDown: [16, 0],
    });
    const move = moves[event.key];
    if (event.key === 'Enter') this.choose(this.folds[this.cursor.row]);
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const within = (/** @type {number} */ at, /** @type {number} */ n) => Math.max(0, Math.min(n - 1, at));
    this.cursor = {
      row: within(this.cursor.row + move[0], this.heat.nRows),
      column: within(this.cursor.column + move[1], this.heat.steps.length),
    };
    const box = this.frame.getBoundingClientRect();
    const { row, column } = this.cursor;
    this.showCell(
      box.left + ((column + 0.5) * box.width) / Math.max(1, this.heat.steps.length),
      box.top + ((row + 0.5) * box.height) / this.heat.nRows,
    );
    byId('live').textContent = this.cellLines().join('. ');
  }

  /** @param {MouseEvent} event */
  cellAt(event) {
    const box = this.frame.getBoundingClientRect();
    const index = (/** @type {number} */ share, /** @type {number} */ n) =>
      Math.max(0, Math.min(n - 1, Math.floor(share * n)));
    return {
      row: index((event.clientY - box.top) / box.height, this.heat.nRows),
      column: index((event.clientX - box.left) / box.width, this.heat.steps.length),
    };
  }

  cellLines() {
    const { row, column } = this.cursor;
    const fold = this.folds[row];
    const { steps, cells } = this.heat;
    const bytes = cells[row * steps.length + column] ?? -1;
    const step = steps.length === 0 ? 'no steps recorded' : `step ${steps[column]}: ${bytesText(bytes)}`;
    return [foldName(fold), step, ...foldLines(fold)];
  }

  /**
   * @param {number} clientX
   * @param {number} clientY
   */
  showCell(clientX, clientY) {
    const [name, ...lines] = this.cellLines();
    const { row, column } = this.cursor;
    const { nRows, steps } = this.heat;
    this.mark.hidden = false;
    Object.assign(this.mark.style, {
      top: `${(100 * row) / nRows}%`,
      height: `max(3px, ${100 / nRows}%)`,
      left: `${(100 * column) / Math.max(1, steps.length)}%`,
      width: `max(3px, ${100 / Math.max(1, steps.length)}%)`,
    });
    showTooltip(
      [element('div', { class: 'block-name' }, name), ...lines.map((line) => element('div', {}, line))],
      clientX,
      clientY,
    );
  }

  /**
   * Takes a row into the comparison, in place of the older one of the two.
   * @param {Fold | undefined} fold
   */
  choose(fold) {
    if (fold === undefined || this.pair[this.pair.length - 1] === fold) return;
    this.pair = [...this.pair, fold].slice(-2);
    this.showPair();
    byId('live').textContent =
      this.pair.length > 1 ? `${foldName(this.pair[1])} against ${foldName(this.pair[0])}` : '';
  }

  showPair() {
    const [a, b] = this.pair;
    this.pairPlace.replaceChildren(
      b !== undefined
        ? pairCard(a, b)
        : card(
            'Compare two',
            element('p', {}, this.folds.length > 1 ? 'Click two rows.' : 'All ranks have equal figures.'),
          ),
    );
    for (const label of this.labels.children)
      label.classList.toggle(
        'chosen',
        this.pair.some((fold) => foldName(fold) === label.textContent),
      );
  }

  /** Makes the rows anew after a choice. */
  refold() {
    this.folds = foldRanks(this.ranks, this.choice);
    this.heat = heatOf(this.folds);
    this.cursor = { row: 0, column: 0 };
    this.mark.hidden = true;
    this.pair = [];
    const change = (/** @type {Partial<import('./rank_rows.js').Choice>} */ part) => {
      this.choice = { ...this.choice, ...part };
      this.refold();
      this.showPair();
    };
    const folded = pushButton(
      this.choice.isFolded ? 'equal ranks folded' : 'every rank',
      () => {
        change({ isFolded: !this.choice.isFolded });
        /** @type {HTMLElement} */ (this.controls.querySelector('button')).focus();
      },
      { 'aria-pressed': String(this.choice.isFolded), title: 'One row for ranks whose figures are equal' },
    );
    this.controls.replaceChildren(
      folded,
      choiceOf(
        'order',
        'Order of ranks',
        [
          ['rank', 'by rank'],
          ['peak', 'by peak'],
        ],
        this.choice.orderBy,
        (value) => change({ orderBy: value === 'peak' ? 'peak' : 'rank' }),
      ),
      choiceOf(
        'group',
        'Group ranks by',
        [
          ['', 'none'],
          ...groupings(this.ranks).map((name) => /** @type {[string, string]} */ ([name, name])),
        ],
        this.choice.groupBy,
        (value) => change({ groupBy: value }),
      ),
    );
    this.controls.append(
      choiceOf(
        'colours',
        'Colours',
        [
          ['size', 'by size'],
          ['order', 'by order of size'],
        ],
        this.isByOrder ? 'order' : 'size',
        (value) => {
          this.isByOrder = value === 'order';
          beforePicture(this.drawSoon);
        },
      ),
    );
    this.table.replaceChildren(rankTable(this.folds, (fold) => this.choose(fold)));
    beforePicture(this.drawSoon);
  }

  /** Draws both pictures at the size that the page has now. */
  draw() {
    if (byId('ranks').hidden) return;
    const { nRows, steps, least, most } = this.heat;
    const height = Math.max(60, Math.min(MOST_HEAT, nRows * Math.max(1, Math.min(30, 480 / nRows))));
    drawHeat(this.heatCanvas, this.heat, this.folds, {
      height,
      place: scaleOf(this.heat, this.isByOrder),
    });
    this.drawLabels(height / nRows);
    drawScale(this.scaleCanvas);
    this.scaleText.textContent =
      most < 0
        ? 'No steps are recorded.'
        : least === most
          ? `${formatBytes(most)} everywhere`
          : `${formatBytes(least)} to ${formatBytes(most)} allocated; blank: no such step; ✕: out of memory`;
    const shared =
      nRows > height ? `; a line of the picture shows the highest of ${Math.ceil(nRows / height)} rows` : '';
    this.axis.textContent =
      steps.length > 0 ? `steps ${steps[0]} to ${steps[steps.length - 1]}, from left to right${shared}` : '';
    this.drawStrip();
  }

  /** @param {number} rowHeight CSS pixels */
  drawLabels(rowHeight) {
    const every = Math.max(1, Math.ceil(16 / rowHeight));
    this.labels.replaceChildren(
      ...this.folds
        .map((fold, r) => ({ fold, r }))
        .filter(({ r }) => r % every === 0)
        .map(({ fold, r }) => {
          const label = element('span', { title: `${foldName(fold)} ${fold.group}` }, foldName(fold));
          label.style.top = `${(r + 0.5) * rowHeight}px`;
          label.classList.toggle('chosen', this.pair.includes(fold));
          return label;
        }),
    );
  }

  /** The timelines, with the clock that they share. */
  drawStrip() {
    const shown = this.folds.slice(0, this.nTimelines);
    const { context, width, ratio } = prepareCanvas(this.stripCanvas, shown.length * ROW);
    context.scale(ratio, ratio);
    const clock = clockOf(this.ranks);
    const mostBytes = Math.max(
      1,
      ...shown.map(({ first }) => Math.max(first.totalBytes, first.reservedBytes, first.peakBytes)),
    );
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const [i, fold] of shown.entries()) {
      const first = fold.ranks.find((rank) => rank.beginUnixUs >= 0) ?? fold.first;
      const box = { x: LABEL_WIDTH, y: i * ROW + 4, w: width - LABEL_WIDTH, h: ROW - 10 };
      context.fillStyle = themeColour('ink');
      context.fillText(foldName(fold), 0, box.y + box.h / 2, LABEL_WIDTH - 8);
      context.fillStyle = themeColour('grid');
      context.fillRect(box.x, box.y + box.h, box.w, 1);
      if (clock !== null && first.beginUnixUs >= 0 && first.timeNs.length > 0) {
        const place = (/** @type {number} */ timeNs) =>
          (first.beginUnixUs + timeNs / 1000 - clock.beginUs) / (clock.endUs - clock.beginUs);
        drawTimeline(context, first, box, { mostBytes, place });
      } else {
        context.fillStyle = themeColour('muted');
        context.fillText(
          first.timeNs.length > 0 ? 'no clock: its place in time is not known' : 'no timeline recorded',
          box.x + 8,
          box.y + box.h / 2,
          box.w - 8,
        );
      }
    }
    this.sayStrip(clock);
  }

  /** @param {{beginUs: number, endUs: number} | null} clock */
  sayStrip(clock) {
    const nWithout = this.ranks.filter(
      ({ beginUnixUs, timeNs }) => beginUnixUs < 0 || timeNs.length === 0,
    ).length;
    const totals = [...new Set(this.ranks.map(({ totalBytes }) => totalBytes))];
    this.stripNote.textContent = [
      clock === null
        ? 'No rank has a clock.'
        : `${formatDuration((clock.endUs - clock.beginUs) * 1000)} from left to right, from ${new Date(clock.beginUs / 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC.`,
      'Blue: allocated; grey: reserved; ✕: out of memory; dashed:',
      `${totals.length === 1 ? capacityText(totals[0]) : 'the capacity'}.`,
      nWithout > 0 ? `${formatPlural(nWithout, 'rank')} without a place on this clock.` : '',
      this.folds.some(({ ranks }) => ranks.length > 1)
        ? 'Of equal ranks, the first with a clock is drawn.'
        : '',
    ]
      .filter(Boolean)
      .join(' ');
    const left = this.folds.length - this.nTimelines;
    this.more.hidden = left <= 0;
    this.more.textContent = `show ${Math.min(left, TIMELINES)} more of ${left}`;
  }
}
