/* rank_digests.js - the few figures of each rank of a run, of digests (docs/reference/digest.md), which the
 * program's code reads. What a digest does not know is -1.
 */
import { bytesOf, readDigests } from './document.js';
import { parseHarmless } from '../words/harmless.js';

/**
 * @typedef {{name: string, size: number, position: number}} Group
 * @typedef {{line: string, category: string, certainty: string, scope: string, bytes: number, nBlocks: number}} Row
 * @typedef {{index: number, nSteps: number, name: string, beginNs: number, endNs: number, peakBytes: number, reservedBytes: number}} Step
 * @typedef {{key: string, place: number, text: string, fold: string}} Sentence of `tidemark explain`; those that
 *   differ in figures only have one fold; place: in the order of the sentences
 * @typedef {{bytesPerPass: number, unit: string, line: string}} Growth unit: "iteration"
 * @typedef {{growth: Growth | null, sentences: Sentence[]}} Explained
 * @typedef {object} Rank one device of one digest
 * @property {string} name "rank 7"
 * @property {number} rank
 * @property {number} worldSize
 * @property {string} node
 * @property {string} file
 * @property {string} outcome
 * @property {Group[]} groups
 * @property {string} deviceName
 * @property {number} totalBytes
 * @property {number} peakBytes allocated
 * @property {number} reservedBytes the most
 * @property {number} endBytes
 * @property {number} headroomBytes
 * @property {number} lowBytes of the peak, where that end was run
 * @property {number} highBytes
 * @property {number} peakStep
 * @property {string} peakPhase
 * @property {number} nDropped
 * @property {{timeNs: number, requestedBytes: number, freeBytes: number, line: string} | null} oom
 * @property {Explained | null} explained null: the digest has none
 * @property {Row[]} rows
 * @property {{bytes: number, nBlocks: number, nRows: number}} rest
 * @property {Step[]} steps
 * @property {number} beginUnixUs -1: the recording has no clock
 * @property {number[]} timeNs
 * @property {number[]} allocatedBytes
 * @property {number[]} reservedOverTime
 * @property {[string, string][]} settings name and value
 */

/**
 * Whether a text begins as a digest, or as a list of digests.
 * @param {string} start the first characters
 */
export function isDigest(start) {
  return /^\s*\{\s*"format"\s*:\s*"tidemark-(digest|ranks)"/.test(start);
}

/**
 * Reads a digest, or a list of digests.
 * @param {import('./document.js').Open} open
 * @returns {Promise<Rank[]>}
 * @throws {import('../run/columns.js').FormatError} its message is a sentence without the full stop
 */
export async function readRanks(open) {
  const digests = parseHarmless(await readDigests(await bytesOf(open)));
  return digests.flatMap((/** @type {any} */ { devices, settings, ...shared }) => {
    const texts = settings.map((/** @type {[string, unknown]} */ [name, value]) => [name, String(value)]);
    return devices.map((/** @type {any} */ device) => ({ ...shared, settings: texts, ...device }));
  });
}
