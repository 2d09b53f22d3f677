// The computations of the page of ranks, under node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  clockOf,
  compareCommand,
  differencesOf,
  differenceText,
  foldName,
  foldRanks,
  groupings,
  heatOf,
  heatPixels,
  ranksHeadline,
  scaleColour,
  scaleOf,
  spansText,
  usualPair,
} from '../../../viewer/src/ranks/rank_rows.js';
import { CLOCKLESS, ENDS, LEAKS, makeDigest, makeDigests, ranksDocument } from '../support/digests.mjs';
import { ranksOf as read } from '../support/engine.mjs';
import { colourDistances, lightness } from '../support/oklab.mjs';

const WORLD = await read(ranksDocument(makeDigests(64, 20)));
const FOLDED = { groupBy: '', orderBy: 'rank', isFolded: true };

test('numbers of ranks are written as spans', () => {
  assert.equal(spansText([0, 1, 2, 3, 7, 8, 12]), '0–3, 7, 8, 12');
  assert.equal(spansText([5]), '5');
});

test('equal ranks fold, outliers stay alone, and any order of the files gives the same rows', () => {
  const names = foldRanks(WORLD, FOLDED).map(foldName);
  assert.deepEqual(names, [
    'ranks 0–4, 6–10, 12–15',
    `rank ${LEAKS}`,
    `rank ${ENDS}`,
    'ranks 16–31',
    'ranks 32–47',
    'ranks 48–62',
    'rank 63',
  ]);
  const mixed = [...WORLD].sort((a, b) => ((a.rank * 37) % 64) - ((b.rank * 37) % 64));
  assert.deepEqual(foldRanks(mixed, FOLDED).map(foldName), names);
  assert.equal(ranksHeadline(mixed), ranksHeadline(WORLD));
});

test('rows are ordered by peak, and grouped by node and by the groups that divide the world', () => {
  assert.deepEqual(groupings(WORLD), ['node', 'pp']);
  const byPeak = foldRanks(WORLD, { ...FOLDED, orderBy: 'peak' });
  assert.deepEqual(byPeak.slice(0, 2).map(foldName), [`rank ${ENDS}`, `rank ${LEAKS}`]);
  const byStage = foldRanks(WORLD, { groupBy: 'pp', orderBy: 'peak', isFolded: false });
  assert.equal(byStage.length, 64);
  assert.deepEqual(
    [0, 16, 63].map((i) => byStage[i].group),
    ['pp 0 of 4', 'pp 1 of 4', 'pp 3 of 4'],
  );
  const nodes = foldRanks(WORLD, { ...FOLDED, groupBy: 'node' }).map(({ group }) => group);
  assert.ok(nodes.indexOf('node2') < nodes.indexOf('node10') || !nodes.includes('node10'));
});

test('the headline names the fullest, the spread, who ran out, and how many were given', async () => {
  assert.equal(
    ranksHeadline(WORLD),
    '64 ranks: rank 11 is the fullest with 79.00 GiB, 464.3 % above the lowest peak, 14.00 GiB. ' +
      'Rank 11 ran out of memory.',
  );
  const some = await read(ranksDocument([makeDigest(0, 1024, 3), makeDigest(1, 1024, 3)]));
  assert.equal(ranksHeadline(some), '2 of 1,024 ranks, all with a peak of 20.00 GiB.');
});

test('no peak is lost in the picture, and steps that a rank does not have stay blank', () => {
  const heat = heatOf(foldRanks(WORLD, { ...FOLDED, isFolded: false }));
  assert.deepEqual([heat.nRows, heat.steps.length], [64, 20]);
  assert.equal(heat.cells[ENDS * 20 + 19], -1);
  for (const [width, height] of [
    [400, 640],
    [7, 9],
    [1, 1],
  ])
    assert.equal(
      heatPixels(heat, width, height).reduce((most, bytes) => Math.max(most, bytes)),
      79 * 2 ** 30,
    );
  const exact = heatPixels(heat, 20, 64);
  assert.deepEqual([...exact], [...heat.cells]);
});

