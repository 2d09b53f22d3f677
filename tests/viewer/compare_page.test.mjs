// Several runs in the page: the comparison fits its box, many runs are small pictures, the base is chosen.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closed, settled } from './pages.mjs';
import { opened } from './page_run.mjs';
import { trainingRun } from './synthetic.mjs';

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
