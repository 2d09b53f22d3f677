// The page's engine against the program: WebAssembly makes the same summary of each file and refuses a
// damaged file in the same words, with the same byte and key. Sizes have 32 bits there, 64 in the program.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { bytesInMemory, Engine } from '../../../viewer/src/engine/engine.js';
import { damaged, kindsOfDamage } from '../support/damage.mjs';
import { randomNumbers, smallDocuments } from '../support/synthetic.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261128);
const N_FILES = Number(process.env.TIDEMARK_TEST_FILES ?? 1200);
const CLI = process.env.TIDEMARK_CLI ?? '';
const VERDICTS = process.env.TIDEMARK_VERDICTS ?? '';
const GOLDEN = new URL('../../golden/snapshots/', import.meta.url).pathname;
const SHARED = process.env.TIDEMARK_SHARED ?? new URL('../../../../shared', import.meta.url).pathname;
const skip = existsSync(CLI) && existsSync(VERDICTS) ? false : 'TIDEMARK_CLI names no program';
const noShared = skip || (existsSync(SHARED) ? false : 'skipped: ../shared is absent');
const module = skip ? null : new WebAssembly.Module(readFileSync(process.env.TIDEMARK_ENGINE_SUMMARY ?? ''));

const folder = mkdtempSync(join(tmpdir(), 'tidemark-engine-'));
after(() => rmSync(folder, { recursive: true }));

/** The bytes as the page passes them to the engine. */
function plain(bytes) {
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
}

/** The engine's summary of a file, or its reason to refuse the file. */
async function engineSays(name, bytes) {
  try {
    const engine = await Engine.start(module, bytesInMemory([bytes]));
    engine.open(name);
    return engine.answer('summary');
  } catch (problem) {
    return problem.message;
  }
}

