// Pickles by PyTorch in the viewer: the same run as the import of the program gives, and the same refusals.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { FormatError } from '../../viewer/src/columns.js';
import { readPickle, readPickleStream } from '../../viewer/src/pickle.js';
import { pickleKind } from '../../viewer/src/pickle_values.js';
import { PointSet } from '../../viewer/src/points.js';
import { makeRun } from '../../viewer/src/run.js';
import { readSource } from '../../viewer/src/unpack.js';
import { roundRequest } from '../../viewer/src/pytorch_rounding.js';
import { randomNumbers } from './synthetic.mjs';
import { assertSame, CLI, imported, NO_CLI, opened, partsOf, randomTraces } from './pickles.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);
const SHARED = join(
  process.env.TIDEMARK_SHARED ?? new URL('../../../shared', import.meta.url).pathname,
  'pytorch-snapshots',
);
const folder = mkdtempSync(join(tmpdir(), 'tidemark-pickle-'));
after(() => rmSync(folder, { recursive: true }));

/** Runs Python with a script that writes a pickle to OUT. */
function pickled(name, script) {
  const path = join(folder, name);
  execFileSync('python3', ['-c', `import pickle\nOUT = ${JSON.stringify(path)}\n${script}`]);
  return path;
}

const REAL = existsSync(SHARED) ? readdirSync(SHARED).filter((name) => name.endsWith('.pickle')) : [];
test(
  'files by PyTorch give the same run as the import of the program',
  { skip: NO_CLI || (REAL.length > 0 ? false : `no files in ${SHARED}`) },
  async () => {
    for (const name of REAL) {
      const path = join(folder, name);
      symlinkSync(join(SHARED, name), path);
      assertSame(await opened(path), await imported(path), name);
    }
  },
);

test(
  'the peak of such files is that of the program',
  { skip: NO_CLI || (REAL.length > 0 ? false : `no files in ${SHARED}`) },
  async () => {
    for (const name of REAL) {
      const summary = execFileSync(CLI, ['summary', join(SHARED, name)], { encoding: 'utf8' });
      const { snapshot, derived } = await opened(join(SHARED, name));
      const run = makeRun(snapshot, name, undefined, derived);
      assert.equal(
        Number(/\((\d+) bytes\) allocated/.exec(summary)[1]),
        derived.index.totals[derived.index.peakState],
        name,
      );
      assert.equal(run.peak.bytes, derived.index.totals[run.peakState], name);
    }
  },
);

/**
 * A document in JSON, pickled with a protocol; lists of two numbers become tuples, and equal texts one
 * object.
 */
function pickledJson(name, document, protocol) {
  writeFileSync(join(folder, 'in.json'), JSON.stringify(document));
  return pickled(
    name,
    `import json\nseen = {}\ndef pairs(items):\n    return {seen.setdefault(k, k): tuple(v) if k == "segment_pool_id" else v for k, v in items}\n` +
      `pickle.dump(json.load(open(${JSON.stringify(join(folder, 'in.json'))}), object_pairs_hook=pairs), open(OUT, "wb"), protocol=${protocol})`,
  );
}

test(
  `contradictory traces give the same run as the import of the program (seed ${SEED})`,
  { skip: NO_CLI },
  async () => {
    let nContradictions = 0;
    for (let i = 0; i < 12; i++) {
      const path = pickledJson('random.pickle', randomTraces(SEED + i), 2 + (i % 4));
      const ours = await opened(path);
      assertSame(ours, await imported(path), `seed ${SEED + i}`);
      nContradictions += ours.snapshot.origin.contradictions;
    }
    assert.ok(nContradictions > 100);
  },
);

test('all plain data is read, in every protocol', () => {
  for (const protocol of [2, 3, 4, 5]) {
    const path = pickled(
      'plain.pickle',
      `pickle.dump([0, 1, 255, 256, 65535, 65536, -1, -(2**31), 2**31, 2**53 - 1, -(2**40), 2**63 - 1, 2**64, 1.5, None, True, False, "", "a\\u00e9\\u4e2d", "x" * 300${protocol > 2 ? ', b"b"' : ''}, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {}, {"k": [1]}, []], open(OUT, "wb"), protocol=${protocol})`,
    );
    const value = readPickle(readFileSync(path));
    const items = value.items.map((item) =>
      typeof item === 'object' && item !== null ? pickleKind(item) : item,
    );
    assert.deepEqual(items.slice(0, 12), [
      0,
      1,
      255,
      256,
      65535,
      65536,
      -1,
      -(2 ** 31),
      2 ** 31,
      2 ** 53 - 1,
      -(2 ** 40),
      2 ** 63,
    ]);
    assert.equal(items[12], 'an integer beyond 64 bits');
    assert.equal(value.items[13].value, 1.5);
    assert.deepEqual(items.slice(14, 20), [null, true, false, '', 'aé中', 'x'.repeat(300)]);
    if (protocol > 2) assert.equal(items[20], 'bytes');
    assert.deepEqual(items.slice(protocol > 2 ? 21 : 20), [
      'a tuple',
      'a tuple',
      'a tuple',
      'a tuple',
      'a tuple',
      'a dict',
      'a dict',
      'a list',
    ]);
  }
});

