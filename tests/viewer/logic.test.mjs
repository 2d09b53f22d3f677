// The viewer's modules without a page: format, blocks, index, raster, axis, ticks, peak, compare, text.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { blocksOf, splitAmount, wholeOf } from '../../viewer/src/amounts.js';
import { allocRow, buildBlocks, buildReserved, freeRow } from '../../viewer/src/blocks.js';
import { CATEGORIES, groupPixels } from '../../viewer/src/colours.js';
import { compareRuns, scaleNote, scalesOf, sharedScale } from '../../viewer/src/compare.js';
import { drawScene } from '../../viewer/src/draw.js';
import { FormatError } from '../../viewer/src/columns.js';
import { readSnapshot } from '../../viewer/src/format.js';
import { aliveAt, buildIndex, largestState } from '../../viewer/src/index.js';
import { laneItems, scopePath } from '../../viewer/src/lanes.js';
import { breakdownAt, stackFrames } from '../../viewer/src/peak.js';
import { createRaster, renderRaster } from '../../viewer/src/raster.js';
import { headline, homeView, makeRun, placeOfState, statisticsOf } from '../../viewer/src/run.js';
import { layOut } from '../../viewer/src/scene.js';
import { buildColouring, buildStacking } from '../../viewer/src/stacking.js';
import { byteTicks, decimalTicks, timeTickText } from '../../viewer/src/ticks.js';
import {
  distinctParts,
  formatBytes,
  formatCount,
  formatDuration,
  formatExactBytes,
  formatMeanStd,
  formatPlural,
  formatRatio,
  formatShare,
  formatTickBytes,
  splitSentence,
} from '../../viewer/src/text.js';
import { levelsOf } from '../../viewer/src/levels.js';
import { randomNumbers, randomRun, Recording, trainingRun } from './synthetic.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);

/** Allocated bytes after each event, by the simplest walk, with a map from address to block. */
function plainTotals(document) {
  const alive = new Map();
  const totals = [0];
  let address = 0;
  document.events.action.forEach((action, e) => {
    address += document.events.address_delta[e];
    if (action === 0) alive.set(address, document.events.block_bytes[e]);
    else if (action === 1 || action === 2) alive.delete(address);
    totals.push([...alive.values()].reduce((a, b) => a + b, 0));
  });
  return totals;
}

test('totals equal a plain walk', () => {
  const document = randomRun(700, SEED);
  const index = buildIndex(buildBlocks(readSnapshot(document)));
  assert.deepEqual([...index.totals], plainTotals(document));
});

test('the first state with the largest total, for every range', () => {
  const index = buildIndex(buildBlocks(readSnapshot(randomRun(1500, SEED))));
  const random = randomNumbers(SEED);
  for (let round = 0; round < 500; round++) {
    const lo = Math.floor(random() * index.nStates);
    const hi = lo + 1 + Math.floor(random() * (index.nStates - lo));
    let best = lo;
    for (let s = lo; s < Math.min(hi, index.nStates); s++) if (index.totals[s] > index.totals[best]) best = s;
    assert.equal(largestState(index, lo, Math.min(hi, index.nStates)), best);
  }
});

test('blocks alive add up to the total, sorted by category, then birth', () => {
  const index = buildIndex(buildBlocks(readSnapshot(randomRun(4000, SEED))));
  const { blocks } = index;
  const random = randomNumbers(SEED);
  for (const state of [
    0,
    1,
    1023,
    1024,
    1025,
    2048,
    index.nStates - 1,
    ...Array.from({ length: 60 }, () => Math.floor(random() * index.nStates)),
  ]) {
    const alive = aliveAt(index, state);
    assert.equal(
      alive.reduce((sum, b) => sum + blocks.bytes[b], 0),
      index.totals[state],
    );
    for (let i = 1; i < alive.length; i++) {
      const [a, b] = [alive[i - 1], alive[i]];
      assert.ok(
        blocks.category[a] < blocks.category[b] || (blocks.category[a] === blocks.category[b] && a < b),
      );
    }
    assert.ok(alive.every((b) => blocks.bornState[b] <= state && state < blocks.diedState[b]));
  }
});

