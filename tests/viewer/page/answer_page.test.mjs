// The page's answer in Chromium: its lines and banners are what `tidemark explain` prints.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { browser, folder, opened } from '../support/page_run.mjs';
import { closed, openPage, settled } from '../support/pages.mjs';
import { Recording } from '../support/recording.mjs';
import { trainingRun } from '../support/synthetic.mjs';

const CLI = process.env.TIDEMARK_CLI ?? '';
const NO_CLI = existsSync(CLI) ? false : 'the command line is not built';
const plain = (text) => text.replace(/[\s\u00a0]+/g, ' ').trim();

/** What the program prints: the answer, and its warnings and notes. */
function printed(path, device = null) {
  const options = device === null ? [] : ['--device', String(device)];
  const text = execFileSync(CLI, ['explain', path, ...options], { stdio: ['ignore', 'pipe', 'ignore'] });
  const lines = text.toString().trim().split('\n').map(plain);
  const isWarning = (line) => /^(warning|note): /.test(line);
  return {
    answer: lines.filter((line) => !isWarning(line)).join(' '),
    warnings: lines.filter(isWarning),
  };
}

async function shown(page) {
  return {
    answer: plain(await page.evaluate(() => document.getElementById('headline').textContent)),
    warnings: (await page.locator('.banner').allTextContents()).map(plain),
  };
}

const SMALL = trainingRun({ layers: 2, steps: 1 });
const DOCUMENTS = {
  healthy: SMALL,
  'out of memory': trainingRun({ limitBytes: 500e6 }),
  'stopped, and events are lost': {
    ...SMALL,
    log: { full_policy: 'stop', dropped_events: 7 },
    run: { ...SMALL.run, outcome: 'stopped' },
  },
  'not exact': {
    ...SMALL,
    inexact: [{ call: 'f<b>', what: 'not known', bound_bytes: 1 << 20, refused: false }],
  },
  emulated: trainingRun({ precision: 'bf16-mixed' }),
  'only timed': { ...new Recording().document(), timing: SMALL.timing },
};

for (const [name, document] of Object.entries(DOCUMENTS)) {
  test(`the answer about a recording: ${name}`, { skip: NO_CLI }, async () => {
    const path = join(folder, 'own.json');
    writeFileSync(path, JSON.stringify(document));
    const page = await opened([{ label: 'own', document }]);
    assert.deepEqual(await shown(page), printed(path));
    await closed(page);
  });
}

test('the answer about a large recording, which a worker makes', { skip: NO_CLI }, async () => {
  const bytes = Buffer.from(JSON.stringify(trainingRun({ layers: 36, steps: 8, operators: 4 })));
  assert.ok(bytes.length > 200_000, `${bytes.length} bytes are read in a worker`);
  const path = join(folder, 'large.json');
  writeFileSync(path, bytes);
  const page = await opened([{ label: 'large', bytes }]);
  assert.deepEqual(await shown(page), printed(path));
  await closed(page);
});

test('the page of view has the sentence of a replay, for each device', { skip: NO_CLI }, async () => {
  const path = fileURLToPath(new URL('../../golden/snapshots/three-devices.pickle', import.meta.url));
  const report = join(folder, 'three.html');
  execFileSync(CLI, ['view', path, '-o', report], { stdio: 'ignore' });
  const page = await openPage(browser, folder, readFileSync(report, 'utf8'));
  let nHelps = 0;
  for (const device of [0, 1, 2]) {
    await page.locator('#device-row button').nth(device).click();
    await settled(page);
    const { answer } = printed(path, device);
    assert.equal((await shown(page)).answer, answer, `device ${device}`);
    nHelps += answer.includes('It would help to set') ? 1 : 0;
  }
  assert.equal(nHelps, 1);
  await closed(page);
});
