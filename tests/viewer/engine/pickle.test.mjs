// Pickles by PyTorch in the viewer: the same run as by the program's import. engine.test.mjs has the
// refusals.
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
import { makeRun } from '../../../viewer/src/run/run.js';
import { readSource } from '../../../viewer/src/engine/unpack.js';
import { assertSame, CLI, imported, NO_CLI, opened, partsOf, randomTraces } from '../support/pickles.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);
const SHARED = join(
  process.env.TIDEMARK_SHARED ?? new URL('../../../../shared', import.meta.url).pathname,
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
 * A document in JSON, pickled with a protocol; lists of two numbers become tuples, and equal texts become one
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
    let nContradictory = 0;
    for (let i = 0; i < 12; i++) {
      const path = pickledJson('random.pickle', randomTraces(SEED + i), 2 + (i % 4));
      const ours = await opened(path);
      assertSame(ours, await imported(path), `seed ${SEED + i}`);
      nContradictory += ours.snapshot.sentences[0].some(([key]) => key === 'contradictions') ? 1 : 0;
    }
    assert.ok(nContradictory > 8);
  },
);

test('keys may hold control characters: settings keep them, messages do not', { skip: NO_CLI }, async () => {
  const path = pickled(
    'controls.pickle',
    'pickle.dump({"segments": [], "device_traces": [[]], "allocator_settings": {"a\\x07\\x1b[31mb": 1, "c\\x00d": "e\\x7f\\n"}}, open(OUT, "wb"))',
  );
  const page = await opened(path);
  assert.deepEqual({ ...page.snapshot.allocator }, { 'a\x07\x1b[31mb': 1, 'c\ufffdd': 'e\x7f\n' });
  assertSame(page, await imported(path), 'controls');
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
    snapshot: { frames: read, start, sentences: snapshotSentences, odd, strings },
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
  const sentences = new Map(snapshotSentences[0]);
  assert.match(sentences.get('contradictions'), /contradict each other 2 times/);
  assert.equal(odd.first, 'segments[0].blocks[0].frames[3]');
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
