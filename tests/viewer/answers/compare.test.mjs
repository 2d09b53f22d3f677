// Two runs side by side: corresponding places, and differences of their blocks.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { alignedPlace, alignedState, alignedView, alignRuns } from '../../../viewer/src/answers/alignment.js';
import { usualAxis } from '../../../viewer/src/run/clock.js';
import { CATEGORIES } from '../../../viewer/src/words/colours.js';
import { compareRuns } from '../../../viewer/src/answers/compare.js';
import {
  blocksOfRow,
  categoryBytesAt,
  differencesAt,
  sideOf,
  usualDifference,
} from '../../../viewer/src/answers/differences.js';
import { snapshotOf } from '../support/engine.mjs';
import { aliveAt } from '../../../viewer/src/run/index.js';
import { comparisonSentence, subtitleOf } from '../../../viewer/src/panels/headline.js';
import { enclosing, scopePath, scopeSpan } from '../../../viewer/src/run/lanes.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { namePattern } from '../../../viewer/src/words/text.js';
import { Recording } from '../support/recording.mjs';
import { randomRun, trainingRun } from '../support/synthetic.mjs';

const runOf = (document, label = 'run') => makeRun(snapshotOf(document), label);
const fp32 = runOf(trainingRun({ warmup: 1, steps: 2 }), 'fp32');
const bf16 = runOf(
  trainingRun({ warmup: 2, steps: 3, bytes: 2, precision: 'bf16-mixed', nsPerEvent: 7000 }),
  'bf16',
);

test('a page begins in the order of events where a run has no clock, or where forecasts are compared', () => {
  const [measured, forecast, none] = [
    { hasClock: true, isVirtual: false },
    { hasClock: true, isVirtual: true },
    { hasClock: false, isVirtual: true },
  ];
  assert.equal(usualAxis([measured, measured]), 'time');
  assert.equal(usualAxis([forecast]), 'time');
  assert.equal(usualAxis([forecast, forecast]), 'event');
  assert.equal(usualAxis([measured, forecast]), 'event');
  assert.equal(usualAxis([none]), 'event');
});

