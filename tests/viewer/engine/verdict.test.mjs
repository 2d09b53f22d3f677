// The page's sentences are those of `tidemark explain`, for snapshots of tidemark's and of PyTorch's.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { explained } from '../support/explained.mjs';
import { temporaryFolder } from '../support/pages.mjs';
import '../support/engine.mjs';
import '../support/transfer.mjs';
import { makeRun } from '../../../viewer/src/run/run.js';
import { ruleRows } from '../../../viewer/src/panels/rule_coverage.js';
import { readSource } from '../../../viewer/src/engine/unpack.js';

const CLI = process.env.TIDEMARK_CLI ?? '';
const NO_CLI = existsSync(CLI) ? false : 'the command line is not built';
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const SHARED = join(process.env.TIDEMARK_SHARED ?? join(ROOT, '../shared'), 'pytorch-snapshots');
const MAKE = join(ROOT, 'tests/golden/snapshots/make_training.py');
const folder = temporaryFolder();

/** The page's sentences about a device, and those of the command line, which also replays. */
async function bothOf(path, device) {
  const { snapshot } = await readSource(new Uint8Array(readFileSync(path)), () => undefined);
  const { figures, sentences } = explained(CLI, path, device);
  return [snapshot.sentences[figures.device].map(([, text]) => text), sentences];
}

test(
  'made training runs: healthy, growing, out of memory, in pieces, without a history',
  { skip: NO_CLI },
  async () => {
    const all = [];
    for (const words of ['', 'leak', 'leak python', 'leak annotated', 'oom', 'oom fragmented', 'bare leak']) {
      const path = join(folder, `${words.replaceAll(' ', '_')}.pickle`);
      writeFileSync(path, execFileSync('python3', [MAKE, ...words.split(' ').filter(Boolean)]));
      const [page, program] = await bothOf(path);
      assert.deepEqual(page, program, words);
      all.push(...program);
    }
    const cut = join(folder, 'cut.pickle');
    const script =
      'import pickle, sys; s = pickle.load(open(sys.argv[1], "rb")); ' +
      's["device_traces"] = [t[-int(sys.argv[3]):] for t in s["device_traces"]]; ' +
      'pickle.dump(s, open(sys.argv[2], "wb"))';
    for (const nKept of ['1', '60']) {
      execFileSync('python3', ['-c', script, join(folder, 'leak.pickle'), cut, nKept]);
      const [page, program] = await bothOf(cut);
      assert.deepEqual(page, program, `cut to ${nKept}`);
      assert.match(program[0], /^The history was cut.*max_entries=1000000/);
      assert.match(program[1], /allocated when the file was written/);
    }
    for (const part of [
      'no history',
      'Fragmentation: 100.00 MiB',
      'asks for 64.00 MiB, 69 % of',
      'keeps 6.00 MiB on each iteration',
    ])
      assert.ok(
        all.some((sentence) => sentence.includes(part)),
        part,
      );
  },
);

const MADE = join(SHARED, 'made3');

test(
  'a cut history, retries, frees without their request, an old history',
  { skip: NO_CLI || (existsSync(MADE) ? false : 'the snapshots of PyTorch are not here') },
  async () => {
    const expected = {
      'legacy.pickle.gz': /^The history was cut \(_record_memory_history\(True\) keeps one event\)/,
      'ring.pickle.gz': /^The history was cut: 26 blocks/,
      'retry.pickle.gz': /^At the card's limit, 1 retry:/,
      'skip.pickle.gz': /^The peak, 1.00 GiB,/,
      'help.pickle.gz': /1.00 GiB from before the recording/,
      'old_min.pickle': /12.00 MiB at main \(train.py:7\)/,
      'trailing_zeros.pickle.gz': /^The peak, 1.57 GiB,/,
    };
    for (const [name, pattern] of Object.entries(expected)) {
      const [page, program] = await bothOf(join(MADE, name));
      assert.deepEqual(page, program, name);
      assert.ok(
        program.some((sentence) => pattern.test(sentence)),
        `${name}: ${program.join(' ')}`,
      );
    }
  },
);

/** The bytes that each rule explains at the peak: on the page, and in the command line. */
async function rulesOf(path) {
  const { snapshot, derived } = await readSource(new Uint8Array(readFileSync(path)), () => undefined);
  const report = execFileSync(CLI, ['summary', path, '--format', 'json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { rows } = JSON.parse(report.toString()).tables.by_rule;
  const page = ruleRows(makeRun(snapshot, 'x', undefined, derived));
  // The page of the command line holds the file in our format.
  const native = join(folder, 'native.json.gz');
  execFileSync(CLI, ['export', path, '--to', 'tidemark', '-o', native]);
  const again = await readSource(new Uint8Array(readFileSync(native)), () => undefined);
  assert.deepEqual(ruleRows(makeRun(again.snapshot, 'x', undefined, again.derived)), page, path);
  return [
    page.map(({ words, category, bytes, count }) => [words, category, bytes, count]),
    rows.map(({ rule, category, bytes, blocks }) => [rule, category, bytes, blocks]),
  ];
}

const REAL = existsSync(SHARED)
  ? [...readdirSync(SHARED), ...readdirSync(join(SHARED, 'made')).map((name) => join('made', name))].filter(
      (name) => name.endsWith('.pickle'),
    )
  : [];
test('real files', { skip: NO_CLI || (REAL.length > 0 ? false : `no files in ${SHARED}`) }, async () => {
  for (const name of REAL) {
    const [page, program] = await bothOf(join(SHARED, name));
    assert.ok(program.length > 0, name);
    assert.deepEqual(page, program, name);
  }
});

test(
  'rules explain as much as the program says',
  { skip: NO_CLI || (REAL.length > 0 ? false : `no files in ${SHARED}`) },
  async () => {
    let nRules = 0;
    for (const name of REAL) {
      const [page, program] = await rulesOf(join(SHARED, name));
      assert.deepEqual(page, program, name);
      nRules += page.length;
    }
    assert.ok(nRules > 0);
  },
);
