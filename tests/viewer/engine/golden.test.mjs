// The page's sentences about the recordings of the golden cases are those of `tidemark explain`.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { explained } from '../support/explained.mjs';
import { temporaryFolder } from '../support/pages.mjs';
import '../support/engine.mjs';
import { readSource } from '../../../viewer/src/engine/unpack.js';

const CLI = process.env.TIDEMARK_CLI ?? '';
const NO_CLI = existsSync(CLI) ? false : 'the command line is not built';
const GOLDEN = join(dirname(fileURLToPath(import.meta.url)), '../../golden');
const LEAST_RECORDINGS = 200; // distinct ones

/** Files below a folder that may be recordings. */
function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesIn(path);
    const isNamed = entry.isFile() && existsSync(path); // else its name is not UTF-8
    return isNamed && /\.(json|json\.gz|pickle|pickle\.gz)$/.test(entry.name) ? [path] : [];
  });
}

/** Runs a case in a folder of its own. */
function runCase(name, root, bin) {
  const work = join(root, name);
  mkdirSync(work);
  const env = {
    ...process.env,
    ...{ golden: GOLDEN, LC_ALL: 'C', TZ: 'UTC', PATH: `${bin}:${process.env.PATH}` },
    ...{ XDG_CONFIG_HOME: join(root, 'config'), XDG_STATE_HOME: join(root, 'state') },
  };
  spawnSync('bash', [join(GOLDEN, 'cases', `${name}.sh`)], { cwd: work, env, stdio: 'ignore' });
  return work;
}

/** The devices of a recording that the page shows, or none if the program refuses it. */
function devicesOf(path) {
  const { status, stdout } = spawnSync(CLI, ['explain', path, '--format', 'json']);
  if (status !== 0 || JSON.parse(stdout).figures.device === undefined) return [];
  const all = [];
  for (let device = 0; ; device++) {
    const found = spawnSync(CLI, ['explain', path, '--format', 'json', '--device', String(device)]);
    if (found.status !== 0) return all;
    all.push(device);
  }
}

test('every recording that a golden case makes', { skip: NO_CLI }, async () => {
  const root = temporaryFolder();
  const bin = join(root, 'bin');
  mkdirSync(bin);
  symlinkSync(CLI, join(bin, 'tidemark'));
  const seen = new Set();
  for (const file of readdirSync(join(GOLDEN, 'cases')).filter((each) => each.endsWith('.sh'))) {
    const work = runCase(file.replace(/\.sh$/, ''), root, bin);
    for (const path of filesIn(work)) {
      const bytes = readFileSync(path);
      const digest = createHash('sha256').update(bytes).digest('hex');
      if (seen.has(digest)) continue;
      const devices = devicesOf(path);
      if (devices.length > 0) seen.add(digest);
      const snapshot =
        devices.length > 0 ? (await readSource(new Uint8Array(bytes), () => {})).snapshot : null;
      for (const device of devices) {
        const page = snapshot.sentences[device].map(([, text]) => text);
        if (page.length > 0 || device === 0)
          assert.deepEqual(
            page,
            explained(CLI, path, device).sentences,
            `${file}: ${path}, device ${device}`,
          );
      }
    }
    rmSync(work, { recursive: true });
  }
  console.log(`# ${seen.size} recordings`);
  assert.ok(seen.size >= LEAST_RECORDINGS, `${seen.size} recordings`);
});
