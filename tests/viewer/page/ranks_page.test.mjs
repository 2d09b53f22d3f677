// The page of ranks in headless Chromium: from the library's writer, from the command line, dropped, hostile.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { makeDigest, makeDigests, ranksDocument } from '../support/digests.mjs';
import { closed, openPage, reportHtml, settled, text } from '../support/pages.mjs';
import { browser, folder, opened, RUN } from '../support/page_run.mjs';

const WORLD = { label: 'ranks', document: ranksDocument(makeDigests(64, 20)) };
const HEADS = ['Rank', 'Role', 'Node', 'Peak', 'Reserved', 'Left on the device', 'What stands out'];
const heat = (page) => page.evaluate(() => document.querySelector('.rank-frame canvas').toDataURL());

/** Drops files, given as [name, text], on the page. */
async function drop(page, files) {
  const data = await page.evaluateHandle((list) => {
    const transfer = new DataTransfer();
    for (const [name, content] of list) transfer.items.add(new File([content], name));
    return transfer;
  }, files);
  await page.dispatchEvent('body', 'drop', { dataTransfer: data });
}

test('ranks open with their headline, a heat map, timelines, a comparison and a table', async () => {
  const page = await opened([WORLD]);
  assert.match(
    await text(page, '#headline'),
    /^64 ranks: rank 11 is the fullest .* Rank 11 ran out of memory\./,
  );
  assert.match(
    await text(page, '#ranks'),
    /Explained[\s\S]*Rank 5: The loop at train \(train\.py:80-90\) keeps 256\.00 MiB/,
  );
  assert.equal(await page.locator('.rank-table tbody tr').count(), 7);
  // No rank has a range, so the table has no column of ranges; heads are aligned with their numbers.
  const heads = page.locator('.rank-table thead th');
  assert.deepEqual(await heads.allInnerTexts(), HEADS);
  assert.equal(await heads.nth(HEADS.indexOf('Peak')).getAttribute('class'), 'number');
  assert.match(
    await text(page, '#rank-pair'),
    /rank 11 against ranks 16–31[\s\S]*\+2\.00 GiB Block\.forward \(model\.py:40\)/,
  );
  assert.match(await text(page, '#rank-pair'), /tidemark compare rank16\.json\.gz rank11\.json\.gz/);
  assert.match(await text(page, '#ranks'), /1 rank without a place on this clock/);
  assert.ok(await page.locator('#page').isHidden());
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector('.rank-frame canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  assert.ok(colours >= 5, `${colours} colours`);
  await closed(page);
});

test('pointing says the figures; clicks and keys choose two; the choices change the rows', async () => {
  const page = await opened([WORLD]);
  const box = await page.locator('.rank-frame').boundingBox();
  await page.mouse.move(box.x + box.width * 0.48, box.y + (box.height * 2.5) / 7);
  assert.match(
    await text(page, '#tooltip'),
    /rank 11\s+step 9: 79\.00 GiB[\s\S]*ran out of memory asking for 2\.00 GiB/,
  );
  await page.mouse.click(box.x + 5, box.y + (box.height * 5.5) / 7);
  await page.mouse.click(box.x + 5, box.y + (box.height * 6.5) / 7);
  assert.match(
    await text(page, '#rank-pair'),
    /rank 63 against ranks 48–62[\s\S]*\+8\.00 MiB Head\.forward \(model\.py:71\)/,
  );
  await page.locator('.rank-frame').focus();
  for (const key of ['ArrowUp', 'ArrowRight', 'ArrowUp']) await page.keyboard.press(key);
  assert.match(await text(page, '#live'), /ranks 32–47\. step 1: 16\.00 GiB/);
  await page.keyboard.press('Enter');
  assert.match(await text(page, '#rank-pair'), /ranks 32–47 against rank 63/);
  const bySize = await heat(page);
  await page.getByLabel('Colours', { exact: true }).selectOption('order');
  await settled(page);
  const before = await heat(page);
  assert.notEqual(before, bySize);
  await page.getByLabel('Order of ranks').selectOption('peak');
  await settled(page);
  assert.notEqual(await heat(page), before);
  assert.match(await page.locator('.rank-table tbody th').first().innerText(), /^rank 11$/);
  await page.getByLabel('Group ranks by').selectOption('pp');
  await page.getByRole('button', { name: 'equal ranks folded' }).click();
  await settled(page);
  assert.equal(await page.locator('.rank-table tbody tr').count(), 64);
  await closed(page);
});

for (const [width, colorScheme] of [
  [1600, 'light'],
  [420, 'dark'],
])
  test(`1,024 ranks fit a window of ${width} pixels without accessibility violations, ${colorScheme}`, async () => {
    const document = ranksDocument(makeDigests(1024, 20));
    const page = await opened([{ label: 'ranks', document }], null, {
      colorScheme,
      viewport: { width, height: 1000 },
    });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    assert.doesNotMatch(await text(page, 'body'), /undefined|NaN/);
    await page.getByRole('button', { name: 'equal ranks folded' }).click();
    await settled(page);
    assert.equal(await page.locator('.rank-table tbody tr').count(), 1024);
    await closed(page);
  });

test('the writer of the library and the command line make pages that open', async () => {
  const digests = makeDigests(2, 3);
  const written = join(folder, 'written.html');
  execFileSync(process.env.TIDEMARK_WRITE_REPORT, [
    written,
    '--ranks',
    ...digests.map((digest) => JSON.stringify(digest)),
  ]);
  const pages = [written];
  if (existsSync(process.env.TIDEMARK_CLI ?? '')) {
    const files = digests.map((digest, i) => {
      const path = join(folder, `rank${i}.digest.json.gz`);
      writeFileSync(path, gzipSync(JSON.stringify(digest)));
      return path;
    });
    pages.push(join(folder, 'viewed.html'));
    execFileSync(process.env.TIDEMARK_CLI, ['view', ...files, '-o', pages[1]], { stdio: 'ignore' });
  }
  for (const path of pages) {
    const page = await openPage(browser, folder, readFileSync(path, 'utf8'));
    assert.match(await text(page, '#headline'), /^2 ranks: rank 0 is the fullest/);
    await closed(page);
  }
});

test('dropped digests are shown; hostile ones are refused with a sentence; markup stays text', async () => {
  const page = await opened([RUN]);
  const marked = makeDigest(3, 8, 4);
  marked.rank.node = '<img src=x onerror=alert(1)>';
  marked.devices[0].rows[0].line = '<b>x</b>';
  const bad = makeDigest(4, 8, 4);
  bad.devices[0].rows[0].bytes = -1;
  await drop(page, [
    ['a.digest.json', JSON.stringify(marked)],
    ['b.digest.json', JSON.stringify(makeDigest(0, 8, 4))],
    ['bad.digest.json', JSON.stringify(bad)],
    ['cut.digest.json', JSON.stringify(bad).slice(0, 300)],
  ]);
  await page.waitForSelector('.rank-table');
  assert.match(
    await text(page, '#banners'),
    /bad\.digest: byte \d+, devices\[0\]\.rows\[0\]\.bytes: -1 is out of range: 0 to \d+ is allowed\./,
  );
  assert.match(
    await text(page, '#banners'),
    /cut\.digest: byte 300, rank\.groups\[0\]: an object was expected, not the end of the file\./,
  );
  assert.match(await text(page, '#ranks'), /<img src=x onerror=alert\(1\)>/);
  assert.equal(await page.locator('#ranks img, #ranks li b').count(), 0);
  await drop(page, [['run.json', JSON.stringify(RUN.document)]]);
  await page.waitForSelector('#page:not([hidden])');
  assert.ok(await page.locator('#ranks').isHidden());
  await closed(page);
});

test('64 ranks and 1,000 steps are shown whole, and answer the pointer', async () => {
  const page = await opened([{ label: 'ranks', document: ranksDocument(makeDigests(64, 1000)) }]);
  assert.equal(await text(page, '#banners'), '');
  await page.getByRole('button', { name: 'equal ranks folded' }).click();
  await settled(page);
  assert.equal(await page.locator('.rank-table tbody tr').count(), 64);
  const box = await page.locator('.rank-frame').boundingBox();
  await page.mouse.move(box.x + box.width - 1, box.y + box.height - 1);
  assert.match(await text(page, '#tooltip'), /rank 63\s+step 999: /);
  await closed(page);
});
