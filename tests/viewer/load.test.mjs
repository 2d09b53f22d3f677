// From a file to a run: the modules that read files, without a page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { allocRow, buildBlocks, buildReserved, freeRow } from '../../viewer/src/blocks.js';
import { FormatError } from '../../viewer/src/columns.js';
import { readDocument } from '../../viewer/src/document.js';
import { readSnapshot } from '../../viewer/src/format.js';
import { buildIndex } from '../../viewer/src/index.js';
import { makeRun } from '../../viewer/src/run.js';
import { bytesOfBase64, readSource, TOO_LONG } from '../../viewer/src/unpack.js';
import { buffersOf } from '../../viewer/src/worker.js';
import { randomNumbers, randomRun, Recording, runOnDevices, toldEvents, trainingRun } from './synthetic.mjs';
import './transfer.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);

function refused(change, pattern, document = trainingRun({ layers: 1, steps: 1 })) {
  const changed = structuredClone(document);
  change(changed);
  assert.throws(
    () => readSnapshot(changed),
    (problem) => problem instanceof FormatError && pattern.test(problem.message),
    String(pattern),
  );
}

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

test(`blocks follow a walk of the events, whatever they say (seed ${SEED})`, () => {
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
  const snapshot = readSnapshot(document);
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
  const snapshot = readSnapshot(randomRun(500, SEED));
  const events = toldEvents(snapshot);
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
  const snapshot = readSnapshot(runOnDevices());
  const run = makeRun(snapshot, 'x');
  const other = makeRun(snapshot, 'x', 0);
  assert.deepEqual([run.device, run.peak.bytes, run.devices], [1, 4096, [0, 1]]);
  assert.deepEqual([other.device, other.peak.bytes, other.devices], [0, 1536, [0, 1]]);
  assert.match(run.warnings.join(), /device 1 is shown, 3 events of the others/);
  assert.match(run.title, /cuda: b$/);
});

test('what is given back twice is counted, not subtracted', () => {
  const r = new Recording();
  r.segment(4096);
  r.event('segment_free', { address: 1, requested: 8192, block: 8192 });
  r.event('segment_free', { address: 1, requested: 4096, block: 4096 });
  const { bytes, nUnmatched, maxBytes } = buildReserved(readSnapshot(r.document()), 0);
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
  const { start, streams } = readSnapshot(document);
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
  refused(
    (d) => (d.start.segments[0].blocks[1].offset_bytes = 600),
    /start\.segments\[0\]\.blocks\[1\]\.offset_bytes is 600: the block before it ends at 512/,
    document,
  );
  refused(
    (d) => d.start.segments[0].blocks.pop(),
    /start\.segments\[0\]\.total_bytes is 2048, but its blocks fill 1536/,
    document,
  );
  refused(
    (d) => (d.start.segments[1].stream = 2),
    /start\.segments\[1\]\.stream is 2, which is out of range/,
    document,
  );
  refused(
    (d) => (d.start.segments[1].blocks[0].requested_bytes = 513),
    /blocks\[0\]\.requested_bytes is 513, more than the block's 512/,
    document,
  );
  refused(
    (d) => (d.start.segments[1].blocks[0].state = 3),
    /blocks\[0\]\.state is 3, which this viewer does not know/,
    document,
  );
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
  const blocks = buildBlocks(readSnapshot(document));
  const { totals } = buildIndex(blocks);
  assert.deepEqual([blocks.nUnmatched, totals[0], totals[n]], [0, n * 512, 0]);
});

