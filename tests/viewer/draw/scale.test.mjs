// The vertical scale: the value at its top, the parts it leaves out, and its zoom.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventAxis } from '../../../viewer/src/run/axis.js';
import { groupPixels } from '../../../viewer/src/words/colours.js';
import { snapshotOf } from '../support/engine.mjs';
import {
  blockAt,
  blocksInColumn,
  createRaster,
  outlineOf,
  renderRaster,
} from '../../../viewer/src/draw/raster.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import {
  commonScale,
  drawnOf,
  leftOutText,
  movedHeights,
  scaleNote,
  scalesOf,
  WHOLE_HEIGHT,
  wholeDrawn,
  zoomedHeights,
} from '../../../viewer/src/draw/scale.js';
import { buildColouring, buildStacking } from '../../../viewer/src/draw/stacking.js';
import { formatTickBytes } from '../../../viewer/src/words/text.js';
import { byteTicks } from '../../../viewer/src/words/ticks.js';
import { Recording } from '../support/recording.mjs';

const MIB = 2 ** 20;
const TOP = 1.07;

/** A run of 1000 MiB of parameters and a small curve of activations, with reserved bytes and a capacity. */
function smallCurve({ reservedMib = 1100, capacityMib = 0 } = {}) {
  const r = new Recording();
  r.event('segment_alloc', { address: 4096, block: reservedMib * MIB, requested: reservedMib * MIB });
  r.alloc('weight', 'parameter', 1000 * MIB);
  const kept = r.alloc('kept', 'activation', 30 * MIB);
  r.alloc('more', 'activation', 10 * MIB);
  r.free(kept);
  r.event('mark', {});
  const document = r.document();
  if (capacityMib > 0)
    document.devices = document.devices.map((device) => ({ ...device, total_bytes: capacityMib * MIB }));
  return makeRun(snapshotOf(document), 'x');
}

const stackingOf = (run, hidden = []) => buildStacking(buildColouring([run], 'category'), 0, new Set(hidden));

/** The key of the group with a label. */
const keyOf = (run, label) =>
  buildColouring([run], 'category').groups.find((group) => group.label === label).key;

test('with the parameters hidden the rest fills the picture', () => {
  const run = smallCurve();
  assert.equal(commonScale([wholeDrawn(run)]), 1100 * MIB * TOP);
  const hidden = stackingOf(run, [keyOf(run, 'parameters')]);
  assert.equal(drawnOf(hidden).peakBytes, 40 * MIB);
  const scale = commonScale([drawnOf(hidden)]);
  assert.equal(scale, 40 * MIB * TOP);
  assert.equal(leftOutText(run, scale), 'above: reserved 1.07 GiB');
  const most = stackingOf(run, [keyOf(run, 'activations')]);
  assert.equal(commonScale([drawnOf(most)]), 1100 * MIB * TOP);
  assert.equal(
    commonScale([drawnOf(stackingOf(smallCurve({ reservedMib: 1200 }), [keyOf(run, 'activations')]))]),
    1000 * MIB * TOP,
  );
  const raster = createRaster(6, 107);
  const axis = eventAxis(6);
  renderRaster(raster, axis, {
    x0: 0,
    perColumn: 1,
    minBytes: 0,
    maxBytes: scale,
    bands: true,
    kind: 'event',
    stacking: hidden,
    picking: null,
    colours: groupPixels(hidden.colouring.groups, '#ffffff'),
  });
  assert.ok(raster.pixels[3 * 107 + 95] !== 0 && raster.pixels[3 * 107 + 105] === 0);
});

test('lines that would flatten the stack are left out and named, unless they are asked for', () => {
  const near = smallCurve({ capacityMib: 1500 });
  assert.equal(commonScale([wholeDrawn(near)]), 1500 * MIB * TOP);
  assert.equal(leftOutText(near, commonScale([wholeDrawn(near)])), '');
  const far = smallCurve({ reservedMib: 3000, capacityMib: 80_000 });
  const scale = commonScale([wholeDrawn(far)]);
  assert.equal(scale, 1040 * MIB * TOP);
  assert.match(leftOutText(far, scale), /^above: reserved 2\.93 GiB, [a-z ]+ 78\.13 GiB$/);
  const all = commonScale([wholeDrawn(far)], true);
  assert.equal(all, 80_000 * MIB * TOP);
  assert.equal(leftOutText(far, all), '');
  const pair = [near, far].map(wholeDrawn);
  assert.deepEqual(scalesOf(pair), Array(2).fill(1500 * MIB * TOP));
  assert.deepEqual(scalesOf(pair, true)[1], all);
});

