// Groups, colours, sweeps over states and the raster, against direct recomputation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CATEGORIES,
  categoryColour,
  inkOn,
  rankedColour,
  sequentialColour,
} from '../../../viewer/src/words/colours.js';
import { snapshotOf } from '../support/engine.mjs';
import { scopeGroup, scopeGroups } from '../../../viewer/src/run/lanes.js';
import { blockAtBytes, bytesBelow, stackAt } from '../../../viewer/src/draw/order.js';
import { flowLegend } from '../../../viewer/src/timelines/picture.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { spanOfStates, statesOfSpan, withinAxis } from '../../../viewer/src/run/spans.js';
import {
  buildColouring,
  buildPicking,
  buildStacking,
  colouringOf,
} from '../../../viewer/src/draw/stacking.js';
import { makeBandSweep, makeBlockSweep } from '../../../viewer/src/draw/sweep.js';
import { colourDistances, lightness } from '../support/oklab.mjs';
import { Recording } from '../support/recording.mjs';
import { randomNumbers, randomRun, trainingRun } from '../support/synthetic.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);
const COLOUR_BY = ['category', 'scope', 'stack', 'size', 'age'];
const runOf = (document) => makeRun(snapshotOf(document), 'x');
const stackingOf = (run, colourBy = 'category', hidden = []) =>
  buildStacking(buildColouring([run], colourBy), 0, new Set(hidden));
const keysOf = ({ groups }) => groups.map((group) => group.key);

/** A file with missing frees, so that blocks are allocated on top of others. */
function contradictoryRun(n) {
  const document = randomRun(n, SEED + 9);
  const { action } = document.events;
  for (let e = 0; e < action.length; e += 5) if (action[e] === 1) action[e] = 9;
  const run = runOf(document);
  assert.ok(run.index.blocks.replaced.length > 10);
  return run;
}

/** The blocks alive and shown in a state, in stacking order, computed in the simplest way. */
function plainStack({ blocks, grouping, isShown }, state) {
  const alive = [];
  for (let b = 0; b < blocks.count; b++)
    if (blocks.bornState[b] <= state && state < blocks.diedState[b] && isShown[grouping.groupOf[b]])
      alive.push(b);
  return alive.sort((a, b) => grouping.groupOf[a] - grouping.groupOf[b] || a - b);
}

const sumOf = (blocks, list) => list.reduce((sum, b) => sum + blocks.bytes[b], 0);

test('every way to colour puts each block into one group, and groups of one key are one in all runs', () => {
  const runs = [trainingRun(), trainingRun({ bytes: 2, layers: 6 }), randomRun(900, SEED)].map(runOf);
  for (const colourBy of COLOUR_BY) {
    const colouring = buildColouring(runs, colourBy);
    const keys = keysOf(colouring);
    assert.equal(new Set(keys).size, keys.length);
    runs.forEach((run, r) => {
      assert.equal(colouring.groupings[r].groupOf.length, run.index.blocks.count);
      assert.ok(colouring.groupings[r].groupOf.every((g) => g < keys.length));
    });
    const atPeak = colouring.groups.reduce((sum, group) => sum + group.peakBytes, 0);
    assert.equal(
      atPeak,
      runs.reduce((sum, run) => sum + run.peak.bytes, 0),
      colourBy,
    );
  }
});

test('the paths of scopes are those of the tables', () => {
  const { snapshot } = runOf(trainingRun());
  const { paths, pathOf } = scopeGroups(snapshot);
  pathOf.forEach((path, scope) => assert.equal(paths[path], scopeGroup(snapshot, scope).path));
  assert.equal(new Set(paths).size, paths.length);
});

test('categories lie in their order and keep their colours; one colouring is made once per list of runs', () => {
  const runs = [runOf(randomRun(600, SEED))];
  const colouring = colouringOf(runs, 'category');
  assert.deepEqual(keysOf(colouring), CATEGORIES);
  assert.deepEqual(
    colouring.groups.map((group) => group.colour),
    CATEGORIES.map(categoryColour),
  );
  assert.equal(colouringOf(runs, 'category'), colouring);
  assert.notEqual(colouringOf([...runs], 'category'), colouring);
});

