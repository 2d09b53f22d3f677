// The viewer's modules without a page: format, blocks, index, raster, axis, ticks, peak, compare, text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allocRow, buildBlocks, buildReserved, freeRow } from '../../../viewer/src/run/blocks.js';
import { CATEGORIES } from '../../../viewer/src/words/colours.js';
import { compareRuns } from '../../../viewer/src/answers/compare.js';
import { commonScale, wholeDrawn } from '../../../viewer/src/draw/scale.js';
import { snapshotOf } from '../support/engine.mjs';
import { aliveAt, buildIndex, largestState } from '../../../viewer/src/run/index.js';
import { laneItems, scopePath } from '../../../viewer/src/run/lanes.js';
import { breakdownAt } from '../../../viewer/src/run/peak.js';
import { homeView, makeRun, placeOfState, statisticsOf } from '../../../viewer/src/run/run.js';
import { answerOf, warningsOf } from '../../../viewer/src/run/sentences.js';
import { formatMeanStd } from '../../../viewer/src/words/text.js';
import { drawnLabels } from '../support/drawing.mjs';
import { Recording } from '../support/recording.mjs';
import { randomNumbers, randomRun, trainingRun } from '../support/synthetic.mjs';

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
  const index = buildIndex(buildBlocks(snapshotOf(document)));
  assert.deepEqual([...index.totals], plainTotals(document));
});

