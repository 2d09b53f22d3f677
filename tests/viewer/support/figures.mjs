// Runs `tidemark profile --precision fp32,bf16-mixed` for the tests that recompute its figures.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesText, load, phaseTimes, recorderCost, summarise } from './recompute.mjs';

export const CLI = process.env.TIDEMARK_CLI ?? '';
export const PRECISIONS = ['fp32', 'bf16-mixed'];
export const EMULATED = 'bf16 is emulated on the cpu: its bytes are real, its times are not representative';
const MODEL = ['--layers', '2', '--d-model', '64', '--heads', '4', '--d-ff', '160', '--vocab', '500'];
const STEPS = ['--warmup', '1', '--steps', '4'];

/**
 * A shape with a peak of activations, one where bf16 cannot lower the peak, and one with blocks that are not
 * split to the end.
 */
export const CASES = [
  {
    name: 'activations',
    devices: ['virtual', 'cpu'],
    shape: [...MODEL, '--context', '64', '--batch', '8', ...STEPS],
  },
  {
    name: 'optimizer state',
    devices: ['virtual', 'cpu'],
    shape: [...MODEL, '--context', '16', '--batch', '2', ...STEPS],
  },
  {
    name: 'unsplit tails',
    devices: ['virtual'],
    shape: ['--layers', '1', '--context', '128', '--batch', '4', ...STEPS],
  },
].flatMap((each) => each.devices.map((device) => ({ ...each, device, pairs: device === 'cpu' ? 9 : 0 })));

if (!existsSync(CLI)) {
  console.log('skipped: TIDEMARK_CLI names no program');
  process.exit(77);
}

export function tidemark(...options) {
  const { status, stdout, stderr } = spawnSync(CLI, options, {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    env: { ...process.env, OMP_WAIT_POLICY: 'passive', TIDEMARK_ALLOC_CONF: '' },
  });
  return { status, stdout, stderr };
}

/** Runs a case in a folder of its own and recomputes its output. */
export function profile({ shape, device, pairs }, folder, format) {
  const options = [
    'profile',
    ...shape,
    '--precision',
    PRECISIONS.join(),
    '--device',
    device,
    '-o',
    `${folder}/`,
    '--format',
    format,
    ...(pairs > 0 ? ['--overhead-pairs', String(pairs)] : []),
  ];
  const ran = tidemark(...options);
  if (ran.status !== 0) throw new Error(`tidemark ${options.join(' ')}: ${ran.stderr}`);
  const size = (key) => shape[shape.indexOf(key) + 1];
  const names = PRECISIONS.map(
    (precision) => `custom-train-c${size('--context')}-b${size('--batch')}-${precision}`,
  );
  const runs = names.map((name, i) => {
    const path = join(folder, `${name}.json.gz`);
    const document = load(path);
    return {
      name,
      short: PRECISIONS[i],
      path,
      document,
      summary: summarise(document),
      times: (phase) => phaseTimes(document, phase),
    };
  });
  return { runs, printed: ran.stdout, report: join(folder, 'report.html'), device };
}

export const PHASES = ['forward', 'backward', 'optimizer', 'step'];
/** For each category in the runs below; a missing one shows as "undefined". */
const CATEGORY_WORDS = {
  parameter: 'parameters',
  gradient: 'gradients',
  optimizer_state: 'optimizer state',
  activation: 'activations',
  temporary: 'temporaries',
  input: 'inputs',
  weight_copy: 'weight copies',
};

/** The reason why the second run, with the narrower type, takes more than the first; "" if it does not. */
function causeOf([wide, narrow]) {
  const bytes = (run, category) => run.summary.peak.by_category[category].bytes;
  const more = narrow.summary.peak.allocated_bytes - wide.summary.peak.allocated_bytes;
  if (more <= Math.floor(wide.summary.peak.allocated_bytes / 1000)) return '';
  const inDirection = (sign) => {
    const all = Object.keys(wide.summary.peak.by_category)
      .map((category) => ({ category, change: sign * (bytes(narrow, category) - bytes(wide, category)) }))
      .filter(({ change }) => change > 0);
    const sum = all.reduce((total, { change }) => total + change, 0);
    return {
      sum,
      named: all
        .filter(({ change }) => change > 100 * Math.floor(sum / 1000))
        .sort((a, b) => b.change - a.change)
        .slice(0, 3),
    };
  };
  const list = (texts) =>
    texts.length > 1 ? `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}` : texts[0];
  const grown = inDirection(1);
  const shrunk = inDirection(-1);
  return ` ${narrow.short} takes ${bytesText(more)} more than ${wide.short} although its type is smaller: ${list(
    grown.named.map(({ category, change }) => `${bytesText(change)} more of ${CATEGORY_WORDS[category]}`),
  )}${
    shrunk.named.length > 0
      ? ` outweigh ${bytesText(shrunk.sum)} less of ${list(shrunk.named.map(({ category }) => CATEGORY_WORDS[category]))}`
      : ', and no category takes less'
  }, each at its own peak.`;
}

