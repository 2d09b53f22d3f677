// The memory map in Chromium: it shows the layout of the instant at the cursor, whether the page itself or a
// worker answers, and gives a sentence if neither can.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runOf } from '../support/engine.mjs';
import { layoutAt } from '../../../viewer/src/run/layout.js';
import { formatBytes, formatPlural } from '../../../viewer/src/words/text.js';
import { closed, onTimeline, settled, text } from '../support/pages.mjs';
import { folder, opened } from '../support/page_run.mjs';
import { Recording } from '../support/recording.mjs';
import { trainingRun } from '../support/synthetic.mjs';

const TRAINING = trainingRun({ warmup: 1, steps: 2 });
const MIB = 2 ** 20;
const LATE_MS = 400;
const AGAIN = 'Reading the file again for the map …';
const plain = (words) => words.replaceAll(/\s/g, ' ');

/** What the map says of a state. */
async function titleOf(run, state, where = 'cursor') {
  const { account, segments } = await layoutAt(run, state);
  const free = formatBytes(account.splittable + account.releasable);
  return plain(
    `${formatBytes(account.reserved)} reserved in ${formatPlural(segments.length, 'segment')} at the ${where}, ${free} of it free`,
  );
}

const titleIn = async (page) => plain(await text(page, '.map-title'));

async function waitForTitle(page, title) {
  await page
    .waitForFunction(
      (wanted) => document.querySelector('.map-title').textContent.replaceAll(/\s/g, ' ') === wanted,
      title,
      { timeout: 20_000 },
    )
    .catch(() => undefined);
  assert.equal(await titleIn(page), title);
}

/** Moves the pointer over the timeline, and holds the cursor where it ends. */
async function drag(page) {
  for (let i = 0; i <= 40; i++) {
    const { x, y } = await onTimeline(page, 0.9 - 0.02 * i, 0.3);
    await page.mouse.move(x, y);
  }
  await settled(page);
  const before = await page.evaluate(() => location.hash);
  await page.keyboard.press('.');
  await page.waitForFunction((old) => location.hash.includes('cursor=') && location.hash !== old, before);
  return Number(/cursor=0\.(\d+)/.exec(await page.evaluate(() => location.hash))[1]);
}

/** Keeps each sentence that the map shows. */
const record = (page) =>
  page.evaluate(() => {
    window.titles = [];
    const title = document.querySelector('.map-title');
    const keep = () => window.titles.push(title.textContent);
    new MutationObserver(keep).observe(title, { childList: true, characterData: true, subtree: true });
  });

/** Each sentence was true of some state, and the picture never went away. */
async function assertSteady(page, run) {
  const seen = (await page.evaluate(() => window.titles)).map(plain);
  const known = new Set();
  for (let state = 0; state < run.index.nStates; state++) known.add(await titleOf(run, state));
  assert.deepEqual(
    seen.filter((title) => !known.has(title)),
    [],
  );
  assert.ok(new Set(seen).size > 3, `${new Set(seen).size} pictures`);
}

test('the map follows the cursor; a small file is answered by the page', async () => {
  const run = runOf(TRAINING);
  const page = await opened([{ label: 'small', document: TRAINING }]);
  await page.keyboard.press('3');
  await waitForTitle(page, await titleOf(run, run.peakState, 'peak'));
  await record(page);
  const state = await drag(page);
  await waitForTitle(page, await titleOf(run, state));
  await assertSteady(page, run);
  await closed(page);
});

const path = join(folder, 'large.json');

/** Chooses a file that is too large for the page to read it itself, in a page that shows no tree. */
async function choose(page, document = TRAINING) {
  writeFileSync(path, JSON.stringify(document) + ' '.repeat(200_000));
  await page.setInputFiles('#file-input', path);
  await page.waitForSelector('.run');
  await page.waitForSelector('#tab-tree[aria-selected=true]');
}

