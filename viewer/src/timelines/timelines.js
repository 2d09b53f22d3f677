/* timelines.js - the timelines of all runs, one below the other: their sizes, their scales, and their common
 * view.
 */
import { alignedState, alignedView, alignRuns } from '../answers/alignment.js';
import { byId } from '../elements/dom.js';
import { DifferenceStrip } from './difference_strip.js';
import { beforePicture } from '../elements/frame.js';
import { endedEarly } from '../run/run.js';
import { Overview } from './overview.js';
import { drawnOf, leftOutText, scaleNote, scalesOf, WHOLE_HEIGHT } from '../draw/scale.js';
import { buildStacking, colouringOf } from '../draw/stacking.js';
import { Stage } from './stage.js';

const MIN_PLOT = 220;
const SEVERAL_PLOT = 150;
export const MOST_STACKED = 4; // more runs are small pictures side by side
const DOCK_ROOM = 330; // share of the window's height for the panel below the timelines

/**
 * The colours of the page, for drawings.
 * @returns {import('../draw/scene.js').Theme}
 */
export function pageTheme() {
  const style = getComputedStyle(document.documentElement);
  const value = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    bg: value('bg'),
    ink: value('ink'),
    muted: value('muted'),
    grid: value('grid'),
    accent: value('accent'),
    danger: value('danger'),
    lane: value('lane'),
    laneAlt: value('lane-alt'),
    measured: value('measured'),
  };
}

/** The stages of the runs on the page. */
export class Timelines {
  /**
   * @param {import('../elements/store.js').Store} store
   * @param {() => void} onView called when the view has changed
   */
  constructor(store, onView) {
    this.store = store;
    this.onView = onView;
    /** @type {Stage[]} */
    this.stages = [];
    /** @type {DifferenceStrip | null} strip of the base and the run compared with it */
    this.strip = null;
    /**
     * @type {Map<string, import('../answers/alignment.js').Alignment>} by the numbers of two stages and the axis;
     *   computed on first use
     */
    this.alignments = new Map();
    /** @type {import('../run/run.js').Run[]} */
    this.runs = [];
    /** @type {Overview[]} the stages of recorded runs */
    this.overviews = [];
    this.oneScale = false; // requested although runs would have scales of their own
    this.drawAll = () => {
      for (const stage of this.stages) stage.draw();
      this.strip?.draw();
      // Timelines are drawn first; the overviews follow a frame later.
      requestAnimationFrame(() => this.overviews.forEach((overview) => overview.update()));
    };
    store.on(['axis'], ({ axis }) => {
      for (const stage of this.stages) stage.setAxis(axis);
      this.askDraw();
    });
    store.on(['shown'], ({ shown }) => {
      this.showStrip(shown);
      this.askDraw();
    });
    store.on(['colourBy', 'hidden'], ({ colourBy, hidden }) => {
      const colouring = colouringOf(this.runs, colourBy);
      this.stages.forEach((stage, i) => stage.setStacking(buildStacking(colouring, i, hidden)));
      this.fitScales();
    });
    store.on(['hasAllLines'], () => this.fitScales());
    store.on(['pick'], ({ pick }) => {
      for (const stage of this.stages) stage.setPick(pick === null ? null : pick.ofRun(stage.run));
      this.askDraw();
    });
    store.on(['phase'], ({ phase }) => {
      for (const stage of this.stages) stage.phase = phase;
      this.askDraw();
    });
    store.on(['cursor', 'axis'], ({ cursor }) => this.showCursor(cursor));
    store.on(['range'], ({ range }) => {
      this.stages.forEach((stage, i) => stage.setRange(range?.run === i ? range : null));
      for (const overview of this.overviews) overview.update();
    });
    store.on(['pinned'], ({ pinned }) =>
      this.stages.forEach((stage, i) => stage.pin(pinned?.run === i ? pinned.block : -1)),
    );
  }

  /**
   * Rebuilds the timelines.
   * @param {import('../run/run.js').Run[]} runs
   */
  show(runs) {
    const whole = runs.find((run) => !endedEarly(run)) ?? null;
    const { axis, colourBy, hidden } = this.store.get();
    const colouring = colouringOf(runs, colourBy);
    this.runs = runs;
    this.stages = runs.map(
      (run, i) => new Stage(run, runs.length === 1, axis, whole, buildStacking(colouring, i, hidden)),
    );
    this.alignments = new Map();
    this.oneScale = runs.length > MOST_STACKED;
    this.overviews = this.stages
      .filter((stage) => stage.run.isRecorded && runs.length <= MOST_STACKED)
      .map((stage) => {
        const overview = new Overview(this.store, stage, this.stages.indexOf(stage), () =>
          this.follow(stage),
        );
        stage.frame.before(overview.element);
        return overview;
      });
    byId('runs').replaceChildren(...this.stages.map((stage) => stage.element));
    this.showStrip(this.store.get().shown);
  }

  /**
   * Shows the differences between the base and another run below the timelines.
   * @param {number} shown number of the other run; 0: the next one
   */
  showStrip(shown) {
    this.strip?.element.remove();
    const [base] = this.stages;
    const other = this.stages[shown > 0 ? shown : 1];
    this.strip =
      base?.run.isRecorded && other?.run.isRecorded
        ? new DifferenceStrip(base, other, () => this.alignment(base, other))
        : null;
    if (this.strip !== null) byId('runs').append(this.strip.element);
  }

