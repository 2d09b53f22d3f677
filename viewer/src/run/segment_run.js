/* segment_run.js - a run seen as its segments, and the sentence at its top. */
import { buildBlocks, buildReserved } from './blocks.js';
import { aliveAt, buildIndex } from './index.js';
import { buildLanes, scopeExtents } from './lanes.js';
import { makeRun, placeOfState, sitesAtPeak } from './run.js';
import { segmentSnapshot } from './segments.js';
import { formatBytes, formatPlural, unbroken } from '../words/text.js';

const MOST_BUYERS = 4; // named in the sentence
const LEAST_SHARE = 0.02; // of the peak; smaller buyers are not named

/**
 * The same run, whose blocks are the segments of its device.
 * @param {import('./run.js').Run} run
 * @returns {import('./run.js').Run}
 */
export function segmentRun(run) {
  const { snapshot, firstRow } = segmentSnapshot(run.snapshot, run.device);
  const made = makeRun(snapshot, run.label, run.device, {
    index: buildIndex(buildBlocks(snapshot, run.device)),
    reserved: buildReserved(snapshot, run.device),
    extents: scopeExtents(snapshot),
    lanes: buildLanes(snapshot),
    devices: run.devices,
  });
  return Object.defineProperties(made, {
    given: { value: run.given },
    blocksRun: { value: run },
    firstRow: { value: firstRow },
  });
}

/**
 * The run whose segments are shown, or the run itself.
 * @param {import('./run.js').Run} run
 */
export function blocksRunOf(run) {
  return run.blocksRun ?? run;
}

/**
 * What the device had to give at most, and which lines made the allocator ask for it.
 * @param {import('./run.js').Run} run
 */
export function segmentHeadline(run) {
  const { index, peakState } = run;
  const bytes = index.totals[peakState];
  const place = placeOfState(run, peakState);
  const count = aliveAt(index, peakState).length;
  const buyers = sitesAtPeak(run)
    .filter((site) => site.bytes >= bytes * LEAST_SHARE)
    .slice(0, MOST_BUYERS)
    .map((site) => `${site.label} ${formatBytes(site.bytes)}`);
  const bought = buyers.length > 0 ? `, by the line that bought them: ${buyers.join(', ')}` : '';
  return unbroken(
    `At most ${formatBytes(bytes)} reserved${place ? ` in ${place}` : ''}, in ${formatPlural(count, 'segment')}${bought}.`,
  );
}
