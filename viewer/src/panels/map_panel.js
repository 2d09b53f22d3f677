/* map_panel.js - the memory map: segments and blocks by address at one instant, and the free bytes in them.
 */
import { element, pushButton } from '../elements/dom.js';
import { blockColours } from './instant.js';
import { layoutAt } from '../run/layout.js';
import { accountOf } from './map_account.js';
import { layOutMap, rectAt, scaleToFit } from '../answers/map_rows.js';
import { blockFacts } from '../timelines/tooltips.js';
import { peakWord } from '../run/peak.js';
import { pageTheme } from '../timelines/timelines.js';
import { poolIdText } from '../run/pools.js';
import { streamText } from './pools_table.js';
import { blocksRunOf } from '../run/segment_run.js';
import { formatBytes, formatPlural } from '../words/text.js';
import { hideTooltip, showTooltip } from '../elements/tooltip.js';

const MAP_ROW = 20;
const MAP_ROW_GAP = 6; // CSS pixels
const ROWS_IN_SIGHT = 10;
const ZOOM_STEP = 1.6;
const MOST_ZOOM = 4096;
const HATCH = 5; // CSS pixels between the lines across pending blocks

/**
 * @typedef {object} Instant
 * @property {import('../run/run.js').Run} run
 * @property {number} number of the run
 * @property {number} state
 * @property {boolean} isCursor false: the peak of the run
 *
 * @typedef {object} Picture
 * @property {import('../run/layout.js').Layout} layout
 * @property {import('../run/layout.js').Segment[]} segments in the order of display
 * @property {import('../answers/map_rows.js').MapRect[]} rects
 * @property {number} nRows
 *
 * @typedef {Instant & Picture} Drawn
 */

