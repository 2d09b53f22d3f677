// The viewer's page in headless Chromium, opened from disk as users open it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settled, closed, onTimeline, PATIENCE_MS, rested, text } from '../support/pages.mjs';
import { opened, RUN } from '../support/page_run.mjs';
import { Recording } from '../support/recording.mjs';
import { knownRun, runOnDevices, trainingRun } from '../support/synthetic.mjs';

const picture = (page) => page.evaluate(() => document.querySelector('.canvases canvas').toDataURL());

/** The picture once it has changed. */
async function changed(page, before) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const now = await picture(page);
    if (now !== before) return now;
    await rested(page, 25);
  }
  assert.fail('the picture did not change');
  return '';
}

test('opens from disk on the step of the peak, with the answer on top, without a network request', async () => {
  const page = await opened([RUN]);
  assert.match(
    await text(page, '#headline'),
    /^The peak, 981\.47\sMiB, is 490\.73\sMiB of optimizer state at adamw \(.*By kind: 490\.73\sMiB/s,
  );
  assert.match(await text(page, '#subtitle'), /tidemark's own model in C · small · train · fp32/);
  assert.match(await text(page, '#legend'), /optimizer state\s*490\.73 MiB\s*50\.0 %/);
  assert.match(await text(page, '#dock'), /981\.47 MiB in 197 blocks/);
  assert.equal(await page.locator('.phase').count(), 4);
  assert.equal(await page.locator('.phase circle').count(), 16);
  assert.match(await page.locator('.phase').first().innerText(), /forward\s+\d+\.\d+ ± \d+\.\d+ ms/);
  assert.equal(await page.locator('script.tidemark-snapshot').count(), 0);
  await closed(page);
});

test('pointing at an allocation says what it is; clicking pins it; Escape unpins', async () => {
  const page = await opened([{ label: 'known', document: knownRun() }]);
  for (const [name, share] of [
    ['low', 1 / 6],
    ['middle', 1 / 2],
    ['top', 5 / 6],
  ]) {
    const at = await onTimeline(page, 0.6, share);
    await page.mouse.move(at.x, at.y);
    assert.equal(await page.locator('#tooltip .block-name').innerText(), name);
  }
  assert.match(
    await text(page, '#tooltip'),
    /category\s*temporaries\s*size\s*1\.00 MiB = 1,048,576 B\s*lifetime\s*event 2 to the end[\s\S]*scope\s*step 0 › low\s*stack\s*low/,
  );
  assert.match(await text(page, '#live'), /top, temporaries, 1\.00 MiB/);
  const at = await onTimeline(page, 0.6, 1 / 2);
  await page.mouse.click(at.x, at.y);
  await settled(page);
  assert.match(await text(page, '#pinned'), /Pinned allocation\s*×?\s*middle/);
  await page.keyboard.press('Escape');
  await settled(page);
  assert.equal(await page.locator('#pinned *').count(), 0);
  await page.mouse.move(5, 5);
  assert.ok(await page.locator('#tooltip').isHidden());
  await closed(page);
});

test('keys zoom, pan, show the whole run and switch the axis', async () => {
  const page = await opened([RUN]);
  let before = await picture(page);
  for (const key of ['w', 's', 'd', 'a', 'f', '0', 't']) {
    await page.keyboard.press(key);
    before = await changed(page, before);
  }
  assert.equal(await text(page, '#axis-button'), 'x: event order');
  await page.keyboard.press('?');
  assert.ok(await page.locator('#help').isVisible());
  await page.keyboard.press('Escape');
  assert.ok(await page.locator('#help').isHidden());
  await closed(page);
});

test('wheel zooms, dragging pans, a click on a lane zooms to it', async () => {
  const page = await opened([RUN]);
  let before = await picture(page);
  await page.mouse.move(600, 500);
  await page.mouse.wheel(0, -300);
  before = await changed(page, before);
  await page.mouse.down();
  await page.mouse.move(480, 500, { steps: 4 });
  await page.mouse.up();
  before = await changed(page, before);
  assert.equal(await page.locator('#pinned *').count(), 0);
  const box = await page.locator('.canvases').boundingBox();
  await page.mouse.move(box.x + 400, box.y + box.height - 23 * 3 + 10);
  assert.match(await text(page, '#tooltip'), /^step 0 › (forward|backward)\s+[\d.]+ ms · \d+ events$/);
  await page.mouse.click(box.x + 400, box.y + box.height - 23 * 3 + 10);
  await changed(page, before);
  await closed(page);
});

test('a virtual run opens in event order and says that nothing was computed', async () => {
  const page = await opened([{ label: 'v', document: trainingRun({ device: 'virtual' }) }]);
  assert.equal(await text(page, '#axis-button'), 'x: event order');
  assert.doesNotMatch(await text(page, '#panels'), /not computed|Time per step/);
  assert.match(await text(page, '#side'), /No times of steps: a virtual device computes nothing\.$/);
  await closed(page);
});

test('two runs share one memory scale and a comparison', async () => {
  const other = { label: 'bf16', document: trainingRun({ bytes: 2, precision: 'bf16-mixed', layers: 6 }) };
  const page = await opened([RUN, other], { sentence: 'the computed <b>sentence</b>' });
  assert.equal(await text(page, '#headline'), 'the computed <b>sentence</b>');
  assert.equal(await page.locator('.run').count(), 2);
  assert.match(
    await text(page, '#panels .compare'),
    /Alive at the peak[\s\S]*optimizer state[\s\S]*Time, mean[\s\S]*backward/,
  );
  assert.match(await text(page, '#banners'), /bf16: note: bf16 is emulated on the cpu/);
  const tops = await page.evaluate(() =>
    [...document.querySelectorAll('.canvases')].map((frame) => {
      const canvas = frame.querySelector('canvas');
      const context = canvas.getContext('2d');
      const column = context.getImageData(Math.round(canvas.width / 2), 0, 1, canvas.height - 100).data;
      for (let y = 0; y < canvas.height - 100; y++)
        if (column[4 * y] === 0 && column[4 * y + 1] === 114) return canvas.height - 100 - y;
      return -1;
    }),
  );
  assert.ok(tops[0] > 0 && tops[1] > 0 && tops[0] > tops[1], `parameters are drawn ${tops} rows high`);
  await closed(page);
});

/** Three runs with names and a long comparison; the third is far smaller than the others. */
const THREE = [
  RUN,
  { label: 'large-train-c2048-b4-bf16', document: trainingRun({ bytes: 2 }) },
  {
    label: 'tiny-train-c128-b4-fp32',
    document: trainingRun({ width: 64, vocab: 500, tokens: 64, layers: 2 }),
  },
];
const NAMES = ['large fp32 context 2048', 'large bf16-mixed context 2048', 'tiny fp32 context 128'];
const SENTENCES = {
  names: NAMES,
  sentence: NAMES.map(
    (name) =>
      `${name} peaks at 981.47 MiB, set by optimizer state (490.73 MiB of 981.47 MiB) in the backward phase, beside 245.37 MiB of parameters.`,
  ).join(' '),
};

test('several runs carry their names, and nothing is cut off at any width', async () => {
  for (const width of [1600, 1280, 800, 480]) {
    const page = await opened(THREE, SENTENCES, { viewport: { width, height: 1000 } });
    assert.deepEqual(await page.locator('.run h2').allInnerTexts(), NAMES);
    assert.deepEqual(await page.locator('#panels .compare thead th:not(.ratio)').allInnerTexts(), NAMES);
    assert.deepEqual(await page.locator('.tabs.of-run [role=tab]').allInnerTexts(), NAMES);
    assert.match(await page.locator('.run-title').first().innerText(), /small-train-fp32/);
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll('.scroll, .compare th, .compare td, .run-title *, .tabs button')]
        .filter((node) => node.scrollWidth > node.clientWidth + 1)
        .map((node) => node.textContent),
    );
    assert.deepEqual(cut, [], `at ${width}`);
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
      `at ${width}`,
    );
    const top = await page.evaluate(() => document.querySelector('.overview').getBoundingClientRect().top);
    assert.ok(width < 1600 || top < 250, `the first timeline begins at ${top}`);
    await closed(page);
  }
});