test('persistent blocks are at the bottom, and the largest groups have the first colours', () => {
  const r = new Recording();
  r.path = ['large'];
  for (let i = 0; i < 4; i++) r.free(r.alloc('a', 'unknown', 9 << 20));
  r.path = ['small'];
  r.alloc('b', 'unknown', 1 << 20);
  r.path = ['large'];
  r.alloc('c', 'unknown', 9 << 20);
  const { groups } = buildColouring([runOf(r.document())], 'stack');
  assert.deepEqual(
    groups.map(({ label, colour }) => [label, colour]),
    [
      ['small (small.c:12)', rankedColour(1)],
      ['large (large.c:11)', rankedColour(0)],
    ],
  );
});

test('a frame of the program identifies a stack; blocks without one, or from before the recording, are grey', () => {
  const r = new Recording();
  r.path = ['/site/train.py', '/usr/lib/python3.11/site-packages/torch/nn/module.py', 'c10::cuda::Allocator'];
  r.alloc('a', 'unknown', 1000);
  const document = r.document();
  document.frames.file = document.frames.function;
  document.events.stack.push(-1);
  for (const [key, value] of [
    ['time_delta', 9],
    ['action', 0],
    ['device', 0],
    ['address_delta', 99],
    ['requested_bytes', 512],
    ['block_bytes', 512],
    ['stream', 0],
    ['scope_delta', 0],
    ['category', 0],
    ['name', -1],
  ])
    document.events[key].push(value);
  document.start.segments = [
    {
      device: 0,
      address: 9000,
      total_bytes: 4096,
      stream: 0,
      blocks: [
        {
          offset_bytes: 0,
          block_bytes: 4096,
          requested_bytes: 4096,
          state: 1,
          stack: -1,
          scope: -1,
          category: 0,
          name: -1,
        },
      ],
    },
  ];
  const { groups } = buildColouring([runOf(document)], 'stack');
  assert.deepEqual(
    groups.map(({ key, isOld }) => [key, isOld]).sort(),
    [
      ['stack:before', true],
      ['stack:none', false],
      ['stack:/site/train.py (train.py:11) /site/train.py', false],
    ].sort(),
  );
  assert.equal(groups[0].isOld, true, 'at the bottom');
  assert.equal(groups[0].colour, rankedColour(-1));
});

test('sizes fall into binary classes, lifetimes into decades; what is larger or older lies lower', () => {
  const r = new Recording({ nsPerEvent: 10_000 });
  for (const bytes of [1024, 4096, 40_000, 3 << 20, 2 ** 30]) r.alloc('x', 'unknown', bytes);
  const short = r.alloc('x', 'unknown', 512);
  r.free(short);
  const long = r.alloc('x', 'unknown', 512);
  for (let i = 0; i < 20; i++) r.event('mark', {});
  r.free(long);
  const run = runOf(r.document());
  assert.deepEqual(
    buildColouring([run], 'size').groups.map((g) => g.label),
    ['1 GiB and more', '2 – 16 MiB', '32 – 256 KiB', '4 – 32 KiB', 'below 4 KiB'],
  );
  assert.deepEqual(
    buildColouring([run], 'age').groups.map((g) => g.label),
    ['never freed', '100 µs – 1 ms', '10 µs – 100 µs'],
  );
  const virtual = runOf({ ...r.document(), devices: [{ kind: 'virtual', name: 'v', total_bytes: -1 }] });
  assert.deepEqual(
    buildColouring([virtual], 'age').groups.map((g) => g.label),
    ['never freed', '10 – 100 events', 'below 10 events'],
  );
});

test('hidden groups leave the totals of the rest, and their peak', () => {
  for (const [run, colourBy] of [
    ...COLOUR_BY.map((colourBy) => [runOf(randomRun(2500, SEED)), colourBy]),
    [contradictoryRun(2500), 'size'],
  ]) {
    const colouring = buildColouring([run], colourBy);
    const hidden = keysOf(colouring).filter((_, i) => i % 2 === 1);
    const stacking = buildStacking(colouring, 0, new Set(hidden));
    for (let s = 0; s < stacking.nStates; s += 7)
      assert.equal(stacking.totals[s], sumOf(stacking.blocks, plainStack(stacking, s)));
    assert.equal(stacking.totals[stacking.peakState], Math.max(...stacking.totals));
  }
  const whole = runOf(randomRun(100, SEED));
  assert.equal(stackingOf(whole).totals, whole.index.totals);
});

