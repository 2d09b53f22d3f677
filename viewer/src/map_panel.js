/* map_panel.js - the memory map: segments and blocks by address at one instant, the free bytes in them, and
 * why the device does not have these.
 */
import { colourSwatch, element, pushButton } from './dom.js';
import { frameText } from './frames.js';
import { blockColours } from './instant.js';
import { layoutAt } from './layout.js';
import { layOutMap, rectAt, scaleToFit } from './map_rows.js';
import { blockFacts } from './panels.js';
import { peakWord } from './peak.js';
import { pageTheme } from './timelines.js';
import { poolText } from './pools.js';
import { poolsTable, streamText } from './pools_table.js';
import { formatBytes, formatCount, formatPlural, formatShare } from './text.js';
import { hideTooltip, showTooltip } from './tooltip.js';

const MAP_ROW = 20;
const MAP_ROW_GAP = 6; // CSS pixels
const ROWS_IN_SIGHT = 10;
const ZOOM_STEP = 1.6;
const MOST_ZOOM = 4096;
const HATCH = 5; // CSS pixels between the lines across pending blocks
const LISTED_SEGMENTS = 12;

/**
 * The rows of the account, in the words of `tidemark summary`.
 * @type {[keyof import('./layout.js').Account, string, string][]}
 */
const ACCOUNT_ROWS = [
  ['asked', 'requested', 'bytes that the program requested'],
  ['rounding', 'rounding', 'bytes added by rounding requests up to 512'],
  ['unsplit', 'unsplit', 'the rest of blocks that were too small to be split'],
  ['pending', 'pending', 'freed, but another stream still uses it'],
  ['splittable', 'cached, held', 'free, in segments that hold blocks: only for requests that fit'],
  ['releasable', 'cached, releasable', 'free segments, which emptying the cache would return to the device'],
  ['unexplained', 'unexplained', 'the recording contradicts itself'],
];

/** The map with its account. */
class MapPanel {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.zoom = 1;
    this.order = /** @type {'address' | 'size' | 'free'} */ ('address');
    /** Index of the rectangle at the keyboard's cursor; -1: none. */
    this.at = -1;
    /**
     * @type {{layout: import('./layout.js').Layout, segments: import('./layout.js').Segment[], rects: import('./map_rows.js').MapRect[], nRows: number} | null}
     */
    this.drawn = null;
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

  /** The run and the state that are shown. */
  instant() {
    const { runs, shown, cursor } = this.store.get();
    const run = runs[cursor?.run ?? shown];
    return {
      run,
      number: cursor?.run ?? shown,
      state: cursor?.state ?? run?.peakState ?? 0,
      isCursor: cursor !== null,
    };
  }

  show() {
    const { run, state, isCursor } = this.instant();
    if (this.element.hidden || run === undefined || !run.isRecorded) return;
    const layout = layoutAt(run, state);
    const segments = [...layout.segments];
    if (this.order === 'size') segments.sort((a, b) => b.bytes - a.bytes);
    if (this.order === 'free') segments.sort((a, b) => b.cachedBytes - a.cachedBytes);
    const width = this.scroll.clientWidth;
    const scale = scaleToFit(segments, width, ROWS_IN_SIGHT) / this.zoom;
    this.drawn = { layout, segments, ...layOutMap(segments, width, scale) };
    this.spacer.style.height = `${this.drawn.nRows * (MAP_ROW + MAP_ROW_GAP)}px`;
    const { splittable, releasable, reserved } = layout.account;
    this.title.replaceChildren(
      element('b', {}, `${formatBytes(reserved)} reserved`),
      ` in ${formatPlural(segments.length, 'segment')} at the ${isCursor ? 'cursor' : peakWord(run)}, ${formatBytes(
        splittable + releasable,
      )} of it free`,
    );
    this.scroll.setAttribute(
      'aria-label',
      `Memory map: ${this.title.textContent}. Left and right go through the blocks, Enter pins.`,
    );
    this.showAccount(run, layout);
    this.draw();
  }

  /** @param {number} zoom */
  setZoom(zoom) {
    this.zoom = Math.max(1, Math.min(MOST_ZOOM, zoom));
    this.show();
  }

