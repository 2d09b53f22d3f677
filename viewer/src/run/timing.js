/* timing.js - figures from a run's times: tokens and FLOP per second, the cost of recording, and the kernels.
 * Figures and words are those of `tidemark summary`.
 */
import { SCOPE } from '../words/format_names.js';
import { formatDuration, formatPlural } from '../words/text.js';

// fewer cannot be distinguished from chance: 2 of the 2^5 outcomes of 5 coins show one side only
const MIN_PAIRS = 6;
const PATH_DEPTH = 32; // scopes of a path in a text

/**
 * @typedef {object} RecorderCost shares refer to a recorded step
 * @property {number} nEvents of the phases of the last measured step; -1: unknown
 * @property {number} nsPerEvent -1: not measured
 * @property {number} eventShare nEvents times nsPerEvent; -1: unknown
 * @property {number} nPairs of steps, with and without recording; 0: not compared
 * @property {number} pairShare median of the pairs; may be negative by chance
 * @property {number} lowShare 95 % confidence interval of the median; the range for fewer than MIN_PAIRS
 *   pairs
 * @property {number} highShare
 *
 * @typedef {object} KernelSum one kernel, summed over all places
 * @property {string} name
 * @property {number} launches
 * @property {number} totalNs
 * @property {number} meanNs
 * @property {number} share of the time of all kernels
 * @property {string[]} places most time first
 *
 * @typedef {object} TimingFacts
 * @property {number} stepMs mean of a whole step; -1: not measured
 * @property {number} tokensPerSecond -1: unknown
 * @property {number} flopsPerSecond of the matrix products; -1: unknown
 * @property {number} peakShare of the device's stated peak; -1: none is stated
 * @property {RecorderCost} recorder
 * @property {KernelSum[]} kernels most time first
 */

/**
 * Formats a loss as the command line does.
 * @param {number} loss
 */
function lossText(loss) {
  return Number.isNaN(loss) ? 'nan' : Number.isFinite(loss) ? loss.toFixed(6) : loss > 0 ? 'inf' : '-inf';
}

/**
 * The losses of the steps that the command line shows; "": none.
 * @param {import('./format.js').Timing} timing
 */
export function lossesText({ losses, warmupSteps }) {
  const n = losses.length;
  const measured = warmupSteps > 0 && warmupSteps < n ? warmupSteps : 0;
  const odd = losses.findIndex((loss) => !Number.isFinite(loss));
  if (n === 0) return '';
  return `${lossText(losses[0])} in the run's first step${measured > 0 ? `, ${lossText(losses[measured])} in the first measured one` : ''}${
    n - 1 > measured ? `, ${lossText(losses[n - 1])} in the last` : ''
  }${odd >= 0 ? `; it is no finite number from step ${odd} of the run on` : ''}`;
}

/** @param {number[]} samples */
function meanOf(samples) {
  return samples.length > 0 ? samples.reduce((a, b) => a + b, 0) / samples.length : -1;
}

/**
 * The last scope "step N"; -1: none.
 * @param {import('./format.js').Snapshot} snapshot
 */
function lastStep({ scopes, strings }) {
  for (let s = scopes.count - 1; s >= 0; s--)
    if (scopes.kind[s] === SCOPE.STEP && scopes.name[s] >= 0 && strings[scopes.name[s]] === 'step') return s;
  return -1;
}

/**
 * Events in the phases of the last step. The frees at the end of a step, outside every phase, are not timed.
 * @param {import('./format.js').Snapshot} snapshot
 */
function countStepEvents(snapshot) {
  const { scopes, events, nDropped, fullPolicy } = snapshot;
  const step = lastStep(snapshot);
  if (step < 0 || events.count === 0) return -1;
  // some of the step's events are missing
  if (nDropped > 0 && (fullPolicy !== 'keep-newest' || events.timeNs[0] > scopes.beginNs[step])) return -1;
  /** @type {Map<number, boolean>} */
  const known = new Map();
  const isInPhase = (/** @type {number} */ scope) => {
    let s = scope;
    let inPhase = false;
    for (let i = 0; i < PATH_DEPTH && s > step; i++) {
      inPhase ||= scopes.kind[s] === SCOPE.PHASE;
      s = scopes.parent[s];
    }
    return inPhase && s === step;
  };
  let n = 0;
  for (let e = 0; e < events.count; e++) {
    const scope = events.scope[e];
    if (scope <= step) continue; // a scope comes after the scopes around it
    let is = known.get(scope);
    if (is === undefined) known.set(scope, (is = isInPhase(scope)));
    if (is) n++;
  }
  return n;
}

/**
 * How many of n sorted samples to drop at each end such that the rest encloses the median of any distribution
 * with 95 % confidence.
 * @param {number} n
 */
function outsideOf(n) {
  let term = 2 ** -n;
  let sum = term;
  let k = 0;
  while (sum <= 0.025) {
    term *= (n - k) / (k + 1);
    sum += term;
    k++;
  }
  return Math.max(0, k - 1);
}

/**
 * The cost of recording, from the cost of one event, and from steps with and without recording.
 * @param {import('./format.js').Snapshot} snapshot
 * @returns {RecorderCost}
 */
