// The raster: columns, picks, pending blocks, names in bands, and hatching, against direct recomputation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventAxis, timeAxis } from '../../../viewer/src/run/axis.js';
import { groupPixels } from '../../../viewer/src/words/colours.js';
import { snapshotOf } from '../support/engine.mjs';
import { amountAt, pendingOf } from '../../../viewer/src/run/pending.js';
import {
  bandLabels,
  blockAt,
  blocksInColumn,
  columnState,
  createRaster,
  outlineOf,
  renderRaster,
} from '../../../viewer/src/draw/raster.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { buildColouring, buildPicking, buildStacking } from '../../../viewer/src/draw/stacking.js';
import { Recording } from '../support/recording.mjs';
import { randomNumbers, randomRun } from '../support/synthetic.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);
const runOf = (document) => makeRun(snapshotOf(document), 'x');
const stackingOf = (run, colourBy = 'category', hidden = []) =>
  buildStacking(buildColouring([run], colourBy), 0, new Set(hidden));
const keysOf = ({ groups }) => groups.map((group) => group.key);

/** The blocks alive and shown in a state, in stacking order, computed in the simplest way. */
function plainStack({ blocks, grouping, isShown }, state) {
  const alive = [];
  for (let b = 0; b < blocks.count; b++)
    if (blocks.bornState[b] <= state && state < blocks.diedState[b] && isShown[grouping.groupOf[b]])
      alive.push(b);
  return alive.sort((a, b) => grouping.groupOf[a] - grouping.groupOf[b] || a - b);
}

const sumOf = (blocks, list) => list.reduce((sum, b) => sum + blocks.bytes[b], 0);

/** A view of a run, as the stage requests it. */
function viewOf(stacking, axis, more = {}) {
  return {
    x0: 0,
    perColumn: 1,
    minBytes: 0,
    maxBytes: Math.max(...stacking.totals) * 1.1,
    bands: false,
    kind: axis.kind,
    stacking,
    picking: null,
    colours: groupPixels(stacking.colouring.groups, '#ffffff'),
    ...more,
  };
}

/** The number of rows up to the topmost pixel of a column. */
function heightOf({ pixels, height }, column) {
  let top = height;
  while (top > 0 && pixels[column * height + top - 1] === 0) top--;
  return top;
}

test(`each column shows the largest total of its span, at random zooms, with hidden groups, as bands or blocks (seed ${SEED})`, () => {
  const document = randomRun(5000, SEED);
  const run = runOf(document);
  const random = randomNumbers(SEED + 1);
  const times = run.snapshot.events.timeNs;
  const n = times.length;
  const axes = [eventAxis(n), timeAxis(times, times[n - 1] + 1000)];
  let compared = 0;
  for (const hidden of [[], ['activation', 'gradient', 'unknown']]) {
    const stacking = stackingOf(run, 'category', hidden);
    const plain = Array.from({ length: n + 1 }, (_, s) => sumOf(stacking.blocks, plainStack(stacking, s)));
    for (let round = 0; round < 120; round++) {
      const axis = axes[round & 1];
      const span = axis.hi - axis.lo;
      const raster = createRaster(12, 900);
      const view = viewOf(stacking, axis, {
        x0: axis.lo + (random() * 1.2 - 0.1) * span,
        perColumn: (span * random() ** 6) / 12 + 1e-3,
        bands: random() < 0.5,
      });
      renderRaster(raster, axis, view);
      for (let c = 0; c < 12; c++) {
        const first = Math.round(view.x0 / view.perColumn) + c;
        const x0 = first * view.perColumn;
        const x1 = (first + 1) * view.perColumn;
        let most = -1;
        for (let s = 1; s <= n; s++) {
          const begin = axis.kind === 'event' ? s - 1 : times[s - 1];
          const end = axis.kind === 'event' ? s : s < n ? times[s] : axis.hi;
          if (begin < x1 && end > x0 && begin < axis.hi && x0 < axis.hi && x1 > axis.lo)
            most = Math.max(most, plain[s]);
        }
        const state = columnState(stacking, axis, x0, x1);
        assert.equal(state < 0 ? -1 : plain[state], most, `${axis.kind} [${x0}, ${x1})`);
        assert.equal(heightOf(raster, c), Math.round((Math.max(0, most) * 900) / view.maxBytes));
        if (state >= 0) compared++;
      }
    }
  }
  assert.ok(compared > 600, `only ${compared} columns were inside the run`);
});