test('the page says whose memory it shows', () => {
  const of = (/** @type {string | undefined} */ implementation) => {
    const document = trainingRun({ warmup: 0, steps: 1 });
    return runOf({ ...document, run: { ...document.run, implementation } });
  };
  const own = of('tidemark');
  const forecast = of('pytorch-eager-2026');
  const unknown = of(undefined);
  assert.match(subtitleOf([own]), /^tidemark's own model in C · /);
  assert.match(subtitleOf([forecast]), /^PyTorch, eager · /);
  assert.doesNotMatch(subtitleOf([unknown]), /tidemark|PyTorch/);
  assert.equal(subtitleOf([own, own]), "2 runs compared · tidemark's own model in C");
  assert.equal(subtitleOf([own, forecast]), '2 runs compared');
  assert.equal(subtitleOf([unknown, unknown]), '2 runs compared');
});

test('the middle of each phase and layer lies in the same phase and layer of the other run', () => {
  for (const kind of ['event', 'time']) {
    const there = alignRuns(fp32, bf16, kind);
    let n = 0;
    for (let s = 0; s < fp32.snapshot.scopes.count; s++) {
      if (fp32.snapshot.scopes.kind[s] !== 1 && fp32.snapshot.scopes.kind[s] !== 2) continue;
      const step = enclosing(fp32.snapshot.scopes, s, 0);
      if (step < 0) continue;
      const [x0, x1] = scopeSpan(fp32.snapshot, fp32.extents, fp32.axes[kind], s);
      if (x1 <= x0) continue;
      const at = alignedPlace(there, (x0 + x1) / 2);
      const path = scopePath(fp32.snapshot, s);
      const spans = Array.from({ length: bf16.snapshot.scopes.count }, (_, t) => t)
        .filter((t) => scopePath(bf16.snapshot, t) === path)
        .map((t) => scopeSpan(bf16.snapshot, bf16.extents, bf16.axes[kind], t));
      assert.ok(
        spans.some(([a, b]) => at >= a && at <= b),
        `${path} at ${at} in ${JSON.stringify(spans)}`,
      );
      n++;
    }
    assert.ok(n > 20);
  }
});

test('a run is aligned with itself to the point, and beyond its ends', () => {
  for (const kind of ['event', 'time']) {
    const same = alignRuns(fp32, fp32, kind);
    const { lo, hi } = fp32.axes[kind];
    for (const x of [lo - 10, lo, lo + (hi - lo) / 3, hi, hi + 1000])
      assert.ok(Math.abs(alignedPlace(same, x) - x) < 1e-6 * (hi - lo), `${kind} ${x}`);
    for (const state of [0, 1, 77, fp32.index.nStates - 1]) {
      const back = alignedState(same, fp32.axes[kind], fp32.axes[kind], state, fp32.index.nStates);
      assert.ok(Math.abs(back - state) <= 1, `${state} comes back as ${back}`);
    }
  }
});

test('a view of a step shows the same step of the other run with the same margin, whatever steps lie before it', () => {
  const stepOf = (run) =>
    [...run.snapshot.scopes.kind.keys()].find(
      (s) => run.snapshot.scopes.kind[s] === 0 && scopePath(run.snapshot, s) === 'step 0',
    );
  for (const kind of ['event', 'time']) {
    const [a0, a1] = scopeSpan(fp32.snapshot, fp32.extents, fp32.axes[kind], stepOf(fp32));
    const [b0, b1] = scopeSpan(bf16.snapshot, bf16.extents, bf16.axes[kind], stepOf(bf16));
    const margin = 0.02;
    const there = alignedView(alignRuns(fp32, bf16, kind), a0 - margin * (a1 - a0), a1 + margin * (a1 - a0));
    assert.ok(
      Math.abs(there[0] - (b0 - margin * (b1 - b0))) < 0.01 * (b1 - b0),
      `${kind}: ${there} for ${b0}, ${b1}`,
    );
    assert.ok(
      Math.abs(there[1] - (b1 + margin * (b1 - b0))) < 0.01 * (b1 - b0),
      `${kind}: ${there} for ${b0}, ${b1}`,
    );
  }
});

test('a part that only one run has shows nothing in the other', () => {
  const { snapshot, extents, axes } = bf16;
  const extra = [...snapshot.scopes.kind.keys()].find((s) => scopePath(snapshot, s) === 'warm-up 1');
  assert.equal(
    alignedView(alignRuns(bf16, fp32, 'event'), ...scopeSpan(snapshot, extents, axes.event, extra)),
    null,
  );
});

test('the out-of-memory end of a run is not taken for the end of the step', () => {
  const cut = runOf(trainingRun({ limitBytes: 500e6, warmup: 1, steps: 2 }));
  const there = alignRuns(cut, fp32, 'event');
  const end = alignedPlace(there, cut.axes.event.hi);
  assert.ok(end < fp32.axes.event.hi * 0.6, `${end} of ${fp32.axes.event.hi}`);
});

test('bytes per category from checkpoints are those of the blocks alive, in every state', () => {
  for (const run of [fp32, runOf(randomRun({ seed: 5, events: 5000 }))]) {
    for (let state = 0; state < run.index.nStates; state += 97) {
      const expected = CATEGORIES.map(() => 0);
      for (const b of aliveAt(run.index, state))
        expected[run.index.blocks.category[b]] += run.index.blocks.bytes[b];
      assert.deepEqual([...categoryBytesAt(run, state)], expected, `state ${state}`);
    }
  }
});

test('differences add up to the totals of both runs, for every kind of row', () => {
  const states = [fp32.peakState, bf16.peakState];
  for (const by of ['scope', 'name', 'stack']) {
    const { rows, sums } = differencesAt([fp32, bf16], states, by);
    for (const i of [0, 1]) {
      const total = [fp32, bf16][i].index.totals[states[i]];
      assert.equal(
        rows.reduce((sum, row) => sum + row.bytes[i], 0),
        total,
      );
      assert.equal(sums.first.bytes[i] + sums.both.bytes[i] + sums.second.bytes[i], total);
    }
    assert.equal(sums.first.bytes[1], 0);
    assert.equal(sums.second.bytes[0], 0);
    rows.slice(1).forEach((row, i) => assert.ok(Math.abs(row.difference) <= Math.abs(rows[i].difference)));
    for (const row of rows.slice(0, 5)) {
      const found = blocksOfRow(fp32, by, row.key);
      const alive = aliveAt(fp32.index, states[0]).filter((b) => found[b]);
      assert.equal(
        alive.reduce((sum, b) => sum + fp32.index.blocks.bytes[b], 0),
        row.bytes[0],
      );
    }
  }
});

test('blocks that only one run holds are on its side only', () => {
  const make = (names) => {
    const r = new Recording();
    r.within('step', 'step', 0, () => names.forEach(([name, bytes]) => r.alloc(name, 'activation', bytes)));
    return runOf(r.document());
  };
  const { rows } = differencesAt(
    [
      make([
        ['a.1', 1024],
        ['a.2', 1024],
        ['gone', 2048],
      ]),
      make([
        ['a.1', 512],
        ['a.2', 512],
        ['new', 4096],
      ]),
    ],
    [3, 3],
    'name',
  );
  assert.deepEqual(
    rows.map((row) => [row.label, sideOf(row), row.bytes, row.difference]),
    [
      ['new', 'second', [0, 4096], 4096],
      ['gone', 'first', [2048, 0], -2048],
      ['a.*', 'both', [2048, 1024], -1024],
    ],
  );
});

test('the page writes a sentence if the command line gave none: savings, categories, and the change in time', () => {
  const thin = runOf(trainingRun({ layers: 4, warmup: 1, steps: 2 }), 'thin');
  const said = comparisonSentence([fp32, thin]);
  assert.match(
    said,
    /^thin lowers the peak by [\d.]+ %, from [\d.]+ MiB to [\d.]+ MiB: .* less; a step takes [\d.,]+ ms instead of [\d.,]+ ms \([\d.]+×\)\.$/,
  );
  assert.match(comparisonSentence([fp32, fp32]), /^fp32 peaks as fp32 does/);
  assert.match(
    comparisonSentence([fp32, runOf(trainingRun({ limitBytes: 500e6 }), 'small')]),
    /^small ran out of memory at 46\d\.44 MiB; fp32 peaks at/,
  );
});

/** A run without categories: blocks of some MiB at lines of the program, below frames of PyTorch. */
function pickleRun(label, blocks) {
  const r = new Recording();
  for (const [mib] of blocks) r.alloc('x', 'unknown', mib * 2 ** 20);
  const document = r.document();
  const texts = [
    'torch::unwind::unwind()',
    '??',
    ...blocks.flatMap(([, name, file]) => [name, `/me/${file}`]),
  ];
  const base = document.strings.length;
  document.strings = [...document.strings, ...texts];
  document.frames = {
    function: [base, ...blocks.map((_, i) => base + 2 + 2 * i)],
    file: [base + 1, ...blocks.map((_, i) => base + 3 + 2 * i)],
    line: [0, ...blocks.map(([, , , line]) => line)],
    inlined: [0, ...blocks.map(() => 0)],
  };
  document.stacks = {
    parent: [...blocks.map(() => -1), ...blocks.map((_, i) => i)],
    frame: [...blocks.map((_, i) => i + 1), ...blocks.map(() => 0)],
  };
  document.events.stack = blocks.map((_, i) => blocks.length + i);
  document.events.name = blocks.map(() => -1);
  return runOf(document, label);
}

const before = pickleRun('before', [
  [64, 'softmax', 'net.py', 7],
  [96, 'silu', 'net.py', 20],
  [30, 'embed', 'net.py', 2],
]);
const later = pickleRun('after', [
  [8, 'softmax', 'net.py', 7],
  [96, 'silu', 'net.py', 20],
  [24, 'cast', 'amp.py', 4],
]);

test('two pickles are compared by call site, in rows that begin at a line of the program', () => {
  assert.equal(usualDifference([before, later]), 'site');
  assert.equal(usualDifference([fp32, bf16]), 'name');
  const states = [before.peakState, later.peakState];
  for (const by of ['site', 'stack']) {
    const { rows, sums } = differencesAt([before, later], states, by);
    assert.deepEqual(
      rows.map(({ label, difference }) => [label, difference / 2 ** 20]),
      [
        ['softmax (net.py:7)', -56],
        ['embed (net.py:2)', -30],
        ['cast (amp.py:4)', 24],
        ['silu (net.py:20)', 0],
      ],
    );
    assert.equal(sums.first.bytes[0] + sums.both.bytes[0], before.peak.bytes);
    assert.deepEqual([...blocksOfRow(before, by, rows[0].key)], [1, 0, 0]);
  }
});

test('the sentence and the card on two pickles name lines, and no bytes of unknown use', () => {
  const said = comparisonSentence([before, later]);
  assert.equal(
    said,
    'after lowers the peak by 32.6 %, from 190.00 MiB to 128.00 MiB: 56.00 MiB less at softmax (net.py:7), 30.00 MiB less at embed (net.py:2), 24.00 MiB more at cast (amp.py:4).',
  );
  assert.match(comparisonSentence([before, before]), /: every line has as many bytes\.$/);
  const [{ title, rows }] = compareRuns([before, later]);
  assert.equal(title, 'Alive at the peak, by line');
  assert.deepEqual(
    rows.map(({ label, values }) => [label, ...values.map((value) => value / 2 ** 20)]),
    [
      ['silu (net.py:20)', 96, 96],
      ['softmax (net.py:7)', 64, 8],
      ['embed (net.py:2)', 30, 0],
      ['cast (amp.py:4)', 0, 24],
    ],
  );
  assert.equal(compareRuns([fp32, bf16])[0].title, 'Alive at the peak');
});
test(
  'names with numbers group as in the command line',
  { skip: existsSync(process.env.TIDEMARK_CLI ?? '') ? false : 'TIDEMARK_CLI names no program' },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-names-'));
    try {
      const paths = [2, 3].map((layers) => join(folder, `${layers}.json.gz`));
      const documents = [2, 3].map((layers) => trainingRun({ layers, warmup: 0, steps: 1 }));
      documents.forEach((document, i) => writeFileSync(paths[i], gzipSync(JSON.stringify(document))));
      const printed = execFileSync(process.env.TIDEMARK_CLI, ['compare', ...paths, '--format', 'json'], {
        encoding: 'utf8',
      });
      const theirs = JSON.parse(printed).tables.rows.rows.map(({ name }) => name);
      const ours = new Set(documents[1].strings.map(namePattern));
      const folded = theirs.filter((name) => name?.includes('*'));
      assert.ok(folded.some((name) => /op\d/.test(name)));
      for (const name of folded) assert.ok(ours.has(name), name);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
