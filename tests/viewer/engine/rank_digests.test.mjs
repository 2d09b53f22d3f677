// Digests as the page reads them: their figures as it draws them, and refusals in the program's words.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { isDigest } from '../../../viewer/src/engine/rank_digests.js';
import { ranksAnswer } from '../../../viewer/src/ranks/rank_rows.js';
import { damaged, kindsOfDamage } from '../support/damage.mjs';
import { ENDS, makeDigest, makeDigests, ranksDocument } from '../support/digests.mjs';
import { NO_ENGINE, ranksOf } from '../support/engine.mjs';
import { randomNumbers } from '../support/synthetic.mjs';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261129);
const N_FILES = 80; // each is a run of the program
const CLI = process.env.TIDEMARK_CLI ?? '';
const GOLDEN = new URL('../../golden/snapshots/version-1-live.json.gz', import.meta.url).pathname;
const noEngine = NO_ENGINE;
const noProgram = noEngine || (existsSync(CLI) ? false : 'TIDEMARK_CLI names no program');

const folder = mkdtempSync(join(tmpdir(), 'tidemark-digests-'));
after(() => rmSync(folder, { recursive: true }));

test('a digest is known by its first bytes', () => {
  assert.ok(isDigest('{"format":"tidemark-digest","version":1'));
  assert.ok(isDigest(' {\n"format" : "tidemark-ranks"'));
  assert.ok(!isDigest('{"format":"tidemark-snapshot"'));
});

test('the figures of a digest are those that the page draws', { skip: noEngine }, async () => {
  const digest = makeDigest(ENDS, 64, 4);
  digest.rank.groups.push({ description: 'a pipeline', size: 2 });
  digest.settings = { max_split_size_mb: 128, expandable_segments: 'False', '\u202e': '\u0007' };
  digest.devices[0].counts.dropped = 3;
  const [rank, ...others] = await ranksOf(digest);
  assert.equal(others.length, 0);
  const row = { certainty: 'rule', scope: '' };
  assert.deepEqual(rank, {
    name: 'rank 11',
    rank: 11,
    worldSize: 64,
    node: 'node1',
    file: 'rank11.json.gz',
    outcome: 'oom',
    groups: [
      { name: 'pp', size: 4, position: 0 },
      { name: 'dp', size: 64, position: 11 },
      { name: 'a pipeline', size: 2, position: -1 },
    ],
    settings: [
      ['max_split_size_mb', '128'],
      ['expandable_segments', 'False'],
      ['\\u202e', '\\u0007'],
    ],
    deviceName: 'NVIDIA H100 80GB',
    totalBytes: 80 * GIB,
    peakBytes: 79 * GIB,
    reservedBytes: 80 * GIB,
    endBytes: 8 * GIB,
    headroomBytes: 0,
    lowBytes: -1,
    highBytes: -1,
    peakStep: 1,
    peakPhase: 'backward',
    nDropped: 3,
    oom: {
      timeNs: 1.6e9,
      requestedBytes: 2 * GIB,
      freeBytes: 512 * MIB,
      line: 'Block.forward (model.py:40)',
    },
    explained: {
      growth: null,
      sentences: [
        {
          key: 'oom',
          place: 1,
          text: 'Out of memory at Block.forward (model.py:40).',
          fold: 'Out of memory at Block.forward (model.py:40).',
        },
        {
          key: 'filled',
          place: 7,
          text: 'The peak, 79.00 GiB, is 8.00 GiB at Block.__init__ (model.py:12).',
          fold: 'The peak, #, is # at Block.__init__ (model.py:12).',
        },
        {
          key: 'kinds',
          place: 8,
          text: 'By kind: 8.00 GiB of weights.',
          fold: 'By kind: # of weights.',
        },
      ],
    },
    rows: [
      { ...row, line: 'Block.__init__ (model.py:12)', category: 'parameter', bytes: 8 * GIB, nBlocks: 96 },
      {
        ...row,
        line: 'Block.forward (model.py:40)',
        category: 'activation',
        scope: 'forward > layer *',
        bytes: 12 * GIB,
        nBlocks: 48,
      },
    ],
    rest: { bytes: 0, nBlocks: 0, nRows: 0 },
    steps: [
      {
        index: 0,
        nSteps: 1,
        name: 'step 0',
        beginNs: 0,
        endNs: 1e9,
        peakBytes: 19 * GIB,
        reservedBytes: 21 * GIB,
      },
      {
        index: 1,
        nSteps: 1,
        name: 'step 1',
        beginNs: 1e9,
        endNs: 2e9,
        peakBytes: 79 * GIB,
        reservedBytes: 22 * GIB,
      },
    ],
    beginUnixUs: 1.79e15 + 11e4,
    timeNs: [0, 6e8, 1e9, 1.6e9],
    allocatedBytes: [8 * GIB, 19 * GIB, 8 * GIB, 79 * GIB],
    reservedOverTime: [10 * GIB, 21 * GIB, 10 * GIB, 81 * GIB],
  });
});

