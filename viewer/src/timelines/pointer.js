/* pointer.js - mouse, wheel, touch and the keyboard's cursor on the timelines: tooltips, panning, zooming and
 * clicks.
 */
import { byId } from '../elements/dom.js';
import { SCOPE } from '../words/format_names.js';
import { scopeSpan } from '../run/lanes.js';
import { blockFacts, scopeFacts, stateFacts } from './tooltips.js';
import { statesOfSpan } from '../run/spans.js';
import { categoryText, formatBytes } from '../words/text.js';
import { hideTooltip, showTooltip } from '../elements/tooltip.js';

const DRAG_PIXELS = 4; // a shorter move is a click
const REST_MS = 50; // after the last step of a zoom

/** Handles the pointer, and the keyboard's cursor, on the timelines. */
export class Pointer {
  /**
   * @param {import('../elements/store.js').Store} store
   * @param {import('./timelines.js').Timelines} timelines
   */
  constructor(store, timelines) {
    this.store = store;
    this.timelines = timelines;
    /** @type {{stage: import('./stage.js').Stage, x: number, clientX: number, clientY: number} | null} */
    this.at = null;
    /**
     * @type {{stage: import('./stage.js').Stage, clientX: number, clientY: number, from: number | null, moved: boolean} | null}
     *   from: begin of a range on the axis; null: the drag pans
     */
    this.drag = null;
    this.hasPhase = false; // the pointer highlighted the phase in a lane
    this.willPoint = false; // it looks again at its place, once the picture is drawn
    this.restTimer = 0;
  }

  /** Clears what the pointer was on. */
  leave() {
    this.at = null;
    for (const stage of this.timelines.stages) stage.cursor = null;
    this.clear();
  }

  clear() {
    hideTooltip();
    this.pointAtPhase(null, -1);
    for (const stage of this.timelines.stages) {
      stage.marks = { ...stage.marks, x: null, state: -1, block: -1, scope: -1 };
      stage.drawMarks();
    }
    const { cursor } = this.store.get();
    if (cursor !== null && !cursor.held) this.store.set({ cursor: null });
  }

  /** Looks again at the pointer's place after the view has changed. */
  viewChanged() {
    hideTooltip();
    for (const stage of this.timelines.stages)
      stage.marks = { ...stage.marks, block: -1, scope: -1, spans: [] };
  }

  /**
   * Describes the place under the pointer.
   * @param {import('./stage.js').Stage} stage
   * @param {number} clientX
   * @param {number} clientY
   */
  point(stage, clientX, clientY) {
    const target = stage.target(clientX, clientY);
    const { stages } = this.timelines;
    for (const other of stages)
      if (other !== stage && other.marks.x !== null) {
        other.marks = { ...other.marks, x: null, state: -1, block: -1, scope: -1 };
        other.drawMarks();
      }
    const inside = target.state >= 0 || target.scope >= 0;
    const spans =
      target.block === stage.marks.block && stage.marks.spans.length > 0
        ? stage.marks.spans
        : stage.spansOf(target.block);
    stage.marks = {
      ...stage.marks,
      x: inside ? target.x : null,
      state: target.state,
      block: target.block,
      spans,
      scope: target.scope,
    };
    stage.drawMarks();
    if (target.state >= 0) this.lookAt(stage, target.state, false);
    this.pointAtPhase(stage, target.scope);
    const { pinned } = this.store.get();
    const isPinned =
      target.block >= 0 && pinned?.block === target.block && pinned.run === stages.indexOf(stage);
    if (!inside || isPinned) return hideTooltip(); // a pinned block is described beside the timelines already
    const { run } = stage;
    showTooltip(
      target.block >= 0
        ? blockFacts(run, target.block, 5)
        : target.scope >= 0
          ? scopeFacts(run, target.scope)
          : stateFacts(run, target.state),
      clientX,
      clientY,
    );
    if (target.block >= 0) {
      const { blocks } = run.index;
      const name = run.snapshot.strings[blocks.name[target.block]] ?? 'no name';
      byId('live').textContent =
        `${name}, ${categoryText(run.snapshot.categories[blocks.category[target.block]])}, ${formatBytes(blocks.requestedBytes[target.block])}`;
    }
    return undefined;
  }