  /**
   * From the axis of one stage to that of another.
   * @param {Stage} from
   * @param {Stage} to
   */
  alignment(from, to) {
    const { kind } = from.axis;
    const key = `${this.stages.indexOf(from)} ${this.stages.indexOf(to)} ${kind}`;
    let alignment = this.alignments.get(key);
    if (alignment === undefined) this.alignments.set(key, (alignment = alignRuns(from.run, to.run, kind)));
    return alignment;
  }

  /**
   * Shows the selected instant, and the corresponding ones in the other runs.
   * @param {import('../elements/store.js').Cursor | null} cursor
   */
  showCursor(cursor) {
    const leader = cursor === null ? undefined : this.stages[cursor.run];
    this.stages.forEach((stage, i) => {
      if (cursor === null || leader === undefined || !stage.run.isRecorded || !leader.run.isRecorded)
        return stage.setCursor(-1, false);
      const state =
        i === cursor.run
          ? cursor.state
          : alignedState(
              this.alignment(leader, stage),
              leader.axis,
              stage.axis,
              cursor.state,
              stage.run.index.nStates,
            );
      return stage.setCursor(state, cursor.held);
    });
  }

  askDraw() {
    beforePicture(this.drawAll);
  }

  /** Fits the memory scales to what is drawn, and shows them whole. */
  fitScales() {
    const { hasAllLines } = this.store.get();
    const own = scalesOf(
      this.stages.map((stage) => drawnOf(stage.stacking)),
      hasAllLines,
    );
    const top = Math.max(...own);
    const scales = this.oneScale ? own.map(() => top) : own;
    const button = byId('scale-button');
    button.hidden = own.every((scale) => scale === top);
    button.textContent = `y: ${this.oneScale ? 'one scale' : 'own scales'}`;
    this.stages.forEach((stage, i) => {
      if (stage.scale !== scales[i]) stage.heights = WHOLE_HEIGHT;
      stage.scale = scales[i];
      stage.setNote(scaleNote(scales, i));
    });
    const leavesOut = this.stages.some(
      ({ run, scale }) => run.snapshot.events.count > 0 && leftOutText(run, scale) !== '',
    );
    const lines = byId('lines-button');
    lines.hidden = !leavesOut && !hasAllLines;
    lines.textContent = `limits: ${hasAllLines ? 'in the picture' : 'left out'}`;
    lines.setAttribute('aria-pressed', String(hasAllLines));
    this.askDraw();
  }

  /** Fits the timelines to the window: one fills it, several share it. */
  layOut() {
    if (this.stages.length === 0) return;
    const colours = pageTheme();
    const n = this.stages.length;
    this.fitScales();
    const isWide = window.innerWidth > 1100;
    const above = byId('runs').getBoundingClientRect().top + window.scrollY;
    const besides = this.stages.reduce(
      (sum, stage) => sum + stage.element.offsetHeight - stage.frame.offsetHeight + stage.heightBesides(),
      0,
    );
    const free = window.innerHeight - above - besides - 14 * n - DOCK_ROOM;
    const alone = isWide ? free : Math.min(420, window.innerHeight * 0.5);
    const plot =
      n > MOST_STACKED ? SEVERAL_PLOT : n > 1 ? Math.max(SEVERAL_PLOT, free / n) : Math.max(MIN_PLOT, alone);
    this.stages.forEach((stage) => stage.resize(Math.floor(plot), colours));
    for (const overview of this.overviews) overview.resize(colours);
    this.askDraw();
  }

  /**
   * Moves every other run to the corresponding view: from the same place in the same step and phase.
   * @param {Stage} leader
   */
  follow(leader) {
    const { x0, x1 } = leader.view;
    for (const stage of this.stages) {
      if (stage === leader || !stage.run.isRecorded || !leader.run.isRecorded) continue;
      const view = alignedView(this.alignment(leader, stage), x0, x1);
      if (view !== null) stage.show(view[0], Math.max(view[0] + stage.axis.minSpan, view[1]));
    }
    this.viewChanged();
  }

  /**
   * Shows the same part of every run's memory scale.
   * @param {Stage} leader
   */
  followHeight(leader) {
    for (const stage of this.stages) stage.heights = leader.heights;
    this.viewChanged();
  }

  /**
   * Shows every run's step of the peak, or whole runs.
   * @param {'showHome' | 'showWhole'} show
   */
  showAll(show) {
    for (const stage of this.stages) {
      stage[show]();
      stage.heights = WHOLE_HEIGHT;
    }
    this.viewChanged();
  }

  /** The view of the first run; null: the default view. */
  firstView() {
    const stage = this.stages[0];
    return stage === undefined || (stage.view.x0 === stage.home.x0 && stage.view.x1 === stage.home.x1)
      ? null
      : stage.view;
  }

  /** @param {{x0: number, x1: number}} view of the first run */
  showView({ x0, x1 }) {
    if (this.stages.length === 0) return;
    this.stages[0].show(x0, x1);
    this.follow(this.stages[0]);
  }

  viewChanged() {
    this.askDraw();
    this.onView();
  }

  switchScale() {
    if (byId('scale-button').hidden) return;
    this.oneScale = !this.oneScale;
    this.fitScales();
  }
}