/** Both refuse; the page's message is the program's without the file's name. */
async function refusedAlike(bytes, pattern) {
  const path = join(folder, 'bad.pickle');
  writeFileSync(path, bytes);
  let message = '';
  await assert.rejects(
    opened(path),
    (problem) => {
      message = problem.message;
      return problem instanceof FormatError && pattern.test(message);
    },
    `${pattern}: ${message}`,
  );
  if (NO_CLI) return;
  assert.throws(
    () => execFileSync(CLI, ['summary', path], { stdio: 'pipe' }),
    (problem) => String(problem.stderr).includes(message.slice(0, 60)),
    message,
  );
}

test('anything but plain data, or but a snapshot, is refused with the message of the program', async () => {
  const good = readFileSync(
    pickled(
      'good.pickle',
      'pickle.dump({"segments": [], "device_traces": [[{"action": "alloc", "addr": 512, "size": 100, "stream": 0, "frames": []}]]}, open(OUT, "wb"), protocol=4)',
    ),
  );
  const of = (script, protocol = 4) =>
    readFileSync(
      pickled(
        'made.pickle',
        `import collections, os\nclass C: pass\npickle.dump(${script}, open(OUT, "wb"), protocol=${protocol})`,
      ),
    );
  await refusedAlike(
    of('collections.OrderedDict(a=1)'),
    /opcode STACK_GLOBAL: refused, it names code to be imported/,
  );
  await refusedAlike(of('os.system', 2), /opcode GLOBAL: refused, it names code/);
  await refusedAlike(of('{1, 2}'), /opcode EMPTY_SET: refused, it makes a set/);
  await refusedAlike(of('[1]', 2), /has no 'segments'|segments\[0\]/);
  await refusedAlike(
    of('{"a": 1}'),
    /this is a Python pickle, but no snapshot by PyTorch: it has no 'segments'/,
  );
  await refusedAlike(of('{"segments": 5}'), /segments: a list was expected, not an integer/);
  await refusedAlike(
    of('{"segments": [], "device_traces": [[{"action": "alloc", "addr": "x", "size": 1}]]}'),
    /byte \d+, device_traces\[0\]\[0\]\.addr: an integer was expected, not a text/,
  );
  await refusedAlike(
    of('{"segments": [], "device_traces": [[{"action": "alloc", "addr": 5}]]}'),
    /device_traces\[0\]\[0\]\.size: it is missing: an integer was expected/,
  );
  await refusedAlike(
    of('{"segments": [], "device_traces": [[{"action": "alloc", "addr": 5, "size": 2**70}]]}'),
    /size: an integer was expected, not an integer beyond 64 bits/,
  );
  await refusedAlike(good.subarray(0, good.length - 1), /truncated/);
  await refusedAlike(good.subarray(0, 30), /truncated/);
  await refusedAlike(Buffer.from([0x80, 6, 0x2e]), /protocol 6: 2 to 5 are read/);
  await refusedAlike(Buffer.from([0x80, 4, 0xff]), /0xff is no opcode of a pickle/);
  await refusedAlike(Buffer.from([0x80, 2, 0x68, 7, 0x2e]), /memo number 7 was never set/);
  await refusedAlike(
    Buffer.from([0x80, 2, 0x4e, 0x72, 9, 1, 0, 0, ...new Array(400).fill(0x4e), 0x2e]),
    /memo number 265: 8 bytes of a pickle need none so high/,
  );
  await refusedAlike(
    Buffer.from([0x80, 2, ...new Array(40).fill(0x28), 0x2e]),
    /more than the limit of 32 marks/,
  );
  await refusedAlike(Buffer.from([0x80, 2, 0x61, 0x2e]), /too few values/);
  await refusedAlike(of('['.repeat(40) + ']'.repeat(40)), /levels deep|limit of 32/);
});

