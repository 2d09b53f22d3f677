/* differences.js - what one run holds and another does not, per category along the axis and row by row at an
 * instant.
 */
import { aliveAt, CHECKPOINT_STATES } from '../run/index.js';
import { foldedStack, frameText, sitesOf, siteText } from '../run/frames.js';
import { scopeGroup } from '../run/lanes.js';
import { oncePer } from '../run/once.js';
import { NO_BLOCK } from '../run/subjects.js';
import { namePattern } from '../words/text.js';

/** Bytes alive per checkpoint and category of a run. */
const checkpointSums = oncePer(
  (
    /** @type {import('../run/run.js').Run} */ {
      snapshot: {
        categories: { length },
      },
      index: { blocks, checkpoints },
    },
  ) => {
    const sums = new Float64Array(checkpoints.length * length);
    for (const [i, { block }] of checkpoints.entries()) {
      for (const b of block) sums[i * length + blocks.category[b]] += blocks.bytes[b];
    }
    return sums;
  },
);

/**
 * Bytes alive in a state, per category of the run's snapshot. The cost is at most the events since the last
 * checkpoint.
 * @param {import('../run/run.js').Run} run
 * @param {number} state
 * @param {Float64Array} [out] receives the result
 */
export function categoryBytesAt(run, state, out = new Float64Array(run.snapshot.categories.length)) {
  const { act, category, bytes } = run.index.blocks;
  const base = Math.floor(state / CHECKPOINT_STATES);
  const sums = checkpointSums(run);
  const n = run.snapshot.categories.length;
  for (let c = 0; c < n; c++) out[c] = sums[base * n + c];
  for (let e = base * CHECKPOINT_STATES; e < state; e++) {
    const a = act[e];
    if (a >= 0) out[category[a]] += bytes[a];
    else if (a > NO_BLOCK) out[category[~a]] -= bytes[~a];
  }
  return out;
}

/**
 * @typedef {'site' | 'scope' | 'name' | 'stack'} DifferenceKey the properties that blocks of two runs share in
 *   one row; a site is the line that identifies a call stack
 *
 * @typedef {object} DifferenceRow
 * @property {string} key
 * @property {string} category its name
 * @property {string} label
 * @property {string} detail scopes or frames around the blocks
 * @property {[number, number]} bytes whole blocks in the base and in the other run
 * @property {[number, number]} count
 * @property {number} difference bytes of the other run minus those of the base
 *
 * @typedef {object} Differences
 * @property {DifferenceRow[]} rows the largest change first
 * @property {Record<'first' | 'both' | 'second', {rows: number, bytes: [number, number]}>} sums of the rows
 *   only in the base, in both runs, only in the other
 */

/**
 * The row of each of a run's blocks; row names are made once per scope, name and stack.
 * @param {import('../run/run.js').Run} run
 * @param {DifferenceKey} by
 */
function rowNames({ snapshot, index: { blocks } }, by) {
  /** @type {Map<number, string>} */
  const paths = new Map();
  const pathOf = (/** @type {number} */ scope) => {
    let path = paths.get(scope);
    if (path === undefined) paths.set(scope, (path = scopeGroup(snapshot, scope).path));
    return path;
  };
  /** @type {Map<number, [string, string]>} */
  const frames = new Map();
  const framesOf = (/** @type {number} */ stack) => {
    let texts = frames.get(stack);
    if (texts === undefined) {
      const own = foldedStack(snapshot, stack).flatMap((part) => (part.isFolded ? [] : part.frames));
      const [top, ...callers] = own.map((frame) => frameText(snapshot, frame));
      frames.set(stack, (texts = [top ?? '', callers.join(' ← ')]));
    }
    return texts;
  };
  const siteOf = sitesOf(snapshot, blocks);
  return (/** @type {number} */ b) => {
    const category = snapshot.categories[blocks.category[b]];
    if (by === 'site' || (by === 'stack' && blocks.stack[b] < 0))
      return { category, label: siteText(snapshot, siteOf(b)), detail: '' };
    if (by === 'stack') {
      const [label, detail] = framesOf(blocks.stack[b]);
      return { category, label, detail };
    }
    const path = pathOf(blocks.scope[b]);
    if (by === 'scope') return { category, label: path, detail: '' };
    return {
      category,
      label: blocks.name[b] < 0 ? '(no name)' : namePattern(snapshot.strings[blocks.name[b]]),
      detail: path,
    };
  };
}

/**
 * The keys that can match blocks of two runs.
 * @param {{category: string, label: string, detail: string}} row
 */
