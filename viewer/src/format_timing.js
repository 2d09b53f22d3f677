/* format_timing.js - reads the times of phases, the losses and the kernels. */
import { float64Of, FormatError, indicesOf, MOST_BYTES, rowsOf } from './columns.js';
import { isObject, list, numberOr, section, textOr } from './format_values.js';

const LOSS_TEXTS = new Map([
  ['nan', NaN],
  ['inf', Infinity],
  ['-inf', -Infinity],
]);

/** @param {any} doc */
function readLosses(doc) {
  if (doc.loss === null) throw new FormatError('loss is not a list');
  return list(doc, 'loss', 'loss').map((value, i) => {
    const loss =
      typeof value === 'string' ? LOSS_TEXTS.get(value) : Number.isFinite(value) ? value : undefined;
    if (loss === undefined)
      throw new FormatError(`loss[${i}]: a number was expected, or "nan", "inf" or "-inf"`);
    return /** @type {number} */ (loss);
  });
}

/**
 * @param {any} doc
 * @returns {import('./format.js').Timing}
 */
export function readTiming(doc) {
  const timing = section(doc, 'timing');
  const pairs = section(timing, 'recorder_pairs');
  const samples = (/** @type {any} */ from, /** @type {string} */ key, /** @type {string} */ place) =>
    list(from, key, `${place}.${key}`).filter((x) => typeof x === 'number' && x >= 0);
  const recordedMs = samples(pairs, 'recorded_ms', 'timing.recorder_pairs');
  const unrecordedMs = samples(pairs, 'unrecorded_ms', 'timing.recorder_pairs');
  if (recordedMs.length !== unrecordedMs.length) {
    throw new FormatError(
      `timing.recorder_pairs has ${recordedMs.length} samples in recorded_ms, ${unrecordedMs.length} in unrecorded_ms`,
    );
  }
  return {
    warmupSteps: numberOr(timing.warmup_steps, -1),
    phases: list(timing, 'phases', 'timing.phases')
      .filter(isObject)
      .map((phase) => ({
        name: textOr(phase.name, '?'),
        hostMs: samples(phase, 'host_ms', 'timing.phases[]'),
        deviceMs: samples(phase, 'device_ms', 'timing.phases[]'),
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
  const k = section(doc, 'kernels');
  const count = rowsOf(k, 'kernels', 'name');
  const text = (/** @type {string} */ key) =>
    Array.from(indicesOf(k, 'kernels', key, count, strings.length, 'strings'), (i) => strings[i] ?? '');
  const amount = (/** @type {string} */ key) =>
    float64Of(k, 'kernels', key, count, { lo: 0, hi: MOST_BYTES, what: 'a count or a time' });
  const name = text('name');
  const phase = text('phase');
  const path = text('path');
  const launches = amount('launches');
  const totalNs = amount('total_ns');
  const minNs = amount('min_ns');
  const maxNs = amount('max_ns');
  return name.map((_, i) => ({
    name: name[i],
    phase: phase[i],
    path: path[i],
    launches: launches[i],
    totalNs: totalNs[i],
    meanNs: Math.floor(totalNs[i] / launches[i]),
    minNs: minNs[i],
    maxNs: maxNs[i],
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
