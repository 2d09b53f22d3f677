// The list of events: filters, rows and their positions, texts, CSV, and the scroll bar of a list of any
// length.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allocRow, freeRow } from '../../../viewer/src/run/blocks.js';
import {
  blockOfEvent,
  EVENT_COLUMNS,
  eventCsvLine,
  eventsCsvHead,
  eventTexts,
  filterEvents,
} from '../../../viewer/src/answers/events.js';
import { snapshotOf } from '../support/engine.mjs';
import { scopePath } from '../../../viewer/src/run/lanes.js';
import { stackFrames } from '../../../viewer/src/run/peak.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { compileQuery } from '../../../viewer/src/answers/search.js';
import { subjectOf } from '../../../viewer/src/run/subjects.js';
import { ACTION } from '../../../viewer/src/run/subjects.js';
import { ScaledScroll } from '../../../viewer/src/elements/virtual_list.js';
import { Recording } from '../support/recording.mjs';
import { randomNumbers, eventRows, trainingRun } from '../support/synthetic.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);
const run = makeRun(snapshotOf(trainingRun({ layers: 4, warmup: 1, steps: 2 })), 'training');
const { strings } = run.snapshot;
const events = eventRows(run.snapshot);
const all = { actions: null, query: null, first: 0, last: run.index.nStates };
const listed = (rows) => Array.from({ length: rows.count }, (_, i) => rows.eventAt(i));
const every = Array.from({ length: events.count }, (_, e) => e);

test('without a filter there is a row for each event, or for each event of the range', () => {
  assert.deepEqual(listed(filterEvents(run, all)), every);
  assert.deepEqual(
    listed(filterEvents(run, { ...all, first: 10, last: 20 })),
    every.filter((e) => e + 1 >= 10 && e + 1 < 20),
  );
});

test('filters keep the events that a direct test of each event keeps', () => {
  const text = (e) =>
    [
      events.name[e] < 0 ? '' : strings[events.name[e]],
      scopePath(run.snapshot, events.scope[e]),
      ...stackFrames(run.snapshot, events.stack[e]).flatMap((frame) => [frame.function, frame.place]),
    ].join('\n');
  for (const [query, expected] of [
    ['attention', /attention/i],
    ['/layers\\.[12]\\.op0/', /layers\.[12]\.op0/],
    ['layer 3', /layer 3/],
    ['logits', /logits/],
  ]) {
    for (const actions of [null, [ACTION.ALLOC], [ACTION.FREE, ACTION.SEGMENT_ALLOC]]) {
      const found = listed(filterEvents(run, { ...all, actions, query: compileQuery(query) }));
      assert.deepEqual(
        found,
        every.filter(
          (e) => (actions === null || actions.includes(events.action[e])) && expected.test(text(e)),
        ),
        query,
      );
      if (actions?.length !== 2) assert.ok(found.length > 0, query);
    }
  }
  assert.equal(filterEvents(run, { ...all, query: compileQuery('/(/') }).count, 0);
});

test('an address finds the events whose bytes hold it', () => {
  const wanted = events.address[40] + 100;
  const found = listed(filterEvents(run, { ...all, query: compileQuery(`0x${wanted.toString(16)}`) }));
  assert.deepEqual(
    found,
    every.filter(
      (e) => wanted >= events.address[e] && wanted < events.address[e] + Math.max(1, events.blockBytes[e]),
    ),
  );
  assert.ok(found.includes(40));
});

test('a size finds the events of blocks that have it', () => {
  const { act } = run.snapshot.events;
  const { bytes } = run.snapshot.subjects;
  const limit = Math.max(...bytes) / 2;
  const found = listed(filterEvents(run, { ...all, query: compileQuery(`>${limit}B`) }));
  assert.ok(found.length > 0 && found.length < act.length);
  assert.ok(found.every((e) => bytes[subjectOf(act[e])] > limit));
});

test(`the row of an event is the last one at or before it (seed ${SEED})`, () => {
  const rows = filterEvents(run, { ...all, query: compileQuery('attention') });
  const list = listed(rows);
  for (let e = 0; e < events.count; e += 7)
    assert.equal(
      rows.rowOf(e),
      Math.max(
        0,
        list.findLastIndex((each) => each <= e),
      ),
    );
  const whole = filterEvents(run, { ...all, first: 5 });
  assert.equal(whole.rowOf(0), 0);
  assert.equal(whole.eventAt(whole.rowOf(100)), 100);
  assert.equal(filterEvents(run, { ...all, first: 5, last: 5 }).count, 0);
});