test('what only some files have is read: kernels, device times, costs of recording, origin', () => {
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
  const snapshot = readSnapshot(document);
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
  const warnings = makeRun(snapshot, 'x').warnings.join(' ');
  assert.match(warnings, /the newest were kept, 5 events were dropped/);
  assert.match(warnings, /pytorch file contradicts itself 2 times/);
  refused(
    (d) => d.timing.recorder_pairs.unrecorded_ms.push(3),
    /recorder_pairs has 1 samples in recorded_ms, 2 in unrecorded_ms/,
    document,
  );
  refused((d) => (d.kernels.path[0] = 999), /kernels\.path\[0\] is 999/, document);
  refused((d) => (d.devices = []), /events\.device\[0\] is 0, not one of 0 devices/, document);
  refused((d) => (d.events.stream[4] = 1), /events\.stream\[4\] is 1, not one of 1 streams/, document);
  refused(
    (d) => (d.events.requested_bytes[6] = 2 ** 40),
    /events\.requested_bytes\[6\] is 1099511627776, more than the block's/,
    document,
  );
  refused(
    (d) => (d.events.block_bytes[5] = -1),
    /events\.block_bytes\[5\] is -1, not a number of bytes/,
    document,
  );
});

test('missing stacks and missing names of functions are said', () => {
  const bare = randomRun(40, SEED);
  bare.events.stack = bare.events.stack.map(() => -1);
  bare.stacks = { parent: [], frame: [] };
  assert.match(makeRun(readSnapshot(bare), 'x').warnings.join(), /no call stacks/);
  const nameless = trainingRun({ layers: 1, steps: 1 });
  nameless.frames.function = nameless.frames.function.map(() => -1);
  assert.match(makeRun(readSnapshot(nameless), 'x').warnings.join(), /no symbols/);
});

test('numbers are kept in few bytes where they fit, and exactly where they do not', () => {
  const small = readSnapshot(randomRun(200, SEED));
  assert.ok(small.subjects.bytes instanceof Uint32Array && small.events.stack instanceof Int8Array);
  const r = new Recording();
  r.alloc('large', 'parameter', 5 * 2 ** 30 + 1);
  r.outOfMemory(2 ** 33, 2 ** 63);
  const events = toldEvents(readSnapshot(r.document()));
  assert.deepEqual([...events.blockBytes], [5 * 2 ** 30 + 512, 2 ** 63]);
  assert.deepEqual([...events.requestedBytes], [5 * 2 ** 30 + 1, 2 ** 33]);
});

/** Reads a text in pieces of a given size. */
async function documentOf(text, piece = 1 << 16) {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  let at = 0;
  return readDocument(
    async () => {
      if (at >= bytes.length) return null;
      at += piece;
      return bytes.slice(at - piece, at);
    },
    () => undefined,
  );
}

/** Columns as plain lists, and objects with the usual prototype. */
function plain(value) {
  if (ArrayBuffer.isView(value?.values))
    return value.isSummed
      ? Array.from(value.values, (v, i) => v - (i > 0 ? value.values[i - 1] : 0))
      : [...value.values];
  if (Array.isArray(value)) return value.map(plain);
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]))
    : value;
}

test('a document read in pieces of any size is what JSON.parse makes of it', async () => {
  const document = trainingRun({ layers: 2, steps: 2, limitBytes: 2e8 });
  document.strings.push('é ü 😀 "\\/ \u007f \u2028', 'x'.repeat(500));
  const expected = document;
  for (const text of [
    JSON.stringify(document),
    JSON.stringify(document, null, ' '),
    JSON.stringify(document).replaceAll('/', '\\/').replaceAll('é', '\\u00e9'),
  ]) {
    for (const piece of [1, 2, 3, 7, 64, 1000, 1 << 20])
      assert.deepEqual(plain(await documentOf(text, piece)), expected, `pieces of ${piece}`);
  }
});