test('the order of a stack, the block at a byte, and the bytes below a block', () => {
  const whole = runOf(randomRun(3000, SEED));
  const random = randomNumbers(SEED);
  for (const [run, colourBy, hidden] of [
    [whole, 'category', []],
    [whole, 'size', []],
    [whole, 'category', ['activation', 'parameter']],
    [contradictoryRun(3000), 'category', []],
  ]) {
    const stacking = stackingOf(run, colourBy, hidden);
    const { blocks } = stacking;
    for (let round = 0; round < 25; round++) {
      const state = Math.floor(random() * stacking.nStates);
      const stack = plainStack(stacking, state);
      assert.deepEqual([...stackAt(stacking, state)], stack);
      if (stack.length === 0) continue;
      const at = Math.floor(random() * stack.length);
      const below = sumOf(blocks, stack.slice(0, at));
      assert.equal(blockAtBytes(stacking, state, below), stack[at]);
      assert.equal(blockAtBytes(stacking, state, below + blocks.bytes[stack[at]] - 1), stack[at]);
      const states = Int32Array.from({ length: 40 }, (_, i) => state - 20 + i).filter(
        (s) => s >= 0 && s < stacking.nStates,
      );
      assert.deepEqual(
        [...bytesBelow(stacking, stack[at], states)],
        [...states].map((s) => {
          const there = plainStack(stacking, s);
          const i = there.indexOf(stack[at]);
          return i < 0 ? NaN : sumOf(blocks, there.slice(0, i));
        }),
      );
    }
    assert.equal(blockAtBytes(stacking, 100, stacking.totals[100]), -1);
  }
});

test('picked blocks lie at the bottom of their group where bands are drawn', () => {
  const run = runOf(randomRun(800, SEED));
  const stacking = stackingOf(run);
  const { groupOf } = stacking.grouping;
  const isPicked = Uint8Array.from(groupOf, (_, b) => (b % 3 === 0 ? 1 : 0));
  const stack = [...stackAt(stacking, 400, isPicked)];
  const plain = plainStack(stacking, 400);
  assert.deepEqual(
    stack,
    plain.sort((a, b) => groupOf[a] - groupOf[b] || isPicked[b] - isPicked[a] || a - b),
  );
  assert.deepEqual(
    [...bytesBelow(stacking, stack[5], Int32Array.of(400), isPicked)],
    [sumOf(stacking.blocks, stack.slice(0, 5))],
  );
});

test('sweeps agree with plain sums, for states in any order', () => {
  const whole = runOf(randomRun(6000, SEED));
  const random = randomNumbers(SEED + 3);
  for (const [run, colourBy, hidden] of [
    [whole, 'category', ['gradient']],
    [whole, 'size', []],
    [contradictoryRun(4000), 'category', ['input']],
  ]) {
    const stacking = stackingOf(run, colourBy, hidden);
    const { blocks, grouping, isShown } = stacking;
    const n = isShown.length;
    const isPicked = Uint8Array.from(grouping.groupOf, () => (random() < 0.3 ? 1 : 0));
    const picking = buildPicking(grouping, isPicked);
    const bands = makeBandSweep(grouping, picking);
    const nodes = makeBlockSweep(stacking, picking, 400_000, new Int32Array(blocks.count));
    for (let round = 0, state = 0; round < 300; round++) {
      state =
        random() < 0.8
          ? Math.min(stacking.nStates - 1, state + Math.floor(random() * 30))
          : Math.floor(random() * stacking.nStates);
      const sums = new Float64Array(n);
      const picked = new Float64Array(n);
      for (let b = 0; b < blocks.count; b++) {
        if (!(blocks.bornState[b] <= state && state < blocks.diedState[b])) continue;
        sums[grouping.groupOf[b]] += blocks.bytes[b];
        if (isPicked[b]) picked[grouping.groupOf[b]] += blocks.bytes[b];
      }
      bands.moveTo(state);
      assert.deepEqual(bands.sums, sums);
      assert.deepEqual(bands.picked, picked);
      nodes.moveTo(state);
      for (let g = 0; g < n; g++) {
        const tall = [];
        let bytes = 0;
        let pickedBytes = 0;
        for (let node = nodes.first[g]; node >= 0; node = nodes.next[node]) {
          bytes += nodes.bytes[node];
          pickedBytes += nodes.picked[node];
          if (nodes.block[node] >= 0) tall.push(nodes.block[node]);
        }
        assert.equal(bytes, isShown[g] ? sums[g] : 0);
        assert.equal(pickedBytes, isShown[g] ? picked[g] : 0);
        assert.deepEqual(
          tall,
          plainStack(stacking, state).filter((b) => grouping.groupOf[b] === g && blocks.bytes[b] >= 400_000),
        );
      }
    }
  }
});