test('what is alive at the peak adds up exactly', () => {
  for (const document of [trainingRun(), randomRun(2000, SEED)]) {
    const snapshot = readSnapshot(document);
    const index = buildIndex(buildBlocks(snapshot));
    const peak = breakdownAt(index, snapshot.categories, index.peakState);
    const sum = (rows) => rows.reduce((a, row) => a + row.bytes, 0);
    const count = (rows) => rows.reduce((a, row) => a + row.count, 0);
    assert.equal(peak.bytes, Math.max(...plainTotals(document)));
    assert.equal(
      peak.requestedBytes,
      aliveAt(index, index.peakState).reduce((a, b) => a + index.blocks.requestedBytes[b], 0),
    );
    assert.equal(sum(peak.categories), peak.bytes);
    assert.equal(count(peak.categories), peak.count);
  }
});

test('blocks of the start are alive from the beginning and can be freed', () => {
  const document = new Recording().document();
  document.strings.push('old');
  document.start.segments = [
    {
      device: 0,
      address: 100,
      total_bytes: 4096,
      stream: 0,
      blocks: [
        {
          offset_bytes: 0,
          block_bytes: 1024,
          requested_bytes: 1000,
          state: 1,
          stack: -1,
          scope: -1,
          category: 1,
          name: 0,
        },
        {
          offset_bytes: 1024,
          block_bytes: 3072,
          requested_bytes: 0,
          state: 0,
          stack: -1,
          scope: -1,
          category: 0,
          name: -1,
        },
      ],
    },
  ];
  document.events = {
    time_delta: [5],
    action: [1],
    device: [0],
    address_delta: [100],
    requested_bytes: [1000],
    block_bytes: [1024],
    stream: [0],
    stack: [-1],
    scope_delta: [-1],
    category: [1],
    name: [0],
  };
  const snapshot = readSnapshot(document);
  const blocks = buildBlocks(snapshot);
  const index = buildIndex(blocks);
  assert.deepEqual([...index.totals], [1024, 0]);
  assert.equal(blocks.nUnmatched, 0);
  assert.equal(CATEGORIES[blocks.category[0]], 'parameter');
  assert.deepEqual([...buildReserved(snapshot, 0).bytes], [4096]);
});

test('a block that waits for another stream is not alive, at the start and after its release', () => {
  const r = new Recording();
  const used = r.alloc('used', 'input', 4000);
  const other = r.alloc('other', 'activation', 1000);
  r.event('free_requested', used);
  r.alloc('more', 'activation', 512);
  r.event('free_completed', used);
  r.event('free_completed', { address: 1, requested: 3000, block: 3072 });
  r.free(other);
  const document = r.document();
  document.start.segments = [
    {
      device: 0,
      address: 1,
      total_bytes: 4096,
      stream: 0,
      blocks: [
        {
          offset_bytes: 0,
          block_bytes: 3072,
          requested_bytes: 3000,
          state: 2,
          stack: -1,
          scope: -1,
          category: 1,
          name: 0,
        },
        {
          offset_bytes: 3072,
          block_bytes: 1024,
          requested_bytes: 1024,
          state: 1,
          stack: -1,
          scope: -1,
          category: 1,
          name: 0,
        },
      ],
    },
  ];
  const snapshot = readSnapshot(document);
  const blocks = buildBlocks(snapshot);
  const index = buildIndex(blocks);
  assert.deepEqual([...index.totals], [1024, 5120, 6144, 2048, 2560, 2560, 2560, 1536]);
  assert.equal(blocks.nUnmatched, 0);
  assert.equal(index.peakState, 2);
  assert.deepEqual([...blocks.diedState], [0, 8, 3, 7, 8], 'the first is pending from the start on');
  assert.deepEqual([...blocks.pendingState], [6, 8, 5, 7, 8]);
  assert.deepEqual(
    [...blocks.bytes.keys()].map((b) => freeRow(blocks, b)),
    [-1, -1, 2, 6, -1],
  );
  assert.deepEqual(
    [...blocks.bytes.keys()].map((b) => allocRow(blocks, b)),
    [-1, -1, 0, 1, 3],
  );
});

