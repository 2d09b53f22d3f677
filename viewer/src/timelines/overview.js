/* overview.js - the whole run in a strip above its timeline. A window that can be moved and stretched marks
 * the timeline's view, and a range of states filters all panels.
 */
import { element } from '../elements/dom.js';
import { groupPixels } from '../words/colours.js';
import { copyToImage, createRaster, renderRaster } from '../draw/raster.js';
import { spanOfStates, statesOfSpan, withinAxis } from '../run/spans.js';
import { timeTickText } from '../words/ticks.js';
import { formatBytes, formatCount } from '../words/text.js';

const STRIP_HEIGHT = 34; // CSS pixels
const STRIP_DRAG = 4; // a shorter drag is a click
const KEY_SHARE = 0.1; // share of the window that an arrow key moves it by
const ALMOST_ALL = 0.97; // share of the run in the window from which there is no room beside it to drag on

/**
 * The edges that a drag moves: both, one, or those of the range.
 * @typedef {'window' | 'from' | 'to' | 'select' | 'range-from' | 'range-to'} Grip
 */

/** The strip of one run. */
export class Overview {
  /**
   * @param {import('../elements/store.js').Store} store
   * @param {import('./stage.js').Stage} stage
   * @param {number} index of the run
   * @param {() => void} onView called after the stage's view has moved
   */
  constructor(store, stage, index, onView) {
    this.store = store;
    this.stage = stage;
    this.index = index;
    this.onView = onView;
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas'));
    const grip = (/** @type {Grip} */ name) => element('span', { class: 'grip', 'data-grip': name });
    this.window = element(
      'div',
      {
        class: 'window',
        tabindex: '0',
        role: 'slider',
        'aria-orientation': 'horizontal',
        'aria-valuemin': '0',
        'aria-valuemax': '100',
        'data-grip': 'window',
        'aria-label': `Part of ${stage.run.short} that the timeline shows`,
        title:
          'Drag the window to move it, or its edges to stretch it. Drag beside it, or with Shift, to choose a range. Double-click to show the range or the whole run.',
      },
      grip('from'),
      grip('to'),
    );
    this.range = element('div', { class: 'range', hidden: '' }, grip('range-from'), grip('range-to'));
    this.element = element('div', { class: 'overview' }, this.canvas, this.window, this.range);
    /**
     * @type {{grip: Grip, x: number, x0: number, x1: number, moved: boolean} | null} x: its start on the axis
     */
    this.drag = null;
    this.raster = createRaster(1, 1);
    this.image = new ImageData(1, 1);
    this.colours = groupPixels([], '#000000');
    this.listen();
  }

  /**
   * Redraws the run.
   * @param {import('../draw/scene.js').Theme} theme
   */
  resize(theme) {
    const pixelRatio = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.max(1, Math.round(this.element.clientWidth * pixelRatio));
    this.raster = createRaster(width, Math.round(STRIP_HEIGHT * pixelRatio));
    this.image = new ImageData(width, this.raster.height);
    this.canvas.width = width;
    this.canvas.height = this.raster.height;
    this.colours = groupPixels(this.stage.stacking.colouring.groups, theme.bg);
    this.background = theme.bg;
  }

  /** Brings picture, window and range up to date. */
  update() {
    const { axis, stacking, picking, run } = this.stage;
    const { raster } = this;
    if (raster.width < 2 || !run.isRecorded) return;
    if (raster.view !== null && raster.view.stacking.colouring !== stacking.colouring)
      this.colours = groupPixels(stacking.colouring.groups, this.background ?? '#000000');
    const [c0, c1] = renderRaster(raster, axis, {
      x0: axis.lo,
      perColumn: (axis.hi - axis.lo) / raster.width,
      minBytes: 0,
      maxBytes: Math.max(1, stacking.totals[stacking.peakState]) * 1.06,
      bands: true,
      kind: axis.kind,
      stacking,
      picking,
      colours: this.colours,
    });
    if (c1 > c0) {
      copyToImage(raster, new Uint32Array(this.image.data.buffer), 0, raster.width);
      /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d')).putImageData(this.image, 0, 0);
    }
    const { x0, x1 } = this.stage.view;
    this.placeBox(this.window, x0, x1);
    this.window.setAttribute('aria-valuenow', String(Math.round(100 * this.shareOf((x0 + x1) / 2))));
    this.window.setAttribute(
      'aria-valuetext',
      `${this.placeText(x0)} to ${this.placeText(x1)} of ${this.placeText(axis.hi)}`,
    );
    const { range } = this.store.get();
    const isOurs = range !== null && range.run === this.index;
    this.range.hidden = !isOurs;
    if (isOurs && range) {
      const { totals } = run.index;
      this.placeBox(this.range, ...spanOfStates(axis, range));
      this.range.title = `${formatBytes(totals[range.first])} to ${formatBytes(totals[range.last - 1])}; Esc clears it`;
    }
  }

  /** @param {number} x on the axis */
  placeText(x) {
    const { axis } = this.stage;
    const at = Math.max(axis.lo, Math.min(axis.hi, x));
    return axis.kind === 'event'
      ? `event ${formatCount(at)}`
      : timeTickText(at, (axis.hi - axis.lo) / 100, axis.hi);
  }