test('a button unfolds a long comparison; only the first sentence is bold', async () => {
  const page = await opened(
    THREE,
    { ...SENTENCES, sentence: `${SENTENCES.sentence} ${SENTENCES.sentence}` },
    { viewport: { width: 800, height: 900 } },
  );
  const weight = (selector) =>
    page.evaluate((s) => getComputedStyle(document.querySelector(s)).fontWeight, selector);
  assert.equal(await weight('#headline'), '600');
  assert.equal(await weight('#headline .rest'), '400');
  assert.ok((await text(page, '#headline .rest')).startsWith(NAMES[1]));
  const height = () => page.evaluate(() => document.getElementById('headline').clientHeight);
  const before = await height();
  await page.getByRole('button', { name: 'more' }).click();
  assert.ok((await height()) > before);
  await page.getByRole('button', { name: 'less' }).click();
  assert.equal(await height(), before);
  await closed(page);
});

test('a much smaller run has its own scale, and Y puts all on one', async () => {
  const page = await opened(THREE, SENTENCES);
  const note = page.locator('.run').nth(2).locator('.note');
  assert.match(await note.innerText(), /^own scale: 1\/\d+ of the others'$/);
  assert.ok(await page.locator('.run').first().locator('.note').isHidden());
  await page.keyboard.press('y');
  assert.ok(await note.isHidden());
  assert.equal(await text(page, '#scale-button'), 'y: one scale');
  await page.locator('#scale-button').click();
  assert.ok(await note.isVisible());
  await closed(page);
  const alike = await opened(THREE.slice(0, 2));
  assert.ok(await alike.locator('#scale-button').isHidden());
  await closed(alike);
});

test('the keyboard alone reaches the timeline, goes through its allocations, pins one and unpins it', async () => {
  const page = await opened([{ label: 'known', document: knownRun() }]);
  for (
    let i = 0;
    i < 40 && !(await page.evaluate(() => document.activeElement.className === 'canvases'));
    i++
  )
    await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'solid');
  for (const [key, name] of [
    ['ArrowUp', 'low'],
    ['ArrowUp', 'middle'],
    ['ArrowUp', 'top'],
    ['ArrowUp', 'top'],
    ['ArrowDown', 'middle'],
  ]) {
    await page.keyboard.press(key);
    await page.waitForFunction(
      (n) => document.querySelector('#tooltip .block-name')?.textContent === n,
      name,
    );
  }
  assert.match(await text(page, '#live'), /^middle, activations, 1\.00 MiB/);
  await page.keyboard.press('Enter');
  await settled(page);
  assert.match(await text(page, '#pinned'), /Pinned allocation\s*×?\s*middle/);
  await page.keyboard.press('Escape');
  await settled(page);
  assert.equal(await page.locator('#pinned *').count(), 0);
  assert.ok(await page.locator('#tooltip').isHidden());
  const before = await picture(page);
  await page.keyboard.press('w');
  await page.keyboard.press('ArrowRight');
  await changed(page, before);
  await closed(page);
});