test('a free without its allocation is counted, not followed', () => {
  const r = new Recording();
  r.event('free', { address: 77, requested: 512, block: 512 });
  const blocks = buildBlocks(readSnapshot(r.document()));
  assert.equal(blocks.nUnmatched, 1);
  assert.deepEqual([...buildIndex(blocks).totals], [0, 0]);
});

test('the page opens on the measured step that holds the peak', () => {
  const run = makeRun(readSnapshot(trainingRun({ warmup: 2, steps: 3 })), 'x');
  assert.equal(placeOfState(run, run.peakState), 'step 0, backward');
  assert.equal(scopePath(run.snapshot, run.homeScope), 'step 0');
  assert.equal(run.peak.bytes, run.index.totals[run.index.peakState]);
  for (const axis of [run.axes.event, run.axes.time]) {
    const [x0, x1] = homeView(run, axis);
    const at = axis.ofEvent(run.peakState - 1);
    assert.ok(x0 < at && at < x1);
    assert.ok(x1 - x0 < (axis.hi - axis.lo) / 2);
  }
  assert.match(
    headline(run),
    /^Peak 981\.47\sMiB allocated in step 0, backward, first reached in warm-up 0: optimizer state 490\.73\sMiB, parameters/,
  );
});

test('a run out of memory says where it ended', () => {
  const run = makeRun(readSnapshot(trainingRun({ limitBytes: 500e6 })), 'x');
  assert.match(
    headline(run),
    /^Out of memory in warm-up 0, backward: 29\.30\sMiB more did not fit beside 470\.00\sMiB reserved of 476\.84\sMiB, 461\.44\sMiB of it allocated:/,
  );
  assert.equal(scopePath(run.snapshot, run.homeScope), 'warm-up 0');
});

test('a step that ended early is aligned with one that did not, layer by layer', () => {
  const whole = makeRun(readSnapshot(trainingRun({ device: 'virtual' })), 'whole');
  const early = makeRun(readSnapshot(trainingRun({ device: 'virtual', limitBytes: 300e6 })), 'early');
  const layerEnd = (run) => {
    const layer =
      early.snapshot.scopes.index[early.snapshot.events.scope[early.snapshot.oom[0].event]] >= 0 ? 0 : 1;
    const oomScope = early.snapshot.events.scope[early.snapshot.oom[0].event];
    const wanted = scopePath(early.snapshot, layer ? early.snapshot.scopes.parent[oomScope] : oomScope)
      .split(' › ')
      .slice(1)
      .join();
    const [x0, x1] = homeView(run, run.axes.event, whole);
    for (let s = run.homeScope; s < run.snapshot.scopes.count; s++) {
      if (scopePath(run.snapshot, s).split(' › ').slice(1).join() === wanted)
        return (run.extents.last[s] + 1 - x0) / (x1 - x0);
    }
    return NaN;
  };
  assert.equal(placeOfState(early, early.snapshot.oom[0].event + 1), 'warm-up 0, forward');
  const [atWhole, atEarly] = [layerEnd(whole), layerEnd(early)];
  assert.ok(atWhole > 0.05 && atWhole < 0.5, String(atWhole));
  assert.ok(Math.abs(atEarly - atWhole) < 0.03, `${atEarly} and ${atWhole}`);
  assert.deepEqual(homeView(whole, whole.axes.event, whole), homeView(whole, whole.axes.event));
});

