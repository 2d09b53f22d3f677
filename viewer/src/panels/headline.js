/* headline.js - the sentence at the top, folded if it is too long for the screen. */
import { categoriesOf } from '../words/colours.js';
import { byId, element } from '../elements/dom.js';
import { areToldByLines, linesAtPeaks } from '../answers/differences.js';
import { endedEarly, implementationText } from '../run/run.js';
import { answerOf } from '../run/sentences.js';
import {
  categoryText,
  formatBytes,
  formatMs,
  formatPlural,
  formatRatio,
  formatShare,
  splitSentence,
} from '../words/text.js';

/**
 * The lines on top: of several runs what differs, of one run what `tidemark explain` prints.
 * @param {import('../run/run.js').Run[]} runs
 * @param {string} sentence of the command line about several runs; ""
 * @returns {string[]}
 */
function linesOf(runs, sentence) {
  if (runs.length < 2) return runs.flatMap(answerOf);
  return [sentence || comparisonSentence(runs)];
}

/**
 * Shows the headline; a button unfolds what does not fit the screen.
 * @param {import('../run/run.js').Run[]} runs
 * @param {string} sentence of the command line about several runs; ""
 */
export function showHeadline(runs, sentence) {
  const [first = '', ...others] = linesOf(runs, sentence);
  const [bold, rest] = splitSentence(first);
  const line = byId('headline');
  line.classList.toggle('several', runs.length > 1 || rest !== '' || others.length > 0);
  line.classList.toggle('answer', runs.length === 1);
  line.classList.remove('open');
  line.replaceChildren(
    bold,
    ...(rest === '' ? [] : [' ', element('span', { class: 'rest' }, rest)]),
    ...others.flatMap((each) => [' ', element('span', { class: 'rest line' }, each)]),
  );
}

/**
 * The subtitle: the workload, or the number of runs and the program whose memory they all show.
 * @param {import('../run/run.js').Run[]} runs
 */
export function subtitleOf(runs) {
  if (runs.length < 2) return runs[0]?.title ?? '';
  const whose = new Set(runs.map((run) => implementationText(run.snapshot.run.implementation)));
  const [only] = whose;
  return `${runs.length} runs compared${whose.size === 1 && only !== '' ? ` · ${only}` : ''}`;
}

/** Shows or hides the button that unfolds it. */
export function fitHeadline() {
  const line = byId('headline');
  const button = byId('more-button');
  const isOpen = line.classList.contains('open');
  button.hidden = !isOpen && line.scrollHeight <= line.clientHeight + 2;
  button.textContent = isOpen ? 'less' : 'more';
  button.setAttribute('aria-expanded', String(isOpen));
}

const MOST_LINES = 4; // named in a sentence
const LEAST_CHANGE = 0.01; // share of the base's peak; smaller changes are not named

/**
 * How much memory a run saves against the base, in which categories, and how its time changes.
 * @param {import('../run/run.js').Run} base
 * @param {import('../run/run.js').Run} run
 */
function pairSentence(base, run) {
  const ended = [base, run].find(endedEarly);
  const rest = ended === run ? base : run;
  if (!base.isRecorded || !run.isRecorded)
    return `${run.short} and ${base.short} cannot be compared: allocations were not recorded.`;
  if (ended !== undefined)
    return `${ended.short} ran out of memory at ${formatBytes(ended.peak.bytes)}; ${rest.short} peaks at ${formatBytes(rest.peak.bytes)}.`;
  const change = run.peak.bytes / base.peak.bytes - 1;
  const from = formatBytes(base.peak.bytes);
  const to = formatBytes(run.peak.bytes);
  const peaks =
    Math.abs(change) < LEAST_CHANGE
      ? `${run.short} peaks as ${base.short} does (${to}, ${from})`
      : `${run.short} ${change < 0 ? 'lowers' : 'raises'} the peak by ${formatShare(Math.abs(change))}, from ${from} to ${to}`;
  const ends = [base, run].map(
    (one) => one.timing.find(({ name }) => name === 'step')?.statistics.mean ?? NaN,
  );
  const time = Number.isFinite(ends[1] / ends[0])
    ? `; a step takes ${formatMs(ends[1])} ms instead of ${formatMs(ends[0])} ms (${formatRatio(ends[1] / ends[0])})`
    : '';
  return `${peaks}${areToldByLines([base, run]) ? lineChanges(base, run) : categoryChanges(base, run)}${time}.`;
}

/**
 * ": 4.00 GiB less at softmax (nn_utils.py:7), 2.81 GiB more at forward (model.py:41)".
 * @param {import('../run/run.js').Run} base
 * @param {import('../run/run.js').Run} run
 */
function lineChanges(base, run) {
  const changed = linesAtPeaks([base, run]).filter(({ bytes }) => bytes[0] !== bytes[1]);
  const named = changed.slice(0, MOST_LINES).map(({ label, bytes: [a, b] }) => {
    const where = label.includes('(') ? `at ${label}` : label;
    return `${formatBytes(Math.abs(b - a))} ${b < a ? 'less' : 'more'} ${where}`;
  });
  const rest = changed.length - named.length;
  if (rest > 0) named.push(`and differences at ${formatPlural(rest, 'more line')}`);
  return named.length > 0 ? `: ${named.join(', ')}` : ': every line has as many bytes';
}

/**
 * ": activations 1.00 GiB less"; small changes are not named.
 * @param {import('../run/run.js').Run} base
 * @param {import('../run/run.js').Run} run
 */
function categoryChanges(base, run) {
  const bytesOf = (/** @type {import('../run/run.js').Run} */ one, /** @type {string} */ key) =>
    one.peak.categories.find((group) => group.key === key)?.bytes ?? 0;
  const parts = categoriesOf([base.snapshot, run.snapshot])
    .map((key) => ({ key, bytes: bytesOf(run, key) - bytesOf(base, key) }))
    .filter(({ bytes }) => Math.abs(bytes) > LEAST_CHANGE * base.peak.bytes)
    .sort((a, b) => Math.abs(b.bytes) - Math.abs(a.bytes))
    .map(
      ({ key, bytes }) =>
        `${categoryText(key)} ${formatBytes(Math.abs(bytes))} ${bytes < 0 ? 'less' : 'more'}`,
    );
  return parts.length > 0 ? `: ${parts.join(', ')}` : '';
}

/**
 * The sentence on several runs, if the command line gave none.
 * @param {import('../run/run.js').Run[]} runs
 */
export function comparisonSentence(runs) {
  const [base, ...others] = runs;
  return others.map((run) => pairSentence(base, run)).join(' ');
}