test('rows say what the events are', () => {
  const e = every.find(
    (each) =>
      events.action[each] === ACTION.ALLOC && strings[events.name[each]].startsWith('layers.2.op1.out'),
  );
  const row = Object.fromEntries(eventTexts(run, e).map((text, i) => [EVENT_COLUMNS[i], text]));
  assert.equal(row.action, 'allocate');
  assert.equal(row.name, 'layers.2.op1.out');
  assert.equal(row.category, 'activations');
  assert.equal(row.address, `0x${events.address[e].toString(16)}`);
  assert.match(row.scope, /forward › layer 2 › attention/);
  assert.equal(row.requested, '3.00 MiB');
  assert.match(row.time, /^\d+\.\d{3} ms$/);
  assert.equal(allocRow(run.index.blocks, blockOfEvent(run, e)), e);
  const free = freeRow(run.index.blocks, blockOfEvent(run, e));
  assert.equal(blockOfEvent(run, free), blockOfEvent(run, e));
  const segment = every.find((each) => events.action[each] === ACTION.SEGMENT_ALLOC);
  assert.equal(blockOfEvent(run, segment), -1);
  assert.equal(eventTexts(run, segment)[6], '');
});

test('CSV has exact numbers, a field for each column, and no formula', () => {
  const hostile = makeRun(
    snapshotOf(trainingRun({ layers: 1, warmup: 0, steps: 1, label: (name) => `=${name}` })),
    'hostile',
  );
  const e = 20;
  const fields = eventCsvLine(hostile, e, () => '+stack')
    .trimEnd()
    .split(',');
  assert.equal(fields.length, eventsCsvHead().trimEnd().split(',').length);
  assert.equal(Number(fields[1]), hostile.snapshot.events.timeNs[e]);
  assert.equal(Number(fields[3]), eventRows(hostile.snapshot).requestedBytes[e]);
  assert.ok(fields[5].startsWith("'="), fields[5]);
  assert.equal(fields[11], "'+stack");
});

test('a short list scrolls as it is, a long one comes to each of its ends', () => {
  const short = new ScaledScroll(20);
  short.count = 1000;
  short.height = 400;
  short.moveByBar(333);
  assert.equal(short.offset, 333);
  assert.equal(short.scrollTop, 333);
  const long = new ScaledScroll(24);
  long.count = 3_000_000;
  long.height = 480;
  assert.ok(long.laidOut < 16e6);
  long.moveByBar(0);
  assert.equal(long.offset, 0);
  long.moveByBar(long.laidOut - long.height);
  assert.equal(long.offset, 3_000_000 * 24 - 480);
  const random = randomNumbers(SEED);
  for (let i = 0; i < 200; i++) {
    const row = Math.floor(random() * 3_000_000);
    long.reveal(row);
    assert.ok(row * 24 >= long.offset && (row + 1) * 24 <= long.offset + 480, `row ${row} at ${long.offset}`);
    const { offset } = long;
    long.moveByBar(long.scrollTop);
    assert.ok(Math.abs(long.offset - offset) < 0.01);
  }
});

test('the list of many events opens at once; times are printed, not checked', (t) => {
  const many = makeRun(snapshotOf(trainingRun({ layers: 48, warmup: 0, steps: 100 })), 'many');
  const began = performance.now();
  const rows = filterEvents(many, { actions: null, query: null, first: 0, last: many.index.nStates });
  const opened = performance.now();
  const found = filterEvents(many, {
    actions: [ACTION.ALLOC],
    query: compileQuery('op1'),
    first: 0,
    last: many.index.nStates,
  });
  t.diagnostic(
    `${rows.count} events: all ${(opened - began).toFixed(1)} ms, filtered to ${found.count} ${(performance.now() - opened).toFixed(1)} ms`,
  );
});

test('a free is named after what it frees, not after the line that freed it', () => {
  const recording = new Recording();
  recording.path = ['main', 'forward'];
  const block = recording.alloc('', 'unknown', 4096);
  recording.path = ['main', 'cleanup'];
  recording.free(block);
  const document = recording.document();
  document.events.name.fill(-1);
  const nameless = makeRun(snapshotOf(document), 'a free');
  const nameOf = (e) => eventTexts(nameless, e)[EVENT_COLUMNS.indexOf('name')];
  assert.match(nameOf(0), /^forward/);
  assert.equal(nameOf(1), nameOf(0));
});