test('what a digest does not know is -1', { skip: noEngine }, async () => {
  const bytes = { requested_bytes: -1, allocated_bytes: -1, active_bytes: -1, reserved_bytes: -1 };
  const step = { index: 7, allocated_peak_bytes: 5, reserved_peak_bytes: 6, end_bytes: 0 };
  const least = { index: 0, peak: { ...bytes, allocated_bytes: 9 }, max: bytes, end: bytes };
  const [rank] = await ranksOf({
    format: 'tidemark-digest',
    version: 1,
    host: { name: '<h>' },
    devices: [{ ...least, kind: 'cuda', oom: { event: 3 }, rest: { bytes: -1 }, steps: [step] }],
  });
  assert.deepEqual(rank, {
    ...{ name: 'a rank without number', rank: -1, worldSize: -1, node: '<h>', file: '', outcome: '' },
    ...{ groups: [], settings: [], deviceName: 'cuda', totalBytes: -1, peakBytes: 9, reservedBytes: -1 },
    ...{ endBytes: -1, headroomBytes: -1, lowBytes: -1, highBytes: -1, peakStep: -1, peakPhase: '' },
    nDropped: -1,
    oom: { timeNs: -1, requestedBytes: -1, freeBytes: -1, line: '' },
    explained: null,
    rows: [],
    rest: { bytes: 0, nBlocks: 0, nRows: 0 },
    steps: [{ index: 7, nSteps: 1, name: '', beginNs: -1, endNs: -1, peakBytes: 5, reservedBytes: 6 }],
    ...{ beginUnixUs: -1, timeNs: [], allocatedBytes: [], reservedOverTime: [] },
  });
});