test('the first state with the largest total, for every range', () => {
  const index = buildIndex(buildBlocks(snapshotOf(randomRun(1500, SEED))));
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
  const index = buildIndex(buildBlocks(snapshotOf(randomRun(4000, SEED))));
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

test('the blocks alive at the peak add up exactly', () => {
  for (const document of [trainingRun(), randomRun(2000, SEED)]) {
    const snapshot = snapshotOf(document);
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
  const snapshot = snapshotOf(document);
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
  const snapshot = snapshotOf(document);
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
  const blocks = buildBlocks(snapshotOf(r.document()));
  assert.equal(blocks.nUnmatched, 1);
  assert.deepEqual([...buildIndex(blocks).totals], [0, 0]);
});

test('the page opens on the measured step that holds the peak', () => {
  const run = makeRun(snapshotOf(trainingRun({ warmup: 2, steps: 3 })), 'x');
  assert.equal(placeOfState(run, run.peakState), 'step 0, backward');
  assert.equal(scopePath(run.snapshot, run.homeScope), 'step 0');
  assert.equal(run.peak.bytes, run.index.totals[run.index.peakState]);
  for (const axis of [run.axes.event, run.axes.time]) {
    const [x0, x1] = homeView(run, axis);
    const at = axis.ofEvent(run.peakState - 1);
    assert.ok(x0 < at && at < x1);
    assert.ok(x1 - x0 < (axis.hi - axis.lo) / 2);
  }
  assert.match(answerOf(run)[0], /^The peak, 981\.47\sMiB, is 490\.73\sMiB of optimizer state at adamw/);
});

test('the answer about an out-of-memory run names the request and its cause', () => {
  const run = makeRun(snapshotOf(trainingRun({ limitBytes: 500e6 })), 'x');
  const [first, second] = answerOf(run);
  assert.match(
    first,
    /^Out of memory at embedding \(embedding\.c:22\): 29\.30\sMiB asked for, 15\.40\sMiB free/,
  );
  assert.match(second, /^The limit is too small: 461\.44\sMiB were allocated/);
  assert.equal(scopePath(run.snapshot, run.homeScope), 'warm-up 0');
});

test('a step that ended early is aligned with one that did not, layer by layer', () => {
  const whole = makeRun(snapshotOf(trainingRun({ device: 'virtual' })), 'whole');
  const early = makeRun(snapshotOf(trainingRun({ device: 'virtual', limitBytes: 300e6 })), 'early');
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
  const run = makeRun(snapshotOf(trainingRun()), 'x');
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
    makeRun(snapshotOf(d), String(i)),
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
  assert.ok(commonScale(runs.map(wholeDrawn)) > Math.max(...runs.map((run) => run.reserved.maxBytes)));
});

test('no ratios to a run that ended before its time', () => {
  const runs = [trainingRun({ limitBytes: 500e6 }), trainingRun()].map((d) => makeRun(snapshotOf(d), 'x'));
  assert.ok(compareRuns(runs)[1].rows.every((row) => row.ratios.every(Number.isNaN)));
  assert.ok(
    commonScale(runs.map(wholeDrawn)) >=
      runs[0].index.totals[runs[0].snapshot.oom[0].event + 1] + runs[0].snapshot.oom[0].requestedBytes,
  );
});

/** A run of one block, of a given number of MiB. */
function runOf(mib) {
  const r = new Recording();
  r.alloc('only', 'parameter', mib * 2 ** 20);
  return makeRun(snapshotOf(r.document()), 'x');
}

test('a run without recorded allocations says so, and has no bytes to compare', () => {
  const none = makeRun(snapshotOf(new Recording().document()), 'x');
  assert.match(answerOf(none)[0], /not recorded/);
  assert.ok(!none.isRecorded && runOf(1).isRecorded);
  assert.ok(
    compareRuns([runOf(1), none]).every((section) =>
      section.rows.every((row) => Number.isNaN(row.values[1]) && Number.isNaN(row.ratios[1])),
    ),
  );
});

test('a peak that a warm-up step reached first is shown in the measured step', () => {
  const run = makeRun(snapshotOf(trainingRun({ warmup: 2 })), 'x');
  const first = run.snapshot.events.scope[run.index.peakState - 1];
  const where = scopePath(run.snapshot, first).split(' › ')[0];
  assert.match(where, /^warm-up/);
  assert.equal(placeOfState(run, run.peakState), 'step 0, backward');
});

test('the label of the reserved bytes avoids the peak and the end, with a capacity out of view', () => {
  for (const [document, pattern] of [
    [trainingRun({ device: 'virtual' }), /^↑ above: device capacity 79\.18 GiB$/],
    [trainingRun({ device: 'virtual', limitBytes: 500e6 }), /^reserved [\d.]+ MiB$/],
  ]) {
    for (const width of [360, 700, 1010]) {
      const { labels } = drawnLabels(makeRun(snapshotOf(document), 'x'), width);
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

/** A run on a card of 79.18 GiB whose peak, at its end, has its label just below the upper edge. */
function fullAtTheEnd() {
  const r = new Recording();
  r.segment(2 ** 30);
  for (let i = 0; i < 62; i++) r.alloc(`w${i}`, 'parameter', 2 ** 24);
  const document = r.document();
  document.devices = [{ ...document.devices[0], kind: 'virtual', name: 'card', total_bytes: 85019586560 }];
  return makeRun(snapshotOf(document), 'x');
}

test('beside the peak and in a narrow window the capacity is named in fewer words, and no label lies over another', () => {
  const run = fullAtTheEnd();
  const texts = new Set();
  for (let width = 280; width <= 700; width += 10) {
    const { labels } = drawnLabels(run, width);
    const named = labels.filter(({ text }) => /^(↑|reserved|peak)/.test(text));
    for (const a of named)
      for (const b of named.slice(named.indexOf(a) + 1))
        assert.ok(
          Math.abs(a.y - b.y) >= 12 || a.x >= b.x + b.w || b.x >= a.x + a.w,
          `${width}: ${a.text} on ${b.text}`,
        );
    texts.add(named.find(({ text }) => text.startsWith('↑'))?.text);
  }
  for (const words of ['above: device capacity', 'capacity'])
    assert.ok(texts.has(`↑ ${words} 79.18 GiB`), [...texts].join());
});

test('scopes of one lane that overlap cover no names', () => {
  const r = new Recording();
  r.within('phase', 'forward', -1, () => {
    for (let i = 0; i < 6; i++) r.within('layer', 'outer', -1, () => r.alloc(`a${i}`, 'activation', 4096));
  });
  const run = makeRun(snapshotOf(r.document()), 'x');
  // The first layer reaches as far as all others, which are drawn over it.
  const layers = [...run.lanes.find(({ title }) => title === 'layer').scopes];
  run.extents.last[layers[0]] = run.extents.last[layers[5]];
  for (const width of [300, 420, 700, 1400]) {
    const { inLanes } = drawnLabels(run, width);
    assert.ok(inLanes.some(({ text }) => text === 'outer'));
    inLanes.forEach((label, i) => {
      if (label.text === undefined) return;
      const over = inLanes
        .slice(i + 1)
        .filter((box) => box.text === undefined && box.y <= label.y && box.y + 20 > label.y);
      assert.ok(
        over.every((box) => box.x >= label.x + label.w || label.x >= box.x + box.w),
        `${width}: a box over ${label.text}`,
      );
    });
  }
});

test('a virtual device has no times', () => {
  const run = makeRun(snapshotOf(trainingRun({ device: 'virtual' })), 'x');
  assert.deepEqual(run.timing, []);
  assert.ok(run.isVirtual);
});

test('times use the clock of the device', () => {
  for (const [kind, clock, mean] of [
    ['cpu', 'host', 2],
    ['cuda', 'device', 2],
  ]) {
    const document = trainingRun({ device: 'cpu' });
    document.devices[0].kind = kind;
    document.timing.phases = [{ name: 'forward', host_ms: [3, 3], device_ms: [2, 2] }];
    const { timing } = makeRun(snapshotOf(document), 'x');
    assert.deepEqual([timing[0].clock, timing[0].statistics.mean], [clock, mean]);
  }
});

test('statistics are of the sample, and one step has no spread', () => {
  const { mean, std, median, min, max } = statisticsOf([2, 4, 4, 4, 5, 5, 7, 9]);
  assert.deepEqual([mean, std, median, min, max], [5, Math.sqrt(32 / 7), 4.5, 2, 9]);
  assert.equal(statisticsOf([2]).std, -1);
  assert.equal(formatMeanStd(31.086, statisticsOf([31.086]).std), '31.09 ms');
});

test('a run warns of missing data and of times that are not representative', () => {
  const warningsIn = (document) => warningsOf(makeRun(snapshotOf(document), 'x'), false);
  const warnings = (more) => warningsIn(trainingRunWith(more)).join(' ');
  assert.equal(warnings({}), '');
  assert.match(
    warnings({ log: { full_policy: 'stop', dropped_events: 1234 } }),
    /^warning: 1234 events were lost because the log was full/,
  );
  assert.match(warnings({ log: { dropped_events: 1 } }), /^warning: at least 1 event was lost/);
  const ended = (outcome) => warnings({ run: { ...trainingRunWith({}).run, outcome } });
  assert.match(ended('stopped'), /was stopped before its end/);
  assert.match(ended('running'), /while the run went on/);
  assert.match(warningsIn(trainingRun({ precision: 'bf16-mixed' }))[0], /bf16 is emulated on the cpu/);
  assert.deepEqual(warningsIn(trainingRun({ precision: 'bf16-mixed', device: 'virtual' })), []);
});

function trainingRunWith(more) {
  return { ...trainingRun({ layers: 2, steps: 1 }), ...more };
}
