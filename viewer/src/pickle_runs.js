/* pickle_runs.js - lists that repeat. Python's pickler writes a list of objects that were written before as
 * their memo numbers alone, and most of a snapshot are lists of frames, the same few hundred of them again
 * and again. A run is what follows such a list: MARK, any of BINGET and LONG_BINGET, APPENDS. Equal runs
 * have equal items, because a memo number is set once. So the list of a run that was there before, and
 * stands for a number by now, takes the place of a new one, whose items need not be read.
 */
import { PickleContainer } from './pickle_values.js';

const MOST_ITEMS = 999; // more of them come in several batches, of which this is but the first
const LIST_BYTES = 2; // EMPTY_LIST, MEMOIZE: the opcodes before the MARK
const BINGET = 0x68;
const LONG_BINGET = 0x6a;
const APPENDS = 0x65;

/**
 * @typedef {object} Run
 * @property {number} nBytes
 * @property {Int32Array} words its bytes, four at a time; the last word may have some that the one before has, too
 * @property {number} nItems
 * @property {PickleContainer | null} list the last one whose items were written like that
 * @property {Run | null} next the run that came after it, the last time
 */

export class PickleRuns {
  /** @param {number} repeats lists that stand for a number of this may take the place of others; 0: none may */
  constructor(repeats) {
    this.repeats = repeats;
    this.isFinal = true; // no memo number was set twice
    /** @type {Map<number, Run[]>} by hash */
    this.runs = new Map();
    /** @type {Run | null} */
    this.last = null;
  }

  /**
   * The run that begins at `at`; null: none does, or not all of it is here. Programs repeat themselves, so
   * two guesses come first: the run that followed the last one before, and the last one.
   * @param {DataView} view
   * @param {number} at
   * @returns {Run | null}
   */
  find(view, at) {
    const { last } = this;
    const next = last?.next ?? null;
    if (next !== null && stands(next, view, at)) return next;
    if (last !== null && stands(last, view, at)) return last;
    const run = this.scan(view, at);
    if (run !== null && last !== null) last.next = run;
    return run;
  }

  /**
   * @param {DataView} view
   * @param {number} at
   * @returns {Run | null}
   */
  scan(view, at) {
    const items = countItems(view, at);
    if (items === null) return null;
    const words = wordsOf(view, at, items.end);
    const hash = words.reduce((sum, word) => (Math.imul(sum, 31) + word) | 0, 0);
    const alike = this.runs.get(hash) ?? [];
    let run = alike.find((each) => stands(each, view, at));
    if (run === undefined) {
      run = { nBytes: items.end - at, words, nItems: items.n, list: null, next: null };
      alike.push(run);
      this.runs.set(hash, alike);
    }
    return run;
  }

  /**
   * At a MARK: the run behind it, if the list below is new and empty, and its items were read before.
   * @param {import('./pickle.js').Unpickler} of
   * @returns {Run | null}
   */
  repeated(of) {
    const list = of.stack[of.n - 1];
    if (
      !this.isFinal ||
      this.repeats === 0 ||
      !(list instanceof PickleContainer) ||
      list.kind !== 'list' ||
      list.offset + LIST_BYTES !== of.opcodeAt ||
      list.memo !== of.memo.length - 1
    )
      return null;
    const run = this.find(of.view, of.at);
    if (run === null) return null;
    this.last = run;
    if (run.list?.kind === 'made' && run.list.what === this.repeats) return run;
    run.list = list;
    return null;
  }
}

/**
 * The items of the run at `at`, and where it ends; null: there is none, or not all of it is here.
 * @param {DataView} view
 * @param {number} at
 * @returns {{n: number, end: number} | null}
 */
function countItems(view, at) {
  let n = 0;
  for (let i = at; i < view.byteLength && n <= MOST_ITEMS; n++) {
    const code = view.getUint8(i);
    // four bytes at least, so that words can be compared
    if (code !== BINGET && code !== LONG_BINGET)
      return code === APPENDS && i >= at + 4 ? { n, end: i + 1 } : null;
    i += code === BINGET ? 2 : 5;
  }
  return null;
}

/**
 * @param {DataView} view
 * @param {number} at
 * @param {number} end
 */
function wordsOf(view, at, end) {
  const words = new Int32Array(Math.ceil((end - at) / 4));
  for (let i = 0; i < words.length; i++) words[i] = view.getInt32(Math.min(at + 4 * i, end - 4), true);
  return words;
}

/**
 * True if the run stands there.
 * @param {Run} run
 * @param {DataView} view
 * @param {number} at
 */
function stands({ words, nBytes }, view, at) {
  const last = words.length - 1;
  if (at + nBytes > view.byteLength) return false;
  for (let i = 0; i < last; i++) if (view.getInt32(at + 4 * i, true) !== words[i]) return false;
  return view.getInt32(at + nBytes - 4, true) === words[last];
}
