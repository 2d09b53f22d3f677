/* format_timing.js - reads the times of phases, the losses and the kernels. */
import { list, numberOr, section, textOr } from './format_values.js';

const LOSS_TEXTS = new Map([
  ['nan', NaN],
  ['inf', Infinity],
  ['-inf', -Infinity],
]);

/** @param {any} doc */
function readLosses(doc) {
  return list(doc, 'loss').map((value) => LOSS_TEXTS.get(value) ?? value);
}

/**
 * @param {any} doc
 * @returns {import('./format.js').Timing}
 */
export function readTiming(doc) {
  const timing = section(doc, 'timing');
  const pairs = section(timing, 'recorder_pairs');
  const samples = (/** @type {any} */ from, /** @type {string} */ key) =>
    list(from, key).filter((x) => typeof x === 'number' && x >= 0);
  const recordedMs = samples(pairs, 'recorded_ms');
  const unrecordedMs = samples(pairs, 'unrecorded_ms');
  return {
    warmupSteps: numberOr(timing.warmup_steps, -1),
    phases: list(timing, 'phases').map((phase) => ({
      name: textOr(phase.name, '?'),
      hostMs: samples(phase, 'host_ms'),
      deviceMs: samples(phase, 'device_ms'),
    })),
    flops: numberOr(timing.flops, -1),
    statedPeakFlops: numberOr(timing.stated_peak_flops, -1),
    recorderNsPerEvent: numberOr(timing.recorder_ns_per_event, -1),
    recorderPairs: recordedMs.length > 0 ? { recordedMs, unrecordedMs } : null,
    losses: readLosses(doc),
  };
}

/**
 * @param {any} doc
 * @param {string[]} strings
 * @returns {import('./format.js').Kernel[]}
 */
export function readKernels(doc, strings) {
  const { name = [], phase, path, launches, ...times } = section(doc, 'kernels');
  return name.map((/** @type {number} */ number, /** @type {number} */ i) => ({
    name: strings[number],
    phase: strings[phase[i]] ?? '',
    path: strings[path[i]],
    launches: launches[i],
    totalNs: times.total_ns[i],
    meanNs: Math.floor(times.total_ns[i] / launches[i]),
    minNs: times.min_ns[i],
    maxNs: times.max_ns[i],
  }));
}

/**
 * @param {any} doc
 * @returns {import('./format.js').Forecast | null}
 */
export function readForecast(doc) {
  const forecast = section(doc, 'forecast');
  const card = textOr(forecast.card, '');
  return card === ''
    ? null
    : {
        card,
        bound: textOr(forecast.bound, '?'),
        stepMs: numberOr(forecast.step_ms, -1),
        lowMs: numberOr(forecast.low_ms, -1),
        highMs: numberOr(forecast.high_ms, -1),
        gpuMs: numberOr(forecast.gpu_ms, -1),
        hostMs: numberOr(forecast.host_ms, -1),
        guessedShare: numberOr(forecast.guessed_share, -1),
        uncomparedShare: numberOr(forecast.uncompared_share, -1),
      };
}
