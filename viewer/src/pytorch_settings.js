/* pytorch_settings.js - reads the allocator's settings of a PyTorch snapshot. */
import { pickleKind, PickleReal } from './pickle_values.js';
import { MOST_REQUEST, N_INTERVALS } from './pytorch.js';
import { isOfKind, Place } from './pytorch_place.js';

const MOST_SETTINGS = 1024;

/**
 * @param {import('./pytorch.js').PytorchImport} found
 * @param {any} value
 */
export function readSettings(found, value) {
  const at = new Place(null, 'allocator_settings');
  if (value === undefined || value === null) return; // old files have none
  if (!isOfKind(value, 'dict')) {
    found.countOdd(at);
    return;
  }
  const { items } = value;
  if (items.length / 2 > MOST_SETTINGS)
    at.fail(`${items.length / 2} settings, the limit is ${MOST_SETTINGS}`);
  for (let i = 0; i < items.length; i += 2) {
    const name = at.text(items[i]);
    const given = items[i + 1];
    const number =
      typeof given === 'boolean' ? Number(given) : given instanceof PickleReal ? given.value : given;
    if (typeof number === 'number' && Number.isFinite(number)) {
      found.settings[name] = number;
      if (name === 'max_split_size' && number > 0 && number < MOST_REQUEST)
        found.maxSplitBytes = Math.floor(number);
    } else if (name === 'roundup_power2_divisions') {
      found.settings[name] = divisions(found, given, at.at(name));
    } else {
      found.settings[name] = typeof given === 'string' ? given : pickleKind(given);
    }
  }
}

/**
 * {"1": 0, "2": 4, ..., "32768": 8}: the divisions per interval, which its lower bound in MiB names.
 * @param {import('./pytorch.js').PytorchImport} found
 * @param {any} value
 * @param {Place} at
 */
function divisions(found, value, at) {
  if (!isOfKind(value, 'dict')) found.countOdd(at);
  const dict = isOfKind(value, 'dict') ? at.dict(value) : new Map();
  for (let i = 0; i < N_INTERVALS; i++) {
    const key = String(2 ** i);
    const given = dict.get(key);
    const isGood = typeof given === 'number' && given >= 0 && given < 2 ** 32;
    if (!isGood && given !== undefined) found.countOdd(at.at(key));
    found.roundupDivisions[i] = isGood ? given : 0;
  }
  const [first] = found.roundupDivisions;
  return found.roundupDivisions.every((n) => n === first)
    ? first
    : `[${found.roundupDivisions.map((n, i) => `${2 ** i}:${n}`).join(',')}]`;
}
