/* scale.js - the vertical scale of timelines: the bytes at its top, the lines that lie above it, and the part
 * that a vertical zoom shows.
 */
import { failuresOf } from '../run/failures.js';
import { formatBytes } from '../words/text.js';

const HEADROOM = 1.07; // of the highest that is drawn, for labels
const OWN_SCALE_SHARE = 1 / 8; // share of the common scale; a run below it would be a flat line
const MOST_RESERVED = 2; // times what is drawn; a higher line would leave more than half of the picture empty
const MOST_ABOVE = 1.5; // the same for limits and for requests that failed, which say less
const MOST_OF_PART = 1.1; // the same for both while groups are hidden: the lines are those of all groups
const LEAST_SPAN_BYTES = 4096; // shown by the closest vertical zoom

/**
 * @typedef {object} Drawn what a timeline stacks
 * @property {import('../run/run.js').Run} run
 * @property {Float64Array} totals bytes of the groups that are shown, per state
 * @property {number} peakBytes the most of them
 * @property {boolean} isPart groups are hidden
 *
 * @typedef {{lo: number, hi: number}} Heights the part of the scale that is shown, as shares of it
 */

/**
 * A run with all its groups.
 * @param {import('../run/run.js').Run} run
 * @returns {Drawn}
 */
export function wholeDrawn(run) {
  return { run, totals: run.index.totals, peakBytes: run.index.totals[run.index.peakState], isPart: false };
}

/**
 * What is left of a run when groups are hidden.
 * @param {import('./stacking.js').Stacking} stacking
 * @returns {Drawn}
 */
export function drawnOf({ grouping: { run }, totals, peakState, isFiltered }) {
  return { run, totals, peakBytes: totals[peakState], isPart: isFiltered };
}

/**
 * The scale of several timelines, as the bytes at its top. Lines that would flatten what is drawn do not
 * count, unless all are asked for.
 * @param {Drawn[]} drawn
 * @param {boolean} [hasAllLines]
 */
export function commonScale(drawn, hasAllLines = false) {
  let top = Math.max(1, ...drawn.map(({ peakBytes }) => peakBytes));
  let base = top;
  const isPart = drawn.some((each) => each.isPart);
  const add = (/** @type {number} */ bytes, /** @type {number} */ most) => {
    if (hasAllLines || bytes <= (isPart ? MOST_OF_PART : most) * base) top = Math.max(top, bytes);
  };
  for (const { run } of drawn) add(run.reserved.maxBytes, MOST_RESERVED);
  base = top;
  for (const { run, totals } of drawn) {
    for (const { event, requestedBytes } of failuresOf(run))
      top = Math.max(top, Math.min(totals[event + 1] + requestedBytes, MOST_ABOVE * base));
  }
  base = top;
  for (const { run } of drawn) for (const { bytes } of run.limits) add(bytes, MOST_ABOVE);
  return top * HEADROOM;
}

/**
 * Bytes at the top of each timeline: one scale for all, except that runs far below it get their own.
 * @param {Drawn[]} drawn
 * @param {boolean} [hasAllLines]
 * @returns {number[]}
 */
export function scalesOf(drawn, hasAllLines = false) {
  const common = commonScale(drawn, hasAllLines);
  const isLow = drawn.map(
    (each) => each.run.isRecorded && commonScale([each], hasAllLines) < common * OWN_SCALE_SHARE,
  );
  if (!isLow.includes(true) || !isLow.includes(false)) return drawn.map(() => common);
  const own = scalesOf(
    drawn.filter((_, i) => isLow[i]),
    hasAllLines,
  );
  return isLow.map((low) => (low ? /** @type {number} */ (own.shift()) : common));
}

/**
 * The note on a run's own scale; "" for the common one.
 * @param {number[]} scales
 * @param {number} i
 */
export function scaleNote(scales, i) {
  const common = Math.max(...scales);
  if (!(scales[i] < common)) return '';
  return `own scale: 1/${Math.round(common / scales[i])} of ${scales.every((scale, j) => j === i || scale === common) ? "the others'" : "the largest run's"}`;
}

/**
 * Names the lines that a scale leaves out; "" if it leaves out none.
 * @param {import('../run/run.js').Run} run
 * @param {number} scale bytes at its top
 */
export function leftOutText(run, scale) {
  const names = [{ text: 'reserved', bytes: run.reserved.maxBytes }, ...run.limits]
    .filter(({ bytes }) => bytes > scale)
    .map(({ text, bytes }) => `${text} ${formatBytes(bytes)}`);
  return names.length === 0 ? '' : `above: ${names.join(', ')}`;
}

/** @type {Heights} */
export const WHOLE_HEIGHT = Object.freeze({ lo: 0, hi: 1 });

/**
 * @param {number} lo
 * @param {number} span at most 1
 * @returns {Heights} moved into the scale
 */
function within(lo, span) {
  const from = Math.max(0, Math.min(1 - span, lo));
  return { lo: from, hi: from + span };
}

/**
 * Zooms vertically by `factor` (below 1: closer) around a place.
 * @param {Heights} heights
 * @param {number} factor
 * @param {number} share place in the picture: 0 at the bottom, 1 at the top
 * @param {number} scale bytes at the top of the whole scale
 * @returns {Heights}
 */
export function zoomedHeights({ lo, hi }, factor, share, scale) {
  const span = Math.min(1, Math.max((hi - lo) * factor, Math.min(1, LEAST_SPAN_BYTES / scale)));
  return span === 1 ? WHOLE_HEIGHT : within(lo + (hi - lo - span) * share, span);
}

/**
 * Moves up by a share of what is shown.
 * @param {Heights} heights
 * @param {number} share
 * @returns {Heights}
 */
export function movedHeights({ lo, hi }, share) {
  return within(lo + (hi - lo) * share, hi - lo);
}
