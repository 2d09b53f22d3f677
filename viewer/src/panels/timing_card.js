/* timing_card.js - the times of one run: every sample of every phase, rates, the cost of recording, and the
 * kernels. Pointing at a phase highlights it in the timelines, and vice versa.
 */
import { breakable, byId, card, element, pushButton } from '../elements/dom.js';
import { forecastText, lossesText, recorderText, timingFacts } from '../run/timing.js';
import { formatCount, formatDuration, formatMeanStd, formatMs, formatShare } from '../words/text.js';

const LISTED_KERNELS = 8;

/**
 * Draws one phase's samples as dots, with mean and spread.
 * @param {import('../run/run.js').PhaseTiming} phase
 * @param {number} longest ms at the right edge
 */
function sampleStrip(phase, longest) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'samples');
  svg.setAttribute('role', 'img');
  svg.setAttribute(
    'aria-label',
    `${phase.statistics.samples.length} samples: ${phase.statistics.samples.map(formatMs).join(', ')} ms`,
  );
  const put = (/** @type {string} */ tag, /** @type {Record<string, number | string>} */ attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
    svg.append(made);
  };
  const { mean, samples } = phase.statistics;
  const std = Math.max(0, phase.statistics.std);
  const at = (/** @type {number} */ ms) => `${(97 * ms) / longest}%`;
  put('rect', { class: 'mean', x: 0, y: 8, width: at(mean), height: 8 });
  put('rect', {
    class: 'spread',
    x: at(Math.max(0, mean - std)),
    y: 2,
    width: at(Math.min(mean, std) + std),
    height: 20,
  });
  samples.forEach((ms, i) => put('circle', { class: 'dot', cx: at(ms), cy: 5 + ((i * 5) % 14), r: 2.2 }));
  return svg;
}

/**
 * A phase, which the timelines highlight while it has the pointer or the keyboard focus.
 * @param {import('../elements/store.js').Store} store
 * @param {import('../run/run.js').PhaseTiming} phase
 * @param {number} longest ms
 */
function phaseRow(store, phase, longest) {
  const {
    name,
    statistics: { mean, std, median, min, max },
  } = phase;
  const set = (/** @type {string | null} */ value) => () => store.set({ phase: value });
  const button = pushButton(name, set(name), { class: 'name link', title: `Show ${name} in the timelines` });
  const row = element(
    'div',
    { class: 'phase', 'data-phase': name },
    button,
    sampleStrip(phase, longest),
    element(
      'span',
      {
        class: 'number',
        title: `median ${formatMs(median)} ms, ${formatMs(min)} to ${formatMs(max)} ms`,
      },
      formatMeanStd(mean, std),
    ),
  );
  row.addEventListener('pointerenter', set(name));
  row.addEventListener('pointerleave', set(null));
  button.addEventListener('focus', set(name));
  button.addEventListener('blur', set(null));
  return row;
}

/**
 * "1.25 TFLOP/s".
 * @param {number} flops per second
 */
function rateText(flops) {
  const [value, unit] = flops >= 1e12 ? [flops / 1e12, 'TFLOP/s'] : [flops / 1e9, 'GFLOP/s'];
  return `${value >= 100 ? formatCount(value) : value.toPrecision(3)} ${unit}`;
}

/**
 * @param {import('../run/timing.js').TimingFacts} facts
 * @param {string} losses
 * @returns {HTMLElement[]}
 */
function rateFacts({ tokensPerSecond, flopsPerSecond, peakShare, recorder }, losses) {
  const fact = (/** @type {string} */ key, /** @type {string} */ value, /** @type {string} */ title) => [
    element('dt', {}, key),
    element('dd', { title }, value),
  ];
  const recorded = recorderText(recorder);
  return [
    element(
      'dl',
      { class: 'rates' },
      ...(tokensPerSecond > 0
        ? fact(
            'tokens',
            `${tokensPerSecond >= 100 ? formatCount(tokensPerSecond) : tokensPerSecond.toPrecision(3)} per second`,
            'Tokens of a step over its mean time',
          )
        : []),
      ...(flopsPerSecond > 0
        ? fact(
            'products',
            `${rateText(flopsPerSecond)}${peakShare > 0 ? `, ${formatShare(peakShare)} of the stated peak` : ''}`,
            'FLOP of the matrix products of a step over its mean time',
          )
        : []),
      ...(losses !== '' ? fact('loss', losses, 'Two runs with the same losses computed the same') : []),
      ...(recorded !== '' ? fact('recorder', recorded, 'The cost of writing events') : []),
    ),
  ];
}