test('a vertical zoom keeps the bytes under the pointer, and never leaves the scale', () => {
  const scale = 1000 * MIB;
  const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} and ${b}`);
  const once = zoomedHeights(WHOLE_HEIGHT, 0.5, 0.8, scale);
  near(once.lo + 0.8 * (once.hi - once.lo), 0.8);
  near(once.hi - once.lo, 0.5);
  assert.deepEqual(zoomedHeights(once, 4, 0.8, scale), WHOLE_HEIGHT);
  const edge = zoomedHeights(once, 1.5, 0, scale);
  assert.ok(edge.lo >= 0 && edge.hi <= 1);
  let deep = WHOLE_HEIGHT;
  for (let i = 0; i < 200; i++) deep = zoomedHeights(deep, 0.5, 0.3, scale);
  near(deep.hi - deep.lo, 4096 / scale);
  near(movedHeights(once, 10).hi, 1);
  near(movedHeights(once, -10).lo, 0);
  assert.deepEqual(movedHeights(WHOLE_HEIGHT, 0.5), WHOLE_HEIGHT);
});

test('a zoomed picture shows the blocks between its bottom and its top', () => {
  const r = new Recording();
  r.alloc('low', 'parameter', 40 * 512);
  r.alloc('middle', 'parameter', 30 * 512);
  r.alloc('high', 'activation', 20 * 512);
  r.event('mark', {});
  const stacking = stackingOf(makeRun(snapshotOf(r.document()), 'x'));
  const axis = eventAxis(4);
  const raster = createRaster(4, 100);
  for (const bands of [false, true]) {
    renderRaster(raster, axis, {
      x0: 0,
      perColumn: 1,
      minBytes: 50 * 512,
      maxBytes: 75 * 512,
      bands,
      kind: 'event',
      stacking,
      picking: null,
      colours: groupPixels(stacking.colouring.groups, '#ffffff'),
    });
    assert.deepEqual(
      [1, 79, 81, 99].map((row) => blockAt(raster, 3, row)),
      [1, 1, 2, 2],
    );
    assert.deepEqual(blocksInColumn(raster, 3), [
      { block: 1, lo: 0, hi: 80 },
      { block: 2, lo: 80, hi: 100 },
    ]);
    assert.deepEqual(outlineOf(raster, 0), []);
    assert.deepEqual(
      outlineOf(raster, 1).filter(([column]) => column === 3),
      [[3, 0, 80]],
    );
    const at = (row) => raster.pixels[3 * 100 + row];
    assert.ok(at(50) !== 0 && at(90) !== 0 && at(50) !== at(90));
    assert.equal(raster.pixels[50], 0);
  }
});

test('ticks of a zoomed scale begin in it, and their labels differ', () => {
  const { ticks, step } = byteTicks(12 * 2 ** 30 + 9 * MIB, 5, 12 * 2 ** 30 - 3 * MIB);
  assert.equal(step, 4 * MIB);
  assert.deepEqual(
    ticks.map((tick) => formatTickBytes(tick, step)),
    ['12,288 MiB', '12,292 MiB', '12,296 MiB'],
  );
});

/** A run of one block, of a given number of MiB. */
function runOf(mib) {
  const r = new Recording();
  r.alloc('only', 'parameter', mib * 2 ** 20);
  return makeRun(snapshotOf(r.document()), 'x');
}

test('a run far below the others has a scale of its own, and says so', () => {
  const runs = [runOf(8000), runOf(900), runOf(1100)];
  const sharedScale = (some) => commonScale(some.map(wholeDrawn));
  const scales = (some) => scalesOf(some.map(wholeDrawn));
  const common = sharedScale(runs);
  assert.deepEqual(scales(runs), [common, sharedScale([runs[1]]), common]);
  assert.equal(scaleNote(scales(runs), 1), `own scale: 1/${Math.round(8000 / 900)} of the others'`);
  assert.equal(scaleNote(scales(runs), 0), '');
  assert.equal(scaleNote([common, common, common], 1), '');
  const low = [runOf(8000), runOf(200), runOf(100), runOf(1)];
  assert.deepEqual(scales(low), [
    sharedScale(low),
    sharedScale([low[1]]),
    sharedScale([low[1]]),
    sharedScale([low[3]]),
  ]);
  assert.equal(scaleNote(scales(low), 3), "own scale: 1/8000 of the largest run's");
  const empty = makeRun(snapshotOf(new Recording().document()), 'x');
  assert.deepEqual(scales([runs[0], empty]), [sharedScale(runs), sharedScale(runs)]);
});