test('choosing a run by its tab keeps the keyboard where it is', async () => {
  const page = await opened(THREE, SENTENCES);
  await page.getByRole('tab', { name: NAMES[0] }).focus();
  await page.keyboard.press('ArrowRight');
  await settled(page);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), NAMES[1]);
  await closed(page);
});

test('all text has a contrast of at least 4.5 to 1, in light and dark', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const page = await opened(
      [{ label: 'broken', bytes: Buffer.from([0x1f, 0x8b, 8, 0, 1, 2]) }, ...THREE],
      SENTENCES,
      { colorScheme },
    );
    const box = await page.locator('.canvases').first().boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + 100);
    await settled(page);
    const weak = await page.evaluate(() => {
      const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
      const light = (colour) =>
        channels(colour)
          .slice(0, 3)
          .map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (node) =>
        node === null
          ? 'rgb(255, 255, 255)'
          : channels(getComputedStyle(node).backgroundColor)[3] === 0
            ? ground(node.parentElement)
            : getComputedStyle(node).backgroundColor;
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const found = [];
      let seen = 0;
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (!node.textContent.trim() || !parent.checkVisibility() || parent.closest('script, style'))
          continue;
        const [a, b] = [light(getComputedStyle(parent).color), light(ground(parent))].sort((x, y) => y - x);
        seen++;
        if ((a + 0.05) / (b + 0.05) < 4.5)
          found.push(`${node.textContent}: ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
      }
      return seen > 100 ? found : [`only ${seen} texts`];
    });
    assert.deepEqual(weak, [], colorScheme);
    assert.equal(await page.locator('.banner.error').count(), 1);
    await closed(page);
  }
});

test('a run that was only timed shows its times, without an empty timeline', async () => {
  const timed = { ...new Recording().document(), timing: trainingRun().timing };
  const page = await opened([{ label: 'timed', document: timed }]);
  assert.match(await text(page, '#headline'), /not recorded/);
  assert.equal(await page.locator('.canvases').count(), 0);
  assert.equal(await page.locator('.phase').count(), 4);
  assert.doesNotMatch(await text(page, '#panels'), /Alive/);
  await page.keyboard.press('w');
  await page.keyboard.press('f');
  await closed(page);
  const both = await opened([RUN, { label: 'timed', document: timed }]);
  assert.match(await text(both, '.run:nth-child(2)'), /no timeline/);
  assert.match(await text(both, '#panels .compare'), /not recorded/);
  await closed(both);
});

test('the headline of an out-of-memory run names the request that failed', async () => {
  const page = await opened([{ label: 'oom', document: trainingRun({ limitBytes: 500e6 }) }]);
  assert.match(
    await text(page, '#headline'),
    /^Out of memory at embedding \(embedding\.c:22\): 29\.30\sMiB asked for/,
  );
  await closed(page);
});

test('another device can be chosen, and the address keeps it', async () => {
  const page = await opened([{ label: 'two', document: runOnDevices() }]);
  const row = page.locator('#device-row');
  const shown = () => row.locator('[aria-pressed=true] .label').innerText();
  assert.equal(await shown(), 'cuda:1 b');
  assert.match(await text(page, '#headline'), /the peak, 4\.00\sKiB/i);
  assert.deepEqual(
    await row
      .locator('button')
      .allInnerTexts()
      .then((all) => all.length),
    3,
  );
  assert.equal(await row.locator('button').nth(2).isDisabled(), true);
  await row.locator('button').first().click();
  assert.match(await text(page, '#headline'), /the peak, 1\.50\sKiB/i);
  await page.waitForFunction(() => location.hash === '#device=0');
  await page.reload();
  await page.waitForFunction(() => document.getElementById('headline').textContent.includes('1.50'));
  assert.equal(await shown(), 'cuda:0 a');
  await page.evaluate(() => (location.hash = ''));
  await page.waitForFunction(() => document.getElementById('headline').textContent.includes('4.00'));
  await page.evaluate(() => (location.hash = 'device=2'));
  await rested(page, 50);
  assert.equal(await shown(), 'cuda:1 b', 'nothing was allocated on the third');
  await closed(page);
});

test('narrow windows do not scroll sideways, in light and dark', async () => {
  for (const [width, colorScheme] of [
    [800, 'dark'],
    [480, 'light'],
  ]) {
    const page = await opened([RUN, { ...RUN, label: 'again' }], null, {
      viewport: { width, height: 900 },
      colorScheme,
    });
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
      `at ${width}`,
    );
    await closed(page);
  }
});
