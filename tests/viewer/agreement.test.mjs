// Program and page agree on damaged files: both read a file, or both refuse it and name the same place.
// Damaging files at random once found some that only one of them accepted. This test damages a few thousand
// files from a fixed seed; TIDEMARK_TEST_SEED and TIDEMARK_TEST_FILES select others and more.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { FormatError } from '../../viewer/src/columns.js';
import { readSource } from '../../viewer/src/unpack.js';
import { explained } from '../../viewer/src/worker.js';
import { damaged, kindsOfDamage } from './damage.mjs';
import { randomNumbers, smallDocuments } from './synthetic.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261122);
const N_FILES = Number(process.env.TIDEMARK_TEST_FILES ?? 2500);
const VERDICTS = process.env.TIDEMARK_VERDICTS;
const GOLDEN = new URL('../golden/snapshots/', import.meta.url);
const SHARED = process.env.TIDEMARK_SHARED ?? new URL('../../../shared', import.meta.url).pathname;
const skip = VERDICTS ? false : 'TIDEMARK_VERDICTS names no program';

/** The program's verdict on each file: "ok", or its message. */
function programSays(files) {
  const input = files.flatMap((bytes) => [Buffer.from(new Uint32Array([bytes.length]).buffer), bytes]);
  const { stdout, status } = spawnSync(VERDICTS, { input: Buffer.concat(input), maxBuffer: 2 ** 28 });
  assert.equal(status, 0);
  const lines = stdout.toString().trimEnd().split('\n');
  assert.equal(lines.length, files.length);
  return lines;
}

/** The page's verdict on a file. */
async function pageSays(bytes) {
  try {
    await readSource(new Uint8Array(bytes), () => undefined);
    return 'ok';
  } catch (problem) {
    if (!(problem instanceof FormatError)) return `broken: ${problem.stack}`;
    return explained(problem).problem;
  }
}

/** The place that a message names: byte and key path, or opcode. */
const placeIn = (message) =>
  /^byte \d+(?:, [^:]*)?(?=:)/.exec(message)?.[0] ?? (message === 'ok' ? 'ok' : 'refused');

/** Files on which the verdicts differ. */
async function disagreements(files) {
  const program = programSays(files.map(({ bytes }) => bytes));
  const found = [];
  for (const [i, { what, bytes }] of files.entries()) {
    const page = await pageSays(bytes);
    if (placeIn(page) !== placeIn(program[i])) found.push({ what, program: program[i], page });
  }
  return found;
}

/** Damages several files in turn, each time differently. */
function damage(bases, n, seed) {
  const random = randomNumbers(seed);
  const kinds = kindsOfDamage(bases[0].isPickle);
  return Array.from({ length: n }, (_, i) => {
    const { name, bytes } = bases[i % bases.length];
    const kind = kinds[Math.floor(random() * kinds.length)];
    return { what: `${name}, file ${i}, ${kind}`, bytes: damaged(bytes, kind, random) };
  });
}

const told = (found) =>
  found
    .slice(0, 12)
    .map(({ what, program, page }) => `${what}\n  program: ${program}\n  page:    ${page}`)
    .join('\n');

test(
  `damaged snapshots are read by both or by none, with the same place (seed ${SEED})`,
  { skip },
  async () => {
    const golden = readdirSync(GOLDEN)
      .filter((name) => name.endsWith('.json.gz'))
      .map((name) => ({ name, bytes: gunzipSync(readFileSync(new URL(name, GOLDEN))) }));
    const bases = [
      ...golden.filter(({ bytes }) => bytes.length < 100_000),
      ...Object.entries(smallDocuments()).map(([name, document]) => ({
        name,
        bytes: Buffer.from(JSON.stringify(document)),
      })),
    ];
    assert.deepEqual(
      programSays(bases.map(({ bytes }) => bytes)),
      bases.map(() => 'ok'),
      'what is damaged was whole before',
    );
    const found = await disagreements(damage(bases, N_FILES, SEED));
    assert.equal(found.length, 0, `${found.length} of ${N_FILES}:\n${told(found)}`);
  },
);

test(
  'damaged files that were kept: both refuse them, at the same place',
  { skip: skip || (existsSync(`${SHARED}/damaged`) ? false : 'skipped: ../shared is absent') },
  async () => {
    const files = readdirSync(`${SHARED}/damaged`)
      .filter((name) => name.endsWith('.json-byte'))
      .map((name) => ({ what: name, bytes: readFileSync(`${SHARED}/damaged/${name}`) }));
    const found = await disagreements(files);
    assert.equal(found.length, 0, told(found));
    for (const line of programSays(files.map(({ bytes }) => bytes))) assert.match(line, /^byte \d+/);
  },
);

test('the parts of live recordings: both refuse the same ones, at the same place', { skip }, async () => {
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
  ]);
  const files = cases.map(([what, change]) => {
    const document = smallDocuments().training;
    change(document);
    return { what, bytes: Buffer.from(JSON.stringify(document)) };
  });
  const found = await disagreements(files);
  assert.equal(found.length, 0, told(found));
  programSays(files.map(({ bytes }) => bytes)).forEach((line, i) => {
    const { what } = files[i];
    assert.ok(what === 'ok' ? line === 'ok' : line.includes(` ${what}:`), `${what}: ${line}`);
  });
});

test('a file on which both agree is one in a gzip stream, too', { skip }, async () => {
  const files = damage(
    [{ name: 'small', bytes: Buffer.from(JSON.stringify(smallDocuments().training)) }],
    40,
    SEED,
  ).map(({ what, bytes }) => ({ what, bytes: gzipSync(bytes) }));
  const found = await disagreements(files);
  assert.equal(found.length, 0, told(found));
});
