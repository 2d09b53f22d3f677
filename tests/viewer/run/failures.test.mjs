// Allocations that found no memory: the limit that failed, the words in the picture; and lanes of threads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failuresOf, failuresText, limitsOf } from '../../../viewer/src/run/failures.js';
import { snapshotOf } from '../support/engine.mjs';
import { makeRun } from '../../../viewer/src/run/run.js';
import { leftOutText } from '../../../viewer/src/draw/scale.js';
import { drawnLabels } from '../support/drawing.mjs';
import { Recording } from '../support/recording.mjs';

const GIB = 2 ** 30;
const UNKNOWN_FREE = 2 ** 60; // more than a number holds exactly

/** A run on a card that fails `n` times for 2 GiB, with 1 GiB reserved. */
function failing({ n = 1, free = 0.5 * GIB, limit = -1, total = -1, allocator = {}, gap = 0 } = {}) {
  const r = new Recording();
  r.segment(GIB);
  r.alloc('weight', 'parameter', 0.875 * GIB);
  for (let i = 0; i < n; i++) {
    r.outOfMemory(2 * GIB, free);
    for (let k = 0; k < gap; k++) r.event('mark', {});
  }
  r.event('mark', {});
  const document = r.document({ run: { memory_limit_bytes: limit }, allocator });
  document.devices = [{ ...document.devices[0], kind: 'cuda', name: 'card', total_bytes: total }];
  return makeRun(snapshotOf(document), 'x');
}

const textOf = (options) => failuresText(failuresOf(failing(options)));

test('the label says which limit failed', () => {
  assert.equal(
    textOf({ total: 80 * GIB }),
    "out of memory: 2.00 GiB more exceed the card's capacity, 512.00 MiB free",
  );
  assert.equal(
    textOf({ total: 80 * GIB, free: 70 * GIB, limit: 2.5 * GIB }),
    'out of memory: 2.00 GiB more exceed the memory limit of the process, 2.50 GiB',
  );
  assert.equal(
    textOf({
      total: 5 * GIB,
      free: 3 * GIB,
      allocator: { PYTORCH_CUDA_ALLOC_CONF: 'per_process_memory_fraction:0.5' },
    }),
    'out of memory: 2.00 GiB more exceed the memory limit (0.5 of the card) of the process, 2.50 GiB',
  );
  assert.equal(
    textOf({ free: 30 * GIB }),
    'out of memory: 2.00 GiB more exceed a limit of the process, 30.00 GiB free on the card',
  );
  assert.equal(textOf({ free: UNKNOWN_FREE }), 'out of memory: 2.00 GiB more');
});

test('every limit that the file tells is a line, the lowest first', () => {
  const limits = (run) =>
    limitsOf(run.snapshot, run.snapshot.devices[0]).map(({ text, bytes }) => [text, bytes]);
  assert.deepEqual(limits(failing({ total: 8 * GIB, limit: 2 * GIB })), [
    ['memory limit', 2 * GIB],
    ['device capacity', 8 * GIB],
  ]);
  assert.deepEqual(limits(failing({ total: 8 * GIB, allocator: { per_process_memory_fraction: 0.25 } })), [
    ['memory limit (0.25 of the card)', 2 * GIB],
    ['device capacity', 8 * GIB],
  ]);
  assert.deepEqual(limits(failing({ allocator: { per_process_memory_fraction: 1 } })), []);
  const run = failing({ total: 80 * GIB, limit: 4 * GIB });
  assert.match(leftOutText(run, 3 * GIB), /^above: memory limit 4\.00 GiB, device capacity 80\.00 GiB$/);
});