/** The map with its account. */
class MapPanel {
  /** @param {import('../elements/store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.zoom = 1;
    this.order = /** @type {'address' | 'size' | 'free'} */ ('address');
    /** Index of the rectangle at the keyboard's cursor; -1: none. */
    this.at = -1;
    /**
     * What is shown, until the layout of another instant is known.
     * @type {Drawn | null}
     */
    this.drawn = null;
    /** @type {Instant | null} whose layout is being computed */
    this.asked = null;
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas', { 'aria-hidden': 'true' }));
    this.spacer = element('div', { class: 'map-spacer' }, this.canvas);
    this.scroll = element(
      'div',
      { class: 'map-scroll', tabindex: '0', role: 'application', 'aria-roledescription': 'memory map' },
      this.spacer,
    );
    this.title = element('p', { class: 'map-title' });
    this.select = /** @type {HTMLSelectElement} */ (
      element(
        'select',
        { 'aria-label': 'Order of the segments' },
        element('option', { value: 'address' }, 'by address'),
        element('option', { value: 'size' }, 'largest first'),
        element('option', { value: 'free' }, 'most free first'),
      )
    );
    const controls = element(
      'div',
      { class: 'controls' },
      this.title,
      this.select,
      pushButton('−', () => this.setZoom(this.zoom / ZOOM_STEP), { 'aria-label': 'Zoom out of the map' }),
      pushButton('+', () => this.setZoom(this.zoom * ZOOM_STEP), { 'aria-label': 'Zoom into the map' }),
      pushButton('fit', () => this.setZoom(1)),
    );
    this.account = element('div', { class: 'map-account' });
    this.element = element(
      'div',
      { class: 'map' },
      element('div', { class: 'map-main' }, controls, this.scroll),
      this.account,
    );
    this.listen();
  }

  listen() {
    this.select.addEventListener('change', () => {
      this.order = /** @type {'address' | 'size' | 'free'} */ (this.select.value);
      this.show();
    });
    this.scroll.addEventListener('scroll', () => this.draw());
    this.scroll.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.setZoom(this.zoom * (event.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP));
      },
      { passive: false },
    );
    this.scroll.addEventListener('pointermove', (event) => this.point(event));
    this.scroll.addEventListener('pointerleave', hideTooltip);
    this.scroll.addEventListener('click', (event) => this.pin(this.indexUnder(event)));
    this.scroll.addEventListener('keydown', (event) => this.onKey(event));
    this.scroll.addEventListener('blur', () => {
      this.at = -1;
      hideTooltip();
      this.draw();
    });
    this.store.on(['cursor', 'runs', 'shown', 'pinned', 'pick', 'colourBy'], () => this.show());
    window.addEventListener('resize', () => this.show());
  }

  /**
   * The run and the state to show.
   * @returns {Instant | null} null: there is no recorded run
   */
  instant() {
    const { runs, shown, cursor } = this.store.get();
    const number = cursor?.run ?? shown;
    const run = runs[number];
    if (run === undefined || !run.isRecorded) return null;
    return { run, number, state: cursor?.state ?? run.peakState, isCursor: cursor !== null };
  }

  show() {
    const now = this.instant();
    if (this.drawn !== null && this.store.get().runs[this.drawn.number] !== this.drawn.run) this.clear('');
    if (this.element.hidden || now === null) return;
    if (this.drawn !== null && isSame(this.drawn, now)) this.arrange(now, this.drawn.layout);
    else if (this.asked === null || fileOf(this.asked) !== fileOf(now)) void this.ask(now);
  }

  /**
   * Asks for a layout, and shows it if it is still wanted. The picture before it stays until then.
   * @param {Instant} wanted
   */
  async ask(wanted) {
    this.asked = wanted;
    if (!fileOf(wanted)?.isOpen) this.title.textContent = 'Reading the file again for the map …';
    let layout = null;
    let problem = '';
    try {
      layout = await layoutAt(wanted.run, wanted.state);
    } catch (thrown) {
      problem = /** @type {Error} */ (thrown).message;
    }
    if (this.asked !== wanted) return; // another file's layout was asked for meanwhile
    this.asked = null;
    const now = this.instant();
    if (now === null || !isSame(wanted, now)) this.show();
    else if (layout === null) this.clear(`The map cannot be shown: ${problem}.`);
    else if (!this.element.hidden) this.arrange(now, layout);
  }

  /** @param {string} sentence in place of the map */
  clear(sentence) {
    this.drawn = null;
    this.title.textContent = sentence;
    this.canvas.width = 0;
    this.spacer.style.height = '';
    this.account.replaceChildren();
  }

  /**
   * @param {Instant} instant
   * @param {import('../run/layout.js').Layout} layout
   */
  arrange(instant, layout) {
    const segments = [...layout.segments];
    if (this.order === 'size') segments.sort((a, b) => b.bytes - a.bytes);
    if (this.order === 'free') segments.sort((a, b) => b.cachedBytes - a.cachedBytes);
    const width = this.scroll.clientWidth;
    const scale = scaleToFit(segments, width, ROWS_IN_SIGHT) / this.zoom;
    this.drawn = { ...instant, layout, segments, ...layOutMap(segments, width, scale) };
    this.spacer.style.height = `${this.drawn.nRows * (MAP_ROW + MAP_ROW_GAP)}px`;
    const { splittable, releasable, reserved } = layout.account;
    this.title.replaceChildren(
      element('b', {}, `${formatBytes(reserved)} reserved`),
      ` in ${formatPlural(segments.length, 'segment')} at the ${instant.isCursor ? 'cursor' : peakWord(instant.run)}, ${formatBytes(
        splittable + releasable,
      )} of it free`,
    );
    this.scroll.setAttribute(
      'aria-label',
      `Memory map: ${this.title.textContent}. Left and right go through the blocks, Enter pins.`,
    );
    this.account.replaceChildren(...accountOf(this.drawn, this.store));
    this.draw();
  }

  /** @param {number} zoom */
  setZoom(zoom) {
    this.zoom = Math.max(1, Math.min(MOST_ZOOM, zoom));
    this.show();
  }

  draw() {
    if (this.drawn === null) return;
    const { run, number, segments, rects } = this.drawn;
    const { pinned, pick } = this.store.get();
    const theme = pageTheme();
    const width = this.scroll.clientWidth;
    const height = this.scroll.clientHeight;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const top = this.scroll.scrollTop;
    this.canvas.style.transform = `translateY(${top}px)`;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
    const picked = pick?.ofRun(run);
    const colourOf = blockColours({ ...this.store.get(), shown: number });
    context.setTransform(ratio, 0, 0, ratio, 0, -top * ratio);
    const first = Math.floor(top / (MAP_ROW + MAP_ROW_GAP));
    const last = Math.ceil((top + height) / (MAP_ROW + MAP_ROW_GAP));
    for (const [i, rect] of rects.entries()) {
      if (rect.row < first || rect.row > last) continue;
      const piece = segments[rect.segment].pieces[rect.piece];
      const y = rect.row * (MAP_ROW + MAP_ROW_GAP) + 1;
      context.globalAlpha = piece.block >= 0 && picked && !picked[piece.block] ? 0.2 : 1;
      context.fillStyle = piece.block < 0 ? theme.lane : colourOf(piece.block);
      context.fillRect(rect.x, y, rect.width, MAP_ROW);
      if (piece.isPending) hatchPiece(context, rect.x, y, rect.width, theme.bg);
      context.globalAlpha = 1;
      context.fillStyle = theme.bg;
      if (!rect.isLast && rect.width > 3) context.fillRect(rect.x + rect.width - 1, y, 1, MAP_ROW);
      context.fillStyle = theme.ink;
      context.fillRect(rect.x, y - 1, rect.width, 1);
      context.fillRect(rect.x, y + MAP_ROW, rect.width, 1);
      if (rect.isFirst) context.fillRect(rect.x, y - 1, 1, MAP_ROW + 2);
      if (rect.isLast) context.fillRect(rect.x + rect.width - 1, y - 1, 1, MAP_ROW + 2);
      if (i === this.at || (pinned?.run === number && piece.block === pinned.block)) {
        context.lineWidth = 3;
        context.strokeStyle = theme.bg;
        context.strokeRect(rect.x + 1.5, y + 1.5, Math.max(1, rect.width - 3), MAP_ROW - 3);
        context.lineWidth = 1.5;
        context.strokeStyle = theme.ink;
        context.strokeRect(rect.x + 1.5, y + 1.5, Math.max(1, rect.width - 3), MAP_ROW - 3);
      }
    }
  }

  /** @param {{clientX: number, clientY: number}} event */
  indexUnder(event) {
    if (this.drawn === null) return -1;
    const box = this.scroll.getBoundingClientRect();
    const y = event.clientY - box.top + this.scroll.scrollTop;
    const rect = rectAt(this.drawn.rects, event.clientX - box.left, Math.floor(y / (MAP_ROW + MAP_ROW_GAP)));
    return rect === null ? -1 : this.drawn.rects.indexOf(rect);
  }

  /** @param {PointerEvent} event */
  point(event) {
    const index = this.indexUnder(event);
    if (index < 0) hideTooltip();
    else showTooltip(this.facts(index), event.clientX, event.clientY);
  }

  /**
   * @param {number} index of a rectangle
   * @returns {(Node | string)[]}
   */
  facts(index) {
    const { run, segments, rects } = /** @type {Drawn} */ (this.drawn);
    const segment = segments[rects[index].segment];
    const piece = segment.pieces[rects[index].piece];
    const place = element(
      'p',
      { class: 'muted' },
      `at 0x${piece.address.toString(16)} in ${segment.isExpandable ? 'an expandable' : 'a'} segment of ${formatBytes(segment.bytes)} at 0x${segment.address.toString(
        16,
      )}, ${segment.pool} pool${segment.poolId === '' ? '' : `, ${poolIdText(segment.poolId)}`}, ${streamText(run, segment.stream)}; ${formatBytes(segment.cachedBytes)} of it free`,
    );
    if (piece.block >= 0)
      return [
        ...(piece.isPending
          ? [element('p', { class: 'muted' }, 'freed, but another stream still uses it')]
          : []),
        ...blockFacts(run, piece.block, 3),
        place,
      ];
    const why =
      segment.cachedBytes === segment.bytes
        ? 'the whole segment is free'
        : 'cached: only requests that fit here can use it';
    return [
      element('p', { class: 'block-name' }, `free ${formatBytes(piece.bytes)}`),
      element('p', { class: 'muted' }, why),
      place,
    ];
  }

  /** @param {number} index of a rectangle */
  pin(index) {
    if (index < 0 || this.drawn === null) return;
    const { number, state, segments, rects } = this.drawn;
    const { block } = segments[rects[index].segment].pieces[rects[index].piece];
    if (block >= 0)
      this.store.set({ pinned: { run: number, block }, cursor: { run: number, state, held: true } });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (this.drawn === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const n = this.drawn.rects.length;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step !== undefined && n > 0) {
      event.preventDefault();
      this.at = Math.max(0, Math.min(n - 1, this.at + step));
      const { row, x } = this.drawn.rects[this.at];
      const y = row * (MAP_ROW + MAP_ROW_GAP);
      const box = this.scroll.getBoundingClientRect();
      if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
      if (y + MAP_ROW > this.scroll.scrollTop + this.scroll.clientHeight)
        this.scroll.scrollTop = y + MAP_ROW - this.scroll.clientHeight + 2;
      this.draw();
      showTooltip(this.facts(this.at), box.left + x, box.top + y - this.scroll.scrollTop + MAP_ROW);
    } else if (event.key === 'Enter' && this.at >= 0) {
      this.pin(this.at);
    } else if (event.key === '+' || event.key === '-') {
      event.preventDefault();
      this.setZoom(event.key === '+' ? this.zoom * ZOOM_STEP : this.zoom / ZOOM_STEP);
    }
  }
}

/**
 * @param {Instant} a
 * @param {Instant} b
 */
function isSame(a, b) {
  return a.run === b.run && a.state === b.state;
}

/** @param {Instant} instant */
function fileOf({ run }) {
  return blocksRunOf(run).layouts;
}

/**
 * Draws lines across blocks that wait for another stream.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {string} colour
 */
function hatchPiece(context, x, y, width, colour) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, MAP_ROW);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  for (let d = -MAP_ROW; d < width; d += HATCH) {
    context.beginPath();
    context.moveTo(x + d, y + MAP_ROW);
    context.lineTo(x + d + MAP_ROW, y);
    context.stroke();
  }
  context.restore();
}

/**
 * @param {import('../elements/store.js').Store} store
 * @returns {import('./dock.js').DockPanel}
 */
export function makeMapPanel(store) {
  const panel = new MapPanel(store);
  return { element: panel.element, show: () => panel.show() };
}
