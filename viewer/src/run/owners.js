/* owners.js - whose memory a device's driver says is in use: the accounts of a live recording, as sums in
 * words.
 */
import { list, numberOr, section, textOr } from './format_values.js';
import { formatCount } from '../words/text.js';

const MIB = 2 ** 20;
const OTHERS = 'others'; // libraries that are not distinguished; they come after those with a name

/**
 * @typedef {object} Account what the driver of one device says is in use; -1: not known
 * @property {number} device
 * @property {number} startBytes
 * @property {number} peakBytes at the instant at which most was in use
 * @property {number} endBytes
 * @property {number} contextBytes
 *
 * @typedef {object} Owner what a library took from the driver; -1: not known
 * @property {string} name
 * @property {number} device
 * @property {number} peakBytes at the peak of the account
 * @property {number} endBytes
 *
 * @typedef {{accounts: Account[], rows: Owner[]}} Owners
 */

/**
 * @param {any} doc
 * @returns {Owners} empty if only the allocator was recorded
 */
export function readOwners(doc) {
  const given = section(doc, 'owners');
  return {
    accounts: list(given, 'accounts').map((row) => ({
      device: numberOr(row.device, -1),
      startBytes: numberOr(row.used_at_start_bytes, -1),
      peakBytes: numberOr(row.used_at_peak_bytes, -1),
      endBytes: numberOr(row.used_at_end_bytes, -1),
      contextBytes: numberOr(row.context_bytes, -1),
    })),
    rows: list(given, 'rows').map((row) => ({
      name: textOr(row.name, ''),
      device: numberOr(row.device, -1),
      peakBytes: numberOr(row.peak_bytes, -1),
      endBytes: numberOr(row.end_bytes, -1),
    })),
  };
}

/**
 * To whole MiB, halves away from 0, as `tidemark summary` does.
 * @param {number} nBytes
 */
function mibOf(nBytes) {
  return Math.sign(nBytes) * Math.floor(Math.abs(nBytes) / MIB + 0.5);
}

/** @param {number} n */
function signedCount(n) {
  return n < 0 ? `−${formatCount(-n)}` : formatCount(n);
}

/**
 * "844 MiB = PyTorch 178 + context 666 + unexplained 0". The whole numbers add up to that of the sum: each is
 * the difference that its part makes to the rounded sum of those before it.
 * @param {number} usedBytes
 * @param {[string, number][]} parts
 */
function sumText(usedBytes, parts) {
  let before = 0;
  const words = parts.map(([name, bytes]) => {
    const from = mibOf(before);
    before += bytes;
    return `${name} ${signedCount(mibOf(before) - from)}`;
  });
  const sum = `${formatCount(mibOf(usedBytes))} MiB`;
  return words.length > 0 ? `${sum} = ${words.join(' + ')}` : sum;
}

/**
 * The parts of what is in use at the peak or at the end; none if an owner's bytes are not known.
 * @param {number} usedBytes
 * @param {number} contextBytes
 * @param {[string, number][]} held by owner
 * @returns {[string, number][]}
 */
function partsOf(usedBytes, contextBytes, held) {
  if (held.some(([, bytes]) => bytes < 0)) return [];
  const some = held.filter(([, bytes]) => bytes > 0);
  const named = some.filter(([name]) => name !== OTHERS);
  const rest = some.filter(([name]) => name === OTHERS);
  const context = /** @type {[string, number][]} */ (contextBytes >= 0 ? [['context', contextBytes]] : []);
  const known = [...named, ...context, ...rest];
  const left = usedBytes - known.reduce((sum, [, bytes]) => sum + bytes, 0);
  return [...known, [contextBytes >= 0 ? 'unexplained' : 'context and unexplained', left]];
}

/**
 * What is in use on a device at the start, at its peak and at the end, one sum each. Who held what at the
 * start is not in the file.
 * @param {Owners} owners
 * @param {number} device
 * @returns {{when: string, text: string}[]} empty: the file does not say
 */
export function accountLines({ accounts, rows }, device) {
  const account = accounts.find((each) => each.device === device);
  if (account === undefined) return [];
  const { startBytes, peakBytes, endBytes, contextBytes } = account;
  const own = rows.filter((row) => row.device === device);
  const held = (/** @type {'peakBytes' | 'endBytes'} */ key) =>
    partsOf(
      account[key],
      contextBytes,
      own.map((row) => [row.name, row[key]]),
    );
  /** @type {[string, number][]} */
  const atStart =
    contextBytes >= 0
      ? [
          ['context', contextBytes],
          ['allocated by then', startBytes - contextBytes],
        ]
      : [];
  /** @type {[string, number, [string, number][]][]} */
  const instants = [
    ['start', startBytes, atStart],
    ['peak', peakBytes, held('peakBytes')],
    ['end', endBytes, held('endBytes')],
  ];
  return instants
    .filter(([, used]) => used >= 0)
    .map(([when, used, parts]) => ({ when, text: sumText(used, parts) }));
}