test('several failures are one pill above the plot, and one alone in view says what it asked for', () => {
  const run = failing({ n: 5, gap: 20, total: 2 * GIB });
  for (const width of [420, 720, 1200]) {
    const { labels, geometry } = drawnLabels(run, width, { view: [0, 110] });
    const pills = labels.filter(({ text }) => /out of mem/.test(text));
    assert.equal(pills.length, 1);
    assert.ok(pills[0].text.startsWith('5 failures'), pills[0].text);
    assert.ok(pills[0].y >= 10, `${pills[0].y} is above the picture`);
    assert.ok(pills[0].y + 10 <= geometry.plot.y, `${pills[0].y} in ${geometry.plot.y}`);
    assert.ok(pills[0].x >= geometry.plot.x && pills[0].x + pills[0].w <= width);
  }
  const { labels } = drawnLabels(run, 900, { view: [0, 12] });
  assert.ok(labels.some(({ text }) => text.startsWith('out of memory: 2.00 GiB more exceed')));
  assert.equal(
    failuresText(failuresOf(run)),
    "5 failures: out of memory, at most 2.00 GiB more, beyond the card's capacity",
  );
});

test('the name of a limit lies under no other label', () => {
  for (const total of [GIB, 1.125 * GIB]) {
    const r = new Recording();
    r.segment(GIB);
    for (let i = 0; i < 20; i++) r.alloc(`w${i}`, 'parameter', 51 << 20);
    r.outOfMemory(2 ** 26, 2 ** 25);
    for (let i = 0; i < 20; i++) r.event('mark', {});
    const document = r.document();
    document.devices = [{ ...document.devices[0], kind: 'cuda', name: 'card', total_bytes: total }];
    const run = makeRun(snapshotOf(document), 'x');
    for (let width = 420; width <= 1200; width += 20) {
      const { labels } = drawnLabels(run, width);
      const limit = labels.find(({ text }) => /^(device )?capacity/.test(text));
      assert.ok(limit, `${width}: ${labels.map(({ text }) => text).join()}`);
      for (const other of labels.filter((label) => label !== limit))
        assert.ok(
          Math.abs(other.y - limit.y) >= 12 || other.x >= limit.x + limit.w || limit.x >= other.x + other.w,
          `${width}: ${other.text} on ${limit.text}`,
        );
    }
  }
});

test('a failure of another device is not marked', () => {
  const run = failing({ n: 2 });
  run.snapshot.events.device[run.snapshot.oom[0].event] = 1;
  assert.equal(failuresOf(run).length, 1);
});

/** A run with a scope on each of some threads. */
function threaded(threads, origin) {
  const r = new Recording();
  r.within('phase', 'forward', -1, () => {
    r.alloc('a', 'activation', 4096);
    r.within('user', 'inner', -1, () => r.alloc('b', 'activation', 4096));
  });
  threads.forEach((_, i) => r.within('user', `work ${i}`, -1, () => r.alloc(`c${i}`, 'activation', 4096)));
  const document = r.document(origin ? { origin } : {});
  document.scopes.thread = [0, 0, ...threads];
  return makeRun(snapshotOf(document), 'x');
}

test('each thread that has scopes has a lane with its name', () => {
  const titles = (run) => run.lanes.map(({ title, scopes }) => [title, [...scopes]]);
  assert.deepEqual(titles(threaded([0, 0])), [
    ['phase', [0]],
    ['user', [1, 2, 3]],
  ]);
  assert.deepEqual(titles(threaded([3, 0, 3, 7])), [
    ['phase', [0]],
    ['thread 0', [1, 3]],
    ['thread 3', [2, 4]],
    ['thread 7', [5]],
  ]);
  const pickle = threaded([1], { format: 'pytorch', events: 3, contradictions: 0 });
  assert.deepEqual(
    pickle.lanes.map(({ title }) => title),
    ['phase', 'cuda:0', 'cuda:1'],
  );
  const many = titles(threaded(Array.from({ length: 12 }, (_, i) => i + 1)));
  assert.equal(many.length, 2 + 8 + 1);
  assert.deepEqual(many.at(-1), ['4 more', [10, 11, 12, 13]]);
});
