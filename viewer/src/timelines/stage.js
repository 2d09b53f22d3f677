/* stage.js - one run on the page: its canvases, its view, and the block or scope under the pointer. */
import { groupPixels } from '../words/colours.js';
import { drawOverlay, drawScene, refreshImage } from '../draw/draw.js';
import { laneItems } from '../run/lanes.js';
import { element } from '../elements/dom.js';
import { blockAt, blocksInColumn, createRaster, outlineOf, renderRaster } from '../draw/raster.js';
import { homeView, implementationText } from '../run/run.js';
import { answerOf } from '../run/sentences.js';
import { failuresOf } from '../run/failures.js';
import { leftOutText, movedHeights, WHOLE_HEIGHT, zoomedHeights } from '../draw/scale.js';
import { heightBesidesPlot, layOut } from '../draw/scene.js';
import { buildPicking } from '../draw/stacking.js';

const BAND_SHARE = 1 / 250; // share of a step per column, above which bands are drawn
const BAND_STATES = 24; // and states per column, above which they are

/**
 * @typedef {{x: number, state: number, block: number, scope: number}} Target the block and scope under a
 *   point; -1: none
 */

/**
 * The frame that holds a timeline's canvases.
 * @param {import('../run/run.js').Run} run
 * @param {'event' | 'time'} kind
 * @param {HTMLCanvasElement[]} canvases
 */
function makeFrame(run, kind, ...canvases) {
  const what = `Memory over ${kind === 'event' ? 'events' : 'time'} of ${run.short}`;
  return element(
    'div',
    {
      class: 'canvases',
      tabindex: '0',
      role: 'application',
      'aria-roledescription': 'timeline',
      'aria-label': `${what}. ${answerOf(run)[0]} Up and down go through the allocations, Enter pins.`,
    },
    ...canvases,
  );
}

/**
 * The title of one of several runs.
 * @param {import('../run/run.js').Run} run
 * @param {HTMLElement} note
 */
function titleLine(run, note) {
  const whose = implementationText(run.snapshot.run.implementation);
  const [first] = answerOf(run);
  return element(
    'div',
    { class: 'run-title' },
    element('h2', { title: run.title }, run.short),
    run.short === run.label ? null : element('span', { class: 'muted small' }, run.label),
    whose === '' || whose === run.short ? null : element('span', { class: 'muted small' }, whose),
    note,
    element('p', { class: 'muted small', title: first }, first),
  );
}

/** The canvases of a run, and its view. */
export class Stage {
  /**
   * @param {import('../run/run.js').Run} run
   * @param {boolean} alone
   * @param {'event' | 'time'} kind
   * @param {import('../run/run.js').Run | null} whole a complete run to align with; null: none
   * @param {import('../draw/stacking.js').Stacking} stacking the groups drawn
   */
  constructor(run, alone, kind, whole, stacking) {
    this.run = run;
    this.stacking = stacking;
    /** @type {import('../draw/stacking.js').Picking | null} */
    this.picking = null;
    /** @type {Uint8Array | null} per block 1 or 0; null: all keep their colours */
    this.isPicked = null;
    /** @type {import('../words/colours.js').Pixels} */
    this.colours = groupPixels([], '#000000');
    /** @type {string | null} */
    this.phase = null;
    /** @type {{x: number, y: number} | null} the keyboard's cursor, in CSS pixels of the frame */
    this.cursor = null;
    this.whole = whole;
    this.axis = run.axes[kind];
    this.view = { x0: 0, x1: 1 };
    this.home = { x0: 0, x1: 1 };
    this.scale = 1; // bytes at its top
    this.heights = WHOLE_HEIGHT;
    this.setAxis(kind);
    this.base = /** @type {HTMLCanvasElement} */ (element('canvas'));
    this.over = /** @type {HTMLCanvasElement} */ (element('canvas'));
    this.image = /** @type {HTMLCanvasElement} */ (element('canvas'));
    this.frame = makeFrame(run, kind, this.base, this.over);
    this.note = element('span', { class: 'note', hidden: '' });
    this.element = element(
      'section',
      { class: 'run' },
      alone ? null : titleLine(run, this.note),
      run.isRecorded
        ? this.frame
        : element(
            'p',
            { class: 'muted no-timeline' },
            'There is no timeline: the run was timed without recording its allocations.',
          ),
    );
    /** @type {import('../draw/scene.js').Scene | null} */
    this.scene = null;
    this.data = new ImageData(1, 1);
    /** @type {import('../draw/draw.js').Marks} */
    this.marks = {
      x: null,
      state: -1,
      block: -1,
      scope: -1,
      pinned: -1,
      spans: [],
      pinnedSpans: [],
      cursor: -1,
      isHeld: false,
      range: null,
    };
  }