test('a range of states and a part of the axis convert into each other', () => {
  const run = runOf(trainingRun());
  for (const axis of [run.axes.event, run.axes.time]) {
    const [x0, x1] = [axis.ofEvent(100), axis.ofEvent(200)];
    const states = statesOfSpan(axis, x0, x1, run.index.nStates);
    assert.deepEqual(states, { first: 101, last: 201 }, axis.kind);
    assert.deepEqual(spanOfStates(axis, states), [x0, x1]);
    assert.deepEqual(statesOfSpan(axis, x1, x0, run.index.nStates), states, 'from right to left');
    assert.equal(statesOfSpan(axis, axis.hi + 5, axis.hi + 9, run.index.nStates), null);
    assert.deepEqual(withinAxis(axis, axis.lo - 50, axis.lo + 450), [axis.lo, axis.lo + 500]);
  }
});

test('scopes in others of their kind have rows of their own, low ones where they hold little', () => {
  const r = new Recording();
  r.within('operator', 'outer', -1, () => {
    for (let i = 0; i < 9; i++) r.alloc('x', 'unknown', 512);
    r.within('operator', 'inner', -1, () => r.alloc('x', 'unknown', 512));
  });
  r.within('user', 'long', -1, () =>
    r.within('user', 'almost as long', -1, () => r.alloc('x', 'unknown', 512)),
  );
  const document = r.document();
  document.scopes.device_begin[0] = 5000;
  document.scopes.device_duration[0] = 100;
  const { lanes } = runOf(document);
  assert.deepEqual(
    lanes.map(({ title, isThin, isDevice, scopes }) => [title, isThin, isDevice, [...scopes]]),
    [
      ['operator', false, false, [0]],
      ['', true, false, [1]],
      ['user', false, false, [2]],
      ['', false, false, [3]],
      ['device', false, true, [0]],
    ],
  );
});

test('a legend is broken into lines that fit', () => {
  const entries = ['a', 'bbbb', 'cc'].map((text) => ({ colour: '#000000', text }));
  const { placed, height } = flowLegend(entries, 100, (text) => text.length * 10);
  assert.deepEqual(
    placed.map(({ x, y }) => [x, y]),
    [
      [0, 0],
      [0, 20],
      [0, 40],
    ],
  );
  assert.equal(height, 60);
  assert.deepEqual(
    flowLegend([], 100, () => 0),
    { placed: [], height: 0 },
  );
});

test('categories, steps of the sequence and the twelve largest groups are distinguishable for every kind of vision', () => {
  const apart = (colours, least) =>
    colours.forEach((a, i) =>
      colours.slice(0, i).forEach((b) => {
        for (const [eyes, distance] of Object.entries(colourDistances(a, b)))
          assert.ok(distance >= least, `${a} and ${b} are ${distance.toFixed(3)} apart for ${eyes} eyes`);
      }),
    );
  apart(CATEGORIES.map(categoryColour), 0.07);
  apart(
    Array.from({ length: 12 }, (_, rank) => rankedColour(rank)),
    0.07,
  );
  const sequence = Array.from({ length: 9 }, (_, i) => sequentialColour(i, 9));
  sequence.slice(1).forEach((colour, i) => assert.ok(lightness(colour) - lightness(sequence[i]) > 0.06));
  assert.equal(new Set(Array.from({ length: 96 }, (_, rank) => rankedColour(rank))).size, 96);
  assert.deepEqual([inkOn('#f0e442'), inkOn('#0072b2')], ['#14171c', '#ffffff']);
});

test('colours belong to names, and every category has its own', () => {
  assert.equal(new Set(CATEGORIES.map(categoryColour)).size, CATEGORIES.length);
  assert.ok(
    ['a word of the file', 'another word', 'no such'].every(
      (name) => !CATEGORIES.map(categoryColour).includes(categoryColour(name)),
    ),
    'a word of the file has none of theirs',
  );
  assert.equal(categoryColour('a word of the file'), categoryColour('a word of the file'));
});
