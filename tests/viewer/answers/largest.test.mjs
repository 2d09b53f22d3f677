// The largest groups at an instant.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../support/engine.mjs';
import { aliveAt } from '../../../viewer/src/run/index.js';
import { blocksOfGroup, largestAt } from '../../../viewer/src/answers/largest.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { trainingRun } from '../support/synthetic.mjs';

const document = trainingRun({ warmup: 1, steps: 2 });
const run = makeRun(snapshotOf(document), 'run');

test('groups add up to the total, the largest first, and are found again block by block', () => {
  for (const state of [run.peakState, 100, run.index.nStates - 1]) {
    const groups = largestAt(run, state);
    const { blocks, totals } = run.index;
    assert.equal(
      groups.reduce((sum, group) => sum + group.bytes, 0),
      totals[state],
    );
    groups.slice(1).forEach((group, i) => assert.ok(group.bytes <= groups[i].bytes));
    for (const group of groups.slice(0, 4)) {
      const found = blocksOfGroup(run, group.path);
      const alive = aliveAt(run.index, state).filter((b) => found[b]);
      assert.equal(alive.length, group.count);
      assert.equal(
        alive.reduce((sum, b) => sum + blocks.bytes[b], 0),
        group.bytes,
      );
      assert.equal(new Set(alive.map((b) => blocks.category[b])).size, 1);
      assert.ok(alive.includes(group.largest));
      assert.equal(
        new Set(alive.map((b) => run.snapshot.strings[blocks.name[b]].replace(/\d+/g, '*'))).size,
        1,
      );
    }
  }
});

test('without names the line of the program identifies a group, whatever its categories', () => {
  const bare = structuredClone(document);
  bare.events.name.fill(-1);
  const without = makeRun(snapshotOf(bare), 'bare');
  const groups = largestAt(without, without.peakState);
  assert.equal(
    groups.reduce((sum, group) => sum + group.bytes, 0),
    without.index.totals[without.peakState],
  );
  assert.ok(
    groups.length > 3 && groups.every((group) => /\w+ \(\w+\.c:\d+\)/.test(group.label)),
    groups[0].label,
  );
});
