// From a file to a run: the modules that read files, without a page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allocRow, buildBlocks, buildReserved, freeRow } from '../../../viewer/src/run/blocks.js';
import { snapshotOf } from '../support/engine.mjs';
import { buildIndex } from '../../../viewer/src/run/index.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { answerOf, warningsOf } from '../../../viewer/src/run/sentences.js';
import { Recording } from '../support/recording.mjs';
import { randomNumbers, randomRun, runOnDevices, eventRows, trainingRun } from '../support/synthetic.mjs';
import '../support/transfer.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);

/** Allocated and pending bytes after each event by the format's document, computed in the simplest way. */
function plainWalk(document) {
  const alive = new Map();
  const states = [];
  let address = 0;
  let unmatched = 0;
  const sum = (state) =>
    [...alive.values()]
      .filter((block) => block.state === state)
      .reduce((total, block) => total + block.bytes, 0);
  const note = () => states.push([sum('allocated'), sum('pending')]);
  note();
  document.events.action.forEach((action, e) => {
    address += document.events.address_delta[e];
    const block = alive.get(address);
    const bytes = document.events.block_bytes[e];
    if (action === 0) {
      if (block) unmatched++;
      alive.set(address, { state: 'allocated', bytes });
    } else if (action <= 3) {
      if (block?.bytes !== bytes) unmatched++;
      if (!block) return note();
      if (action === 2) block.state = 'pending';
      else alive.delete(address);
    }
    return note();
  });
  return { states, unmatched };
}

test(`blocks equal a walk over random events (seed ${SEED})`, () => {
  const random = randomNumbers(SEED);
  const r = new Recording();
  for (let i = 0; i < 3000; i++) {
    const address = 1 + Math.floor(random() * 60);
    const block = 512 * (1 + Math.floor(random() * 9));
    r.event(
      ['alloc', 'alloc', 'free', 'free_requested', 'free_completed', 'mark'][Math.floor(random() * 6)],
      { address, requested: block - 7, block },
    );
  }
  const document = r.document();
  const snapshot = snapshotOf(document);
  const blocks = buildBlocks(snapshot);
  const { totals } = buildIndex(blocks);
  const { states, unmatched } = plainWalk(document);
  assert.deepEqual(
    [...totals],
    states.map(([allocated]) => allocated),
  );
  const pending = states.map(() => 0);
  for (let b = 0; b < blocks.count; b++)
    for (let s = blocks.diedState[b]; s < Math.min(blocks.pendingState[b], states.length); s++)
      pending[s] += blocks.bytes[b];
  assert.deepEqual(
    pending,
    states.map(([, bytes]) => bytes),
  );
  assert.equal(blocks.nUnmatched, unmatched);
  assert.ok(unmatched > 100 && blocks.replaced.length > 100 && Math.max(...pending) > 0);
});

test('rows of a block name its allocation and its free', () => {
  const snapshot = snapshotOf(randomRun(500, SEED));
  const events = eventRows(snapshot);
  const blocks = buildBlocks(snapshot);
  for (let b = 0; b < blocks.count; b++) {
    const born = allocRow(blocks, b);
    const freed = freeRow(blocks, b);
    assert.equal(events.action[born], 0);
    assert.equal(events.address[born], blocks.address[b]);
    assert.equal(blocks.bornState[b], born + 1);
    if (freed < 0) continue;
    assert.equal(events.action[freed], 1);
    assert.equal(events.address[freed], blocks.address[b]);
    assert.equal(blocks.diedState[b], freed + 1);
    assert.equal(blocks.pendingState[b], blocks.diedState[b]);
  }
});