test('lanes hold what is in view, in both orders', () => {
  const run = makeRun(readSnapshot(trainingRun()), 'x');
  assert.deepEqual(
    run.lanes.map((lane) => lane.title),
    ['step', 'phase', 'layer', 'operator'],
  );
  for (const axis of [run.axes.event, run.axes.time]) {
    const [x0, x1] = homeView(run, axis);
    const phases = laneItems(run.snapshot, run.extents, axis, run.lanes[1], x0, x1, (x1 - x0) / 1000);
    const names = phases.map((item) => scopePath(run.snapshot, item.scope));
    for (const name of ['step 0 › forward', 'step 0 › backward', 'step 0 › optimizer'])
      assert.ok(names.includes(name), names.join());
    assert.ok(phases.every((item) => item.x1 > x0 && item.x0 < x1));
  }
});

test('runs are compared by category, peak and time; the first is the base', () => {
  const runs = [trainingRun(), trainingRun({ bytes: 2, precision: 'bf16-mixed' })].map((d, i) =>
    makeRun(readSnapshot(d), String(i)),
  );
  const sections = compareRuns(runs);
  const row = (title, label) => sections.find((s) => s.title === title).rows.find((r) => r.label === label);
  assert.deepEqual(
    row('Peak', 'allocated').values,
    runs.map((run) => run.peak.bytes),
  );
  assert.equal(row('Peak', 'allocated').ratios[1], runs[1].peak.bytes / runs[0].peak.bytes);
  assert.equal(
    sections[0].rows.reduce((sum, r) => sum + r.values[1], 0),
    runs[1].peak.bytes,
  );
  assert.equal(
    row('Time, mean', 'forward').values[0],
    statisticsOf(runs[0].snapshot.timing.phases[0].hostMs).mean,
  );
  assert.ok(sharedScale(runs) > Math.max(...runs.map((run) => run.reserved.maxBytes)));
});

test('no ratios to a run that ended before its time', () => {
  const runs = [trainingRun({ limitBytes: 500e6 }), trainingRun()].map((d) => makeRun(readSnapshot(d), 'x'));
  assert.ok(compareRuns(runs)[1].rows.every((row) => row.ratios.every(Number.isNaN)));
  assert.ok(
    sharedScale(runs) >=
      runs[0].index.totals[runs[0].snapshot.oom[0].event + 1] + runs[0].snapshot.oom[0].requestedBytes,
  );
});

/** A run of one block, of a given number of MiB. */
function runOf(mib) {
  const r = new Recording();
  r.alloc('only', 'parameter', mib * 2 ** 20);
  return makeRun(readSnapshot(r.document()), 'x');
}

test('a run far below the others has a scale of its own, and says so', () => {
  const runs = [runOf(8000), runOf(900), runOf(1100)];
  const common = sharedScale(runs);
  assert.deepEqual(scalesOf(runs), [common, sharedScale([runs[1]]), common]);
  assert.equal(scaleNote(scalesOf(runs), 1), `own scale: 1/${Math.round(8000 / 900)} of the others'`);
  assert.equal(scaleNote(scalesOf(runs), 0), '');
  assert.equal(scaleNote([common, common, common], 1), '');
  const low = [runOf(8000), runOf(200), runOf(100), runOf(1)];
  assert.deepEqual(scalesOf(low), [
    sharedScale(low),
    sharedScale([low[1]]),
    sharedScale([low[1]]),
    sharedScale([low[3]]),
  ]);
  assert.equal(scaleNote(scalesOf(low), 3), "own scale: 1/8000 of the largest run's");
  const empty = makeRun(readSnapshot(new Recording().document()), 'x');
  assert.deepEqual(scalesOf([runs[0], empty]), [sharedScale(runs), sharedScale(runs)]);
});

