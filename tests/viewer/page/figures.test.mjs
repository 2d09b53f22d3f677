// Every figure that `profile --precision fp32,bf16-mixed` writes and prints, and that summary and compare
// print of its files, against the same figure recomputed from the events and samples.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  CASES,
  EMULATED,
  PHASES,
  PRECISIONS,
  embedded,
  profile,
  recorderText,
  sentenceOf,
  tidemark,
} from '../support/figures.mjs';
import { temporaryFolder } from '../support/pages.mjs';
import { bytesText, stateAfter, statistics, trainingFlops } from '../support/recompute.mjs';

const root = temporaryFolder();

/** Equal except for the last digits of a sum. */
function near(actual, expected, what) {
  assert.equal(typeof actual, 'number', what);
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.abs(expected),
    `${what}: ${actual} instead of ${expected}`,
  );
}

const byKey = (rows, key) => new Map(rows.map(({ [key]: name, ...rest }) => [name, rest]));

function descends(rows) {
  assert.ok(
    rows.every((row, i) => i === 0 || rows[i - 1].bytes >= row.bytes),
    'the largest first',
  );
}

function checkSummary({ document, summary }) {
  const { file } = document;
  assert.equal(file.summary.length, 1);
  const [{ counts, dropped, unmatched, peak, max, end }] = file.summary;
  assert.deepEqual([counts, dropped, unmatched, max, end], [summary.counts, 0, 0, summary.max, summary.end]);
  const { by_phase, by_scope, by_stack, ...figures } = peak;
  const expected = summary.peak;
  const { by_phase: phases, by_scope: scopes, by_stack: stacks, ...rest } = expected;
  assert.deepEqual(figures, rest);
  for (const [rows, key, groups] of [
    [by_phase, 'path', phases],
    [by_scope, 'path', scopes],
    [by_stack, 'stack', stacks],
  ]) {
    descends(rows);
    assert.equal(rows.length, groups.size);
    assert.deepEqual(byKey(rows, key), groups);
  }
  for (const split of [Object.values(peak.by_category), by_phase, by_scope, by_stack]) {
    assert.equal(
      split.reduce((total, row) => total + row.bytes, 0),
      expected.allocated_bytes,
    );
    assert.equal(
      split.reduce((total, row) => total + row.count, 0),
      expected.n_blocks,
    );
  }
}

/** The blocks and segments that the file lists at its end, against those after the last event. */
function checkEnd({ document }) {
  const { file, unit, events } = document;
  const { segments, runs, blocks } = stateAfter(document, events.length - 1);
  assert.deepEqual(
    new Map(file.end.segments.map((segment) => [segment.address * unit, segment.total_bytes])),
    new Map([...segments, ...runs].sort(([a], [b]) => a - b)),
  );
  const live = file.end.segments.flatMap((segment) =>
    segment.blocks
      .filter((block) => block.state !== 0)
      .map((block) => [segment.address * unit + block.offset_bytes, block]),
  );
  assert.equal(live.length, blocks.size);
  for (const [address, block] of live) {
    const { bytes, requested, category, name, stack, scope } = blocks.get(address);
    assert.deepEqual(
      [
        block.block_bytes,
        block.requested_bytes,
        file.categories[block.category],
        block.name,
        block.stack,
        block.scope,
      ],
      [bytes, requested, category, name, stack, scope],
    );
  }
}

function checkTiming({ document: { file } }, device) {
  const { timing } = file;
  assert.deepEqual([timing.warmup_steps, timing.measured_steps, timing.flops], [1, 4, trainingFlops(file)]);
  assert.deepEqual(
    timing.phases.map((phase) => phase.name),
    PHASES,
  );
  for (const phase of timing.phases) {
    for (const clock of ['host', 'device']) {
      const samples = phase[`${clock}_ms`];
      assert.equal(samples.length, device === 'virtual' ? 0 : 4);
      for (const [key, value] of Object.entries(statistics(samples, true)))
        near(phase[clock][key], value, `${phase.name}.${clock}.${key}`);
    }
  }
  assert.equal(timing.recorder_pairs === undefined, device === 'virtual');
}

/** The models' parameters are the blocks of that name; their bytes follow the precision. */
function checkParameters({ document, summary, short }) {
  const { run } = document.file;
  const weights = summary.blocks.filter(
    (block) => block.category === 'parameter' && !document.text(block.name).endsWith('.bf16'),
  );
  assert.equal(
    weights.reduce((total, block) => total + block.requested, 0),
    4 * run.model.n_parameters,
  );
  assert.deepEqual([run.precision, run.outcome], [short, 'completed']);
}