test('keys may hold control characters: settings keep them, messages do not', { skip: NO_CLI }, async () => {
  const path = pickled(
    'controls.pickle',
    'pickle.dump({"segments": [], "device_traces": [[]], "allocator_settings": {"a\\x07\\x1b[31mb": 1, "c\\x00d": "e\\x7f\\n"}}, open(OUT, "wb"))',
  );
  const page = await opened(path);
  assert.deepEqual({ ...page.snapshot.allocator }, { 'a\x07\x1b[31mb': 1, 'c\ufffdd': 'e\x7f\n' });
  assertSame(page, await imported(path), 'controls');
  // A message shows a key as it stands in the file, where only DEL stands without an escape.
  await refusedAlike(
    Buffer.from('{"segments": [], "a\\u001b[31m\x7f": {"\\u0007": 1 2}}'),
    /^byte \d+, a\\u001b\[31m\?\.\\u0007: ',' or '}' was expected, not '2'$/,
  );
});

test('a value that occurs in many places does not outgrow the file', async () => {
  const e = '{"action": "alloc", "addr": 512, "size": 100, "stream": 0, "frames": []}';
  const of = (events, traces) =>
    readFileSync(
      pickled(
        'bomb.pickle',
        `e = ${e}\nt = ${events}\npickle.dump({"segments": [], "device_traces": ${traces}}, open(OUT, "wb"), protocol=4)`,
      ),
    );
  await refusedAlike(
    of('[e] * 100', '[t] * 200'),
    /device_traces\[1\]: a list was expected, not a part that stands elsewhere, too/,
  );
  await refusedAlike(
    of('[e] * 5000', '[t]'),
    /device_traces\[0\]: more than the limit of \d+ events, segments and blocks for \d+ bytes: parts of the file/,
  );
  await refusedAlike(
    of('[]', '[[e] * 100 for i in range(9)]'),
    /device_traces\[1\]\[0\]: a dict was expected/,
  );
});

test(
  'old histories, cut ones, and bytes after the pickle are read as in the program',
  { skip: NO_CLI },
  async () => {
    const block = (more) =>
      `{"address": 512, "size": 1024, "requested_size": 900, "state": "active_allocated", ${more}}`;
    const frames = '"frames": [{"name": "main", "filename": "t.py", "line": 7}]';
    const file = (of, trace) =>
      `{"segments": [{"device": 0, "address": 512, "total_size": 1024, "stream": 0, "segment_type": "small", ` +
      `"blocks": [${block(of)}]}], "device_traces": [[${trace}]]}`;
    const alloc = '{"action": "alloc", "addr": 512, "size": 900, "stream": 0}';
    const other = alloc.replace('512', '4096');
    const read = async (name, text, tail = Buffer.alloc(0)) => {
      const path = pickledJson(name, JSON.parse(text), 4);
      writeFileSync(path, Buffer.concat([readFileSync(path), tail]));
      const page = await opened(path);
      assertSame(page, await imported(path), name);
      return page.snapshot;
    };
    const history = `"history": [{"addr": 512, "real_size": 700, ${frames}}, {"addr": 512, "real_size": 1, "frames": []}]`;
    const old = await read('history.pickle', file(history, ''));
    assert.deepEqual([old.start.blocks.requestedBytes[0], old.start.blocks.stack[0]], [900, 0]);
    assert.equal(old.nDropped, 0);
    assert.equal((await read('cut.pickle', file(frames, other))).nDropped, 1);
    assert.equal((await read('whole.pickle', file(frames, alloc))).nDropped, 0);
    assert.equal((await read('zeros.pickle', file(frames, alloc), Buffer.alloc(100000))).odd, null);
    const { odd } = await read('tail.pickle', file(frames, alloc), Buffer.from('\0\0x'));
    assert.deepEqual([odd.count, odd.first], [1, 'what follows the pickle']);
  },
);

test('a pickle is known by its content, compressed or not', async () => {
  const bytes = readFileSync(pickledJson('known.bin', randomTraces(SEED), 4));
  const [plain, packed] = await Promise.all(
    [bytes, gzipSync(bytes)].map((each) => readSource(new Blob([each]), () => undefined)),
  );
  assert.deepEqual(partsOf(packed), partsOf(plain));
});

test('the block that the allocator makes of a request', () => {
  const none = new Array(16).fill(0);
  const eighths = new Array(16).fill(8);
  assert.deepEqual(
    [1, 512, 513, 2 ** 20 + 1].map((bytes) => roundRequest(none, bytes)),
    [512, 512, 1024, 2 ** 20 + 512],
  );
  assert.deepEqual(
    [4096, 4097, 5000, 2 ** 30 + 1].map((bytes) => roundRequest(eighths, bytes)),
    [4096, 4608, 5120, 2 ** 30 + 2 ** 27],
  );
});

test(`the set of points finds what is above and below (seed ${SEED})`, () => {
  const random = randomNumbers(SEED);
  for (const bound of [1, 31, 32, 33, 1025, 40000]) {
    const points = new PointSet(bound);
    const members = new Set();
    for (let i = 0; i < 2000; i++) {
      const point = Math.floor(random() * bound);
      const asked = Math.floor(random() * bound);
      if (random() < 0.5) points.insert(point) ?? members.add(point);
      else points.remove(point) ?? members.delete(point);
      if (i % 20 > 0) continue;
      const sorted = [...members].sort((a, b) => a - b);
      assert.equal(points.above(asked), sorted.find((each) => each > asked) ?? -1);
      assert.equal(points.atOrBelow(asked), sorted.findLast((each) => each <= asked) ?? -1);
    }
  }
});

test('odd optional values become unknown, and contradictions are counted', { skip: NO_CLI }, async () => {
  const frames =
    '[{"name": "f", "filename": "a.py", "line": 2**64 - 1}, {"name": "g", "filename": "a.py", "line": -1}, {"name": "h", "filename": 7, "line": 3}, "i"]';
  const block = (size, more = '') =>
    `{"size": ${size}, "state": "active_allocated", "frames": ${frames}${more}}`;
  const path = pickled(
    'odd.pickle',
    `pickle.dump({"segments": [{"device": 0, "address": 1 << 21, "total_size": 2048, "segment_pool_id": "x", "blocks": [${block(512, ', "requested_size": 9999')}, ${block(
      512,
      ', "address": (1 << 21) + 1024',
    )}]}], "device_traces": [[]], "external_annotations": [{"stage": 1}]}, open(OUT, "wb"))`,
  );
  const page = await opened(path);
  const {
    snapshot: { frames: read, start, origin, odd, strings },
  } = page;
  assert.deepEqual([...read.line].sort(), [0, 0, 0, 3]);
  assert.deepEqual(Array.from(read.function, (i) => strings[i]).sort(), ['f', 'g', 'h', 'i']);
  assert.deepEqual([...start.blocks.state], [1, 0, 1, 0], 'gaps are free blocks');
  assert.deepEqual(
    [[...start.blocks.blockBytes], [...start.blocks.requestedBytes]],
    [
      [512, 512, 512, 512],
      [512, 0, 512, 0],
    ],
  );
  assert.equal(origin.contradictions, 2);
  assert.equal(odd.first, 'segments[0].segment_pool_id');
  assert.match(
    makeRun(page.snapshot, 'x', undefined, page.derived).warnings.join(' '),
    /values are not what the format says and count as unknown, the first at segments\[0\]/,
  );
});

test('the same tree as JSON is the same run', { skip: NO_CLI }, async () => {
  const run = join(folder, 'run.json.gz');
  const [pickle, json] = ['pytorch', 'pytorch-json'].map((format) => join(folder, `run.${format}`));
  execFileSync(
    CLI,
    ['profile', '--device', 'virtual', '--layers', '1', '--steps', '1', '--warmup', '0', '-o', run],
    { stdio: 'ignore' },
  );
  execFileSync(CLI, ['export', run, '--to', 'pytorch', '-o', pickle], { stdio: 'ignore' });
  execFileSync(CLI, ['export', run, '--to', 'pytorch-json', '-o', json], { stdio: 'ignore' });
  assert.deepEqual((await opened(json)).snapshot, (await opened(pickle)).snapshot);
});

test('a pickle that expands too much is refused before all of it is read', async () => {
  const dicts = new Uint8Array(1 << 20).fill(0x7d);
  dicts.set([0x80, 4]);
  let n = 0;
  await assert.rejects(
    readPickleStream(
      async () => (n++ === 0 ? dicts : dicts.subarray(2)),
      () => undefined,
    ),
    /make more than the limit/,
  );
  assert.ok(n < 10, `${n} MiB were asked for`);
  await assert.rejects(
    readSource(new TextEncoder().encode(`{"segments":[${'[],'.repeat(2e5)}[]]}`), () => undefined),
    /make more memory than a snapshot does/,
  );
});
