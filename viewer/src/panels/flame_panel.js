/* flame_panel.js - the flame graph on a canvas: a click zooms, a tooltip describes the frame under pointer or
 * keyboard, and the blocks below a frame can be isolated in the timelines.
 */
import { copyText } from '../elements/clipboard.js';
import { inkOn } from '../words/colours.js';
import { textTable } from '../words/csv.js';
import { byId, element, pushButton } from '../elements/dom.js';
import {
  blocksUnder,
  buildFlame,
  FLAME,
  flamePath,
  flameRows,
  flameText,
  followPath,
  nodeAt,
} from '../answers/flame.js';
import { framePlace } from '../run/frames.js';
import { amountText, groupsOfBlocks, selectBlocks, makeInstantBar, whatText } from './instant.js';
import { pageTheme } from '../timelines/timelines.js';
import { formatBytes, formatCount, formatExactBytes, formatShare } from '../words/text.js';
import { hideTooltip, showTooltip } from '../elements/tooltip.js';

const FLAME_ROW = 21; // CSS pixels
const FLAME_STRIPE = 4; // CSS pixels: the stripe that shows the groups in a frame
const LEAST_FRAME = 0.4; // CSS pixels: narrower frames, and all above them, are not drawn
const FRAME_TEXT = 26; // CSS pixels: narrower frames have no text
const LISTED_FRAMES = 0.005; // share of all bytes below which the list in words leaves frames out