test('a raster that was panned equals one drawn afresh, and draws only the new columns', () => {
  const run = runOf(randomRun(3000, SEED));
  const axis = eventAxis(3000);
  for (const bands of [false, true]) {
    const stacking = stackingOf(run, 'size');
    const view = viewOf(stacking, axis, { x0: 500, perColumn: 1.5, bands });
    const panned = createRaster(200, 80);
    renderRaster(panned, axis, view);
    for (const columns of [7, -3, 40, -90, 0]) {
      view.x0 += columns * view.perColumn;
      renderRaster(panned, axis, view);
      assert.equal(panned.nDrawn, Math.abs(columns));
      const fresh = createRaster(200, 80);
      renderRaster(fresh, axis, view);
      for (const key of ['pixels', 'states', 'bands'])
        assert.deepEqual(panned[key], fresh[key], `${key} after ${columns}`);
    }
  }
});

test('other groups, other picks and other colours are drawn anew', () => {
  const run = runOf(randomRun(500, SEED));
  const axis = eventAxis(500);
  const colouring = buildColouring([run], 'category');
  const stacking = buildStacking(colouring, 0, new Set());
  const raster = createRaster(50, 60);
  const view = viewOf(stacking, axis, { perColumn: 10 });
  renderRaster(raster, axis, view);
  renderRaster(raster, axis, view);
  assert.equal(raster.nDrawn, 0);
  for (const more of [
    { stacking: buildStacking(colouring, 0, new Set(['input'])) },
    { picking: buildPicking(stacking.grouping, new Uint8Array(run.index.blocks.count)) },
    { colours: groupPixels(colouring.groups, '#000000') },
  ]) {
    renderRaster(raster, axis, { ...view, ...more });
    assert.equal(raster.nDrawn, 50);
  }
});

/** Three blocks, the middle one freed: heights 40, 70, 90, 60, 60 of 100 rows. */
function steps() {
  const r = new Recording();
  r.alloc('low', 'parameter', 40 * 512);
  const middle = r.alloc('middle', 'activation', 30 * 512);
  r.alloc('top', 'temporary', 20 * 512);
  r.free(middle);
  r.event('mark', {});
  return runOf(r.document());
}

test('the height of a column is its total, and a block is found and outlined where it lies', () => {
  const stacking = stackingOf(steps());
  const axis = eventAxis(5);
  const raster = createRaster(5, 100);
  for (const bands of [false, true]) {
    renderRaster(raster, axis, viewOf(stacking, axis, { maxBytes: 100 * 512, bands }));
    assert.deepEqual(
      [0, 1, 2, 3, 4].map((c) => heightOf(raster, c)),
      [40, 70, 90, 60, 60],
    );
    assert.deepEqual(
      [
        [2, 39],
        [2, 40.5],
        [2, 75],
        [3, 45],
        [2, 95],
        [5, 0],
        [-1, 0],
      ].map(([c, row]) => blockAt(raster, c, row)),
      [0, 1, 2, 2, -1, -1, -1],
    );
    assert.deepEqual(outlineOf(raster, 1), [
      [1, 40, 70],
      [2, 40, 70],
    ]);
    assert.deepEqual(outlineOf(raster, 2), [
      [2, 70, 90],
      [3, 40, 60],
      [4, 40, 60],
    ]);
    assert.deepEqual(blocksInColumn(raster, 2), [
      { block: 0, lo: 0, hi: 40 },
      { block: 1, lo: 40, hi: 70 },
      { block: 2, lo: 70, hi: 90 },
    ]);
  }
});

test('a block too thin for a pixel is still outlined where it lies', () => {
  const r = new Recording();
  r.alloc('low', 'parameter', 40 * 512 * 100);
  r.alloc('thin', 'parameter', 512);
  r.alloc('top', 'parameter', 20 * 512 * 100);
  r.event('mark', {});
  const stacking = stackingOf(runOf(r.document()));
  const axis = eventAxis(4);
  const raster = createRaster(4, 100);
  renderRaster(raster, axis, viewOf(stacking, axis, { maxBytes: 100 * 512 * 100 }));
  assert.deepEqual(outlineOf(raster, 1), [
    [1, 40, 41],
    [2, 40, 41],
    [3, 40, 41],
  ]);
});

