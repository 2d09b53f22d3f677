/* store.js - the state of the page in one object; parts of the page subscribe to changes of its keys.
 *
 * This module does not use the document. A part reads with `get`, changes with `set`, and is called back at
 * most once a frame.
 */

/**
 * @typedef {object} Cursor the selected instant
 * @property {number} run index in `runs`
 * @property {number} state
 * @property {boolean} held false: it follows the pointer
 *
 * @typedef {object} Range states first <= s < last of one run
 * @property {number} run
 * @property {number} first
 * @property {number} last
 *
 * @typedef {object} Pick the blocks that keep their colours while all others are dimmed
 * @property {string} label the choice, for the button that clears it
 * @property {(run: import('../run/run.js').Run) => Uint8Array} ofRun per block 1 or 0; called once per run
 *
 * @typedef {object} State
 * @property {import('../run/run.js').Run[]} runs
 * @property {'event' | 'time'} axis
 * @property {'category' | 'scope' | 'stack' | 'size' | 'age'} colourBy
 * @property {Set<string>} hidden keys of the groups hidden by the legend, in all runs
 * @property {boolean} hasAllLines timelines show lines that flatten what they stack
 * @property {Cursor | null} cursor
 * @property {Range | null} range filters every panel
 * @property {{run: number, block: number} | null} pinned
 * @property {Pick | null} pick
 * @property {string | null} phase name of the phase under the pointer
 * @property {'tree' | 'flame' | 'map' | 'events' | 'differences'} dock the panel below the timelines
 * @property {import('../answers/amounts.js').Instant} instant the selection in the tree and the flame graph
 * @property {number} shown the run in the panels that show one run
 */

/** @returns {State} */
export function initialState() {
  return {
    runs: [],
    axis: 'time',
    colourBy: 'category',
    hidden: new Set(),
    hasAllLines: false,
    cursor: null,
    range: null,
    pinned: null,
    pick: null,
    phase: null,
    dock: 'tree',
    instant: 'peak',
    shown: 0,
  };
}

/** The page's state and its listeners. */
export class Store {
  /** @param {(flush: () => void) => void} schedule calls `flush` before the next picture */
  constructor(schedule) {
    this.schedule = schedule;
    this.state = initialState();
    /** @type {{keys: (keyof State)[], listener: (state: State) => void}[]} in the order of subscription */
    this.listeners = [];
    /** @type {Set<keyof State>} changed since the last flush */
    this.changed = new Set();
    this.isScheduled = false;
  }

  get() {
    return this.state;
  }

  /**
   * Changes parts of the state; equal values notify no listener.
   * @param {Partial<State>} patch
   */
  set(patch) {
    for (const key of /** @type {(keyof State)[]} */ (Object.keys(patch))) {
      if (this.state[key] !== patch[key]) this.changed.add(key);
    }
    this.state = { ...this.state, ...patch };
    if (this.changed.size === 0 || this.isScheduled) return;
    this.isScheduled = true;
    this.schedule(() => this.flush());
  }

  /**
   * Calls `listener` when any of the keys has changed.
   * @param {(keyof State)[]} keys
   * @param {(state: State) => void} listener
   */
  on(keys, listener) {
    this.listeners.push({ keys, listener });
  }

  /** Notifies all listeners at once; their changes are delivered in the next round. */
  flush() {
    this.isScheduled = false;
    const changed = this.changed;
    this.changed = new Set();
    for (const { keys, listener } of this.listeners) {
      if (keys.some((key) => changed.has(key))) listener(this.state);
    }
  }
}