test('colours by order tell the small differences apart that one outlier hides', () => {
  const heat = heatOf(foldRanks(WORLD, FOLDED));
  const [bySize, byOrder] = [false, true].map((isByOrder) => scaleOf(heat, isByOrder));
  const GIB = 2 ** 30;
  assert.deepEqual([heat.least, heat.most].map(byOrder), [0, 1]);
  assert.deepEqual([heat.least, heat.most].map(bySize), [0, 1]);
  assert.ok(bySize(20 * GIB) - bySize(18 * GIB) < 0.04);
  assert.ok(byOrder(20 * GIB) - byOrder(18 * GIB) > 0.06);
  assert.equal(scaleOf({ ...heat, most: heat.least }, true)(heat.least), 0.5);
});

test('a step that represents several fills their columns', async () => {
  const long = makeDigest(0, 8, 6);
  const short = makeDigest(1, 8, 6);
  const { steps } = short.devices[0];
  short.devices[0].steps = [0, 3].map((at) => ({ ...steps[at], n_steps: 3, allocated_peak_bytes: at + 1 }));
  const heat = heatOf(foldRanks(await read(ranksDocument([long, short])), FOLDED));
  assert.deepEqual([...heat.cells.slice(6)], [1, 1, 1, 4, 4, 4]);
});

test('1,024 ranks and 1,000 steps become a picture; the time is printed, not checked', (t) => {
  const nRows = 1024;
  const steps = Array.from({ length: 1000 }, (_, i) => i);
  const cells = Float64Array.from({ length: nRows * 1000 }, (_, i) => (i * 7919) % 1000);
  heatPixels({ nRows, steps, cells, least: 0, most: 999 }, 100, 100);
  const begin = performance.now();
  const pixels = heatPixels({ nRows, steps, cells, least: 0, most: 999 }, 1400, 620);
  t.diagnostic(`${(performance.now() - begin).toFixed(0)} ms`);
  assert.equal(pixels.length, 1400 * 620);
  // The first pixel shows one cell, the last one those of the last column in the last two rows.
  assert.equal(pixels[0], cells[0]);
  assert.equal(pixels.at(-1), Math.max(cells.at(-1), cells.at(-1001)));
});

test('two ranks differ by line of the program, the largest difference first', () => {
  const [a, b] = [WORLD[62], WORLD[63]];
  const { rows, nEqual } = differencesOf(a, b);
  assert.equal(nEqual, 2);
  assert.deepEqual(rows.map(differenceText), ['+8.00 MiB Head.forward (model.py:71), activations']);
  assert.deepEqual(differencesOf(b, a).rows.map(differenceText), [
    '−8.00 MiB Head.forward (model.py:71), activations',
  ]);
  const stages = differencesOf(WORLD[0], WORLD[63]).rows.map(({ a: x, b: y }) => y - x);
  assert.deepEqual(stages, [-6 * 2 ** 30, 8 * 2 ** 20]);
  assert.equal(
    compareCommand(a, { ...b, file: "it's; rm -rf" }),
    `tidemark compare rank62.json.gz 'it'\\''s; rm -rf'`,
  );
  assert.equal(compareCommand(a, { ...b, file: '--help' }), `tidemark compare rank62.json.gz './--help'`);
  const pair = usualPair(foldRanks(WORLD, FOLDED));
  assert.deepEqual(pair?.map(foldName), ['ranks 16–31', `rank ${ENDS}`]);
});

test('ranks without a clock have no place in time', () => {
  assert.equal(clockOf([WORLD[CLOCKLESS]]), null);
  assert.deepEqual(clockOf(WORLD), { beginUs: 1.79e15, endUs: 1.79e15 + 63e4 + 19.6e6 });
});

test('the scale grows lighter for every eye', () => {
  const hex = (share) =>
    `#${scaleColour(share)
      .map((value) => value.toString(16).padStart(2, '0'))
      .join('')}`;
  for (let i = 0; i < 8; i++) {
    const [low, high] = [hex(i / 8), hex((i + 1) / 8)];
    assert.ok(lightness(high) > lightness(low) + 0.03, `${low} ${high}`);
    for (const [eyes, distance] of Object.entries(colourDistances(low, high)))
      assert.ok(distance > 0.03, `${low} ${high} ${eyes} ${distance}`);
  }
});
