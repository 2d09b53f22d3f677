// How categories became known, and scopes that are known only at their allocations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeAxis } from '../../../viewer/src/run/axis.js';
import { snapshotOf } from '../support/engine.mjs';
import { NO_INTERVAL } from '../../../viewer/src/words/format_names.js';
import { buildLanes, laneItems, scopeExtents, scopeSpan } from '../../../viewer/src/run/lanes.js';
import { blockText } from '../../../viewer/src/panels/pinned_card.js';
import { homeView, makeRun } from '../../../viewer/src/run/run.js';
import { certainCategoryText, certaintiesText } from '../../../viewer/src/words/text.js';
import { Recording } from '../support/recording.mjs';

/** A step with three blocks: named, by rule and unknown; and a named block before the step. */
function recorded() {
  const recording = new Recording();
  recording.begin('step', 'step', 0);
  recording.begin('layer', 'the module', 0);
  recording.alloc('weight', 'parameter', 1024);
  recording.alloc('product', 'activation', 2048);
  recording.alloc('', 'unknown', 4096);
  recording.end();
  recording.end();
  const document = recording.document();
  document.events.certainty = [2, 1, 0];
  document.start.segments = [
    {
      device: 0,
      address: 1 << 20,
      total_bytes: 512,
      stream: 0,
      blocks: [
        {
          offset_bytes: 0,
          block_bytes: 512,
          requested_bytes: 512,
          state: 1,
          stack: -1,
          scope: -1,
          category: 1,
          certainty: 2,
          name: -1,
        },
      ],
    },
  ];
  return document;
}

test('a block and the legend say how categories became known', () => {
  const run = makeRun(snapshotOf(recorded()), 'x');
  assert.deepEqual([...run.index.blocks.certainty], [2, 2, 1, 0]);
  assert.deepEqual(run.peak.certainties, [4096, 2048, 1536]);
  assert.equal(certaintiesText(run.peak.certainties), '1.50 KiB named, 2.00 KiB by rule, 4.00 KiB unknown');
  assert.equal(certainCategoryText('activation', 1), 'activations (by rule)');
  assert.match(blockText(run, 0), /^category: parameters \(named\)$/m);
  assert.match(blockText(run, 2), /^category: activations \(by rule\)$/m);
  assert.match(blockText(run, 3), /^category: unknown$/m);
});

test('a file that does not say shows nothing of it', () => {
  const document = recorded();
  delete document.events.certainty;
  delete document.start.segments[0].blocks[0].certainty;
  const run = makeRun(snapshotOf(document), 'x');
  assert.equal(run.index.blocks.certainty, null);
  assert.equal(run.peak.certainties, null);
  assert.equal(certaintiesText(run.peak.certainties), '');
  assert.match(blockText(run, 1), /^category: parameters$/m);
});

test('only blocks of the start, or only events, may say it', () => {
  const ofStart = recorded();
  delete ofStart.events.certainty;
  assert.deepEqual([...makeRun(snapshotOf(ofStart), 'x').index.blocks.certainty], [2, 0, 0, 0]);
  const ofEvents = recorded();
  delete ofEvents.start.segments[0].blocks[0].certainty;
  assert.deepEqual([...makeRun(snapshotOf(ofEvents), 'x').index.blocks.certainty], [0, 2, 1, 0]);
});

test('a scope without an interval has no place in time, and no open end', () => {
  const document = recorded();
  document.scopes.duration[1] = NO_INTERVAL;
  const snapshot = snapshotOf(document);
  const extents = scopeExtents(snapshot);
  const run = makeRun(snapshot, 'x');
  const axis = timeAxis(snapshot);
  const items = (kind) =>
    laneItems(
      snapshot,
      extents,
      run.axes[kind],
      buildLanes(snapshot).find(({ title }) => title === 'layer'),
      run.axes[kind].lo,
      run.axes[kind].hi,
      0,
    );
  assert.deepEqual(scopeSpan(snapshot, extents, axis, 1), [1000, 1000]);
  assert.deepEqual(items('time'), []);
  assert.deepEqual(items('event'), [{ scope: 1, x0: 0, x1: 3 }]);
});

test('a step without an interval is shown with the whole run around it', () => {
  const document = recorded();
  document.scopes.duration[0] = NO_INTERVAL;
  const run = makeRun(snapshotOf(document), 'x');
  assert.equal(run.homeScope, 0);
  assert.deepEqual(homeView(run, run.axes.time), [run.axes.time.lo, run.axes.time.hi]);
});
