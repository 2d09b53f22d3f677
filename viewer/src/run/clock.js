/* clock.js - whether the times of a run mean anything. */

/**
 * True if the device, or the one that pinned memory belongs to, computes nothing, so that times mean nothing.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {import('./format.js').Device | undefined} device
 */
export function isSimulated({ devices }, device) {
  return device?.kind === 'pinned'
    ? devices.some(({ kind }) => kind === 'virtual')
    : device?.kind === 'virtual';
}

/**
 * A simulated device has no clock of its own, but it may have that of a forecast.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {boolean} isVirtual
 */
export function hasClock({ clockSource }, isVirtual) {
  return clockSource === 'forecast' || (!isVirtual && clockSource !== 'none');
}

/**
 * The axis that a page begins with. Runs are compared in the order of events where their clock is a forecast:
 * between two launches it is the time of this machine's host, whose pauses would look like differences of
 * memory.
 * @param {{hasClock: boolean, isVirtual: boolean}[]} runs
 * @returns {'event' | 'time'}
 */
export function usualAxis(runs) {
  return runs.some(({ hasClock: has, isVirtual }) => !has || (isVirtual && runs.length > 1))
    ? 'event'
    : 'time';
}
