/* devices.js - the devices of a file, to choose from. */
import { ACTION, NO_BLOCK, STATE, subjectOf } from './subjects.js';

/**
 * Every device of the file, also one for which nothing was recorded.
 * @param {import('./run.js').Run} run
 * @returns {{device: number, text: string, isEmpty: boolean}[]}
 */
export function deviceChoices({ snapshot, devices }) {
  return snapshot.devices.map(({ kind, name }, device) => {
    const isEmpty = !devices.includes(device);
    const named = name !== '' && name !== kind ? ` ${name}` : '';
    return { device, text: `${kind}:${device}${named}`, isEmpty };
  });
}

/**
 * @typedef {object} Outline of what is allocated on a device
 * @property {number} peakBytes
 * @property {Float64Array} columns the most bytes in equal parts of the order of events
 */

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} nColumns
 * @returns {Outline[]} by device
 */
export function deviceOutlines({ devices, start, events, subjects }, nColumns) {
  const now = new Float64Array(devices.length);
  const outlines = devices.map(() => ({ peakBytes: 0, columns: new Float64Array(nColumns) }));
  const note = (/** @type {number} */ device, /** @type {number} */ column) => {
    const outline = outlines[device];
    outline.peakBytes = Math.max(outline.peakBytes, now[device]);
    outline.columns[column] = Math.max(outline.columns[column], now[device]);
  };
  subjects.atStart.forEach(({ row, segment }, block) => {
    if (start.blocks.state[row] === STATE.ALLOCATED) now[start.device[segment]] += subjects.bytes[block];
  });
  let before = 0;
  devices.forEach((_, device) => note(device, 0));
  for (let e = 0; e < events.count; e++) {
    const column = Math.floor((e * nColumns) / events.count);
    if (column > before) devices.forEach((_, device) => note(device, column));
    before = column;
    const act = events.act[e];
    if (act <= NO_BLOCK || events.action[e] > ACTION.FREE_COMPLETED) continue;
    const bytes = subjects.bytes[subjectOf(act)];
    now[events.device[e]] += act >= 0 ? bytes : -bytes;
    note(events.device[e], column);
  }
  return outlines;
}
