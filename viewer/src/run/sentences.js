/* sentences.js - what `tidemark explain` prints about a run, which the engine makes. */
import { segmentHeadline } from './segment_run.js';
import { unbroken } from '../words/text.js';

// Keys of sentences about what the recording lacks, or what is not exact in it.
const WARNINGS = new Set([
  ...['dropped', 'dropped_scopes', 'contradictions', 'unmatched'],
  ...['emulated', 'stopped', 'crashed', 'running', 'inexact'],
]);
const NO_ANSWER =
  'This browser has not enough memory to explain the run; the command tidemark explain prints the answer.';

/** @typedef {[string, string]} Sentence its key in the report of the command, and its text */

/**
 * @param {import('./run.js').Run} run
 * @returns {Sentence[]}
 */
function allOf({ snapshot, device }) {
  return snapshot.sentences[device] ?? [['', NO_ANSWER]];
}

/**
 * The answer, the most urgent sentence first; of a run seen as its segments, who reserved them.
 * @param {import('./run.js').Run} run
 * @returns {string[]} at least one
 */
export function answerOf(run) {
  if (run.blocksRun) return [segmentHeadline(run)];
  return allOf(run).flatMap(([key, text]) => (WARNINGS.has(key) ? [] : [unbroken(text)]));
}

/**
 * The warnings, those of one kind in one text.
 * @param {import('./run.js').Run} run
 * @returns {string[]}
 */
export function warningsOf(run) {
  /** @type {Map<string, string[]>} by key */
  const texts = new Map();
  for (const [key, text] of allOf(run)) {
    if (WARNINGS.has(key)) texts.set(key, [...(texts.get(key) ?? []), unbroken(text)]);
  }
  return [...[...texts.values()].map((each) => each.join('; ')), ...run.warnings];
}
