// The frame of the page in Chromium: search, keys, panels, the memory map, differences, and the address that
// restores all of it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openBrowser, openPage, reportHtml, settled, temporaryFolder } from '../support/pages.mjs';
import { trainingRun } from '../support/synthetic.mjs';

const browser = await openBrowser();
if (browser === null) process.exit(77);
after(() => browser.close());
const folder = temporaryFolder();
const RUN = { label: 'small-train-fp32', document: trainingRun({ warmup: 1, steps: 2 }) };
const OTHER = { label: 'small-train-bf16', document: trainingRun({ warmup: 2, steps: 2, bytes: 2 }) };

const opened = (runs) => openPage(browser, folder, reportHtml(runs));
const text = (page, selector) => page.locator(selector).innerText();
const picture = (page) => page.evaluate(() => document.querySelector('.canvases canvas').toDataURL());

async function closed(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

test('a search dims all other blocks, sums its result, goes to the next with Enter, and ends with Escape', async () => {
  const page = await opened([RUN]);
  const before = await picture(page);
  await page.keyboard.press('/');
  await page.keyboard.type('exp_avg');
  await settled(page);
  assert.notEqual(await picture(page), before);
  assert.match(
    await text(page, '#pick'),
    /exp_avg\s+[\d.]+ MiB \([\d.]+ %\) in \d+ alive at the peak; [\d,]+ in all/,
  );
  await page.keyboard.press('Enter');
  await settled(page);
  assert.match(await text(page, '#pinned'), /exp_avg/);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await settled(page);
  assert.ok(await page.locator('#pick').isHidden());
  assert.equal(await page.locator('#pinned *').count(), 0);
  await page.mouse.move(5, 5);
  await page.keyboard.press('/');
  await page.keyboard.type('/((/');
  await settled(page);
  assert.equal(
    await page.evaluate(() => document.getElementById('search-input').validationMessage),
    'not a regular expression',
  );
  await closed(page);
});

test('the address brings a page back as it was', async () => {
  const page = await opened([RUN]);
  const url = page.url();
  // Each key acts on the result of the previous one: a change of the axis after zooming would undo the zoom.
  for (const key of ['t', '3', 'w', 'w', '/']) {
    await page.keyboard.press(key);
    await settled(page);
  }
  await page.keyboard.type('attn');
  await page.waitForFunction(() => location.hash.includes('find=attn') && location.hash.includes('view='));
  const hash = await page.evaluate(() => location.hash);
  const shown = await picture(page);
  const again = await page.context().newPage();
  await again.goto(`${url}${hash}`);
  await again.waitForSelector('html[data-ready=yes]', { state: 'attached' });
  await settled(again);
  assert.equal(await again.evaluate(() => document.getElementById('search-input').value), 'attn');
  assert.equal(await again.locator('#dock-tabs [aria-selected=true]').innerText(), 'Memory map');
  assert.equal(await text(again, '#axis-button'), await text(page, '#axis-button'));
  assert.equal(await again.evaluate(() => location.hash), hash);
  assert.equal(await picture(again), shown);
  await closed(page);
});

test('an address that means nothing here does no harm', async () => {
  const page = await opened([RUN]);
  await page.evaluate(
    () => (location.hash = '#cursor=0.99999999&block=7.7&range=0.9.3&view=a_b&panel=cellar&run=12'),
  );
  await settled(page);
  assert.match(await text(page, '#headline'), /^The peak/);
  await closed(page);
});

test('full stop and comma step through the events, with the cursor held', async () => {
  const page = await opened([RUN]);
  // Read the address before the key is pressed: afterwards it may have changed already.
  const cursorAfter = async (key) => {
    const old = await page.evaluate(() => location.hash);
    await page.keyboard.press(key);
    await page.waitForFunction(
      (before) => location.hash.includes('cursor=') && location.hash !== before,
      old,
    );
    return Number(/cursor=0\.(\d+)/.exec(await page.evaluate(() => location.hash))[1]);
  };
  const first = await cursorAfter('.');
  assert.equal(await cursorAfter('.'), first + 1);
  assert.equal(await cursorAfter(','), first);
  await closed(page);
});

test('digits open the panels, and L changes between light and dark', async () => {
  const page = await opened([RUN]);
  for (const tab of await page.locator('#dock-tabs [role=tab]:visible').all()) {
    const title = await tab.innerText();
    const key = { Tree: '1', 'Flame graph': '2', 'Memory map': '3', Events: '4' }[title];
    await page.keyboard.press(key);
    await settled(page);
    assert.equal(await tab.getAttribute('aria-selected'), 'true', title);
    assert.equal(await page.locator('#dock-panels > :visible').count(), 1);
  }
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  const before = await theme();
  await page.keyboard.press('l');
  assert.notEqual(await theme(), before);
  await closed(page);
});

test('the memory map accounts for the reserved bytes, and pins by keyboard', async () => {
  const page = await opened([RUN]);
  await page.keyboard.press('3');
  await settled(page);
  await page.locator('.map-scroll').focus();
  await page.keyboard.press('ArrowRight');
  assert.ok(await page.locator('#tooltip').isVisible());
  await page.keyboard.press('Enter');
  await settled(page);
  assert.match(await text(page, '#pinned'), /Pinned allocation/);
  await closed(page);
});

test('two runs: their differences, row by row, and the strip under the timelines', async () => {
  const page = await opened([RUN, OTHER]);
  assert.match(await text(page, '.strip'), /bf16 − fp32[\s\S]*holds more/);
  await page.keyboard.press('5');
  await settled(page);
  assert.match(
    await text(page, '#panel-differences'),
    /bf16 against fp32, at the peak of each[\s\S]*only in fp32[\s\S]*in both[\s\S]*activations?|layers/,
  );
  const rows = await page.locator('#panel-differences tbody tr').count();
  assert.ok(rows > 5, String(rows));
  await page.locator('#panel-differences tbody button').first().click();
  await settled(page);
  assert.ok(await page.locator('#pick').isVisible());
  await closed(page);
});

test('the largest groups stand beside the timeline; a click shows one alone, a second all again', async () => {
  const page = await opened([RUN]);
  const row = page.locator('.largest button').first();
  assert.match(await text(page, '#largest'), /Largest at the peak[\s\S]*MiB/);
  await row.click();
  await settled(page);
  assert.equal(await page.locator('.largest button').first().getAttribute('aria-pressed'), 'true');
  assert.ok(await page.locator('#pick').isVisible());
  await page.locator('.largest button').first().click();
  await settled(page);
  assert.ok(await page.locator('#pick').isHidden());
  await closed(page);
});
