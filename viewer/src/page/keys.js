/* keys.js - the keyboard, by the position of keys, so that W, A, S and D lie together on every layout. */
import { byId } from '../elements/dom.js';
import { DOCK_PANELS } from '../panels/dock.js';

const ZOOM_PER_KEY = 0.8;
const PAN_PER_KEY = 0.12;

/**
 * @typedef {object} KeyContext
 * @property {import('../elements/store.js').Store} store
 * @property {import('../timelines/timelines.js').Timelines} timelines
 * @property {import('../timelines/pointer.js').Pointer} pointer
 * @property {import('./search_box.js').SearchBox} searchBox
 * @property {() => void} switchTheme
 * @property {() => void} switchSegments
 */

/**
 * Keys that move one timeline.
 * @type {Record<string, (stage: import('../timelines/stage.js').Stage, pointer: import('../timelines/pointer.js').Pointer) => void>}
 */
const MOVES = {
  KeyW: (stage, pointer) => stage.zoom(ZOOM_PER_KEY, pointer.at?.x ?? null),
  KeyS: (stage, pointer) => stage.zoom(1 / ZOOM_PER_KEY, pointer.at?.x ?? null),
  KeyA: (stage) => stage.pan(-PAN_PER_KEY),
  KeyD: (stage) => stage.pan(PAN_PER_KEY),
  ArrowLeft: (stage) => stage.pan(-PAN_PER_KEY),
  ArrowRight: (stage) => stage.pan(PAN_PER_KEY),
};

/**
 * With Shift: keys that move the memory scale.
 * @type {typeof MOVES}
 */
const SHIFT_MOVES = {
  KeyW: (stage, pointer) => stage.zoomHeight(ZOOM_PER_KEY, heightOf(stage, pointer)),
  KeyS: (stage, pointer) => stage.zoomHeight(1 / ZOOM_PER_KEY, heightOf(stage, pointer)),
  ArrowUp: (stage) => stage.moveHeight(PAN_PER_KEY),
  ArrowDown: (stage) => stage.moveHeight(-PAN_PER_KEY),
};

/**
 * The pointer's height over a timeline; null: it is elsewhere.
 * @param {import('../timelines/stage.js').Stage} stage
 * @param {import('../timelines/pointer.js').Pointer} pointer
 */
function heightOf(stage, pointer) {
  return pointer.at === null ? null : pointer.at.clientY - stage.frame.getBoundingClientRect().top;
}

/**
 * Keys for the whole page.
 * @type {Record<string, (context: KeyContext) => void>}
 */
const COMMANDS = {
  KeyY: ({ timelines }) => timelines.switchScale(),
  KeyF: ({ timelines }) => timelines.showAll('showWhole'),
  Digit0: ({ timelines }) => timelines.showAll('showHome'),
  Home: ({ timelines }) => timelines.showAll('showHome'),
  KeyT: ({ store }) => switchAxis(store),
  KeyC: ({ store }) => switchLines(store),
  KeyL: ({ switchTheme }) => switchTheme(),
  KeyG: ({ switchSegments }) => switchSegments(),
  Comma: (context) => stepEvent(context, -1),
  Period: (context) => stepEvent(context, 1),
};
DOCK_PANELS.forEach(({ key }, i) => (COMMANDS[`Digit${i + 1}`] = ({ store }) => store.set({ dock: key })));

/** @param {import('../elements/store.js').Store} store */
export function switchAxis(store) {
  store.set({ axis: store.get().axis === 'time' ? 'event' : 'time' });
}

/**
 * Shows the lines that flatten the picture, or leaves them out.
 * @param {import('../elements/store.js').Store} store
 */
export function switchLines(store) {
  if (!byId('lines-button').hidden) store.set({ hasAllLines: !store.get().hasAllLines });
}

/**
 * Clears all choices.
 * @param {import('../elements/store.js').Store} store
 */
export function clearChoices(store) {
  store.set({ pinned: null, cursor: null, range: null, pick: null });
  if (store.get().hidden.size > 0) store.set({ hidden: new Set() });
}

/**
 * Holds the cursor and moves it by one event.
 * @param {KeyContext} context
 * @param {-1 | 1} direction
 */
function stepEvent({ store, timelines }, direction) {
  const { cursor, runs, shown } = store.get();
  const index = cursor?.run ?? shown;
  const run = runs[index];
  if (run === undefined || !run.isRecorded) return;
  const from = cursor?.state ?? run.peakState - direction;
  const state = Math.max(0, Math.min(run.index.nStates - 1, from + direction));
  store.set({ cursor: { run: index, state, held: true } });
  timelines.stages[index].reveal(state);
  timelines.follow(timelines.stages[index]);
}

/**
 * Arrow keys go through tabs.
 * @param {HTMLElement} tab
 * @param {'ArrowLeft' | 'ArrowRight'} key
 */
function stepTab(tab, key) {
  const next = /** @type {HTMLElement | null} */ (
    key === 'ArrowLeft' ? tab.previousElementSibling : tab.nextElementSibling
  );
  next?.focus();
  next?.click();
}

/**
 * @param {KeyContext} context
 * @param {KeyboardEvent} event
 */
function onKey(context, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const { store, timelines, pointer, searchBox } = context;
  const target = /** @type {HTMLElement} */ (event.target);
  const help = /** @type {HTMLDialogElement} */ (byId('help'));
  if (target.closest?.('input, select, textarea') || help.open) return;
  if (event.key === '?') return help.showModal();
  if (event.key === '/') {
    event.preventDefault();
    return searchBox.focus();
  }
  if (event.key === 'Escape') {
    searchBox.clear();
    clearChoices(store);
    return pointer.leave();
  }
  const stage = pointer.activeStage();
  if (stage === undefined) return;
  const tab = /** @type {HTMLElement | null} */ (target.closest?.('[role=tab]'));
  const focused = timelines.stages.find((each) => each.frame === target);
  if (tab && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
    stepTab(tab, event.key);
  } else if (event.shiftKey && event.code in SHIFT_MOVES && !target.closest?.('aside, .scroll, #dock')) {
    SHIFT_MOVES[event.code](stage, pointer);
    event.preventDefault();
    timelines.followHeight(stage);
    pointer.pointAgain();
  } else if (focused && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
    event.preventDefault();
    focused.moveCursor(event.key === 'ArrowUp' ? 1 : -1);
    pointer.pointByKey(focused);
  } else if (focused && event.key === 'Enter') {
    pointer.clickByKey(focused);
  } else if (
    event.code in MOVES &&
    !event.shiftKey &&
    !(event.key.startsWith('Arrow') && target.closest?.('aside, .scroll, #dock, .overview'))
  ) {
    MOVES[event.code](stage, pointer);
    event.preventDefault();
    timelines.follow(stage);
    pointer.pointByKey(stage);
  } else if (event.code in COMMANDS && !(event.code === 'Home' && target.closest?.('#dock'))) {
    COMMANDS[event.code](context);
  }
}

/** @param {KeyContext} context */
export function listenToKeys(context) {
  document.addEventListener('keydown', (event) => onKey(context, event));
}
