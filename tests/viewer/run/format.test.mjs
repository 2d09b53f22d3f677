// From documents to snapshots: names, refusals, categories, empty documents, and the program's own files.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { blocksOf, splitAmount, wholeOf } from '../../../viewer/src/answers/amounts.js';
import { CATEGORIES, groupPixels } from '../../../viewer/src/words/colours.js';
import { compareRuns } from '../../../viewer/src/answers/compare.js';
import { snapshotOf } from '../support/engine.mjs';
import { SCOPE } from '../../../viewer/src/words/format_names.js';
import { ACTION, STATE } from '../../../viewer/src/run/subjects.js';
import { aliveAt } from '../../../viewer/src/run/index.js';
import { breakdownAt, stackFrames } from '../../../viewer/src/run/peak.js';
import { harmlessTree } from '../../../viewer/src/words/harmless.js';
import { createRaster, renderRaster } from '../../../viewer/src/draw/raster.js';
import { homeView, makeRun, placeOfState } from '../../../viewer/src/run/run.js';
import { buildColouring, buildStacking } from '../../../viewer/src/draw/stacking.js';
import { readSource } from '../../../viewer/src/engine/unpack.js';
import { levelsOf } from '../../../viewer/src/answers/levels.js';
import { Recording } from '../support/recording.mjs';
import { trainingRun } from '../support/synthetic.mjs';

test('stacks are read innermost first', () => {
  const r = new Recording();
  const stack = r.stack(['main', 'train', 'attention']);
  r.event('mark', {});
  assert.deepEqual(
    stackFrames(snapshotOf(r.document()), stack).map((f) => f.function),
    ['attention', 'train', 'main'],
  );
  assert.deepEqual(stackFrames(snapshotOf(r.document()), -1), []);
});

test('numbers are decoded through the names that the file gives', () => {
  const document = trainingRun({ layers: 1, steps: 1 });
  const swapped = structuredClone(document);
  swapped.categories = [...document.categories].reverse();
  swapped.events.category = document.events.category.map((c) => document.categories.length - 1 - c);
  assert.deepEqual(snapshotOf(swapped).subjects.category, snapshotOf(document).subjects.category);
});

test('unknown names become categories of their own, above the built-in ones', () => {
  const document = trainingRun();
  const before = makeRun(snapshotOf(document), 'before');
  const bytesOf = (run, name) => run.peak.categories.find(({ key }) => key === name)?.bytes ?? 0;
  document.categories = document.categories.map((name) => (name === 'optimizer_state' ? 'kv cache' : name));
  const run = makeRun(snapshotOf(document), 'after');
  const n = bytesOf(before, 'optimizer_state');
  assert.deepEqual(run.snapshot.categories, [...CATEGORIES, 'kv cache']);
  assert.deepEqual([n > 0, bytesOf(run, 'kv cache'), bytesOf(run, 'optimizer_state')], [true, n, 0]);
  assert.equal(aliveAt(run.index, run.peakState).length, aliveAt(before.index, before.peakState).length);
  assert.equal(
    buildColouring([run, before], 'category').groups.find(({ key }) => key === 'kv cache').label,
    'kv cache',
  );
  assert.deepEqual(compareRuns([run, before])[0].rows.find(({ label }) => label === 'kv cache').values, [
    n,
    0,
  ]);
});

test('an empty document is an empty run', () => {
  const run = makeRun(snapshotOf(new Recording().document()), 'x');
  assert.equal(run.peak.bytes, 0);
  assert.deepEqual(homeView(run, run.axes.event), [0, 1]);
  const stacking = buildStacking(buildColouring([run], 'category'), 0, new Set());
  for (const bands of [false, true]) {
    renderRaster(createRaster(10, 10), run.axes.time, {
      x0: 0,
      perColumn: 1,
      minBytes: 0,
      maxBytes: 1,
      bands,
      kind: 'time',
      stacking,
      picking: null,
      colours: groupPixels([], '#ffffff'),
    });
  }
});

test(
  'a file that the program writes is read, and its own summary agrees',
  { skip: existsSync(process.env.TIDEMARK_CLI ?? '') ? false : 'TIDEMARK_CLI names no program' },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-logic-'));
    const path = join(folder, 'run.json.gz');
    try {
      execFileSync(
        process.env.TIDEMARK_CLI,
        ['profile', '--size', 'small', '--device', 'virtual', '--steps', '2', '--warmup', '1', '-o', path],
        { stdio: 'ignore' },
      );
      const text = gunzipSync(readFileSync(path)).toString();
      const tables = JSON.parse(text);
      const numbered = (names) => Object.keys(names).map((name) => name.toLowerCase());
      assert.deepEqual(
        [numbered(ACTION), numbered(SCOPE), numbered(STATE)],
        [tables.actions, tables.scope_kinds, tables.block_states],
        'the lists in subjects.js and format_names.js',
      );
      assert.deepEqual(
        [...CATEGORIES].sort(),
        [...tables.categories].sort(),
        'the list in category_table.js',
      );
      const summary = JSON.parse(text).summary[0];
      const run = makeRun(snapshotOf(JSON.parse(text)), 'small');
      assert.equal(run.peak.bytes, summary.peak.allocated_bytes);
      assert.equal(run.index.peakState - 1, summary.peak.event);
      assert.equal(run.reserved.maxBytes, summary.max.reserved.bytes);
      const atFirst = breakdownAt(run.index, run.snapshot.categories, run.index.peakState);
      assert.equal(atFirst.requestedBytes, summary.peak.requested_bytes);
      assert.equal(atFirst.count, summary.peak.n_blocks);
      for (const [name, row] of Object.entries(summary.peak.by_category)) {
        const group = atFirst.categories.find((c) => c.key === name);
        assert.deepEqual([group?.bytes ?? 0, group?.count ?? 0], [row.bytes, row.count], name);
      }
      const whole = wholeOf(run, blocksOf(run, { kind: 'alive', state: run.index.peakState }, null));
      assert.deepEqual(
        splitAmount(run, levelsOf(run, 'stack', false), whole).map((row) => row.bytes),
        summary.peak.by_stack.map((row) => row.bytes),
      );
      assert.deepEqual(
        splitAmount(run, levelsOf(run, 'scope', true), whole)
          .map((row) => [row.label.replaceAll(' › ', ' > '), row.bytes])
          .sort(),
        summary.peak.by_scope.map((row) => [row.path || 'outside every scope', row.bytes]).sort(),
      );
      assert.match(placeOfState(run, run.peakState), /^step \d/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test('names that would turn the text around them are shown by the numbers of their characters', async () => {
  const r = new Recording();
  const stack = r.stack(['main', 'evil\u202egnp\u001b[31m\u2066']);
  r.event('mark', {});
  const document = { ...r.document(), run: { command: ['python', 'a\u200fb\n', 7] } };
  assert.match(JSON.stringify(harmlessTree(document.run)), /a\\\\u200fb\\n/);
  assert.deepEqual(harmlessTree([{ 'k\u0085': null }, 'plain äß', new Uint8Array(1)]), [
    { 'k\\u0085': null },
    'plain äß',
    new Uint8Array(1),
  ]);
  const { snapshot } = await readSource(new TextEncoder().encode(JSON.stringify(document)), () => undefined);
  assert.equal(stackFrames(snapshot, stack)[0].function, 'evil\\u202egnp\\u001b[31m\\u2066');
});
