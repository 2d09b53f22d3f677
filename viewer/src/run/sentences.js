/* sentences.js - what `tidemark explain` prints about a run, which the engine makes. */
import { segmentHeadline } from './segment_run.js';
import { unbroken } from '../words/text.js';

// Keys of sentences about what the recording lacks.
const WARNINGS = new Set([
  ...['dropped', 'dropped_scopes', 'contradictions', 'unmatched'],
  ...['emulated', 'stopped', 'crashed', 'running'],
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
 * The sentences that are shown apart from the answer.
 * @param {import('./run.js').Run} run
 * @param {boolean} isOneOfSeveral whose answers are not shown: what is not exact is a warning, too
 * @returns {string[]}
 */
export function warningsOf(run, isOneOfSeveral) {
  const sentences = allOf(run).map(([key, text]) => ({ key, text: unbroken(text) }));
  const isShown = (/** @type {string} */ key) => WARNINGS.has(key) || (isOneOfSeveral && key === 'inexact');
  return [...sentences.filter(({ key }) => isShown(key)).map(({ text }) => text), ...run.warnings];
}
