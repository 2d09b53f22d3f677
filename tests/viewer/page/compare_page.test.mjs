// Several runs in the page: the comparison fits its box, many runs are small pictures, the base is chosen.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closed, rested, settled, text } from '../support/pages.mjs';
import { opened } from '../support/page_run.mjs';
import { trainingRun } from '../support/synthetic.mjs';

const NAMES = ['the_first_run_with_a_long_name_fp32', 'another_run_with_a_longer_name_bf16_mixed'];
const runsOf = (n) =>
  Array.from({ length: n }, (_, i) => ({
    label: `${NAMES[i % 2]}_${i}`,
    document: trainingRun({ warmup: 0, steps: 1, layers: 2 + (i % 3) }),
  }));

test('the comparison of two runs fits its card at every width', async () => {
  const page = await opened(runsOf(2));
  for (const width of [1600, 1200, 900, 720, 480]) {
    await page.setViewportSize({ width, height: 900 });
    await settled(page);
    const [inner, outer, body] = await page
      .locator('#panels .scroll')
      .evaluate((box) => [box.scrollWidth, box.clientWidth, document.documentElement.scrollWidth]);
    assert.ok(inner <= outer, `${inner} in ${outer} of a window of ${width}`);
    assert.ok(body <= width, `${body} in a window of ${width}`);
  }
  await closed(page);
});

test('six runs are small pictures side by side with one scale, nothing is clipped, and the table scrolls', async () => {
  const page = await opened(runsOf(6));
  for (const width of [1600, 1200, 720]) {
    await page.setViewportSize({ width, height: 900 });
    await settled(page);
    const [body, boxes, table] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      [...document.querySelectorAll('#runs .canvases')].map((frame) => {
        const { left, right, top } = frame.getBoundingClientRect();
        return { left, right, top };
      }),
      (({ scrollWidth, clientWidth, tabIndex }) => ({ scrollWidth, clientWidth, tabIndex }))(
        document.querySelector('#panels .scroll'),
      ),
    ]);
    assert.ok(body <= width, `${body} in a window of ${width}`);
    assert.equal(boxes.length, 6);
    assert.ok(boxes.every(({ left, right }) => left >= 0 && right <= width));
    const inFirstRow = boxes.filter(({ top }) => Math.abs(top - boxes[0].top) < 4).length;
    assert.equal(inFirstRow, width === 1600 ? 3 : width === 1200 ? 2 : 1);
    assert.ok(table.tabIndex === 0 && table.clientWidth > 0);
  }
  assert.match(await text(page, '#runs .run:nth-of-type(2) h2'), /./);
  assert.equal(await page.locator('#runs .note:visible').count(), 0);
  await closed(page);
});

test('another base is chosen in the Comparison card, and a link keeps it', async () => {
  const page = await opened(runsOf(3), { sentence: 'as given' });
  const first = () => text(page, '#panels .compare thead th >> nth=0');
  assert.equal(await text(page, '#headline'), 'as given');
  const before = await first();
  await page.getByLabel('base', { exact: true }).selectOption({ index: 2 });
  await settled(page);
  assert.notEqual(await first(), before);
  assert.match(await text(page, '#headline'), /(peaks as|lowers|raises)/);
  assert.equal(await page.getByLabel('base', { exact: true }).inputValue(), '0');
  await rested(page, 400);
  assert.match(await page.evaluate(() => location.hash), /base=2/);
  const other = await first();
  await page.reload();
  await page.waitForSelector('html[data-ready=yes]', { state: 'attached' });
  assert.equal(await first(), other);
  await page.getByLabel('base', { exact: true }).selectOption({ index: 1 });
  await settled(page);
  assert.equal(await first(), before);
  assert.equal(await text(page, '#headline'), 'as given');
  await closed(page);
});
