// The page under axe-core: every panel, light and dark, with one run, several and none; and the page used
// only by keyboard.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, test } from 'node:test';
import { makeDigests, ranksDocument } from '../support/digests.mjs';
import { openBrowser, openPage, reportHtml, settled, temporaryFolder } from '../support/pages.mjs';
import { runOnDevices, trainingRun } from '../support/synthetic.mjs';

const browser = await openBrowser();
let source = null;
try {
  source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
} catch {
  console.log('skipped: axe-core is absent; run npm ci in tests/viewer');
}
if (browser === null || source === null) {
  await browser?.close();
  process.exit(77);
}
after(() => browser.close());
const folder = temporaryFolder();
const RUN = { label: 'small-train-fp32', document: trainingRun({ warmup: 1, steps: 2 }) };
const OTHER = { label: 'small-train-bf16', document: trainingRun({ warmup: 1, steps: 2, bytes: 2 }) };
const ENDED = { label: 'small-oom', document: trainingRun({ limitBytes: 500e6 }) };

/** The violations that axe-core reports, as "rule: element". */
async function violations(page) {
  await page.evaluate(source);
  const found = await page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ['violations'] })).violations.flatMap((rule) =>
      rule.nodes.map(
        (node) => `${rule.id}: ${node.target.join(' ')} ${node.failureSummary?.split('\n')[1]?.trim() ?? ''}`,
      ),
    ),
  );
  return found;
}

async function check(runs, options, prepare = async () => {}) {
  const page = await openPage(browser, folder, reportHtml(runs), options);
  await prepare(page);
  await settled(page);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

for (const colorScheme of ['light', 'dark']) {
  test(`no violation in the page of ranks, ${colorScheme}`, () =>
    check([{ label: 'ranks', document: ranksDocument(makeDigests(32, 8)) }], { colorScheme }));

  test(`no violation in any panel of one run, ${colorScheme}`, async () => {
    const page = await openPage(browser, folder, reportHtml([RUN]), { colorScheme });
    const n = await page.locator('#dock-tabs [role=tab]:visible').count();
    assert.ok(n >= 2);
    for (let i = 1; i <= n; i++) {
      await page.keyboard.press(String(i));
      await settled(page);
      assert.deepEqual(await violations(page), [], `panel ${i}`);
    }
    await page.context().close();
  });

  test(`no violation with several devices, ${colorScheme}`, () =>
    check([{ label: 'two', document: runOnDevices() }], { colorScheme }));

  test(`no violation with several runs and their differences, ${colorScheme}`, () =>
    check([RUN, OTHER, ENDED], { colorScheme }, async (page) => {
      await page.keyboard.press('5');
    }));
}

test('no violation in the empty page, with a banner, in the help, with something pinned and something searched for', async () => {
  await check([], {});
  await check([{ label: 'broken', bytes: Buffer.from([0x1f, 0x8b, 8, 0, 1, 2]) }, ENDED], {});
  await check([RUN], {}, (page) => page.keyboard.press('?'));
  await check([RUN], {}, async (page) => {
    await page.locator('.canvases').first().focus();
    await page.keyboard.press('ArrowUp');
    await settled(page);
    await page.keyboard.press('Enter');
    await page.keyboard.press('/');
    await page.keyboard.type('attn');
  });
});

test('every control can be reached with Tab and shows that it has the focus', async () => {
  const page = await openPage(browser, folder, reportHtml([RUN]));
  const wanted = await page.evaluate(
    () =>
      [...document.querySelectorAll('button, select, input, summary, [tabindex="0"]')].filter(
        (node) => node.checkVisibility() && node.tabIndex >= 0 && !node.disabled,
      ).length,
  );
  const seen = new Set();
  for (let i = 0; i < wanted + 5; i++) {
    await page.keyboard.press('Tab');
    const focus = await page.evaluate(() => {
      const node = document.activeElement;
      if (node === null || node === document.body) return null;
      node.dataset.seen ??= String(Math.random());
      const style = getComputedStyle(node);
      return {
        id: node.dataset.seen,
        shown: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
        text: node.outerHTML.slice(0, 80),
      };
    });
    if (focus === null) continue;
    assert.ok(focus.shown, focus.text);
    seen.add(focus.id);
  }
  assert.ok(seen.size >= wanted, `${seen.size} of ${wanted}`);
  await page.context().close();
});