export function recorderCost(snapshot) {
  const { timing } = snapshot;
  const nEvents = countStepEvents(snapshot);
  const nsPerEvent = timing.recorderNsPerEvent;
  const stepMs = meanOf(timing.phases.find(({ name }) => name === 'step')?.hostMs ?? []);
  const pairs = timing.recorderPairs;
  const cost = {
    nEvents,
    nsPerEvent,
    eventShare: nEvents >= 0 && nsPerEvent >= 0 && stepMs > 0 ? (nEvents * nsPerEvent * 1e-6) / stepMs : -1,
    nPairs: 0,
    pairShare: 0,
    lowShare: 0,
    highShare: 0,
  };
  if (
    pairs === null ||
    pairs.recordedMs.length === 0 ||
    ![...pairs.recordedMs, ...pairs.unrecordedMs].every((ms) => ms > 0)
  )
    return cost;
  const shares = pairs.recordedMs.map((ms, i) => 1 - pairs.unrecordedMs[i] / ms).sort((a, b) => a - b);
  const n = shares.length;
  const outside = outsideOf(n);
  return {
    ...cost,
    nPairs: n,
    pairShare: (shares[(n - 1) >> 1] + shares[n >> 1]) / 2,
    lowShare: shares[outside],
    highShare: shares[n - 1 - outside],
  };
}

/**
 * Two significant digits: "12 %", "0.012 %".
 * @param {number} share
 */
function percentText(share) {
  const percent = 100 * share;
  const size = Math.abs(percent);
  if (size === 0) return '0 %';
  if (size < 0.001) return percent < 0 ? 'above -0.001 %' : 'below 0.001 %';
  return `${percent.toFixed(size >= 9.95 ? 0 : size >= 0.995 ? 1 : size >= 0.0995 ? 2 : 3)} %`;
}

/**
 * The cost of recording in the words of the command line; "": unknown.
 * @param {RecorderCost} cost
 */
export function recorderText({ nEvents, nsPerEvent, eventShare, nPairs, pairShare, lowShare, highShare }) {
  const parts = [];
  if (eventShare >= 0)
    parts.push(
      `${percentText(eventShare)} of a step by its cost per event (${formatPlural(nEvents, 'event')} of ${nsPerEvent.toFixed(0)} ns)`,
    );
  if (nPairs > 0) {
    const isSure = nPairs >= MIN_PAIRS;
    const pairs = `(${nPairs} pair${nPairs === 1 ? '' : 's'} of steps)`;
    const found =
      lowShare <= 0
        ? `not distinguishable from 0 within ± ${percentText(Math.max(Math.abs(lowShare), Math.abs(highShare)))}`
        : isSure
          ? `${percentText(pairShare)} of a step, ${percentText(lowShare)} to ${percentText(highShare)} with 95 % confidence`
          : `${percentText(lowShare)} to ${percentText(highShare)} of a step, which so few cannot distinguish from chance`;
    parts.push(`recording on and off: ${found} ${pairs}`);
  }
  return parts.join('; ');
}

/**
 * A forecast of time in words, with its range and what of it is guessed.
 * @param {import('./format.js').Forecast} forecast
 */
export function forecastText({
  card,
  bound,
  stepMs,
  lowMs,
  highMs,
  gpuMs,
  hostMs,
  guessedShare,
  uncomparedShare,
}) {
  const ms = (/** @type {number} */ x) => formatDuration(x * 1e6);
  return stepMs < 0
    ? `Forecast for ${card}: a step takes at least ${ms(lowMs)}. ${percentText(guessedShare)} of the card's time is guessed, so that more is not forecast.`
    : `Forecast for ${card}, by a model: the GPU is busy for ${ms(gpuMs)} in a step, which takes ${ms(lowMs)} to ${ms(highMs)}, likely ${ms(stepMs)}; the host works for ${ms(hostMs)}; bound by ${bound}. ${percentText(guessedShare)} of the card's time is guessed, ${percentText(uncomparedShare)} is in kernels that were never compared with a published time.`;
}

/**
 * Kernels by name, over all places.
 * @param {import('./format.js').Kernel[]} kernels
 * @returns {KernelSum[]}
 */
export function sumKernels(kernels) {
  /** @type {Map<string, import('./format.js').Kernel[]>} */
  const byName = new Map();
  for (const kernel of kernels) byName.set(kernel.name, [...(byName.get(kernel.name) ?? []), kernel]);
  const all = kernels.reduce((sum, { totalNs }) => sum + totalNs, 0);
  return [...byName]
    .map(([name, list]) => {
      const launches = list.reduce((sum, kernel) => sum + kernel.launches, 0);
      const totalNs = list.reduce((sum, kernel) => sum + kernel.totalNs, 0);
      const places = [...list]
        .sort((a, b) => b.totalNs - a.totalNs)
        .map(({ path }) => path || 'outside every scope');
      return {
        name,
        launches,
        totalNs,
        meanNs: launches > 0 ? totalNs / launches : 0,
        share: all > 0 ? totalNs / all : 0,
        places,
      };
    })
    .sort((a, b) => b.totalNs - a.totalNs);
}

/**
 * @param {import('./run.js').Run} run
 * @returns {TimingFacts}
 */
export function timingFacts({ snapshot, timing }) {
  const {
    run,
    timing: { flops, statedPeakFlops },
  } = snapshot;
  const stepMs = timing.find(({ name }) => name === 'step')?.statistics.mean ?? -1;
  const tokens = run.batch_size > 0 && run.context_length > 0 ? run.batch_size * run.context_length : -1;
  const flopsPerSecond = stepMs > 0 && flops > 0 ? flops / (stepMs * 1e-3) : -1;
  return {
    stepMs,
    tokensPerSecond: stepMs > 0 && tokens > 0 ? tokens / (stepMs * 1e-3) : -1,
    flopsPerSecond,
    peakShare: flopsPerSecond > 0 && statedPeakFlops > 0 ? flopsPerSecond / statedPeakFlops : -1,
    recorder: recorderCost(snapshot),
    kernels: sumKernels(snapshot.kernels),
  };
}