  /**
   * Highlights the phase of a lane everywhere.
   * @param {import('./stage.js').Stage | null} stage
   * @param {number} scope -1: none
   */
  pointAtPhase(stage, scope) {
    const { scopes, strings } = stage?.run.snapshot ?? { scopes: null, strings: [] };
    const phase =
      scopes !== null && scope >= 0 && scopes.kind[scope] === SCOPE.PHASE
        ? (strings[scopes.name[scope]] ?? null)
        : null;
    if (phase === null && !this.hasPhase) return;
    this.hasPhase = phase !== null;
    this.store.set({ phase });
  }

  /**
   * Sets the instant that the panels show, unless the cursor is held.
   * @param {import('./stage.js').Stage} stage
   * @param {number} state
   * @param {boolean} held
   */
  lookAt(stage, state, held) {
    const { cursor } = this.store.get();
    const run = this.timelines.stages.indexOf(stage);
    if (cursor?.held && !held) return;
    if (cursor === null || cursor.state !== state || cursor.run !== run || cursor.held !== held)
      this.store.set({ cursor: { run, state, held } });
  }

  /**
   * Describes the place of the keyboard's cursor, once the picture is drawn.
   * @param {import('./stage.js').Stage} stage
   */
  pointByKey(stage) {
    requestAnimationFrame(() => {
      if (stage.cursor === null) return this.pointAgain();
      const box = stage.frame.getBoundingClientRect();
      this.at = {
        stage,
        x: stage.cursor.x,
        clientX: box.left + stage.cursor.x,
        clientY: box.top + stage.cursor.y,
      };
      return this.point(stage, this.at.clientX, this.at.clientY);
    });
  }

  /** @param {import('./stage.js').Stage} stage */
  clickByKey(stage) {
    if (stage.cursor === null) stage.moveCursor(0);
    if (stage.cursor === null) return;
    const box = stage.frame.getBoundingClientRect();
    this.click(stage, { clientX: box.left + stage.cursor.x, clientY: box.top + stage.cursor.y });
  }

  /**
   * Handles a click: pins an allocation and holds the cursor there, or zooms to the scope of a lane.
   * @param {import('./stage.js').Stage} stage
   * @param {{clientX: number, clientY: number}} event
   */
  click(stage, event) {
    const target = stage.target(event.clientX, event.clientY);
    const { pinned } = this.store.get();
    const run = this.timelines.stages.indexOf(stage);
    if (target.state >= 0) {
      const isSame = target.block >= 0 && pinned?.run === run && pinned.block === target.block;
      this.store.set({
        pinned: isSame || target.block < 0 ? null : { run, block: target.block },
        shown: run,
      });
      if (isSame) this.store.set({ cursor: { run, state: target.state, held: false } });
      else this.lookAt(stage, target.state, true);
      if (target.block >= 0) hideTooltip();
    } else if (target.scope >= 0) {
      const [x0, x1] = scopeSpan(stage.run.snapshot, stage.run.extents, stage.axis, target.scope);
      const margin = (x1 - x0) * 0.02;
      stage.show(x0 - margin, Math.max(x1 + margin, x0 + stage.axis.minSpan));
      this.timelines.follow(stage);
    }
  }

  /**
   * @param {import('./stage.js').Stage} stage
   * @param {number} x0
   * @param {number} x1 on its axis
   */
  select(stage, x0, x1) {
    const run = this.timelines.stages.indexOf(stage);
    const states = statesOfSpan(stage.axis, x0, x1, stage.run.index.nStates);
    if (states !== null) this.store.set({ range: { run, ...states }, shown: run });
  }

  /** The timeline that keys act on: the one under the pointer, the focused one, or the first. */
  activeStage() {
    const { stages } = this.timelines;
    return this.at?.stage ?? stages.find((stage) => stage.frame === document.activeElement) ?? stages[0];
  }

