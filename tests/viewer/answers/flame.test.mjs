// The flame graph: bytes by call stack, frames folded and unfolded, points and paths in it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksOf } from '../../../viewer/src/answers/amounts.js';
import {
  blocksUnder,
  buildFlame,
  FLAME,
  flamePath,
  flameRows,
  flameText,
  followPath,
  nodeAt,
} from '../../../viewer/src/answers/flame.js';
import { snapshotOf } from '../support/engine.mjs';
import { stackFrames } from '../../../viewer/src/run/peak.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { Recording } from '../support/recording.mjs';
import { randomNumbers, trainingRun } from '../support/synthetic.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);
const training = makeRun(snapshotOf(trainingRun({ layers: 4, warmup: 0, steps: 2 })), 'training');
const allocated = (run) => blocksOf(run, { kind: 'allocated', first: 0, last: run.index.nStates }, null);
const byCategory = (run) => (block) => run.index.blocks.category[block];

/** A run whose stacks pass through frames of libraries; names that begin with "lib" have no source. */
function foldedRun(stacks) {
  const r = new Recording();
  stacks.forEach((names, i) => {
    r.path = names;
    r.alloc(`b${i}`, i % 2 ? 'activation' : 'gradient', 512 * (i + 1));
  });
  const document = r.document();
  document.strings.push('');
  document.frames.function.forEach((name, f) => {
    if (document.strings[name].startsWith('lib')) document.frames.file[f] = document.strings.length - 1;
  });
  return makeRun(snapshotOf(document), 'folded');
}

function checkNodes(run, flame, list) {
  const { nodes } = flame;
  const { bytes } = run.index.blocks;
  assert.equal(
    nodes[0].bytes,
    list.reduce((sum, block) => sum + bytes[block], 0),
  );
  assert.equal(nodes[0].count, list.length);
  nodes.forEach((node, i) => {
    const below = node.children.reduce((sum, child) => sum + nodes[child].bytes, 0);
    assert.equal(below + node.ownBytes, node.bytes, `bytes of node ${i}`);
    assert.equal(
      [...node.groups.values()].reduce((a, b) => a + b, 0),
      node.bytes,
    );
    node.children.forEach((child, k) => {
      assert.equal(nodes[child].parent, i);
      const before =
        k === 0 ? node.from : nodes[node.children[k - 1]].from + nodes[node.children[k - 1]].bytes;
      assert.equal(nodes[child].from, before);
    });
  });
}

test('every frame has the bytes of its children and its own', () => {
  for (const isUnfolded of [false, true]) {
    const list = allocated(training);
    const flame = buildFlame(training, list, isUnfolded, byCategory(training));
    assert.ok(flame.nodes.length > 12);
    checkNodes(training, flame, list);
  }
});

test('unfolded, each frame has the blocks whose stacks pass through it in that place', () => {
  const list = allocated(training);
  const flame = buildFlame(training, list, true, byCategory(training));
  const { blocks } = training.index;
  const outward = (stack) =>
    stackFrames(training.snapshot, stack)
      .map(({ function: name }) => name)
      .reverse();
  for (let i = 1; i < flame.nodes.length; i++) {
    const names = flamePath(flame, i).map(
      (frame) => training.snapshot.strings[training.snapshot.frames.function[frame]],
    );
    const expected = list.filter((block) =>
      names.every((name, k) => outward(blocks.stack[block])[k] === name),
    );
    assert.equal(flame.nodes[i].count, expected.length);
    const mask = blocksUnder(training, training, flamePath(flame, i), true);
    assert.deepEqual(
      [...expected].sort((a, b) => a - b),
      [...mask].flatMap((on, b) => (on ? [b] : [])),
    );
  }
});

test('consecutive frames of libraries are folded into one', () => {
  const run = foldedRun([
    ['lib0', 'main', 'lib1', 'lib2', 'work'],
    ['lib0', 'main', 'lib3', 'work'],
    ['main', 'work'],
    ['lib0', 'lib1'],
    ['main', 'lib1'],
  ]);
  const flame = buildFlame(run, allocated(run), false, byCategory(run));
  const { nodes } = flame;
  checkNodes(run, flame, allocated(run));
  const rows = flameRows(run, flame, 0).map(({ depth, text, bytes }) => [
    depth,
    text.replace(/ \(.*/, ''),
    bytes / 512,
  ]);
  assert.deepEqual(rows, [
    [0, 'all', 15],
    [1, 'main', 11],
    [2, 'folded: 1–2 frames', 8],
    [3, 'work', 3],
    [2, 'work', 3],
    [1, 'lib1', 4],
  ]);
  const folded = nodes.findIndex(({ frame }) => frame === FLAME.FOLDED);
  const mask = blocksUnder(run, run, flamePath(flame, folded), false);
  assert.deepEqual([...mask], [1, 1, 0, 0, 1]);
  const other = foldedRun([
    ['main', 'lib9', 'work'],
    ['main', 'work'],
  ]);
  const inOther = blocksUnder(
    other,
    run,
    flamePath(
      flame,
      nodes.findIndex((node) => flameText(run, node).startsWith('main')),
    ),
    false,
  );
  assert.equal(inOther.length, 2);
});

test('blocks without a call stack have a frame of their own', () => {
  const run = makeRun(snapshotOf(trainingRun({ layers: 1, warmup: 0, steps: 1 })), 'none');
  run.index.blocks.stack.fill(-1);
  const flame = buildFlame(run, allocated(run), false, byCategory(run));
  assert.deepEqual(
    flame.nodes.map((node) => flameText(run, node)),
    ['all', 'no call stack'],
  );
  run.index.blocks.bornState.fill(0, 0, 5);
  const half = buildFlame(run, Int32Array.from([0, 1, 4, 5, 6]), false, byCategory(run));
  assert.deepEqual(
    half.nodes.map((node) => [flameText(run, node), node.count]),
    [
      ['all', 5],
      ['from before the recording', 3],
      ['no call stack', 2],
    ],
  );
  const mask = blocksUnder(run, run, flamePath(half, 1), false);
  assert.equal(
    mask.reduce((a, b) => a + b, 0),
    5,
  );
});

test(`a point leads to the frame drawn there, at any zoom (seed ${SEED})`, () => {
  const flame = buildFlame(training, allocated(training), false, byCategory(training));
  const { nodes } = flame;
  const random = randomNumbers(SEED);
  let found = 0;
  for (let round = 0; round < 3000; round++) {
    const zoomed = Math.floor(random() * nodes.length);
    const share = random();
    const depth = Math.floor(random() * (flame.depth + 1));
    const at = nodeAt(flame, zoomed, share, depth);
    const bytes = nodes[zoomed].from + share * nodes[zoomed].bytes;
    const expected = nodes.findIndex(
      (node) => node.depth === depth && bytes >= node.from && bytes < node.from + node.bytes,
    );
    assert.equal(at, expected);
    if (at >= 0) found++;
  }
  assert.ok(found > 500);
});

test('a path leads back to its node, or as far as another graph goes', () => {
  const flame = buildFlame(training, allocated(training), false, byCategory(training));
  flame.nodes.forEach((_, i) => assert.equal(followPath(flame, flamePath(flame, i)), i));
  assert.equal(followPath(flame, [123456]), 0);
});