const tokensPerSecond = ({ document: { file }, times }) =>
  (file.run.batch_size * file.run.context_length) / (times('step').mean / 1000);
// The virtual device computes nothing, and the output names the model whose memory it is.
const devicesLine = (device) =>
  `2 runs on ${device}${device === 'virtual' ? " (tidemark's own model in C); times: not computed" : ''}`;

/** One step of warm-up, four measured ones. */
const lossText = ({ file: { loss } }) =>
  `loss: ${loss[0].toFixed(6)} in the run's first step, ${loss[1].toFixed(6)} in the first measured one, ${loss[4].toFixed(6)} in the last`;

function checkJson(result) {
  const { runs, device } = result;
  const { sentences, tables } = JSON.parse(result.printed);
  const table = tables.runs;
  assert.deepEqual([Object.keys(tables), table.rows.length], [['runs'], runs.length]);
  const rateKeys =
    device === 'cpu'
      ? [...PHASES.flatMap((phase) => [`${phase}_ms`, `${phase}_std_ms`]), 'tokens_per_second']
      : [];
  for (const [i, run] of runs.entries()) {
    const row = table.rows[i];
    const { max } = run.summary;
    assert.deepEqual(Object.keys(row), [
      'run',
      'outcome',
      'allocated_peak_bytes',
      'reserved_peak_bytes',
      ...rateKeys,
      'snapshot',
    ]);
    assert.deepEqual(
      [row.run, row.outcome, row.allocated_peak_bytes, row.reserved_peak_bytes, row.snapshot],
      [run.name, 'fits', max.allocated.bytes, max.reserved.bytes, run.path],
    );
    if (device !== 'cpu') continue;
    for (const phase of PHASES) {
      near(row[`${phase}_ms`], run.times(phase).mean, phase);
      near(row[`${phase}_std_ms`], run.times(phase).std, phase);
    }
    assert.equal(row.tokens_per_second, Math.floor(tokensPerSecond(run) + 0.5));
  }
  const said = (key) => sentences[key] ?? [];
  assert.deepEqual(said('device'), [devicesLine(device)]);
  assert.deepEqual(said('comparison'), [sentenceOf(runs)]);
  assert.deepEqual(said('report'), [`report: ${result.report}`]);
  assert.deepEqual(
    said('recorder'),
    device === 'cpu' ? runs.map((run) => `${run.name}: ${recorderText(run.document)}`) : [],
  );
  assert.deepEqual(said('emulated'), device === 'cpu' ? [`note: ${EMULATED}`] : []);
  assert.deepEqual(
    said('loss'),
    device === 'cpu' ? runs.map((run) => `${run.name}: ${lossText(run.document)}`) : [],
  );
  assert.equal(Object.values(sentences).flat().length, 3 + (device === 'cpu' ? 5 : 0));
}

function checkText(result) {
  const { runs, device } = result;
  const lines = result.printed.split('\n');
  const head = lines.findIndex((line) => line.startsWith('  run '));
  const times = device === 'cpu';
  assert.deepEqual(lines[head].trim().split(/ {2,}/), [
    'run',
    'outcome',
    'allocated',
    'reserved',
    ...(times ? [...PHASES.flatMap((phase) => [phase, '± sample std']), 'tokens/s'] : []),
    'snapshot',
  ]);
  for (const [i, run] of runs.entries()) {
    const { max } = run.summary;
    assert.deepEqual(lines[head + 1 + i].trim().split(/ {2,}/), [
      run.name,
      'fits',
      bytesText(max.allocated.bytes),
      bytesText(max.reserved.bytes),
      ...(times
        ? [
            ...PHASES.flatMap((phase) => [
              `${run.times(phase).mean.toFixed(3)} ms`,
              `${run.times(phase).std.toFixed(3)} ms`,
            ]),
            String(Math.floor(tokensPerSecond(run) + 0.5)),
          ]
        : []),
      run.path,
    ]);
  }
  const expected = [
    devicesLine(device),
    sentenceOf(runs),
    `report: ${result.report}`,
    ...(times
      ? [
          ...runs.flatMap((run) =>
            [recorderText, lossText].map((textOf) => `${run.name}: ${textOf(run.document)}`),
          ),
          `note: ${EMULATED}`,
        ]
      : []),
  ];
  assert.deepEqual(
    lines.filter((line, at) => line !== '' && (at < head - 1 || at > head + runs.length)).sort(),
    expected.sort(),
  );
}