function keyOfRow({ category, label, detail }) {
  return `${category}\n${label}\n${detail}`;
}

/**
 * The blocks of a run that belong to a row.
 * @param {import('../run/run.js').Run} run
 * @param {DifferenceKey} by
 * @param {string} key of the row
 * @returns {Uint8Array} per block 1 or 0
 */
export function blocksOfRow(run, by, key) {
  const { blocks } = run.index;
  const nameOf = rowNames(run, by);
  const found = new Uint8Array(blocks.count);
  for (let b = 0; b < blocks.count; b++) if (keyOfRow(nameOf(b)) === key) found[b] = 1;
  return found;
}

/**
 * Compares the blocks of two runs, each in its own state.
 * @param {[import('../run/run.js').Run, import('../run/run.js').Run]} runs the base first
 * @param {[number, number]} states
 * @param {DifferenceKey} by
 * @returns {Differences}
 */
export function differencesAt(runs, states, by) {
  /** @type {Map<string, DifferenceRow>} */
  const rows = new Map();
  for (const i of /** @type {const} */ ([0, 1])) {
    const { index } = runs[i];
    const nameOf = rowNames(runs[i], by);
    for (const b of aliveAt(index, states[i])) {
      const name = nameOf(b);
      const key = keyOfRow(name);
      let row = rows.get(key);
      if (row === undefined)
        rows.set(key, (row = { key, ...name, bytes: [0, 0], count: [0, 0], difference: 0 }));
      row.bytes[i] += index.blocks.bytes[b];
      row.count[i]++;
    }
  }
  /** @type {Differences['sums']} */
  const sums = {
    first: { rows: 0, bytes: [0, 0] },
    both: { rows: 0, bytes: [0, 0] },
    second: { rows: 0, bytes: [0, 0] },
  };
  for (const row of rows.values()) {
    row.difference = row.bytes[1] - row.bytes[0];
    const sum = sums[sideOf(row)];
    sum.rows++;
    sum.bytes[0] += row.bytes[0];
    sum.bytes[1] += row.bytes[1];
  }
  const sorted = [...rows.values()].sort(
    (a, b) =>
      Math.abs(b.difference) - Math.abs(a.difference) || b.bytes[0] - a.bytes[0] || (a.key < b.key ? -1 : 1),
  );
  return { rows: sorted, sums };
}

/**
 * Which of the two runs have a row's blocks.
 * @param {DifferenceRow} row
 * @returns {'first' | 'both' | 'second'}
 */
export function sideOf(row) {
  return row.count[0] === 0 ? 'second' : row.count[1] === 0 ? 'first' : 'both';
}

/**
 * The default rows of two runs: by call site if the names and categories of one of them say little.
 * @param {import('../run/run.js').Run[]} runs
 * @returns {DifferenceKey}
 */
export function usualDifference(runs) {
  return areToldByLines(runs) ? 'site' : 'name';
}

/**
 * True if lines of the programs say more than categories: most of a peak has none, or rules at most explain
 * them, as of another tool's file.
 * @param {import('../run/run.js').Run[]} runs
 */
export function areToldByLines(runs) {
  const recorded = runs.filter((run) => run.isRecorded);
  const unknown = (/** @type {import('../run/run.js').Run} */ { peak }) =>
    peak.categories.find(({ key }) => key === 'unknown')?.bytes ?? 0;
  return (
    recorded.every(({ snapshot }) => snapshot.stacks.frame.length > 0) &&
    recorded.some((run) => run.snapshot.origin !== null || 2 * unknown(run) > run.peak.bytes)
  );
}

/**
 * What two runs have more or less of at their peaks, by line of the program, the largest first.
 * @param {[import('../run/run.js').Run, import('../run/run.js').Run]} runs the base first
 * @returns {{label: string, bytes: [number, number]}[]}
 */
export function linesAtPeaks(runs) {
  /** @type {Map<string, [number, number]>} */
  const lines = new Map();
  for (const { label, bytes } of differencesAt(runs, [runs[0].peakState, runs[1].peakState], 'site').rows) {
    const sum = lines.get(label) ?? [0, 0];
    lines.set(label, [sum[0] + bytes[0], sum[1] + bytes[1]]);
  }
  return [...lines]
    .map(([label, bytes]) => ({ label, bytes }))
    .sort((a, b) => Math.abs(b.bytes[1] - b.bytes[0]) - Math.abs(a.bytes[1] - a.bytes[0]));
}