  /**
   * 0 at the left end of the run, 1 at the right.
   * @param {number} x on the axis
   */
  shareOf(x) {
    const { axis } = this.stage;
    return Math.max(0, Math.min(1, (x - axis.lo) / (axis.hi - axis.lo)));
  }

  /**
   * @param {HTMLElement} box
   * @param {number} x0
   * @param {number} x1 on the axis
   */
  placeBox(box, x0, x1) {
    const left = this.shareOf(x0);
    const width = this.shareOf(x1) - left;
    box.style.left = `${100 * left}%`;
    box.style.width = `${100 * width}%`;
  }

  /**
   * The place on the axis.
   * @param {PointerEvent | MouseEvent} event
   */
  placeOf(event) {
    const box = this.element.getBoundingClientRect();
    const { axis } = this.stage;
    return axis.lo + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * (axis.hi - axis.lo);
  }

  listen() {
    const { element: strip } = this;
    strip.addEventListener('pointerdown', (event) => this.begin(event));
    strip.addEventListener('pointermove', (event) => this.move(event));
    strip.addEventListener('pointerup', (event) => this.end(event));
    strip.addEventListener('pointercancel', () => (this.drag = null));
    strip.addEventListener('dblclick', () => this.zoomToRange());
    this.window.addEventListener('keydown', (event) => this.onKey(event));
  }

  /** @param {PointerEvent} event */
  begin(event) {
    if (event.button !== 0) return;
    const x = this.placeOf(event);
    const { view, axis } = this.stage;
    const target = /** @type {HTMLElement} */ (event.target);
    let grip = /** @type {Grip} */ (target.dataset.grip ?? 'select');
    const isAll = view.x1 - view.x0 >= (axis.hi - axis.lo) * ALMOST_ALL;
    if (event.shiftKey || (grip === 'window' && isAll)) grip = 'select';
    const { range } = this.store.get();
    const [x0, x1] = grip.startsWith('range') && range ? spanOfStates(axis, range) : [view.x0, view.x1];
    this.drag = { grip, x, x0, x1, moved: false };
    this.element.setPointerCapture(event.pointerId);
    event.preventDefault();
    this.window.focus({ preventScroll: true });
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { drag } = this;
    const { axis } = this.stage;
    if (drag === null) return;
    const x = this.placeOf(event);
    const by = x - drag.x;
    const perPixel = (axis.hi - axis.lo) / this.element.clientWidth;
    if (!drag.moved && Math.abs(by) < STRIP_DRAG * perPixel) return;
    drag.moved = true;
    if (drag.grip === 'select') this.select(drag.x, x);
    else if (drag.grip === 'range-from') this.select(drag.x0 + by, drag.x1);
    else if (drag.grip === 'range-to') this.select(drag.x0, drag.x1 + by);
    else if (drag.grip === 'window') this.show(drag.x0 + by, drag.x1 + by);
    else if (drag.grip === 'from') this.show(Math.min(drag.x0 + by, drag.x1 - axis.minSpan), drag.x1);
    else this.show(drag.x0, Math.max(drag.x1 + by, drag.x0 + axis.minSpan));
  }

  /**
   * Moves the window to a click beside it.
   * @param {PointerEvent} event
   */
  end(event) {
    const { drag } = this;
    this.drag = null;
    if (drag === null || drag.moved || drag.grip !== 'select' || event.shiftKey || event.detail > 1) return;
    const { view } = this.stage;
    const half = (view.x1 - view.x0) / 2;
    this.show(drag.x - half, drag.x + half);
  }

  /**
   * @param {number} x0
   * @param {number} x1
   */
  show(x0, x1) {
    this.stage.show(...withinAxis(this.stage.axis, x0, x1));
    this.onView();
  }

  /**
   * @param {number} x0
   * @param {number} x1
   */
  select(x0, x1) {
    const { run, axis } = this.stage;
    const states = statesOfSpan(axis, x0, x1, run.index.nStates);
    if (states !== null) this.store.set({ range: { run: this.index, ...states }, shown: this.index });
  }

  /** The range, or the whole run if there is none. */
  zoomToRange() {
    const { range } = this.store.get();
    const { axis } = this.stage;
    if (range === null || range.run !== this.index) {
      this.stage.showWhole();
      this.onView();
      return;
    }
    const [x0, x1] = spanOfStates(axis, range);
    const margin = (x1 - x0) * 0.02;
    this.show(x0 - margin, x1 + margin);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { view, axis } = this.stage;
    const span = view.x1 - view.x0;
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (way !== undefined && event.shiftKey)
      this.show(view.x0, Math.max(view.x0 + axis.minSpan, view.x1 + way * span * KEY_SHARE));
    else if (way !== undefined) this.show(view.x0 + way * span * KEY_SHARE, view.x1 + way * span * KEY_SHARE);
    else if (event.key === 'PageUp' || event.key === 'PageDown')
      this.show(
        view.x0 + (event.key === 'PageUp' ? -span : span),
        view.x1 + (event.key === 'PageUp' ? -span : span),
      );
    else if (event.key === 'Home') this.show(axis.lo, axis.lo + span);
    else if (event.key === 'End') this.show(axis.hi - span, axis.hi);
    else if (event.key === 'r' || event.key === 'R') this.select(view.x0, view.x1);
    else if (event.key === 'Enter') this.zoomToRange();
    else return;
    event.preventDefault();
  }
}