test('the device with the highest peak is shown, and any other can be', () => {
  const snapshot = snapshotOf(runOnDevices());
  const run = makeRun(snapshot, 'x');
  const other = makeRun(snapshot, 'x', 0);
  assert.deepEqual([run.device, run.peak.bytes, run.devices], [1, 4096, [0, 1]]);
  assert.deepEqual([other.device, other.peak.bytes, other.devices], [0, 1536, [0, 1]]);
  assert.match(run.warnings.join(), /The run used 2 devices; what follows is of device 1 alone\./);
  const pinned = runOnDevices();
  pinned.devices[0] = { ...pinned.devices[0], kind: 'pinned' };
  assert.doesNotMatch(makeRun(snapshotOf(pinned), 'x').warnings.join(), /devices/);
  assert.match(run.title, /cuda: b$/);
});

test('a second free is counted, not subtracted', () => {
  const r = new Recording();
  r.segment(4096);
  r.event('segment_free', { address: 1, requested: 8192, block: 8192 });
  r.event('segment_free', { address: 1, requested: 4096, block: 4096 });
  const { bytes, nUnmatched, maxBytes } = buildReserved(snapshotOf(r.document()), 0);
  assert.deepEqual([[...bytes], nUnmatched, maxBytes], [[0, 4096, 0], 1, 4096]);
});

test('segments of the start keep all of their blocks', () => {
  const document = new Recording().document();
  document.strings = ['old'];
  document.streams = [
    { device: 0, handle: 0 },
    { device: 0, handle: 77 },
  ];
  const block = (offset, bytes, state) => ({
    offset_bytes: offset,
    block_bytes: bytes,
    requested_bytes: state ? bytes : 0,
    state,
    stack: -1,
    scope: -1,
    category: 0,
    name: state ? 0 : -1,
  });
  document.start.segments = [
    {
      device: 0,
      address: 8,
      total_bytes: 2048,
      stream: 0,
      pool: 'small',
      blocks: [block(0, 512, 1), block(512, 1024, 0), block(1536, 512, 2)],
    },
    {
      device: 0,
      address: 80,
      total_bytes: 512,
      stream: 1,
      is_expandable: true,
      pool: 'large',
      pool_id: [0, 3],
      blocks: [block(0, 512, 0)],
    },
  ];
  const { start, streams } = snapshotOf(document);
  assert.deepEqual(
    [[...start.address], [...start.stream], [...start.isExpandable], start.pool, start.poolId],
    [
      [4096, 40960],
      [0, 1],
      [0, 1],
      ['small', 'large'],
      ['', '0, 3'],
    ],
  );
  assert.deepEqual(
    [[...start.firstBlock], [...start.blocks.offsetBytes], [...start.blocks.state]],
    [
      [0, 3, 4],
      [0, 512, 1536, 0],
      [1, 0, 2, 0],
    ],
  );
  assert.deepEqual(streams[1], { device: 0, handle: 77 });
});

test('every block of a large start is found again when it is freed', () => {
  const n = 5000;
  const document = new Recording().document();
  const rows = Array.from({ length: n }, (_, i) => i);
  document.start.segments = [
    {
      device: 0,
      address: 8,
      total_bytes: n * 512,
      stream: 0,
      blocks: rows.map((i) => ({
        offset_bytes: i * 512,
        block_bytes: 512,
        requested_bytes: 512,
        state: 1,
        stack: -1,
        scope: -1,
        category: 0,
        name: -1,
      })),
    },
  ];
  document.events = {
    time_delta: rows.map(() => 1),
    action: rows.map(() => 1),
    device: rows.map(() => 0),
    address_delta: rows.map((i) => (i === 0 ? 8 : 1)),
    requested_bytes: rows.map(() => 512),
    block_bytes: rows.map(() => 512),
    stream: rows.map(() => 0),
    stack: rows.map(() => -1),
    scope_delta: rows.map((i) => (i === 0 ? -1 : 0)),
    category: rows.map(() => 0),
    name: rows.map(() => -1),
  };
  const blocks = buildBlocks(snapshotOf(document));
  const { totals } = buildIndex(blocks);
  assert.deepEqual([blocks.nUnmatched, totals[0], totals[n]], [0, n * 512, 0]);
});