async function openedFile(document, init = '') {
  const page = await opened([], null, { init });
  await choose(page, document);
  return page;
}

test('a worker reads a larger file again, once, and follows the cursor', async () => {
  const run = runOf(TRAINING);
  const page = await openedFile(TRAINING);
  await record(page);
  await page.keyboard.press('3');
  await waitForTitle(page, await titleOf(run, run.peakState, 'peak'));
  assert.deepEqual(
    (await page.evaluate(() => window.titles.splice(0))).filter((title) => title === AGAIN),
    [AGAIN],
  );
  const state = await drag(page);
  await waitForTitle(page, await titleOf(run, state));
  await assertSteady(page, run);
  await closed(page);
});

/** In the page: questions about layouts reach the worker late, and are counted. */
function delayQuestions(ms) {
  window.nAsked = 0;
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, given) {
    const send = () => post.call(this, message, given);
    if (message.state === undefined) return send();
    window.nAsked++;
    return setTimeout(send, ms);
  };
}

test('an answer that comes late is not shown for another instant', async () => {
  const run = runOf(TRAINING);
  const page = await openedFile(TRAINING, `(${delayQuestions})(${LATE_MS})`);
  await page.keyboard.press('3');
  await waitForTitle(page, await titleOf(run, run.peakState, 'peak'));
  const state = await drag(page);
  const nAsked = () => page.evaluate(() => window.nAsked);
  const before = await nAsked();
  await waitForTitle(page, await titleOf(run, state));
  assert.ok((await nAsked()) - before <= 1, 'instants that the cursor has left are not asked for');
  await closed(page);
});

/** Two devices, each with a segment and a block in it. */
function onTwoDevices() {
  const recording = new Recording();
  for (const [action, address, block] of [
    ['segment_alloc', 8192, 2 * MIB],
    ['alloc', 8192, MIB],
    ['segment_alloc', 65_536, 20 * MIB],
    ['alloc', 65_536, 12 * MIB],
  ])
    recording.event(action, { address, requested: block, block });
  const document = recording.document();
  document.devices = ['a', 'b'].map((name) => ({ kind: 'cuda', name, total_bytes: 1e9 }));
  document.events.device = [0, 0, 1, 1];
  return document;
}

test('another device and the segments of a run are answered by the same engine', async () => {
  const document = onTwoDevices();
  const page = await openedFile(document);
  await record(page);
  await page.keyboard.press('3');
  await waitForTitle(page, '20.00 MiB reserved in 1 segment at the peak, 8.00 MiB of it free');
  await page.evaluate(() => (location.hash = 'panel=map&device=0'));
  await waitForTitle(page, '2.00 MiB reserved in 1 segment at the peak, 1.00 MiB of it free');
  await page.evaluate(() => (location.hash = 'show=segments&panel=map&device=0'));
  await waitForTitle(page, '2.00 MiB reserved in 1 segment at the peak, 0 B of it free');
  assert.equal((await page.evaluate(() => window.titles)).filter((each) => each === AGAIN).length, 1);
  await closed(page);
});

test('a file that is gone gives a sentence in the map, and the page goes on', async () => {
  const page = await openedFile(TRAINING);
  rmSync(path);
  await page.keyboard.press('3');
  await page.waitForFunction(() => document.querySelector('.map-title').textContent.includes('cannot'));
  assert.match(await titleIn(page), /^The map cannot be shown: .+\.$/);
  assert.equal(await page.locator('.map-account *').count(), 0);
  await drag(page);
  assert.match(await titleIn(page), /^The map cannot be shown: .+\.$/);
  await page.keyboard.press('1');
  await settled(page);
  assert.ok(await page.locator('#panel-tree').isVisible());
  await page.keyboard.press('3');
  await choose(page);
  await page.keyboard.press('3');
  await waitForTitle(page, await titleOf(runOf(TRAINING), runOf(TRAINING).peakState, 'peak'));
  await closed(page);
});