function checkReport({ report, runs }) {
  const { files, comparison } = embedded(report);
  assert.deepEqual(
    files.map((file) => file.label),
    runs.map((run) => run.name),
  );
  files.forEach((file, i) =>
    assert.ok(file.bytes.equals(readFileSync(runs[i].path)), `${file.label}: the file itself`),
  );
  assert.deepEqual(comparison, { sentence: sentenceOf(runs), names: PRECISIONS });
}

const printedJson = (...options) => {
  const { status, stdout, stderr } = tidemark(...options, '--format', 'json');
  assert.equal(status, 0, stderr);
  const { sentences, tables } = JSON.parse(stdout);
  return { sentences, table: (key) => tables[key]?.rows };
};

function checkCompare({ runs, device }) {
  const { sentences, table } = printedJson('compare', ...runs.map((run) => run.path));
  const [base, other] = runs;
  assert.equal(sentences.comparison[0], sentenceOf(runs));
  assert.deepEqual(
    sentences.emulated ?? [],
    device === 'cpu'
      ? [
          'note: bf16 is emulated on the cpu in bf16-mixed: its bytes are real, its times are not representative',
        ]
      : [],
  );
  const bytesRow = (key, name, [a, b]) => ({
    [key]: name,
    run1_bytes: a,
    run2_bytes: b,
    run2_ratio: a > 0 ? b / a : null,
  });
  const exact = (actual, expected) => {
    assert.deepEqual(
      actual.map(({ run2_ratio, ...row }) => row),
      expected.map(({ run2_ratio, ...row }) => row),
    );
    actual.forEach((row, i) =>
      expected[i].run2_ratio === null
        ? assert.equal(row.run2_ratio, null)
        : near(row.run2_ratio, expected[i].run2_ratio, 'ratio'),
    );
  };
  const ofCategory = (category) => runs.map((run) => run.summary.peak.by_category[category].bytes);
  exact(table('footprint'), [
    ...Object.keys(runs[0].summary.peak.by_category)
      .filter((category) => ofCategory(category).some((bytes) => bytes > 0))
      .map((category) => bytesRow('category', category, ofCategory(category))),
    bytesRow(
      'category',
      'all',
      runs.map((run) => run.summary.max.allocated.bytes),
    ),
  ]);
  exact(
    table('peaks').map(({ counted, ...row }) => row),
    ['requested', 'allocated', 'active', 'reserved'].map((key) =>
      bytesRow(
        'quantity',
        key,
        runs.map((run) => run.summary.max[key].bytes),
      ),
    ),
  );
  const phases = table('timing') ?? [];
  assert.deepEqual(
    phases.map((row) => row.phase),
    device === 'cpu' ? PHASES : [],
  );
  for (const row of phases) {
    const [one, two] = [base, other].map((run) => run.times(row.phase));
    for (const [key, value] of Object.entries({
      run1_ms: one.median,
      run1_std_ms: one.std,
      run2_ms: two.median,
      run2_std_ms: two.std,
      run2_ratio: two.mean / one.mean,
    }))
      near(row[key], value, key);
  }
}

/** Blocks that wait for a stream count in requested bytes but not in allocated bytes; the table says so. */
const COUNTED = {
  requested: 'sizes asked for, until the release completes',
  allocated: 'whole blocks, until the release is requested',
  active: 'whole blocks, until the release completes',
  reserved: 'segments',
};

