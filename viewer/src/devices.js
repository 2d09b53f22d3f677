/* devices.js - the devices of a file, to choose from. */

/**
 * Every device of the file, also one for which nothing was recorded.
 * @param {import('./run.js').Run} run
 * @returns {{device: number, text: string, isEmpty: boolean}[]}
 */
export function deviceChoices({ snapshot, devices }) {
  return snapshot.devices.map(({ kind, name }, device) => {
    const isEmpty = !devices.includes(device);
    const named = name !== '' && name !== kind ? ` ${name}` : '';
    return { device, text: `${kind}:${device}${named}${isEmpty ? ', nothing recorded' : ''}`, isEmpty };
  });
}