/** @param {import('../run/timing.js').KernelSum[]} kernels */
function kernelTable(kernels) {
  const body = element('tbody');
  const head = element(
    'tr',
    {},
    element('th', { scope: 'col' }, 'kernel'),
    ...['launches', 'total', 'mean', 'share'].map((name) =>
      element('th', { scope: 'col', class: 'number' }, name),
    ),
  );
  const row = (
    /** @type {import('../run/timing.js').KernelSum} */ { name, launches, totalNs, meanNs, share, places },
  ) =>
    element(
      'tr',
      {},
      element(
        'th',
        { scope: 'row', title: `${name} in ${places.join(', ')}` },
        element('span', { class: 'kernel-name' }, breakable(name)),
      ),
      ...[formatCount(launches), formatDuration(totalNs), formatDuration(meanNs), formatShare(share)].map(
        (text) => element('td', { class: 'number' }, text),
      ),
    );
  body.append(...kernels.slice(0, LISTED_KERNELS).map(row));
  const rest = kernels.slice(LISTED_KERNELS);
  const table = element('table', { class: 'compare kernels' }, element('thead', {}, head), body);
  const more =
    rest.length === 0
      ? null
      : pushButton(
          `${formatCount(rest.length)} more kernels`,
          () => {
            body.append(...rest.map(row));
            more?.remove();
          },
          { class: 'link' },
        );
  return element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Kernels' },
    table,
    more,
  );
}

/**
 * Why a run has no times; "" if it has some.
 * @param {import('../run/run.js').Run | undefined} run
 */
function noTimesText(run) {
  if (run === undefined || run.timing.length > 0) return '';
  if (run.snapshot.forecast !== null) return forecastText(run.snapshot.forecast);
  return run.isVirtual
    ? 'No times of steps: a virtual device computes nothing.'
    : 'No times of steps: the file holds no measured steps.';
}

/**
 * @param {import('../elements/store.js').Store} store
 * @param {import('../run/run.js').Run} run with times
 */
function cardOf(store, run) {
  const { timing, snapshot } = run;
  const longest = Math.max(...timing.map(({ statistics: { max, mean, std } }) => Math.max(max, mean + std)));
  const facts = timingFacts(run);
  const n = timing[0].statistics.samples.length;
  const { forecast } = snapshot;
  const clock = forecast !== null ? "the forecast's" : timing[0].clock;
  const note = `mean ${n === 1 ? 'of 1 step' : `± sample standard deviation of ${n} steps`} after ${Math.max(0, snapshot.timing.warmupSteps)} of warm-up, ${clock} clock; one dot per step`;
  return card(
    forecast !== null ? 'Forecast time per step' : 'Time per step',
    forecast !== null ? element('p', { class: 'small' }, forecastText(forecast)) : null,
    ...timing.map((phase) => phaseRow(store, phase, longest)),
    element('p', { class: 'muted small' }, note),
    ...rateFacts(facts, lossesText(snapshot.timing)),
    facts.kernels.length > 0 ? kernelTable(facts.kernels) : null,
  );
}

/**
 * The card of the run shown.
 * @param {import('../elements/store.js').Store} store
 * @returns {HTMLElement} updates with the store
 */
export function makeTimingCard(store) {
  const made = element('div', { class: 'timing' });
  const fill = () => {
    const { runs, shown } = store.get();
    const run = runs[shown];
    const without = noTimesText(run);
    made.replaceChildren(...(run && without === '' ? [cardOf(store, run)] : []));
    made.hidden = made.childElementCount === 0;
    byId('no-times').textContent = without;
    byId('no-times').hidden = without === '';
  };
  store.on(['runs', 'shown'], fill);
  store.on(['phase'], ({ phase }) => {
    for (const row of made.querySelectorAll('.phase'))
      row.classList.toggle('lit', row.getAttribute('data-phase') === phase);
  });
  fill();
  return made;
}