/** The panel. */
class FlamePanel {
  /** @param {import('../elements/store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.isUnfolded = false;
    this.width = 0; // CSS pixels; cached, because reading it forces a layout
    this.isUpward = false; // the outermost frame is at the bottom
    /** @type {number[]} path of the node that fills the width */
    this.zoomPath = [];
    this.zoomed = 0;
    /** The node at the keyboard's cursor, and the one under the pointer; -1: none. */
    this.at = -1;
    this.under = -1;
    /** @type {import('./instant.js').Selection | null} */
    this.selection = null;
    /** @type {import('../answers/flame.js').Flame} */
    this.flame = { nodes: [], depth: 0 };
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas', { 'aria-hidden': 'true' }));
    this.frame = element(
      'div',
      { class: 'flame-frame', tabindex: '0', role: 'application', 'aria-roledescription': 'flame graph' },
      this.canvas,
    );
    this.scroll = element('div', { class: 'flame-scroll' }, this.frame);
    this.summary = element('p', { class: 'panel-summary' });
    this.list = element('details', { class: 'flame-list' }, element('summary', {}, 'the same in words'));
    this.isolate = pushButton('isolate', () => this.pick(this.chosen()), {
      title: 'Show only the blocks below this frame in the timelines (Shift and click, or Shift and Enter)',
    });
    this.out = pushButton('zoom out', () => this.zoomTo(0), { title: 'Back to all blocks (Esc)' });
    this.element = element(
      'div',
      { class: 'flame-panel' },
      this.makeBar(),
      this.summary,
      this.scroll,
      this.list,
    );
    this.listen();
    store.on(['runs', 'shown', 'cursor', 'range', 'instant', 'hidden', 'colourBy'], () => this.update());
  }

  makeBar() {
    const check = (
      /** @type {string} */ text,
      /** @type {string} */ title,
      /** @type {(isOn: boolean) => void} */ change,
    ) => {
      const input = /** @type {HTMLInputElement} */ (element('input', { type: 'checkbox' }));
      input.addEventListener('change', () => {
        change(input.checked);
        this.update();
      });
      return element('label', { class: 'check', title }, input, text);
    };
    const done = element('span', { class: 'muted small', role: 'status' });
    const copy = pushButton(
      'copy',
      async () => {
        done.textContent = (await copyText(this.asText(0))) ? 'copied' : 'the browser did not allow it';
      },
      { title: 'Copy the whole graph as text' },
    );
    return element(
      'div',
      { class: 'panel-bar' },
      makeInstantBar(this.store),
      check(
        'all frames',
        'Show the frames of libraries and of the tool one by one',
        (isOn) => (this.isUnfolded = isOn),
      ),
      check('upward', 'Put the outermost frame at the bottom', (isOn) => (this.isUpward = isOn)),
      element('span', { class: 'spring' }),
      done,
      this.out,
      this.isolate,
      copy,
    );
  }

  listen() {
    const { frame, list } = this;
    const target = (/** @type {MouseEvent} */ event) => {
      const box = this.canvas.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top) / FLAME_ROW);
      return nodeAt(
        this.flame,
        this.zoomed,
        (event.clientX - box.left) / box.width,
        this.isUpward ? this.flame.depth - 1 - row : row,
      );
    };
    frame.addEventListener('pointermove', (event) => this.point(target(event), event.clientX, event.clientY));
    frame.addEventListener('pointerleave', () => this.point(-1, 0, 0));
    frame.addEventListener('click', (event) => {
      const node = target(event);
      if (node < 0) return;
      this.at = node;
      if (event.shiftKey) this.pick(node);
      else this.zoomTo(node === this.zoomed ? 0 : node);
    });
    frame.addEventListener('keydown', (event) => this.onKey(event));
    frame.addEventListener('blur', () => hideTooltip());
    list.addEventListener('toggle', () => this.fillList());
    new ResizeObserver(() => {
      this.width = this.scroll.clientWidth;
      this.draw();
    }).observe(this.scroll);
  }

  show() {
    this.update();
  }

  update() {
    if (this.element.hidden) return;
    const state = this.store.get();
    const selection = selectBlocks(state);
    if (selection?.run !== this.selection?.run) this.zoomPath = [];
    const at = this.at > 0 && this.at < this.flame.nodes.length ? flamePath(this.flame, this.at) : [];
    this.selection = selection;
    this.scroll.hidden = selection === null;
    if (selection === null) {
      this.summary.textContent = 'Nothing was recorded.';
      return;
    }
    const { run, whole } = selection;
    this.flame = buildFlame(run, whole.blocks, this.isUnfolded, groupsOfBlocks(state).groupOf);
    this.zoomed = followPath(this.flame, this.zoomPath);
    this.at = this.at < 0 ? -1 : followPath(this.flame, at);
    this.under = -1;
    this.summary.replaceChildren(
      element('b', { title: formatExactBytes(whole.bytes) }, formatBytes(whole.bytes)),
      amountText(selection).slice(formatBytes(whole.bytes).length),
      element('span', { class: 'muted' }, `; ${whatText(selection)}`),
    );
    this.frame.setAttribute(
      'aria-label',
      `Bytes by call stack: ${amountText(selection)}; ${whatText(selection)}. Arrows go from frame to frame, Enter zooms, Shift and Enter isolates. The list below says the same in words.`,
    );
    this.fillList();
    this.draw();
  }

  /** The node that buttons act on: the keyboard's, else the zoomed one. */
  chosen() {
    return this.at > 0 ? this.at : this.zoomed;
  }

  /** @param {number} node */
  zoomTo(node) {
    this.zoomed = node;
    this.zoomPath = flamePath(this.flame, node);
    this.draw();
  }

  draw() {
    const { flame, selection, canvas } = this;
    const width = this.width || this.scroll.clientWidth;
    const height = flame.depth * FLAME_ROW;
    if (this.element.hidden || selection === null || width === 0 || flame.nodes.length === 0) return;
    const ratio = window.devicePixelRatio || 1;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.frame.style.height = `${height}px`;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '12px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = 'middle';
    this.drawNodes(context, width);
    this.out.disabled = this.zoomed === 0;
    this.isolate.disabled = this.chosen() <= 0;
  }

  /**
   * The rectangle of a node.
   * @param {import('../answers/flame.js').FlameNode} node
   * @param {number} width
   */
  boxOf(node, width) {
    const { nodes, depth } = this.flame;
    const zoomed = nodes[this.zoomed];
    const total = Math.max(1, zoomed.bytes);
    const isAround = node.depth <= zoomed.depth;
    const x = isAround ? 0 : ((node.from - zoomed.from) / total) * width;
    const w = isAround ? width : (node.bytes / total) * width;
    return { x, y: (this.isUpward ? depth - 1 - node.depth : node.depth) * FLAME_ROW, w, h: FLAME_ROW - 1 };
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} width
   */
  drawNodes(context, width) {
    const { nodes } = this.flame;
    const theme = pageTheme();
    const { groups } = groupsOfBlocks(this.store.get());
    const pending = [this.zoomed];
    for (let i = nodes[this.zoomed].parent; i >= 0; i = nodes[i].parent)
      this.drawNode(context, i, width, theme, groups);
    while (pending.length > 0) {
      const i = /** @type {number} */ (pending.pop());
      if (this.boxOf(nodes[i], width).w < LEAST_FRAME) continue;
      this.drawNode(context, i, width, theme, groups);
      pending.push(...nodes[i].children);
    }
  }

  /**
   * Draws a node. A frame with blocks of one group has the group's colour; the colours of several groups
   * stand side by side below the name.
   * @param {CanvasRenderingContext2D} context
   * @param {number} i node
   * @param {number} width
   * @param {import('../draw/scene.js').Theme} theme
   * @param {import('../draw/stacking.js').StackGroup[]} groups
   */
  drawNode(context, i, width, theme, groups) {
    const { nodes } = this.flame;
    const node = nodes[i];
    const { x, y, w, h } = this.boxOf(node, width);
    const inner = Math.max(w - 1, Math.min(w, 0.6));
    const shares = [...node.groups].sort((a, b) => a[0] - b[0]);
    const isPlain = shares.length === 1 && node.frame >= 0;
    const isAround = node.depth < nodes[this.zoomed].depth;
    const ground = isPlain
      ? groups[shares[0][0]].colour
      : node.frame === FLAME.FOLDED
        ? theme.lane
        : theme.laneAlt;
    context.globalAlpha = isAround ? 0.6 : 1;
    context.fillStyle = ground;
    context.fillRect(x, y, inner, h);
    if (!isPlain) {
      let left = x;
      for (const [group, bytes] of shares) {
        const part = (bytes / Math.max(1, node.bytes)) * inner;
        context.fillStyle = groups[group].colour;
        context.fillRect(left, y + h - FLAME_STRIPE, part, FLAME_STRIPE);
        left += part;
      }
    }
    context.globalAlpha = 1;
    if (w >= FRAME_TEXT)
      this.drawText(
        context,
        node,
        x,
        y + (isPlain ? h : h - FLAME_STRIPE) / 2 + 0.5,
        inner,
        isPlain && !isAround ? inkOn(ground) : node.frame === FLAME.FOLDED ? theme.muted : theme.ink,
      );
    if (i === this.at || i === this.under) {
      context.strokeStyle = i === this.at ? theme.accent : theme.ink;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(1, inner - 2), h - 2);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import('../answers/flame.js').FlameNode} node
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {string} ink
   */
  drawText(context, node, x, y, width, ink) {
    const { run } = /** @type {import('./instant.js').Selection} */ (this.selection);
    const name = flameText(run, node);
    const room = width - 10;
    const full = `${name}  ${formatBytes(node.bytes)}`;
    const text = context.measureText(full).width <= room ? full : name;
    context.save();
    context.beginPath();
    context.rect(x, y - FLAME_ROW, width - 3, 2 * FLAME_ROW);
    context.clip();
    context.fillStyle = ink;
    context.fillText(text, x + 5, y);
    context.restore();
  }

  /**
   * Describes a node.
   * @param {number} i
   * @returns {HTMLElement[]}
   */
  facts(i) {
    const { run, whole } = /** @type {import('./instant.js').Selection} */ (this.selection);
    const { nodes } = this.flame;
    const node = nodes[i];
    const place = node.frame < 0 ? '' : framePlace(run.snapshot, node.frame);
    const parent = nodes[Math.max(0, node.parent)];
    const shares = [
      `${formatShare(node.bytes / Math.max(1, whole.bytes))} of all`,
      ...(node.depth > 1 ? [`${formatShare(node.bytes / Math.max(1, parent.bytes))} of its caller`] : []),
    ];
    return [
      element('p', { class: 'block-name' }, flameText(run, node)),
      ...(place ? [element('p', { class: 'muted small' }, place)] : []),
      element(
        'p',
        {},
        element('b', {}, formatBytes(node.bytes)),
        ` = ${formatExactBytes(node.bytes)} in ${formatCount(node.count)} block${node.count === 1 ? '' : 's'}`,
      ),
      element(
        'p',
        { class: 'muted' },
        `${shares.join(', ')}${node.ownBytes > 0 && node.children.length > 0 ? `; ${formatBytes(node.ownBytes)} allocated by itself` : ''}`,
      ),
    ];
  }

  /**
   * @param {number} node -1: none
   * @param {number} clientX
   * @param {number} clientY
   */
  point(node, clientX, clientY) {
    if (this.under !== node) {
      this.under = node;
      this.draw();
    }
    if (node < 0 || this.selection === null) hideTooltip();
    else showTooltip(this.facts(node), clientX, clientY);
  }

  /**
   * Moves the keyboard's cursor to a node.
   * @param {number} node
   */
  goTo(node) {
    if (node < 0) return;
    this.at = node;
    this.draw();
    const box = this.boxOf(this.flame.nodes[node], this.width);
    const around = this.canvas.getBoundingClientRect();
    this.scroll.scrollTop = Math.max(
      box.y + FLAME_ROW - this.scroll.clientHeight,
      Math.min(this.scroll.scrollTop, box.y),
    );
    const facts = this.facts(node);
    byId('live').textContent = facts.map((fact) => fact.textContent).join(', ');
    showTooltip(facts, around.left + box.x, around.top + box.y + FLAME_ROW - this.scroll.scrollTop);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.flame.nodes.length === 0) return;
    const { nodes } = this.flame;
    const at = this.at < 0 ? this.zoomed : this.at;
    const node = nodes[at];
    const siblings = node.parent < 0 ? [at] : nodes[node.parent].children;
    const inward = () => this.goTo(node.children[0] ?? at);
    const outward = () => this.goTo(Math.max(0, node.parent));
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: this.isUpward ? outward : inward,
      ArrowUp: this.isUpward ? inward : outward,
      ArrowLeft: () => this.goTo(siblings[Math.max(0, siblings.indexOf(at) - 1)]),
      ArrowRight: () => this.goTo(siblings[Math.min(siblings.length - 1, siblings.indexOf(at) + 1)]),
      Home: () => this.goTo(0),
      Enter: () => (event.shiftKey ? this.pick(at) : this.zoomTo(at === this.zoomed ? 0 : at)),
      Escape: () => this.zoomTo(0),
    };
    if (!(event.key in keys) || (event.key === 'Escape' && this.zoomed === 0)) return;
    event.preventDefault();
    keys[event.key]();
  }

  /**
   * Isolates the blocks below a node, or shows all again.
   * @param {number} node
   */
  pick(node) {
    if (this.selection === null || node <= 0) return;
    const { run } = this.selection;
    const path = flamePath(this.flame, node);
    const { isUnfolded } = this;
    /** @type {Map<import('../run/run.js').Run, Uint8Array>} */
    const known = new Map();
    const ofRun = (/** @type {import('../run/run.js').Run} */ any) => {
      let mask = known.get(any);
      if (mask === undefined) known.set(any, (mask = blocksUnder(any, run, path, isUnfolded)));
      return mask;
    };
    const label = `under ${flameText(run, this.flame.nodes[node])}`;
    this.store.set({ pick: this.store.get().pick?.label === label ? null : { label, ofRun } });
  }

  /** Fills the list in words if it is open. */
  fillList() {
    if (!this.list.hasAttribute('open') || this.selection === null) return;
    const { run, whole } = this.selection;
    const rows = flameRows(run, this.flame, LISTED_FRAMES).map(({ depth, text, bytes, count }) => {
      const row = element(
        'li',
        {},
        text,
        element(
          'span',
          { class: 'muted' },
          `  ${formatBytes(bytes)}, ${formatShare(bytes / Math.max(1, whole.bytes))}, ${formatCount(count)} block${count === 1 ? '' : 's'}`,
        ),
      );
      row.style.paddingLeft = `${depth * 14}px`;
      return row;
    });
    const note = `Frames with less than ${formatShare(LISTED_FRAMES)} of all bytes are left out here; copy has them all.`;
    this.list.replaceChildren(
      this.list.children[0],
      element('ul', {}, ...rows),
      element('p', { class: 'muted small' }, note),
    );
  }

  /** @param {number} least share of all bytes */
  asText(least) {
    if (this.selection === null) return '';
    const { run, whole } = this.selection;
    const rows = flameRows(run, this.flame, least).map(({ depth, text, bytes, count }) => [
      `${'  '.repeat(depth)}${text}`,
      bytes,
      formatShare(bytes / Math.max(1, whole.bytes)),
      count,
    ]);
    return `${this.summary.textContent}\n\n${textTable([['frame', 'bytes', 'share', 'blocks'], ...rows])}\n`;
  }
}

/**
 * @param {import('../elements/store.js').Store} store
 * @returns {import('./dock.js').DockPanel}
 */
export function makeFlamePanel(store) {
  const panel = new FlamePanel(store);
  return { element: panel.element, show: () => panel.show() };
}