test('blocks that are not picked are dim, one by one and in bands, and the picked part of a band is as high as its bytes', () => {
  const stacking = stackingOf(steps());
  const axis = eventAxis(5);
  const raster = createRaster(5, 100);
  const isPicked = Uint8Array.of(0, 1, 0);
  for (const bands of [false, true]) {
    const view = viewOf(stacking, axis, {
      maxBytes: 100 * 512,
      bands,
      picking: buildPicking(stacking.grouping, isPicked),
    });
    renderRaster(raster, axis, view);
    const at = (c, row) => raster.pixels[c * 100 + row];
    const place = (key) => keysOf(stacking.colouring).indexOf(key);
    assert.equal(at(2, 20), view.colours.dim[place('parameter')]);
    assert.equal(at(2, 50), view.colours.plain[place('activation')]);
    assert.equal(at(2, 80), view.colours.dim[place('temporary')]);
  }
});

test('a freed block that another stream still uses is pending until its free completes', () => {
  const r = new Recording();
  const used = r.alloc('used', 'input', 4096);
  r.alloc('other', 'input', 512);
  r.event('free_requested', used);
  r.event('mark', {});
  r.event('free_completed', used);
  const {
    index: { blocks },
  } = runOf(r.document());
  const pending = pendingOf(blocks);
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map((state) => amountAt(pending, state)),
    [0, 0, 0, 4096, 4096, 0],
  );
  assert.equal(pending.maxBytes, 4096);
  assert.equal(pendingOf(steps().index.blocks).maxBytes, 0);
});

test('bands are named where the name fits, and only there', () => {
  const stacking = stackingOf(steps());
  const axis = eventAxis(5);
  const raster = createRaster(100, 100);
  renderRaster(raster, axis, viewOf(stacking, axis, { perColumn: 0.05, maxBytes: 100 * 512, bands: true }));
  const names = (minRows, minColumns) =>
    bandLabels(raster, minRows, () => minColumns).map(({ group }) => stacking.colouring.groups[group].key);
  assert.deepEqual(names(15, 40), ['parameter', 'activation', 'temporary']);
  assert.deepEqual(names(35, 40), ['parameter']);
  assert.deepEqual(names(15, 70), ['parameter']);
});

test('blocks of before the recording are hatched, wherever the picture is panned to', () => {
  const document = new Recording().document();
  document.start.segments = [
    {
      device: 0,
      address: 100,
      total_bytes: 51200,
      stream: 0,
      blocks: [
        {
          offset_bytes: 0,
          block_bytes: 51200,
          requested_bytes: 51200,
          state: 1,
          stack: -1,
          scope: -1,
          category: 1,
          name: -1,
        },
      ],
    },
  ];
  document.events = {
    time_delta: Array(40).fill(1),
    action: Array(40).fill(9),
    device: Array(40).fill(0),
    address_delta: Array(40).fill(0),
    requested_bytes: Array(40).fill(0),
    block_bytes: Array(40).fill(0),
    stream: Array(40).fill(0),
    stack: Array(40).fill(-1),
    scope_delta: [-1, ...Array(39).fill(0)],
    category: Array(40).fill(0),
    name: Array(40).fill(-1),
  };
  const stacking = stackingOf(runOf(document));
  const axis = eventAxis(40);
  const raster = createRaster(20, 50);
  const view = viewOf(stacking, axis, { x0: 3 });
  renderRaster(raster, axis, view);
  const hatch = view.colours.hatch[0];
  const hatched = () => [...raster.pixels].filter((pixel) => pixel === hatch).length;
  const before = hatched();
  assert.ok(before > 60, String(before));
  view.x0 = 8;
  renderRaster(raster, axis, view);
  const fresh = createRaster(20, 50);
  renderRaster(fresh, axis, view);
  assert.deepEqual(raster.pixels, fresh.pixels);
});