  /** @param {import('./stage.js').Stage} stage */
  listen(stage) {
    const { frame } = stage;
    frame.addEventListener('wheel', (event) => this.onWheel(stage, event), { passive: false });
    frame.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      this.drag = {
        stage,
        clientX: event.clientX,
        clientY: event.clientY,
        from: event.shiftKey ? stage.placeAt(event.clientX) : null,
        moved: false,
      };
      frame.setPointerCapture(event.pointerId);
    });
    frame.addEventListener('pointermove', (event) => this.onMove(stage, event));
    frame.addEventListener('pointerup', (event) => {
      if (this.drag !== null && !this.drag.moved) this.click(stage, event);
      this.endDrag(stage);
    });
    frame.addEventListener('pointercancel', () => this.endDrag(stage));
    frame.addEventListener('pointerleave', () => {
      this.at = null;
      this.clear();
    });
    frame.addEventListener('focus', () => {
      if (this.at?.stage !== stage) this.at = null;
    });
    frame.addEventListener('blur', () => {
      if (stage.cursor !== null) this.leave();
    });
    frame.addEventListener('dblclick', () => this.timelines.showAll('showWhole'));
  }

  /** @param {import('./stage.js').Stage} stage */
  endDrag(stage) {
    this.drag = null;
    stage.frame.classList.remove('dragging');
  }

  /**
   * With Shift, some systems report the wheel as a horizontal one.
   * @param {import('./stage.js').Stage} stage
   * @param {WheelEvent} event
   */
  onWheel(stage, event) {
    event.preventDefault();
    const box = stage.frame.getBoundingClientRect();
    const factor = (/** @type {number} */ delta) => Math.exp(Math.max(-0.5, Math.min(0.5, delta * 0.0022)));
    this.at = { stage, x: event.clientX - box.left, clientX: event.clientX, clientY: event.clientY };
    if (event.shiftKey) {
      stage.zoomHeight(factor(event.deltaY || event.deltaX), event.clientY - box.top);
      this.timelines.followHeight(stage);
    } else {
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) stage.pan(event.deltaX / 800);
      else stage.zoom(factor(event.deltaY), this.at.x);
      this.timelines.follow(stage);
    }
    this.pointAgain();
  }

  /**
   * Shows the figure of what has come under the pointer, once the picture is drawn; the tooltip and the
   * panels, which take longer, follow when the zoom rests.
   */
  pointAgain() {
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => {
      const { at } = this;
      if (at !== null && this.timelines.stages.includes(at.stage))
        this.point(at.stage, at.clientX, at.clientY);
    }, REST_MS);
    if (this.willPoint) return;
    this.willPoint = true;
    requestAnimationFrame(() => {
      this.willPoint = false;
      if (this.at === null) return;
      const { stage, clientX, clientY } = this.at;
      const { x, state } = stage.target(clientX, clientY);
      stage.marks = { ...stage.marks, x: state >= 0 ? x : null, state };
      stage.drawMarks();
    });
  }

  /**
   * @param {import('./stage.js').Stage} stage
   * @param {PointerEvent} event
   */
  onMove(stage, event) {
    this.at = {
      stage,
      x: event.clientX - stage.frame.getBoundingClientRect().left,
      clientX: event.clientX,
      clientY: event.clientY,
    };
    stage.cursor = null;
    const { drag } = this;
    if (drag === null) return this.point(stage, event.clientX, event.clientY);
    const distance = event.clientX - drag.clientX;
    const isTall = stage.heights.hi - stage.heights.lo < 1;
    const rise = isTall ? event.clientY - drag.clientY : 0;
    if (!drag.moved && Math.hypot(distance, rise) < DRAG_PIXELS) return undefined;
    drag.moved = true;
    if (drag.from !== null) return this.select(stage, drag.from, stage.placeAt(event.clientX));
    drag.clientX = event.clientX;
    drag.clientY = event.clientY;
    stage.frame.classList.add('dragging');
    this.clear();
    stage.pan(-distance / (stage.scene?.geometry.plot.w ?? 1));
    stage.moveHeight(rise / (stage.scene?.geometry.plot.h ?? 1));
    this.timelines.followHeight(stage);
    return this.timelines.follow(stage);
  }
}