  /** @param {string} text about the memory scale; "": none */
  setNote(text) {
    this.note.textContent = text;
    this.note.hidden = text === '';
  }

  /** @param {'event' | 'time'} kind */
  setAxis(kind) {
    this.axis = this.run.axes[kind];
    const [x0, x1] = homeView(this.run, this.axis, this.whole);
    this.home = { x0, x1 };
    this.view = { x0, x1 };
  }

  /**
   * Fits the canvases into the frame.
   * @param {number} plotHeight CSS pixels
   * @param {import('../draw/scene.js').Theme} theme
   */
  resize(plotHeight, theme) {
    if (!this.run.isRecorded) return;
    const height = plotHeight + this.heightBesides();
    this.frame.style.height = `${height}px`;
    const width = this.frame.clientWidth;
    const pixelRatio = Math.min(2, window.devicePixelRatio || 1);
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * pixelRatio);
      canvas.height = Math.round(height * pixelRatio);
      /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')).setTransform(
        pixelRatio,
        0,
        0,
        pixelRatio,
        0,
        0,
      );
    }
    const geometry = layOut(width, height, this.run.lanes, failuresOf(this.run).length > 0);
    const raster = createRaster(
      Math.round(geometry.plot.w * pixelRatio),
      Math.round(geometry.plot.h * pixelRatio),
    );
    this.image.width = raster.width;
    this.image.height = raster.height;
    this.data = new ImageData(raster.width, raster.height);
    const context = /** @type {CanvasRenderingContext2D} */ (this.base.getContext('2d'));
    this.scene = {
      context,
      geometry,
      run: this.run,
      stacking: this.stacking,
      axis: this.axis,
      view: this.view,
      minBytes: 0,
      maxBytes: 1,
      leftOut: '',
      raster,
      theme,
      pixelRatio,
      phase: this.phase,
    };
    this.colours = groupPixels(this.stacking.colouring.groups, theme.bg);
  }

  /**
   * Changes the groups or their colours.
   * @param {import('../draw/stacking.js').Stacking} stacking
   */
  setStacking(stacking) {
    const isOther = this.stacking.colouring !== stacking.colouring;
    this.stacking = stacking;
    if (!isOther) return;
    if (this.scene !== null) this.colours = groupPixels(stacking.colouring.groups, this.scene.theme.bg);
    if (this.isPicked !== null) this.setPick(this.isPicked);
  }

  /**
   * Dims all other blocks.
   * @param {Uint8Array | null} isPicked per block 1 or 0; null: none is dim
   */
  setPick(isPicked) {
    this.isPicked = isPicked;
    this.picking = isPicked === null ? null : buildPicking(this.stacking.grouping, isPicked);
  }

  /** Axis units that a step spans, or the whole run. */
  stepSpan() {
    return this.home.x1 - this.home.x0;
  }

  draw() {
    const { scene } = this;
    if (scene === null) return;
    const { raster } = scene;
    const perColumn = (this.view.x1 - this.view.x0) / raster.width;
    scene.axis = this.axis;
    const middle = (this.view.x0 + this.view.x1) / 2;
    const [s0, s1] = this.axis.states(middle, middle + perColumn * 16);
    const bands = perColumn > this.stepSpan() * BAND_SHARE || (s1 - s0) / 16 > BAND_STATES;
    scene.stacking = this.stacking;
    scene.minBytes = this.scale * this.heights.lo;
    scene.maxBytes = this.scale * this.heights.hi;
    scene.leftOut = leftOutText(this.run, this.scale);
    scene.phase = this.phase;
    const drawn = renderRaster(raster, this.axis, {
      x0: this.view.x0,
      perColumn,
      minBytes: scene.minBytes,
      maxBytes: scene.maxBytes,
      bands,
      kind: this.axis.kind,
      stacking: this.stacking,
      picking: this.picking,
      colours: this.colours,
    });
    const shown = /** @type {import('../draw/raster.js').RasterView} */ (raster.view);
    scene.view = { x0: shown.x0, x1: shown.x0 + perColumn * raster.width };
    const context = /** @type {CanvasRenderingContext2D} */ (this.image.getContext('2d'));
    refreshImage(raster, { canvas: this.image, context, data: this.data }, drawn);
    drawScene(scene, this.image);
    this.outlinePinned();
    this.marks.spans = this.spansOf(this.marks.block);
    this.drawMarks();
  }

  /** @param {number} block -1: none */
  pin(block) {
    this.marks.pinned = block;
    this.outlinePinned();
    this.drawMarks();
  }

  /**
   * @param {number} state selection at; -1: none
   * @param {boolean} isHeld
   */
  setCursor(state, isHeld) {
    if (this.marks.cursor === state && this.marks.isHeld === isHeld) return;
    this.marks.cursor = state;
    this.marks.isHeld = isHeld;
    this.drawMarks();
  }

  /** @param {{first: number, last: number} | null} range of states */
  setRange(range) {
    if (this.marks.range === range) return;
    this.marks.range = range;
    this.drawMarks();
  }

  /** The outline of a block, cached between frames because it costs a walk per column. */
  outlinePinned() {
    this.marks.pinnedSpans = this.spansOf(this.marks.pinned);
  }

  /**
   * The place of a block in the picture.
   * @param {number} block -1: none
   */
  spansOf(block) {
    return this.scene === null || block < 0 ? [] : outlineOf(this.scene.raster, block);
  }

  drawMarks() {
    if (this.scene === null) return;
    const context = /** @type {CanvasRenderingContext2D} */ (this.over.getContext('2d'));
    drawOverlay({ ...this.scene, context }, this.marks);
  }

  /**
   * Zooms by `factor` (below 1: closer) around a point of the frame; null: its middle.
   * @param {number} factor
   * @param {number | null} x CSS pixels
   */
  zoom(factor, x) {
    if (this.scene === null) return;
    const { plot } = this.scene.geometry;
    const { x0, x1 } = this.view;
    const span = x1 - x0;
    const share = x === null ? 0.5 : Math.max(0, Math.min(1, (x - plot.x) / plot.w));
    const widest = Math.max((this.axis.hi - this.axis.lo) * 1.02, this.stepSpan());
    const next = Math.max(this.axis.minSpan, Math.min(widest, span * factor));
    const at = x0 + span * share;
    this.show(at - next * share, at + next * (1 - share));
  }

  /**
   * Zooms vertically by `factor` (below 1: closer) around a point of the frame; null: the middle.
   * @param {number} factor
   * @param {number | null} y CSS pixels
   */
  zoomHeight(factor, y) {
    if (this.scene === null) return;
    const { plot } = this.scene.geometry;
    const share = y === null ? 0.5 : Math.max(0, Math.min(1, 1 - (y - plot.y) / plot.h));
    this.heights = zoomedHeights(this.heights, factor, share, this.scale);
  }

  /**
   * Moves up by a share of the bytes that are shown.
   * @param {number} share
   */
  moveHeight(share) {
    this.heights = movedHeights(this.heights, share);
  }

  /**
   * Pans by a share of the view.
   * @param {number} share
   */
  pan(share) {
    const span = this.view.x1 - this.view.x0;
    this.show(this.view.x0 + span * share, this.view.x1 + span * share);
  }

  /**
   * Shows [x0, x1], moved so that part of the run stays visible.
   * @param {number} x0
   * @param {number} x1
   */
  show(x0, x1) {
    const span = x1 - x0;
    const low = this.axis.lo - span * 0.9;
    const high = this.axis.hi - span * 0.1;
    const left = Math.max(Math.min(low, high), Math.min(Math.max(low, high), x0));
    this.view = { x0: left, x1: left + span };
  }

  /**
   * Moves the view, if necessary, to include a state.
   * @param {number} state
   */
  reveal(state) {
    const { x0, x1 } = this.view;
    const at = this.axis.ofEvent(Math.max(0, state - 1));
    const span = x1 - x0;
    if (at < x0 || at >= x1) this.show(at - span / 2, at + span / 2);
  }

  /** Height of everything except the plot, in CSS pixels. */
  heightBesides() {
    return heightBesidesPlot(this.run.lanes, failuresOf(this.run).length > 0);
  }

  showHome() {
    this.view = { ...this.home };
  }

  showWhole() {
    const margin = (this.axis.hi - this.axis.lo) * 0.01;
    this.view = { x0: this.axis.lo - margin, x1: this.axis.hi + margin };
  }

  /**
   * The place on the axis under a point of the page.
   * @param {number} clientX
   */
  placeAt(clientX) {
    const plot = this.scene?.geometry.plot ?? { x: 0, w: 1 };
    const share = (clientX - this.frame.getBoundingClientRect().left - plot.x) / plot.w;
    return this.view.x0 + share * (this.view.x1 - this.view.x0);
  }

  /**
   * The block and scope under a point of the page.
   * @param {number} clientX
   * @param {number} clientY
   * @returns {Target}
   */
  target(clientX, clientY) {
    const nothing = { x: 0, state: -1, block: -1, scope: -1 };
    if (this.scene === null) return nothing;
    const { geometry, raster, pixelRatio, view } = this.scene;
    const { plot } = geometry;
    const box = this.frame.getBoundingClientRect();
    const x = clientX - box.left;
    const y = clientY - box.top;
    if (x < plot.x || x >= plot.x + plot.w) return { ...nothing, x };
    const column = Math.min(raster.width - 1, Math.floor((x - plot.x) * pixelRatio));
    if (y >= plot.y && y < plot.y + plot.h) {
      const row = Math.max(0, (plot.y + plot.h - y) * pixelRatio - 0.5);
      return { x, state: raster.states[column], block: blockAt(raster, column, row), scope: -1 };
    }
    const perPixel = (view.x1 - view.x0) / plot.w;
    const at = view.x0 + (x - plot.x) * perPixel;
    const lane = geometry.lanes.find((row) => y >= row.y && y < row.y + row.h);
    if (lane === undefined) return { ...nothing, x };
    const items = laneItems(
      this.run.snapshot,
      this.run.extents,
      this.axis,
      lane.lane,
      at - perPixel,
      at + perPixel,
      0,
    );
    const hit = items.find((item) => at >= item.x0 && at < item.x1) ?? items[0];
    return { x, state: -1, block: -1, scope: hit ? hit.scope : -1 };
  }

  /**
   * Moves the keyboard's cursor to the next allocation that is drawn above (1) or below (-1) it, or to the
   * largest (0); at first it is at the peak, or in the middle of the view.
   * @param {-1 | 0 | 1} direction
   */
  moveCursor(direction) {
    if (this.scene === null) return;
    const {
      geometry: { plot },
      raster,
      pixelRatio,
    } = this.scene;
    const at = this.axis.ofEvent(Math.max(0, this.run.peakState - 1));
    const share = (at - this.view.x0) / (this.view.x1 - this.view.x0);
    const x = this.cursor?.x ?? plot.x + plot.w * (share >= 0 && share < 1 ? share : 0.5) + 1;
    const column = Math.max(0, Math.min(raster.width - 1, Math.floor((x - plot.x) * pixelRatio)));
    const drawn = blocksInColumn(raster, column);
    if (drawn.length === 0) return;
    const now =
      this.cursor === null
        ? -1
        : drawn.findIndex(
            ({ hi }) => hi > (plot.y + plot.h - /** @type {{y: number}} */ (this.cursor).y) * pixelRatio,
          );
    const largest = drawn.reduce((a, b) => (b.hi - b.lo > a.hi - a.lo ? b : a));
    const next =
      direction === 0
        ? largest
        : drawn[
            Math.max(
              0,
              Math.min(drawn.length - 1, now < 0 && direction < 0 ? drawn.length - 1 : now + direction),
            )
          ];
    this.cursor = { x, y: plot.y + plot.h - (next.lo + next.hi) / 2 / pixelRatio };
  }
}