function checkSummaryCommand({ path, document, summary, short }, device) {
  const { sentences, table } = printedJson('summary', path, '--top', '100000');
  const { peak, max, end } = summary;
  const said = (key) => sentences[key]?.[0] ?? '';
  const parts = Object.entries(peak.by_category)
    .map(([category, { bytes }]) => [category, bytes])
    .filter(([, bytes]) => bytes > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([category, bytes]) => `${((100 * bytes) / peak.allocated_bytes).toFixed(1)} % ${category}`);
  assert.ok(
    said('peak').startsWith(
      `peak ${bytesText(peak.allocated_bytes)} (${peak.allocated_bytes} bytes) allocated in `,
    ),
    said('peak'),
  );
  assert.deepEqual(said('peak').split(': ')[1].split(', ').sort(), parts.sort());
  const { requested_bytes, rounding_bytes, unsplit_bytes } = peak.accounting;
  assert.equal(
    said('accounting'),
    `allocated = requested ${requested_bytes} + rounding ${rounding_bytes} + unsplit tails ${unsplit_bytes} bytes, in ${peak.n_blocks} blocks`,
  );
  assert.equal(said('emulated'), device === 'cpu' && short.startsWith('bf16') ? `note: ${EMULATED}` : '');
  assert.equal(said('recorder'), device === 'cpu' ? recorderText(document) : '');
  const rowOf = (group) => ({
    bytes: group.bytes,
    share_percent: (100 * group.bytes) / peak.allocated_bytes,
    requested_bytes: group.requested_bytes,
    blocks: group.count,
    largest: group.largest,
  });
  const same = (rows, key, expected) => {
    assert.equal(rows.length, expected.size);
    for (const { [key]: name, share_percent, ...row } of rows) {
      const { share_percent: share, ...rest } = rowOf(expected.get(name));
      assert.deepEqual(row, rest, name);
      near(share_percent, share, name);
    }
  };
  const named = (groups) =>
    new Map([...groups].map(([path, group]) => [path || '(outside every scope)', group]));
  same(
    table('by_category'),
    'category',
    new Map(Object.entries(peak.by_category).filter(([, group]) => group.count > 0)),
  );
  same(table('by_phase'), 'scope', named(peak.by_phase));
  same(table('by_scope'), 'scope', named(peak.by_scope));
  assert.deepEqual(
    table('by_stack')
      .map((row) => [row.bytes, row.requested_bytes, row.blocks])
      .sort(),
    [...peak.by_stack.values()].map((group) => [group.bytes, group.requested_bytes, group.count]).sort(),
  );
  assert.deepEqual(
    table('maxima'),
    Object.entries(COUNTED).map(([key, counted]) => ({
      counted,
      quantity: key,
      max_bytes: max[key].bytes,
      event: max[key].event,
      end_bytes: end[`${key}_bytes`],
    })),
  );
  assert.deepEqual(
    table('blocks').map((row) => [row.name, row.category, row.bytes, row.requested_bytes, row.event]),
    [...summary.blocks]
      .sort((a, b) => b.bytes - a.bytes || a.born - b.born || a.address - b.address)
      .map((block) => [
        document.text(block.name) || '(no name)',
        block.category,
        block.bytes,
        block.requested,
        block.born - 1,
      ]),
  );
  const rows = table('timing') ?? [];
  assert.equal(rows.length, device === 'cpu' ? 2 * PHASES.length : 0);
  for (const row of rows) {
    const samples = document.file.timing.phases.find((phase) => phase.name === row.phase)[`${row.clock}_ms`];
    assert.equal(row.samples, samples.length);
    for (const [key, value] of Object.entries(statistics(samples)))
      near(row[`${key}_ms`], value, `${row.phase} ${key}`);
  }
}

for (const [number, each] of CASES.entries()) {
  test(`${each.name} on ${each.device}: each figure is what the events and samples say`, () => {
    for (const [format, check] of [
      ['json', checkJson],
      ['text', checkText],
    ]) {
      const folder = join(root, `${number}-${format}`);
      mkdirSync(folder);
      const result = profile(each, folder, format);
      for (const run of result.runs) {
        checkSummary(run);
        checkEnd(run);
        checkTiming(run, each.device);
        checkParameters(run);
        checkSummaryCommand(run, each.device);
      }
      check(result);
      checkReport(result);
      checkCompare(result);
    }
  });
}

test('a single run says in every format that bf16 is emulated on the cpu, and no other run does', () => {
  const shape = CASES.find((each) => each.device === 'cpu').shape;
  for (const [device, precision, isEmulated] of [
    ['cpu', 'bf16-true', true],
    ['cpu', 'bf16-mixed', true],
    ['cpu', 'fp32', false],
    ['virtual', 'bf16-mixed', false],
  ]) {
    for (const format of ['text', 'markdown', 'csv', 'latex', 'json']) {
      const options = [
        '--precision',
        precision,
        '--device',
        device,
        '--format',
        format,
        '-o',
        join(root, `alone-${device}.json.gz`),
      ];
      const { status, stdout, stderr } = tidemark(
        'profile',
        ...shape,
        ...options,
        ...(device === 'cpu' ? ['--overhead-pairs', '0'] : []),
      );
      assert.equal(status, 0, stderr);
      /* With csv, sentences are notes on stderr. */
      const said = format === 'csv' ? stderr : stdout;
      assert.equal(said.includes(EMULATED), isEmulated, options.join(' '));
    }
  }
});