test('a run without recorded allocations says so, and has no bytes to compare', () => {
  const none = makeRun(readSnapshot(new Recording().document()), 'x');
  assert.match(headline(none), /not recorded/);
  assert.ok(!none.isRecorded && runOf(1).isRecorded);
  assert.ok(
    compareRuns([runOf(1), none]).every((section) =>
      section.rows.every((row) => Number.isNaN(row.values[1]) && Number.isNaN(row.ratios[1])),
    ),
  );
});

test('a peak that a warm-up step reached first is shown in the measured step, and that is said', () => {
  const run = makeRun(readSnapshot(trainingRun({ warmup: 2 })), 'x');
  const first = run.snapshot.events.scope[run.index.peakState - 1];
  const where = scopePath(run.snapshot, first).split(' › ')[0];
  assert.match(where, /^warm-up/);
  assert.match(
    headline(run),
    new RegExp(`^Peak 981\\.47\\sMiB allocated in step 0, backward, first reached in ${where}: `),
  );
  assert.doesNotMatch(headline(makeRun(readSnapshot(trainingRun({ warmup: 0 })), 'x')), /first reached/);
  assert.doesNotMatch(headline(runOf(1)), /first reached/);
});

test('what is reserved keeps its label, with the capacity that is out of sight, clear of the peak and the end', () => {
  for (const [document, pattern] of [
    [trainingRun({ device: 'virtual' }), /^reserved [\d.]+ MiB of 79\.18 GiB device capacity$/],
    [trainingRun({ device: 'virtual', limitBytes: 500e6 }), /^reserved [\d.]+ MiB$/],
  ]) {
    for (const width of [360, 700, 1010]) {
      const run = makeRun(readSnapshot(document), 'x');
      const axis = run.axes.event;
      const [x0, x1] = homeView(run, axis);
      const maxBytes = sharedScale([run]);
      const geometry = layOut(width, 336, run.lanes);
      const raster = createRaster(Math.round(geometry.plot.w), Math.round(geometry.plot.h));
      const labels = [];
      const context = new Proxy(
        {},
        {
          get: (state, key) =>
            key === 'measureText'
              ? (text) => ({ width: text.length * 6.6 })
              : key === 'fillText'
                ? (text, x, y) =>
                    state.textAlign === 'left' &&
                    y < geometry.plot.y + geometry.plot.h &&
                    labels.push({ text, x, y, w: text.length * 6.6 })
                : (state[key] ?? (() => {})),
          set: (state, key, value) => Reflect.set(state, key, value),
        },
      );
      const stacking = buildStacking(buildColouring([run], 'category'), 0, new Set());
      const colours = groupPixels(stacking.colouring.groups, '#ffffff');
      renderRaster(raster, axis, {
        x0,
        perColumn: (x1 - x0) / raster.width,
        maxBytes,
        bands: false,
        kind: 'event',
        stacking,
        picking: null,
        colours,
      });
      drawScene(
        {
          context,
          geometry,
          run,
          stacking,
          axis,
          view: { x0, x1 },
          maxBytes,
          raster,
          theme: {},
          pixelRatio: 1,
          phase: null,
        },
        {},
      );
      const reserved = labels.find(({ text }) => pattern.test(text));
      assert.ok(reserved, `${width}: ${labels.map(({ text }) => text).join()}`);
      for (const other of labels.filter(
        (label) => label !== reserved && /^(peak|out of memory)/.test(label.text),
      )) {
        assert.ok(
          Math.abs(other.y - reserved.y) >= 12 ||
            other.x >= reserved.x + reserved.w ||
            reserved.x >= other.x + other.w,
          `${width}: ${other.text} on ${reserved.text}`,
        );
      }
    }
  }
});

test('a virtual device has no times', () => {
  const run = makeRun(readSnapshot(trainingRun({ device: 'virtual' })), 'x');
  assert.deepEqual(run.timing, []);
  assert.ok(run.isVirtual);
});