function programSays(path) {
  const { stdout, stderr, status } = spawnSync(CLI, ['summary', '--format', 'json', path], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  return status === 0 ? stdout : stderr.replace(/^tidemark summary: /, '').trimEnd();
}

async function assertSameSummary(path) {
  const ours = await engineSays(path, plain(readFileSync(path)));
  const theirs = programSays(path);
  assert.ok(ours === theirs, `${path}\n  engine:  ${ours.slice(0, 300)}\n  program: ${theirs.slice(0, 300)}`);
  return theirs;
}

const filesIn = (place) =>
  readdirSync(place, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(json|pickle)(\.gz)?$/.test(entry.name))
    .map((entry) => join(place, entry.name));

test('the summary of each file that the tests keep', { skip }, async () => {
  const files = filesIn(GOLDEN);
  assert.ok(files.length >= 4);
  for (const path of files)
    assert.match(await assertSameSummary(path), /^\{"format":"tidemark-report"/, path);
});

test('the summary of small documents', { skip }, async () => {
  for (const [name, document] of Object.entries(smallDocuments())) {
    const path = join(folder, `${name}.json`);
    writeFileSync(path, JSON.stringify(document));
    await assertSameSummary(path);
  }
});

test('the summary of files by PyTorch', { skip: noShared }, async () => {
  const root = `${SHARED}/pytorch-snapshots`;
  for (const place of [root, `${root}/made`, `${root}/made3`])
    for (const path of filesIn(place)) await assertSameSummary(path);
});

/** The program's verdict on each file: "ok", or its message. */
function verdicts(files) {
  const input = files.flatMap(({ bytes }) => [Buffer.from(new Uint32Array([bytes.length]).buffer), bytes]);
  const { stdout, status } = spawnSync(VERDICTS, { input: Buffer.concat(input), maxBuffer: 2 ** 28 });
  assert.equal(status, 0);
  return stdout.toString().trimEnd().split('\n');
}

/** Files for which the words of the engine differ from the program's. */
async function disagreements(files) {
  const name = '/proc/self/fd/3'; // the program of the verdicts reads them here
  const found = [];
  for (const [i, program] of verdicts(files).entries()) {
    const said = (await engineSays(name, files[i].bytes)).replace(`cannot read '${name}': `, '');
    const engine = said.startsWith('{') ? 'ok' : said;
    if (engine !== program) found.push(`${files[i].what}\n  program: ${program}\n  engine:  ${engine}`);
  }
  return found;
}

async function assertAgreement(files) {
  const found = await disagreements(files);
  assert.equal(found.length, 0, `${found.length} of ${files.length}:\n${found.slice(0, 8).join('\n')}`);
}

test(`damaged files are refused in the same words (seed ${SEED})`, { skip }, async () => {
  const random = randomNumbers(SEED);
  const golden = filesIn(GOLDEN).map((path) => ({
    name: path.replace(/.*\//, ''),
    bytes: plain(readFileSync(path)),
    isPickle: path.endsWith('.pickle'),
  }));
  const documents = Object.entries(smallDocuments()).map(([name, document]) => ({
    name,
    bytes: Buffer.from(JSON.stringify(document)),
    isPickle: false,
  }));
  const bases = [...golden, ...documents].filter(({ bytes }) => bytes.length < 100_000);
  const files = Array.from({ length: N_FILES }, (_, i) => {
    const { name, bytes, isPickle } = bases[i % bases.length];
    const kinds = kindsOfDamage(isPickle);
    const kind = kinds[Math.floor(random() * kinds.length)];
    return { what: `${name}, file ${i}, ${kind}`, bytes: damaged(bytes, kind, random) };
  });
  await assertAgreement(files);
});

test('damaged files that were kept', { skip: noShared }, async () => {
  await assertAgreement(
    readdirSync(`${SHARED}/damaged`)
      .filter((name) => name.endsWith('.json-byte'))
      .map((what) => ({ what, bytes: readFileSync(`${SHARED}/damaged/${what}`) })),
  );
});

test('the parts of live recordings: the same ones are refused, at the same place', { skip }, async () => {
  const cases = /** @type {[string, (document: any) => void][]} */ ([
    ['owners.rows[1].device', ({ owners }) => (owners.rows[1].device = 1)],
    ['owners.rows[0]', ({ owners }) => delete owners.rows[0].device],
    ['owners.accounts[0].device', ({ owners }) => (owners.accounts[0].device = 200)],
    ['owners.accounts[1].device', ({ owners }) => owners.accounts.push({ device: 0 })],
    ['owners.accounts[256]', ({ owners }) => (owners.accounts = Array(257).fill({ device: 0 }))],
    ['owners.rows[1024]', ({ owners }) => (owners.rows = Array(1025).fill({ device: 0 }))],
    ['events.pool[3]', ({ events }) => (events.pool[3] = 3)],
    ['events.pool[0]', (document) => delete document.pools],
    ['events.pool[2]', ({ events }) => (events.pool[2] = -1)],
    ['events.certainty', ({ events }) => events.certainty.pop()],
    ['scopes.duration[0]', ({ scopes }) => (scopes.duration[0] = -3)],
    ['ok', ({ events }) => (events.certainty[3] = 3)],
    ['ok', ({ owners }) => (owners.rows = [{ device: 0, name: 7, peak_bytes: -2, end_bytes: 'x' }])],
    ['ok', (document) => (document.pools[1] = [1])],
    ['ok', (document) => delete document.owners],
    ['rank.groups[256]', ({ rank }) => (rank.groups = Array(257).fill({ name: 'tp' }))],
    ['rank.groups[0].name', ({ rank }) => (rank.groups[0].name = 'x'.repeat(4097))],
    ['rank.groups', ({ rank }) => (rank.groups = 7)],
    ['ok', (document) => (document.rank = 'seven')],
    ['ok', ({ rank }) => (rank.groups = [7, { name: 7, size: 'x', position: -2 }])],
    ['ok', ({ rank }) => (rank.rank = 1e300)],
    ['ok', (document) => delete document.rank],
    ['peak_range[256]', (document) => (document.peak_range = Array(257).fill({ device: 0 }))],
    ['peak_range', (document) => (document.peak_range = 7)],
    [
      'ok',
      (document) =>
        (document.peak_range = [7, { device: 'x', allocated_low_bytes: -2, reserved_low_bytes: 1e300 }]),
    ],
    ['ok', (document) => (document.peak_range = [])],
    ['at_failure.holders', (document) => (document.at_failure = { holders: 7 })],
    ['at_failure.holders[64]', (document) => (document.at_failure = { holders: Array(65).fill({}) })],
    [
      'ok',
      (document) => (document.at_failure = { device: 'x', collected_bytes: -2, processes: [7, { pid: -2 }] }),
    ],
  ]);
  const files = cases.map(([what, change]) => {
    const document = smallDocuments().training;
    change(document);
    return { what, bytes: Buffer.from(JSON.stringify(document)) };
  });
  await assertAgreement(files);
  verdicts(files).forEach((line, i) => {
    const { what } = files[i];
    assert.ok(what === 'ok' ? line === 'ok' : line.includes(` ${what}:`), `${what}: ${line}`);
  });
});

/** A little-endian number of 8 bytes. */
function eightBytes(number) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(number);
  return bytes;
}

test('sizes that 32 bits do not hold are refused as where 64 do', { skip }, async () => {
  const pickle = (...parts) =>
    Buffer.concat([Buffer.from([0x80, 4]), ...parts.map((part) => Buffer.from(part)), Buffer.from('.')]);
  const files = [0n, 1n, 16n].flatMap((n) => {
    const far = eightBytes((1n << 32n) + n); // becomes n if cut to 32 bits
    return [
      { what: `a frame of 2^32 + ${n}`, bytes: pickle([0x95], far, 'N') },
      { what: `a text of 2^32 + ${n}`, bytes: pickle([0x8d], far, 'a'.repeat(64)) },
      { what: `bytes of 2^32 + ${n}`, bytes: pickle([0x8e], far, 'a'.repeat(64)) },
      { what: `an array of 2^32 + ${n}`, bytes: pickle([0x96], far, 'a'.repeat(64)) },
    ];
  });
  const most = Buffer.from([255, 255, 255, 255]);
  files.push({ what: 'a frame of 2^64 - 1', bytes: pickle([0x95], eightBytes(2n ** 64n - 1n), 'N') });
  files.push({ what: 'a text of 2^32 - 1', bytes: pickle([0x58], most, 'abc') });
  files.push({ what: 'an integer of 2^31 - 1 bytes', bytes: pickle([0x8b], [255, 255, 255, 127], 'abc') });
  files.push({ what: 'memo number 2^32 - 1', bytes: pickle('N', [0x72], most) });
  files.push({ what: 'memo number 2^32 - 1, asked for', bytes: pickle([0x6a], most) });
  const document = (change) => {
    const made = smallDocuments().training;
    change(made);
    return Buffer.from(JSON.stringify(made));
  };
  for (const number of [2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 53]) {
    files.push(
      { what: `line ${number}`, bytes: document(({ frames }) => (frames.line[0] = number)) },
      { what: `stack ${number}`, bytes: document(({ events }) => (events.stack[0] = number)) },
      { what: `name ${number}`, bytes: document(({ events }) => (events.name[0] = number)) },
      { what: `bytes ${number}`, bytes: document(({ events }) => (events.block_bytes[0] = number)) },
      { what: `address ${number}`, bytes: document(({ events }) => (events.address_delta[0] = number)) },
    );
  }
  await assertAgreement(files);
});

test('files that would take all memory are refused at the same byte', { skip }, async () => {
  const lists = Buffer.alloc(50_000_000, 0x5d);
  lists.set([0x80, 4]);
  const deep = Buffer.from(`{"format":"tidemark-snapshot","version":1,"x":${'['.repeat(100_000)}`);
  const long = Buffer.from(`{"format":"${'a'.repeat(20_000_000)}`);
  await assertAgreement([
    { what: 'a pickle of lists', bytes: lists },
    { what: 'deep nesting', bytes: deep },
    { what: 'a long text', bytes: long },
    { what: 'nothing', bytes: Buffer.alloc(0) },
    { what: 'a pickle that calls', bytes: Buffer.from('\x80\x02cos\nsystem\n.', 'latin1') },
  ]);
});

test('a compressed file, a failure to read and a trap end in a sentence', { skip }, async () => {
  assert.equal(await engineSays('x', Buffer.from([0x1f, 0x8b, 8, 0])), "'x' is still compressed");
  const failing = {
    read: () => {
      throw new Error('the disk is gone');
    },
    rewind: () => undefined,
  };
  const broken = await Engine.start(module, failing);
  assert.throws(() => broken.open('x'), /^Error: the disk is gone$/);
  const engine = await Engine.start(module, bytesInMemory([]));
  engine.handle = 0xffff_fff0;
  assert.throws(() => engine.answer('summary'), /^Error: reading it failed \(memory access out of bounds\)$/);
});