test('optional parts are read: kernels, device times, the cost of recording, the origin', () => {
  const document = trainingRun({ layers: 1, steps: 1 });
  const name = document.strings.push('gemm', 'forward', 'forward > layer') - 3;
  document.kernels = {
    name: [name],
    phase: [-1],
    path: [name + 2],
    launches: [3],
    total_ns: [30],
    mean_ns: [10],
    min_ns: [9],
    max_ns: [12],
  };
  document.scopes.device_begin[2] = 55;
  document.timing = {
    ...document.timing,
    flops: 1e12,
    stated_peak_flops: 2e13,
    recorder_ns_per_event: 81.5,
    recorder_pairs: { recorded_ms: [2], unrecorded_ms: [1] },
  };
  document.origin = { format: 'pytorch', events: 7, contradictions: 2 };
  document.log = { full_policy: 'keep-newest', dropped_events: 5 };
  const snapshot = snapshotOf(document);
  assert.deepEqual(snapshot.kernels, [
    {
      name: 'gemm',
      phase: '',
      path: 'forward > layer',
      launches: 3,
      totalNs: 30,
      meanNs: 10,
      minNs: 9,
      maxNs: 12,
    },
  ]);
  assert.equal(snapshot.scopes.deviceBeginNs[2], 55);
  assert.deepEqual(
    [snapshot.timing.flops, snapshot.timing.statedPeakFlops, snapshot.timing.recorderNsPerEvent],
    [1e12, 2e13, 81.5],
  );
  assert.deepEqual(snapshot.timing.recorderPairs, { recordedMs: [2], unrecordedMs: [1] });
  const run = makeRun(snapshot, 'x');
  assert.match(answerOf(run)[0], /^The history was cut: 5 blocks/);
  assert.match(
    warningsOf(run, false).join(' '),
    /events and segments of the dump contradict each other 2 times/,
  );
});

test('missing stacks are unknown, and the page warns of missing names of functions', () => {
  const bare = randomRun(40, SEED);
  bare.events.stack = bare.events.stack.map(() => -1);
  bare.stacks = { parent: [], frame: [] };
  assert.match(answerOf(makeRun(snapshotOf(bare), 'x')).join(), /Not known.*without a call stack/);
  const nameless = trainingRun({ layers: 1, steps: 1 });
  nameless.frames.function = nameless.frames.function.map(() => -1);
  assert.match(makeRun(snapshotOf(nameless), 'x').warnings.join(), /no symbols/);
});

test('rows beyond what the engine hands over at a time are in their places', () => {
  const nBlocks = 40_000; // the engine returns 16,384 rows at a time
  const r = new Recording({ nsPerEvent: 3 });
  for (let i = 0; i < nBlocks; i++)
    r.event('alloc', { address: i, requested: i + 1, block: 512 * (i + 1), name: r.string(`${i % 300}`) });
  const { events, subjects, strings } = snapshotOf(r.document());
  for (let i = 0; i < nBlocks; i++) {
    assert.equal(events.timeNs[i] - events.timeNs[0], 3 * i);
    assert.equal(events.act[i], i);
    assert.equal(subjects.address[i], 512 * i);
    assert.equal(subjects.bytes[i], 512 * (i + 1));
    assert.equal(strings[subjects.name[i]], `${i % 300}`);
  }
});

test('numbers are kept in few bytes where they fit, and exactly where they do not', () => {
  const small = snapshotOf(randomRun(200, SEED));
  assert.ok(small.subjects.bytes instanceof Uint32Array && small.events.stack instanceof Int8Array);
  const r = new Recording();
  r.alloc('large', 'parameter', 5 * 2 ** 30 + 1);
  r.outOfMemory(2 ** 33, 2 ** 62);
  const events = eventRows(snapshotOf(r.document()));
  assert.deepEqual([...events.blockBytes], [5 * 2 ** 30 + 512, 2 ** 62]);
  assert.deepEqual([...events.requestedBytes], [5 * 2 ** 30 + 1, 2 ** 33]);
});