test('times are by the clock that the device has', () => {
  for (const [kind, clock, mean] of [
    ['cpu', 'host', 2],
    ['cuda', 'device', 2],
  ]) {
    const document = trainingRun({ device: 'cpu' });
    document.devices[0].kind = kind;
    document.timing.phases = [{ name: 'forward', host_ms: [3, 3], device_ms: [2, 2] }];
    const { timing } = makeRun(readSnapshot(document), 'x');
    assert.deepEqual([timing[0].clock, timing[0].statistics.mean], [clock, mean]);
  }
});

test('statistics are of the sample, and one step has no spread', () => {
  const { mean, std, median, min, max } = statisticsOf([2, 4, 4, 4, 5, 5, 7, 9]);
  assert.deepEqual([mean, std, median, min, max], [5, Math.sqrt(32 / 7), 4.5, 2, 9]);
  assert.equal(statisticsOf([2]).std, -1);
  assert.equal(formatMeanStd(31.086, statisticsOf([31.086]).std), '31.09 ms');
});

test('a run warns of what is missing and of times that say little', () => {
  const warnings = (more) => makeRun(readSnapshot(trainingRunWith(more)), 'x').warnings.join(' ');
  assert.equal(warnings({}), '');
  assert.match(
    warnings({ log: { full_policy: 'stop', dropped_events: 1234 } }),
    /The event log was full: recording stopped there, 1,234 events were dropped/,
  );
  assert.match(
    warnings({ log: { dropped_events: 1 } }),
    /^1 event was lost, damaged in the event log or missing from it/m,
  );
  assert.match(
    warnings({ run: { ...trainingRunWith({}).run, outcome: 'stopped' } }),
    /was stopped before its end/,
  );
  assert.match(
    warnings({ run: { ...trainingRunWith({}).run, outcome: 'running' } }),
    /while the run went on/,
  );
  assert.match(
    makeRun(readSnapshot(trainingRun({ precision: 'bf16-mixed' })), 'x').warnings[0],
    /bf16 is emulated on the cpu/,
  );
  assert.deepEqual(
    makeRun(readSnapshot(trainingRun({ precision: 'bf16-mixed', device: 'virtual' })), 'x').warnings,
    [],
  );
});

function trainingRunWith(more) {
  return { ...trainingRun({ layers: 2, steps: 1 }), ...more };
}

test('stacks are read innermost first', () => {
  const r = new Recording();
  const stack = r.stack(['main', 'train', 'attention']);
  r.event('mark', {});
  assert.deepEqual(
    stackFrames(readSnapshot(r.document()), stack).map((f) => f.function),
    ['attention', 'train', 'main'],
  );
  assert.deepEqual(stackFrames(readSnapshot(r.document()), -1), []);
});

test('documents that cannot be right are refused, with the place', () => {
  const refused = (change, pattern) => {
    const document = structuredClone(trainingRun({ layers: 1, steps: 1 }));
    change(document);
    assert.throws(
      () => readSnapshot(document),
      (problem) => problem instanceof FormatError && pattern.test(problem.message),
      String(pattern),
    );
  };
  refused((d) => (d.format = 'other'), /not a tidemark snapshot/);
  refused((d) => (d.version = 2), /version 2; this viewer reads version 1/);
  refused((d) => d.events.stack.pop(), /events\.stack has \d+ rows where \d+ are expected/);
  refused((d) => (d.events.stack[3] = 99999), /events\.stack\[3\] is 99999, not one of \d+ rows/);
  refused((d) => (d.events.name[2] = 1.5), /events\.name\[2\] is 1\.5/);
  refused((d) => (d.events.time_delta[1] = -1e9), /events\.time_delta\[1\] leads to/);
  refused((d) => (d.events.category[4] = 200), /events\.category\[4\] is 200, not one of 9 categories/);
  refused((d) => (d.events.action = 'x'), /events\.action is missing or not a list/);
  refused((d) => (d.scopes.parent[0] = 0), /scopes\.parent\[0\] is 0: a parent must stand before/);
  refused((d) => (d.stacks.parent[1] = 1), /stacks\.parent\[1\] is 1: a parent must stand before/);
  refused((d) => (d.stacks.frame[0] = -1), /stacks\.frame\[0\] is -1/);
  refused((d) => (d.strings[1] = {}), /strings\[1\] is not a text/);
  refused((d) => (d.scopes.name[0] = null), /scopes\.name\[0\] is null/);
  refused(
    (d) => (d.actions = [...d.actions.slice(0, 4), '<b>']),
    /events\.action\[\d+\] is one that this viewer does not know/,
  );
  refused(
    (d) =>
      (d.start = {
        segments: [{ device: 0, address: 1, total_bytes: 512, blocks: [{ state: 1, offset_bytes: -5 }] }],
      }),
    /start\.segments\[0\]\.blocks\[0\]\.offset_bytes is -5/,
  );
  assert.throws(() => readSnapshot(null), /not a tidemark snapshot/);
  assert.throws(() => readSnapshot([]), /not a tidemark snapshot/);
});