  draw() {
    if (this.drawn === null) return;
    const { run, number } = this.instant();
    const { segments, rects } = this.drawn;
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
    const { run } = this.instant();
    const { segments, rects } = /** @type {NonNullable<MapPanel['drawn']>} */ (this.drawn);
    const segment = segments[rects[index].segment];
    const piece = segment.pieces[rects[index].piece];
    const place = element(
      'p',
      { class: 'muted' },
      `at 0x${piece.address.toString(16)} in ${segment.isExpandable ? 'an expandable' : 'a'} segment of ${formatBytes(segment.bytes)} at 0x${segment.address.toString(
        16,
      )}, ${segment.pool} pool${segment.privatePool > 0 ? `, ${poolText(run.snapshot.pools, segment.privatePool)}` : ''}, ${streamText(run, segment.stream)}; ${formatBytes(segment.cachedBytes)} of it free`,
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
    const { segments, rects } = this.drawn;
    const { block } = segments[rects[index].segment].pieces[rects[index].piece];
    const { run, number, state } = this.instant();
    if (run !== undefined && block >= 0)
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

  /**
   * Fills the account of the bytes and the list of segments that hold the most free bytes.
   * @param {import('./run.js').Run} run
   * @param {import('./layout.js').Layout} layout
   */
  showAccount(run, { account, segments }) {
    const rows = ACCOUNT_ROWS.filter(([key]) => account[key] !== 0).map(([key, name, what]) =>
      element(
        'tr',
        { title: what },
        element('th', { scope: 'row' }, name),
        element('td', { class: 'number' }, formatBytes(account[key])),
        element(
          'td',
          { class: 'number muted' },
          formatShare(account.reserved > 0 ? account[key] / account.reserved : 0),
        ),
      ),
    );
    const largest = (/** @type {string} */ pool) =>
      Math.max(
        0,
        ...segments.filter((segment) => segment.pool === pool).map((segment) => segment.largestFreeBytes),
      );
    this.account.replaceChildren(
      element(
        'table',
        { class: 'compare' },
        element('caption', {}, 'Where the reserved bytes are'),
        element('tbody', {}, ...rows),
      ),
      element(
        'p',
        { class: 'muted small' },
        `Largest free block: ${formatBytes(largest('large'))} in the large pool, ${formatBytes(largest('small'))} in the small one. A larger request needs new memory.`,
      ),
      ...poolsTable(run, segments),
      this.heldTable(run, segments),
    );
  }

  /**
   * The segments whose free bytes only smaller requests can use, because a block is in them.
   * @param {import('./run.js').Run} run
   * @param {import('./layout.js').Segment[]} segments
   */
  heldTable(run, segments) {
    const held = segments
      .filter((segment) => segment.cachedBytes > segment.releasableBytes)
      .sort((a, b) => b.cachedBytes - a.cachedBytes);
    if (held.length === 0)
      return element('p', { class: 'muted small' }, 'No segment keeps free memory because of a block in it.');
    const rows = held.slice(0, LISTED_SEGMENTS).map((segment) => this.heldRow(run, segment));
    const others = held.slice(LISTED_SEGMENTS);
    if (others.length > 0) {
      const bytes = others.reduce((sum, segment) => sum + segment.cachedBytes, 0);
      rows.push(
        element(
          'tr',
          {},
          element('th', { scope: 'row', class: 'muted' }, formatPlural(others.length, 'more segment')),
          element('td', { class: 'number muted' }, formatBytes(bytes)),
        ),
      );
    }
    return element(
      'table',
      { class: 'compare' },
      element('caption', {}, 'Free memory that blocks hold'),
      element('tbody', {}, ...rows),
    );
  }

  /**
   * @param {import('./run.js').Run} run
   * @param {import('./layout.js').Segment} segment that holds a block
   */
  heldRow(run, segment) {
    const { blocks } = run.index;
    const held = segment.pieces.filter((piece) => piece.block >= 0);
    const { number, state } = this.instant();
    const keeper = held.reduce((a, b) => (b.bytes > a.bytes ? b : a)).block;
    const stack = blocks.stack[keeper];
    const name =
      blocks.name[keeper] >= 0
        ? run.snapshot.strings[blocks.name[keeper]]
        : stack >= 0
          ? frameText(run.snapshot, run.snapshot.stacks.userFrame[stack])
          : 'no call stack';
    const button = pushButton(
      name,
      () =>
        this.store.set({
          pinned: { run: number, block: keeper },
          cursor: { run: number, state, held: true },
        }),
      { class: 'link', title: `${name}: show this block` },
    );
    return element(
      'tr',
      {},
      element(
        'th',
        { scope: 'row' },
        colourSwatch(blockColours({ ...this.store.get(), shown: number })(keeper)),
        button,
        held.length > 1
          ? element('span', { class: 'muted small' }, ` +${formatCount(held.length - 1)}`)
          : null,
      ),
      element(
        'td',
        { class: 'number', title: `in the segment at 0x${segment.address.toString(16)}` },
        `${formatBytes(segment.cachedBytes)} of ${formatBytes(segment.bytes)}`,
      ),
    );
  }
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
 * @param {import('./store.js').Store} store
 * @returns {import('./dock.js').DockPanel}
 */
export function makeMapPanel(store) {
  const panel = new MapPanel(store);
  return { element: panel.element, show: () => panel.show() };
}
