/* virtual_list.js - a list of any length with elements for visible rows only. Heights beyond the limit of
 * browsers are scaled: the scroll bar covers the whole list, and the wheel still moves by rows.
 */
import { element } from './dom.js';
import { beforePicture } from './frame.js';

const MOST_PIXELS = 8_000_000; // browsers lay out 16 to 33 million

/**
 * @typedef {object} VirtualOptions
 * @property {number} rowHeight CSS pixels
 * @property {HTMLElement} head stays on top
 * @property {number} headHeight CSS pixels
 * @property {() => HTMLElement} makeRow
 * @property {(row: HTMLElement, index: number) => void} fillRow
 */

/** The positions of the list's top and of the scroll bar. */
export class ScaledScroll {
  /** @param {number} rowHeight */
  constructor(rowHeight) {
    this.rowHeight = rowHeight;
    this.count = 0;
    this.height = 0; // height of the view, CSS pixels
    this.offset = 0; // position of the view's top in the list, CSS pixels
  }

  /** Height of the whole list. */
  get total() {
    return this.count * this.rowHeight;
  }

  /** Height that the browser lays out. */
  get laidOut() {
    return Math.min(this.total, MOST_PIXELS);
  }

  get mostOffset() {
    return Math.max(0, this.total - this.height);
  }

  /** @param {number} offset */
  moveTo(offset) {
    this.offset = Math.max(0, Math.min(this.mostOffset, offset));
  }

  /** The position of the scroll bar for the offset. */
  get scrollTop() {
    return this.total <= MOST_PIXELS
      ? this.offset
      : (this.offset / Math.max(1, this.mostOffset)) * (MOST_PIXELS - this.height);
  }

  /**
   * Follows the scroll bar.
   * @param {number} scrollTop
   */
  moveByBar(scrollTop) {
    this.moveTo(
      this.total <= MOST_PIXELS ? scrollTop : (scrollTop / (MOST_PIXELS - this.height)) * this.mostOffset,
    );
  }

  /**
   * Scrolls to a row by the smallest distance, or centres it if it is far away.
   * @param {number} index
   */
  reveal(index) {
    const top = index * this.rowHeight;
    const bottom = top + this.rowHeight;
    if (top >= this.offset && bottom <= this.offset + this.height) return;
    const isNear = Math.abs(top - this.offset) < 2 * this.height;
    this.moveTo(!isNear ? top - this.height / 2 : top < this.offset ? top : bottom - this.height);
  }
}

/** The list. */
export class VirtualList {
  /** @param {VirtualOptions} options */
  constructor(options) {
    this.options = options;
    this.place = new ScaledScroll(options.rowHeight);
    /** @type {HTMLElement[]} */
    this.rows = [];
    this.body = element('div', { class: 'virtual-body', role: 'rowgroup' });
    this.window = element('div', { class: 'virtual-window' }, this.body);
    this.spacer = element('div', { class: 'virtual-spacer' }, options.head, this.window);
    this.element = element('div', { class: 'virtual-list' }, this.spacer);
    this.drawRows = () => this.draw();
    /** Height of the view and position of the scroll bar, cached because reading them forces a layout. */
    this.height = 0;
    this.scrollTop = 0;
    this.element.addEventListener('scroll', () => {
      this.scrollTop = this.element.scrollTop;
      if (Math.abs(this.scrollTop - this.place.scrollTop) >= 1) this.place.moveByBar(this.scrollTop);
      this.ask();
    });
    this.element.addEventListener(
      'wheel',
      (event) => {
        if (event.ctrlKey || event.shiftKey || this.place.total <= MOST_PIXELS || event.deltaY === 0) return;
        event.preventDefault();
        this.place.moveTo(this.place.offset + event.deltaY * (event.deltaMode === 1 ? options.rowHeight : 1));
        this.ask();
      },
      { passive: false },
    );
    new ResizeObserver(() => {
      this.height = this.element.clientHeight;
      this.ask();
    }).observe(this.element);
  }

  /** @param {number} count */
  setCount(count) {
    this.place.count = count;
    this.draw();
  }

  /** @param {number} index */
  reveal(index) {
    this.place.reveal(index);
    this.draw();
  }

  /** The number of rows that fit. */
  get pageRows() {
    return Math.max(1, Math.floor(this.place.height / this.options.rowHeight) - 1);
  }

  ask() {
    beforePicture(this.drawRows);
  }

  draw() {
    if (this.height === 0) this.height = this.element.clientHeight;
    const { place, options } = this;
    const height = this.height - options.headHeight;
    if (height <= 0) return;
    place.height = height;
    place.moveTo(place.offset);
    const laidOut = `${options.headHeight + Math.max(height, place.laidOut)}px`;
    if (this.spacer.style.height !== laidOut) this.spacer.style.height = laidOut;
    if (this.window.style.height !== `${height}px`) this.window.style.height = `${height}px`;
    if (Math.abs(this.scrollTop - place.scrollTop) >= 1) {
      this.element.scrollTop = place.scrollTop;
      this.scrollTop = place.scrollTop;
    }
    const first = Math.floor(place.offset / options.rowHeight);
    const n = Math.min(place.count - first, Math.ceil(height / options.rowHeight) + 1);
    while (this.rows.length < n) {
      this.rows.push(options.makeRow());
      this.body.append(this.rows[this.rows.length - 1]);
    }
    this.rows.forEach((row, i) => {
      row.hidden = i >= n;
      if (i < n) options.fillRow(row, first + i);
    });
    this.body.style.transform = `translateY(${first * options.rowHeight - place.offset}px)`;
  }
}