test('numbers are decoded through the names that the file gives', () => {
  const document = trainingRun({ layers: 1, steps: 1 });
  const swapped = structuredClone(document);
  swapped.categories = [...document.categories].reverse();
  swapped.events.category = document.events.category.map((c) => document.categories.length - 1 - c);
  assert.deepEqual(readSnapshot(swapped).subjects.category, readSnapshot(document).subjects.category);
});

test('words that nobody here knows are categories of their own, above those that are known', () => {
  const document = trainingRun();
  const before = makeRun(readSnapshot(document), 'before');
  const bytesOf = (run, name) => run.peak.categories.find(({ key }) => key === name)?.bytes ?? 0;
  document.categories = document.categories.map((name) => (name === 'optimizer_state' ? 'kv cache' : name));
  const run = makeRun(readSnapshot(document), 'after');
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
  document.categories = Array.from({ length: 56 }, (_, i) => `own ${i}`);
  assert.throws(
    () => readSnapshot(document),
    /categories: more than the limit of 55 categories beside the 9/,
  );
  document.categories = ['parameter', 5];
  assert.throws(() => readSnapshot(document), /categories\[1\]: a text was expected/);
  document.categories = ['x'.repeat(129)];
  assert.throws(() => readSnapshot(document), /categories: a category's name of 129 bytes: the limit is 128/);
});

test('an empty document is an empty run', () => {
  const run = makeRun(readSnapshot(new Recording().document()), 'x');
  assert.equal(run.peak.bytes, 0);
  assert.deepEqual(homeView(run, run.axes.event), [0, 1]);
  const stacking = buildStacking(buildColouring([run], 'category'), 0, new Set());
  for (const bands of [false, true]) {
    renderRaster(createRaster(10, 10), run.axes.time, {
      x0: 0,
      perColumn: 1,
      maxBytes: 1,
      bands,
      kind: 'time',
      stacking,
      picking: null,
      colours: groupPixels([], '#ffffff'),
    });
  }
});

test('binary ticks are powers of two apart, few enough, and labelled shortly', () => {
  assert.deepEqual(byteTicks(2 ** 30 + 5, 4).map(formatTickBytes), [
    '0 B',
    '256 MiB',
    '512 MiB',
    '768 MiB',
    '1 GiB',
  ]);
  assert.deepEqual(byteTicks(1.6 * 2 ** 30, 3).map(formatTickBytes), ['0 B', '512 MiB', '1 GiB', '1.5 GiB']);
  assert.deepEqual(byteTicks(3, 4), [0, 1, 2, 3]);
  assert.deepEqual(byteTicks(0, 4), [0]);
  for (let bytes = 1; bytes < 2 ** 45; bytes *= 1.7) assert.ok(byteTicks(bytes, 6).length <= 7);
});

test('decimal ticks and their labels', () => {
  assert.deepEqual(decimalTicks(0, 100, 5), { ticks: [0, 20, 40, 60, 80, 100], step: 20 });
  assert.deepEqual(decimalTicks(3, 5, 10, 1), { ticks: [3, 4, 5], step: 1 });
  assert.equal(timeTickText(12_500_000, 500_000, 20e6), '12.5 ms');
  assert.equal(timeTickText(1_250_000_000, 50_000_000, 2e9), '1.25 s');
  assert.equal(timeTickText(1500, 500, 9000), '1.5 µs');
});

test('texts', () => {
  assert.deepEqual([0, 512, 1536, 2072772608, 85_017_493_504].map(formatBytes), [
    '0 B',
    '512 B',
    '1.50 KiB',
    '1.93 GiB',
    '79.18 GiB',
  ]);
  assert.deepEqual(
    [1048575, 1179648, 1441792, 1179647].map(formatBytes),
    ['1.00 MiB', '1.13 MiB', '1.38 MiB', '1.12 MiB'],
    'as the command line rounds',
  );
  assert.equal(formatExactBytes(1234567), '1,234,567 B');
  assert.equal(formatCount(999), '999');
  assert.deepEqual([12, 1500, 12_345_678, 2.5e9].map(formatDuration), [
    '12 ns',
    '1.50 µs',
    '12.3 ms',
    '2.50 s',
  ]);
  assert.deepEqual(
    [0, 1, 1234].map((n) => formatPlural(n, 'event')),
    ['0 events', '1 event', '1,234 events'],
  );
  assert.equal(formatMeanStd(31.086, 0.894), '31.09 ± 0.89 ms');
  assert.equal(formatMeanStd(1620.137, 0.324), '1,620.14 ± 0.32 ms');
  assert.equal(formatMeanStd(1234567.8, 3.21), '1,234,567.8 ± 3.2 ms');
  assert.equal(formatMeanStd(4870.732, 600.139), '4,871 ± 600 ms');
  assert.equal(formatMeanStd(0.0123456, 0.0000021), '0.012346 ± 0.000002 ms');
  assert.equal(formatMeanStd(1620.4, 0), '1,620 ± 0 ms');
  assert.deepEqual([1.934, 0.0253, 0, 1234.5, NaN].map(formatRatio), [
    '1.93×',
    '0.025×',
    '0×',
    '1,235×',
    '–',
  ]);
  assert.deepEqual([0.1234, 0.0001, 0].map(formatShare), ['12.3 %', '<0.1 %', '0.0 %']);
});

test('the first sentence is split off; dots of numbers end none', () => {
  assert.deepEqual(splitSentence('2.7B fp32 does not fit. bf16-mixed peaks at 72.55 GiB.'), [
    '2.7B fp32 does not fit.',
    'bf16-mixed peaks at 72.55 GiB.',
  ]);
  assert.deepEqual(splitSentence('one\ntwo'), ['one', 'two']);
  assert.deepEqual(splitSentence('fp32 does not fit; bf16 does.'), ['fp32 does not fit;', 'bf16 does.']);
  assert.deepEqual(splitSentence('alone at 1.5 GiB.'), ['alone at 1.5 GiB.', '']);
  assert.deepEqual(splitSentence(''), ['', '']);
});

test('what tells names apart', () => {
  assert.deepEqual(distinctParts(['small-train-fp32', 'small-train-bf16-mixed']), ['fp32', 'bf16-mixed']);
  assert.deepEqual(distinctParts(['a-c128-fp32', 'a-c256-fp32']), ['c128', 'c256']);
  assert.deepEqual(distinctParts(['a-b', 'a']), ['a-b', 'a']);
  assert.deepEqual(distinctParts(['same', 'same']), ['same', 'same']);
  assert.deepEqual(distinctParts(['alone-x']), ['alone-x']);
  assert.deepEqual(distinctParts([]), []);
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
      const summary = JSON.parse(text).summary[0];
      const run = makeRun(readSnapshot(JSON.parse(text)), 'small');
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
      assert.match(headline(run), /in step \d/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
