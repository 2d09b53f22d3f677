// Figures from a run's times: rates, the cost of recording in the words of the command line, kernels.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { snapshotOf } from '../support/engine.mjs';
import { makeRun } from '../../../viewer/src/run/run.js';
import {
  lossesText,
  recorderCost,
  recorderText,
  sumKernels,
  timingFacts,
} from '../../../viewer/src/run/timing.js';
import { trainingRun } from '../support/synthetic.mjs';

/** A run with these times. */
function timed(timing, run = {}) {
  const document = trainingRun({ layers: 2, warmup: 1, steps: 2 });
  document.timing = { ...document.timing, ...timing };
  document.run = { ...document.run, ...run };
  return makeRun(snapshotOf(document), 'timed');
}

test('rates are those of the mean step', () => {
  const run = timed(
    {
      phases: [{ name: 'step', host_ms: [90, 110], device_ms: [-1, -1] }],
      flops: 5e12,
      stated_peak_flops: 2e14,
    },
    { batch_size: 4, context_length: 128 },
  );
  const facts = timingFacts(run);
  assert.equal(facts.stepMs, 100);
  assert.equal(facts.tokensPerSecond, 5120);
  assert.equal(facts.flopsPerSecond, 5e13);
  assert.equal(facts.peakShare, 0.25);
});

test('losses are read exactly, and shown for the first, the first measured and the last step', () => {
  const read = (loss, warmup = 1) =>
    snapshotOf({
      ...trainingRun({ layers: 1, steps: 2 }),
      loss,
      timing: { warmup_steps: warmup, phases: [] },
    }).timing;
  assert.deepEqual(read([9.5, 'nan', 'inf', '-inf']).losses, [9.5, NaN, Infinity, -Infinity]);
  assert.deepEqual(read(undefined).losses, []);
  assert.equal(
    lossesText(read([9.28, 9.1, 8.5])),
    "9.280000 in the run's first step, 9.100000 in the first measured one, 8.500000 in the last",
  );
  assert.equal(lossesText(read([9.28, 9.1], 0)), "9.280000 in the run's first step, 9.100000 in the last");
  assert.equal(
    lossesText(read([9.28, 'nan'], 0)),
    "9.280000 in the run's first step, nan in the last; it is no finite number from step 1 of the run on",
  );
  assert.equal(lossesText(read([])), '');
});

test('unknown figures are not shown', () => {
  const facts = timingFacts(timed({ phases: [], flops: -1, stated_peak_flops: -1 }, { batch_size: -1 }));
  assert.deepEqual(
    [facts.stepMs, facts.tokensPerSecond, facts.flopsPerSecond, facts.peakShare],
    [-1, -1, -1, -1],
  );
  assert.equal(recorderText(facts.recorder), '');
  assert.deepEqual(facts.kernels, []);
});

test('events inside a phase of the last step count', () => {
  const run = timed({
    phases: [{ name: 'step', host_ms: [100, 100], device_ms: [-1, -1] }],
    recorder_ns_per_event: 200,
  });
  const { snapshot } = run;
  const { scopes, events, strings } = snapshot;
  let last = -1;
  let n = 0;
  for (let s = 0; s < scopes.count; s++)
    if (scopes.kind[s] === 0 && strings[scopes.name[s]] === 'step') last = s;
  for (let e = 0; e < events.count; e++) {
    const above = [];
    for (let s = events.scope[e]; s >= 0; s = scopes.parent[s]) above.push(s);
    if (above.includes(last) && above.some((s) => scopes.kind[s] === 1)) n++;
  }
  const cost = recorderCost(snapshot);
  assert.ok(n > 10);
  assert.equal(cost.nEvents, n);
  assert.ok(Math.abs(cost.eventShare - (n * 200e-6) / 100) < 1e-12);
  snapshot.nDropped = 5;
  assert.equal(
    recorderCost(snapshot).nEvents,
    snapshot.fullPolicy === 'keep-newest' && events.timeNs[0] <= scopes.beginNs[last] ? n : -1,
  );
  snapshot.fullPolicy = 'stop';
  assert.equal(recorderCost(snapshot).nEvents, -1);
});

const KERNELS = [
  ['gemm', 'forward', 'forward > layer', 10, 500],
  ['gemm', 'backward', 'backward > layer', 20, 1500],
  ['add', 'forward', 'forward', 5, 100],
];

test('kernels are summed over their places', () => {
  const kernels = KERNELS.map(([name, phase, path, launches, totalNs]) => ({
    name,
    phase,
    path,
    launches,
    totalNs,
    meanNs: totalNs / launches,
    minNs: 1,
    maxNs: 9,
  }));
  assert.deepEqual(sumKernels(kernels), [
    {
      name: 'gemm',
      launches: 30,
      totalNs: 2000,
      meanNs: 2000 / 30,
      share: 2000 / 2100,
      places: ['backward > layer', 'forward > layer'],
    },
    { name: 'add', launches: 5, totalNs: 100, meanNs: 20, share: 100 / 2100, places: ['forward'] },
  ]);
});

/* Pairs of steps: with a cost of recording, without a visible one, and too few. */
const PAIRS = {
  shows: [
    [10.2, 10.1, 10.3, 10.2, 10.25, 10.15, 10.2, 10.3],
    [10, 10, 10.1, 10, 10, 10, 10, 10],
  ],
  none: [
    [10, 10.1, 9.9, 10, 10.2, 9.8, 10],
    [10.1, 10, 10, 9.9, 10, 10, 10],
  ],
  few: [
    [10.2, 10.3, 10.4],
    [10, 10, 10],
  ],
  one: [[10.2], [10.1]],
};

test(
  'the words about the recorder are those of the command line',
  { skip: existsSync(process.env.TIDEMARK_CLI ?? '') ? false : 'TIDEMARK_CLI names no program' },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-timing-'));
    const path = join(folder, 'run.json.gz');
    const changed = join(folder, 'changed.json');
    const summary = (file) =>
      /^recorder: (.*)$/m.exec(
        execFileSync(process.env.TIDEMARK_CLI, ['summary', file], { encoding: 'utf8' }),
      )?.[1] ?? '';
    try {
      execFileSync(
        process.env.TIDEMARK_CLI,
        ['profile', '--size', 'small', '--device', 'virtual', '--steps', '2', '--warmup', '0', '-o', path],
        { stdio: 'ignore' },
      );
      const document = JSON.parse(gunzipSync(readFileSync(path)).toString());
      for (const [name, [recorded, unrecorded]] of Object.entries({ ...PAIRS, without: [[], []] })) {
        for (const nsPerEvent of [128.4, 31000, -1]) {
          const of = (ms) => ({ mean: ms, std: 0, median: ms, min: ms, max: ms });
          document.timing = {
            ...document.timing,
            measured_steps: 1,
            phases: [{ name: 'step', host_ms: [420.5], device_ms: [-1], host: of(420.5), device: of(-1) }],
            recorder_ns_per_event: nsPerEvent,
            recorder_pairs: { recorded_ms: recorded, unrecorded_ms: unrecorded },
          };
          writeFileSync(changed, JSON.stringify(document));
          const { snapshot } = makeRun(snapshotOf(document), 'changed');
          assert.equal(recorderText(recorderCost(snapshot)), summary(changed), `${name}, ${nsPerEvent} ns`);
        }
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