test('what is not strict JSON is refused, with byte and key path', async () => {
  const text = JSON.stringify(trainingRun({ layers: 1, steps: 1 }));
  const refusals = [
    [text.slice(0, -1), /^byte \d+, run: ',' or '}' was expected, not the end of the file/],
    [
      text.slice(0, text.indexOf('"action":[') + 30),
      /^byte \d+, events\.action\[\d+\]: .* not the end of the file/,
    ],
    [text.slice(0, 9), /^byte 9, format: ':' was expected/],
    [`${text} 1`, /nothing after the document's end was expected, not '1'/],
    ['', /neither a JSON object nor/],
    ['[]', /neither a JSON object nor/],
    [text.replace('"stream":[0', '"stream":[00'), /events\.stream\[0\]: an integer/],
    [text.replace('"stream":[0', '"stream":[,0'), /events\.stream\[0\]: an integer/],
    [text.replace('"stream":[0,', '"stream":[0,,'), /events\.stream\[1\]/],
    [text.replace('"stream":[0,', '"stream":[0.5,'), /events\.stream\[0\]: 0\.5 is not an integer/],
    [text.replace('"stream":[0,', '"stream":[1e400,'), /events\.stream\[0\]/],
    [text.replace('"stream":[0,', '"stream":[null,'), /events\.stream\[0\]: .* not 'n'/],
    [text.replace('"stream":[0,', '"stream":["<b>",'), /events\.stream\[0\]: .* not '"'/],
    [text.replace('"stream":[0,', '"stream":[0 0,'), /events\.stream\[0\]: ',' or '\]'/],
    [text.replace('"stream":[0,', '"stream":[-,'), /events\.stream\[0\]/],
    [text.replace('"stream":[', '"stream":[],"stream":['), /events\.stream: /],
    [text.replace('"version":1', '"version":1,"version":1'), /version: this key comes twice/],
    [
      text.replace('"log":{', '"log":{"full_policy":"","full_policy":"",'),
      /log\.full_policy: this key comes twice/,
    ],
    [text.replace('"strings":[', '"strings":["\u0001",'), /strings\[0\]: a text holds the control character/],
    [text.replace('"strings":[', '"strings":["\\u0000",'), /an escape that means no character/],
    [text.replace('"strings":[', '"strings":["\\ud800",'), /an escape that means no character/],
    [text.replace('"strings":[', '"strings":["\\x",'), /an escape that means no character/],
    [
      text.replace('"run":{', `"deep":${'['.repeat(40)}${']'.repeat(40)},"run":{`),
      /nested deeper than the limit of 32/,
    ],
    [
      text.replace('"strings":[', `"strings":["${'y'.repeat(2 ** 20 + 1)}",`),
      /longer than the limit of 1048576/,
    ],
    [text.replace('"version":1', '"version":tru'), /version: an integer/],
    [text.replace('"version":1', '"version":1}'), /the key 'address_unit_bytes' is missing/],
    [text.replace('"oom":[]', '"oom":7'), /oom: an array was expected/],
  ];
  for (const [broken, pattern] of refusals) {
    assert.notEqual(broken, text);
    await assert.rejects(
      async () => readSnapshot(await documentOf(broken, 50)),
      (problem) => problem instanceof FormatError && pattern.test(problem.message),
      String(pattern),
    );
  }
  const latin = new TextEncoder().encode(text.replace('"strings":[', '"strings":["~~",'));
  latin[latin.indexOf(126)] = 0xe9;
  await assert.rejects(documentOf(latin), /not UTF-8/);
});

test('a key of a file cannot reach into objects of the page', async () => {
  const text = JSON.stringify(trainingRun({ layers: 1, steps: 1 })).replace(
    '"run":{',
    '"run":{"__proto__":{"outcome":"oom"},"constructor":1,',
  );
  const run = makeRun(readSnapshot(await documentOf(text)), 'x');
  assert.equal(run.snapshot.run.outcome, 'completed');
  assert.equal({}.outcome, undefined);
});

test('files are known by their content: plain, compressed, base64', async () => {
  const document = trainingRun({ layers: 2, steps: 1 });
  const text = JSON.stringify(document);
  const packed = gzipSync(text);
  const seen = [];
  const expected = makeRun(readSnapshot(document), 'x');
  for (const source of [
    new Blob([text]),
    new Blob([packed]),
    new Uint8Array(packed),
    packed.toString('base64'),
    new TextEncoder().encode(`\n ${text}`),
  ]) {
    const { snapshot, derived } = await readSource(source, (progress) => seen.push(progress));
    const run = makeRun(snapshot, 'x', undefined, derived);
    assert.deepEqual(run.peak, expected.peak);
    assert.deepEqual(snapshot.events, expected.snapshot.events);
    assert.equal(seen.at(-1).rows, snapshot.events.count);
    assert.equal(seen.at(-1).bytes, seen.at(-1).totalBytes);
  }
  assert.deepEqual([...bytesOfBase64('AAH/')], [0, 1, 255]);
  for (const [source, pattern] of [
    [new Blob([]), /empty/],
    [new Blob([packed.subarray(0, packed.length / 2)]), /damaged or cut off/],
    [new Blob([packed, 'x']), /damaged or cut off/],
    [new Blob([packed.subarray(0, 100), packed.subarray(120)]), /damaged or cut off/],
    ['%%%', /damaged/],
    [new Blob(['hello']), /neither a JSON object/],
  ]) {
    await assert.rejects(
      readSource(source, () => undefined),
      (problem) => problem instanceof FormatError && pattern.test(problem.message),
      String(pattern),
    );
  }
});

test('a file that unpacks to more than 2 GiB is refused before it fills the memory', async () => {
  const spaces = new Uint8Array(1 << 16).fill(32);
  spaces[0] = 123;
  let n = 0;
  await assert.rejects(
    readDocument(
      async () => (n++ === 0 ? spaces : spaces.subarray(1)),
      () => undefined,
      1 << 22,
    ),
    /more than 2 GiB/,
  );
  assert.equal(n, 65);
});

test('everything large is handed over, and nothing twice', async () => {
  const { snapshot, derived } = await readSource(
    new Blob([JSON.stringify(trainingRun({ layers: 4, steps: 3 }))]),
    () => undefined,
  );
  const buffers = [...buffersOf({ snapshot, derived })];
  assert.equal(new Set(buffers).size, buffers.length);
  const total = buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0);
  const back = structuredClone({ snapshot, derived }, { transfer: buffers });
  assert.equal(snapshot.events.timeNs.length, 0, 'it went over');
  assert.ok(
    total < 250 * back.snapshot.events.count,
    `${total} bytes for ${back.snapshot.events.count} events`,
  );
  assert.equal(
    makeRun(back.snapshot, 'x', undefined, back.derived).peak.bytes,
    makeRun(readSnapshot(trainingRun({ layers: 4, steps: 3 })), 'x').peak.bytes,
  );
});

test('odd values that are only shown are unknown, and counted', async () => {
  const document = trainingRun({ layers: 1, steps: 1 });
  Object.assign(document.frames, {
    line: document.frames.line.map((line, i) => (i === 0 ? -1 : i === 1 ? 'LARGE' : line)),
    inlined: document.frames.inlined.map((_, i) => (i === 2 ? 7 : 0)),
  });
  document.run.seed = null;
  document.devices[0].total_bytes = 'many';
  const text = JSON.stringify(document).replace('"LARGE"', '18446744073709551615');
  for (const piece of [7, 1 << 16]) {
    const { frames, odd, run, devices } = readSnapshot(await documentOf(text, piece));
    assert.deepEqual(
      [frames.line[0], frames.line[1], frames.line[2], frames.inlined[2]],
      [0, 0, document.frames.line[2], 0],
    );
    assert.deepEqual([odd.count, run.seed, devices[0].totalBytes], [3, -1, -1]);
  }
});

test('a small file of much text is left to a worker', async () => {
  const packed = gzipSync(Buffer.alloc(1 << 22, 32));
  await assert.rejects(
    readSource(new Blob([packed]), () => undefined, 1 << 20),
    (problem) => problem === TOO_LONG,
  );
});