/** The sentence that compares two complete runs of one workload. */
export function sentenceOf([base, other]) {
  const bytes = (run, category) => run.summary.peak.by_category[category].bytes;
  const peak = (run) => run.summary.peak.allocated_bytes;
  const categories = Object.keys(base.summary.peak.by_category);
  const dominant = (run) => categories.reduce((a, b) => (bytes(run, b) > bytes(run, a) ? b : a));
  const [one, two] = [dominant(base), dominant(other)].map((category) => CATEGORY_WORDS[category]);
  const difference = peak(other) - peak(base);
  const perMille = Math.floor(peak(base) / 1000);
  const ends = `${bytesText(peak(base))} with ${base.short}, ${bytesText(peak(other))} with ${other.short}`;
  const cause = causeOf([base, other]);
  if (Math.abs(difference) <= 10 * perMille) {
    return one === two
      ? `The peak is set by ${one} (${bytesText(bytes(base, dominant(base)))} of ${bytesText(peak(base))}) in the ${base.summary.peak.phase} phase in both: ${other.short} hardly changes it (${ends}).${cause}`
      : `The peak is set by ${one} with ${base.short} and by ${two} with ${other.short}, at nearly the same height (${ends}).${cause}`;
  }
  const lower = difference < 0;
  const percent = `${(Math.abs(100 * difference) / peak(base)).toFixed(1)} %`;
  const changes = categories
    .map((category) => ({ category, change: bytes(other, category) - bytes(base, category) }))
    .filter(({ change }) => Math.abs(change) > 10 * perMille)
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change))
    .map(
      ({ category, change }, i) =>
        `${CATEGORY_WORDS[category]} ${i > 0 ? '' : category === 'optimizer_state' ? 'takes ' : 'take '}${bytesText(Math.abs(change))} ${change < 0 ? 'less' : 'more'}`,
    );
  const [from, to] = [base, other].map((run) => run.summary.peak.scope);
  const rise =
    one === two && !lower
      ? `The peak is set by ${one} in both, and ${other.short} raises it by ${percent}`
      : `${other.short} ${lower ? 'lowers' : 'raises'} the peak by ${percent}`;
  return (
    `${rise}, from ${bytesText(peak(base))} to ${bytesText(peak(other))}${changes.length > 0 && cause === '' ? `: there ${changes.join(', ')}` : ''}` +
    `${from !== to && from && to ? `; it moves from ${from} to ${to}` : ''}${one !== two ? `; it is set by ${one} with ${base.short} and by ${two} with ${other.short}` : lower ? `; it is set by ${one} in both` : ''}.${cause}`
  );
}

function percentText(share) {
  const percent = 100 * share;
  const size = Math.abs(percent);
  return size > 0 && size < 0.001
    ? `${percent < 0 ? 'above -' : 'below '}0.001 %`
    : `${percent.toFixed(size >= 9.95 ? 0 : size >= 0.995 ? 1 : size >= 0.0995 ? 2 : 3)} %`;
}

/**
 * The sentence on the recorder after 9 pairs of steps: the 2nd and the 8th of 9 samples enclose the median in
 * 96 of 100 cases.
 */
export function recorderText(document) {
  const { n, ns, share, shares } = recorderCost(document);
  const [low, middle, high] = [1, 4, 7].map((i) => shares[i]);
  const pairs =
    low > 0
      ? `${percentText(middle)} of a step, ${percentText(low)} to ${percentText(high)} with 95 % confidence`
      : `not distinguishable from 0 within ± ${percentText(Math.max(Math.abs(low), Math.abs(high)))}`;
  return `recorder: ${percentText(share)} of a step by its cost per event (${n} events of ${ns.toFixed(0)} ns); recording on and off: ${pairs} (9 pairs of steps)`;
}

/** The data in a report: files by label, and the comparison. */
export function embedded(path) {
  const html = readFileSync(path, 'utf8');
  const decoded = (text) => Buffer.from(text, 'base64');
  const files = [
    ...html.matchAll(/<script [^>]*class="tidemark-snapshot" data-label="([^"]*)">([^<]*)</g),
  ].map(([, label, data]) => ({ label, bytes: decoded(data) }));
  const comparison = /<script [^>]*class="tidemark-comparison">([^<]*)</.exec(html);
  return { files, comparison: JSON.parse(decoded(comparison[1]).toString('utf8')) };
}