test(
  'characters that would turn a line around are shown, wherever they are',
  { skip: noEngine },
  async () => {
    for (const character of ['\u0001', '\r', '\x7f', '\u0085', '\u200f', '\u202e', '\u2069']) {
      const digest = makeDigest(0, 8, 2);
      digest.devices[0].rows[0].line = `<a>\\u0041${character}b`;
      const shown = `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
      assert.equal((await ranksOf(digest))[0].rows[0].line, `<a>\\u0041${shown}b`);
    }
  },
);

test('pinned memory of the host is no device of a rank; a second card is', { skip: noEngine }, async () => {
  const [digest] = makeDigests(1, 4);
  const second = (kind) => ({ ...digest.devices[0], index: 1, kind });
  const namesOf = async (kind) => {
    const both = { ...digest, devices: [digest.devices[0], second(kind)] };
    return (await ranksOf(ranksDocument([both]))).map(({ name }) => name);
  };
  assert.deepEqual(await namesOf('pinned'), ['rank 0']);
  assert.deepEqual(await namesOf('cuda'), ['rank 0 · device 0', 'rank 0 · device 1']);
});

/** What `tidemark ranks` writes about a file, without the name of the program and of the file. */
function programSays(text) {
  const path = join(folder, 'damaged.digest.json');
  writeFileSync(path, text);
  const { stderr, status } = spawnSync(CLI, ['ranks', '--format', 'json', path], { encoding: 'utf8' });
  return status === 0 ? 'ok' : stderr.replace('tidemark ranks: ', '').replaceAll(`'${path}'`, 'the file');
}

/** The same of the page. */
async function pageSays(text) {
  try {
    await ranksOf(text);
    return 'ok';
  } catch (problem) {
    return problem.message;
  }
}

async function assertSameWords(what, text) {
  const program = programSays(text).trimEnd().replace('cannot read the file: ', '');
  assert.equal(await pageSays(text), program, what);
  return program;
}

const BAD = [
  ['version: the digest has version 9', (d) => (d.version = 9)],
  ['devices: ', (d) => (d.devices = {})],
  ['devices[0].rows[0].line: ', (d) => (d.devices[0].rows[0].line = 7)],
  ['devices[0].rows[0].bytes: -5 is out of range', (d) => (d.devices[0].rows[0].bytes = -5)],
  ['devices[0].max.allocated_bytes: ', (d) => (d.devices[0].max.allocated_bytes = 0.5)],
  ['rank: ', (d) => (d.rank = 'rank')],
  ['devices[0].timeline.time_ns[1]: 1 ns is before', (d) => (d.devices[0].timeline.time_ns = [2, 1])],
];
for (const [place, spoil] of BAD)
  test(`a damaged digest is refused as by tidemark ranks: ${place}`, { skip: noProgram }, async () => {
    const document = makeDigest(0, 8, 4);
    spoil(document);
    const program = await assertSameWords(place, JSON.stringify(document));
    assert.ok(program.includes(`, ${place}`), program);
    const inList = await pageSays(JSON.stringify(ranksDocument([makeDigest(1, 8, 4), document])));
    const alone = program.replace(/^byte \d+, /, '');
    assert.equal(inList.replace(/^byte \d+, digests\[1\]\./, ''), alone);
  });

test(
  `digests with random damage are refused in the same words (seed ${SEED})`,
  { skip: noProgram },
  async () => {
    const random = randomNumbers(SEED);
    const kinds = kindsOfDamage(false);
    const base = Buffer.from(JSON.stringify(makeDigest(ENDS, 64, 2)));
    const { length: nBeginning } = '{"format":"tidemark-digest"'; // with another, it is no digest
    let nRefused = 0;
    for (let i = 0; i < N_FILES; i++) {
      const kind = kinds[Math.floor(random() * kinds.length)];
      const rest = damaged(base.subarray(nBeginning), kind, random);
      const text = Buffer.concat([base.subarray(0, nBeginning), rest]);
      const said = await assertSameWords(`file ${i}, ${kind}`, text);
      nRefused += said === 'ok' ? 0 : 1;
    }
    assert.ok(nRefused > N_FILES / 4, `${nRefused} refused`);
  },
);

test('the page and tidemark ranks have the same figures of a recording', { skip: noProgram }, async () => {
  const path = join(folder, 'live.digest.json.gz');
  const run = (...words) => spawnSync(CLI, words, { encoding: 'utf8' });
  assert.equal(run('digest', GOLDEN, '--rank', '3', '-o', path).status, 0);
  const ranks = await ranksOf(gunzipSync(readFileSync(path)).toString());
  const fullest = ranks.reduce((a, b) => (b.peakBytes > a.peakBytes ? b : a));
  const report = JSON.parse(run('ranks', '--format', 'json', path).stdout);
  const [row] = report.tables.ranks.rows;
  assert.equal(fullest.rank, 3);
  assert.deepEqual(
    [fullest.peakBytes, fullest.reservedBytes, fullest.headroomBytes, fullest.rows[0].line],
    [row.allocated_peak_bytes, row.reserved_peak_bytes, row.headroom_bytes, row.line],
  );
});

test(
  'the page and tidemark ranks print the same sentences about many ranks',
  { skip: noProgram },
  async () => {
    const digests = makeDigests(64, 20);
    digests[2].devices[0].explained.sentences.push(
      { key: 'kv_pool', text: 'The KV cache of vLLM has 1.00 GiB.' },
      {
        key: 'assumed_value',
        text: 'A number at train.py:3 is assumed; what the program decides by it may differ.',
      },
    );
    const paths = digests.map((digest, i) => {
      const path = join(folder, `${i}.digest.json`);
      writeFileSync(path, JSON.stringify(digest));
      return path;
    });
    const { stdout } = spawnSync(CLI, ['ranks', '--format', 'json', ...paths], { encoding: 'utf8' });
    const { sentences, tables } = JSON.parse(stdout);
    const KEYS = ['oom', 'cause', 'filled', 'kv_pool', 'assumed_value'];
    const said = KEYS.flatMap((key) => sentences[key] ?? []);
    const shown = ranksAnswer(await ranksOf(ranksDocument([...digests].reverse())));
    assert.deepEqual(
      shown,
      said.map((text) => text[0].toUpperCase() + text.slice(1)),
    );
    assert.deepEqual(said, [
      'rank 11: Out of memory at Block.forward (model.py:40).',
      'rank 5: The loop at train (train.py:80-90) keeps 256.00 MiB on each iteration. Cure: `losses.append(loss.item())`.',
      'all 64 ranks (figures of rank 11): The peak, 79.00 GiB, is 8.00 GiB at Block.__init__ (model.py:12).',
      'rank 2: The KV cache of vLLM has 1.00 GiB.',
      'rank 2: A number at train.py:3 is assumed; what the program decides by it may differ.',
    ]);
    assert.equal(tables.explained.rows.length, 6);
  },
);

test('a list of many digests is read in the order of the file', { skip: noEngine }, async () => {
  const ranks = await ranksOf(ranksDocument(makeDigests(200, 3).reverse()));
  assert.deepEqual(
    ranks.map(({ rank }) => rank),
    Array.from({ length: 200 }, (_, i) => 199 - i),
  );
  assert.deepEqual(await ranksOf(ranksDocument([])), []);
});
