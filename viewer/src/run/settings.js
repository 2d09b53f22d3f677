/* settings.js - the settings of the allocator that a file holds, in the words of `tidemark summary`. */
import { formatBytes } from '../words/text.js';

/** @typedef {'bytes' | 'number' | 'switch'} Kind */

const MIB = 2 ** 20;
/**
 * PyTorch's defaults, as in the command line (cli/summary/settings.c); -1: unlimited.
 * @type {Record<string, [number, Kind]>}
 */
const DEFAULTS = {
  memory_limit: [-1, 'bytes'],
  per_process_memory_fraction: [1, 'number'],
  min_block_size: [512, 'bytes'],
  small_size: [MIB, 'bytes'],
  small_buffer: [2 * MIB, 'bytes'],
  min_large_alloc: [10 * MIB, 'bytes'],
  large_segment_size: [20 * MIB, 'bytes'],
  round_large: [2 * MIB, 'bytes'],
  max_split_size: [-1, 'bytes'],
  max_non_split_rounding: [20 * MIB, 'bytes'],
  garbage_collection_threshold: [0, 'number'],
  expandable_segments: [0, 'switch'],
  roundup_power2_divisions: [0, 'number'],
};
const UNLIMITED = 2 ** 62;

/**
 * @param {number | string} value
 * @param {Kind} kind
 */
function valueText(value, kind) {
  if (typeof value === 'string') return value;
  if (kind === 'switch') return value > 0 ? 'True' : 'False';
  if (kind === 'bytes' && value < 0) return 'unlimited';
  return kind === 'bytes' && value < UNLIMITED ? formatBytes(value) : String(value);
}

/**
 * All settings of a file, those that differ from PyTorch's defaults first.
 * @param {import('./format.js').Snapshot} snapshot
 * @returns {{name: string, text: string, isUsual: boolean}[]} isUsual: the default, or one that does not
 *   change the bytes
 */
export function settingsOf({ allocator }) {
  return Object.entries(allocator)
    .filter(([, value]) => typeof value === 'number' || typeof value === 'string')
    .map(([name, value]) => {
      const [usual, kind] = Object.hasOwn(DEFAULTS, name)
        ? DEFAULTS[name]
        : [null, /** @type {Kind} */ ('number')];
      return { name, text: valueText(value, kind), isUsual: usual === null || value === usual };
    })
    .sort((a, b) => Number(a.isUsual) - Number(b.isUsual));
}

/**
 * Those that differ from the defaults, in one line.
 * @param {import('./format.js').Snapshot} snapshot
 */
export function settingsText(snapshot) {
  const all = settingsOf(snapshot);
  const changed = all.filter(({ isUsual }) => !isUsual).map(({ name, text }) => `${name} ${text}`);
  if (all.length === 0) return 'allocator: the file holds no settings';
  return `allocator: ${changed.join(', ') || "PyTorch's defaults"}`;
}
