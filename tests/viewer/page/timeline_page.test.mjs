// The timeline in the page: its strip, its range, its legend, its lanes, its picture.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { openBrowser, openPage, reportHtml, rested, temporaryFolder } from '../support/pages.mjs';
import { Recording } from '../support/recording.mjs';
import { trainingRun } from '../support/synthetic.mjs';

const browser = await openBrowser();
if (browser === null) process.exit(77);
after(() => browser.close());
const folder = temporaryFolder();
const RUN = { label: 'small-train-fp32', document: trainingRun({ warmup: 1, steps: 4 }) };

const opened = (runs, options = {}) => openPage(browser, folder, reportHtml(runs), options);
const text = (page, selector) => page.locator(selector).innerText();
const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));

async function closed(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

/** Drags on the strip from one share of its width to another. */
async function dragStrip(page, from, to, { shift = false } = {}) {
  const box = await page.locator('.overview').first().boundingBox();
  const y = box.y + box.height / 2;
  if (shift) await page.keyboard.down('Shift');
  await page.mouse.move(box.x + from * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + to * box.width, y, { steps: 4 });
  await page.mouse.up();
  if (shift) await page.keyboard.up('Shift');
  await rested(page, 60);
}

/** Left end and width of the strip's window or range, as shares of the strip. */
const placeOf = (page, name) =>
  page.evaluate((name) => {
    const { style } = document.querySelector(`.overview .${name}`);
    return [parseFloat(style.left) / 100, parseFloat(style.width) / 100];
  }, name);

test('the window in the strip moves and stretches, by mouse and by keyboard', async () => {
  const page = await opened([RUN]);
  const near = (a, b) => assert.ok(Math.abs(a - b) < 0.02, `${a} and ${b}`);
  const [left, width] = await placeOf(page, 'window');
  await dragStrip(page, left + width / 2, left + width / 2 + 0.2);
  let [nowLeft, nowWidth] = await placeOf(page, 'window');
  near(nowLeft, left + 0.2);
  near(nowWidth, width);
  await dragStrip(page, nowLeft + nowWidth, nowLeft + nowWidth + 0.1);
  [nowLeft, nowWidth] = await placeOf(page, 'window');
  near(nowLeft, left + 0.2);
  near(nowWidth, width + 0.1);
  await page.locator('.overview .window').focus();
  await page.keyboard.press('ArrowLeft');
  await rested(page, 60);
  near((await placeOf(page, 'window'))[0], nowLeft - 0.1 * nowWidth);
  await page.keyboard.press('Shift+ArrowLeft');
  await rested(page, 60);
  near((await placeOf(page, 'window'))[1], nowWidth * 0.9);
  assert.match(
    await page.locator('.overview .window').getAttribute('aria-valuetext'),
    /^[\d.]+ \w+ to [\d.]+ \w+ of [\d.]+ \w+$/,
  );
  await closed(page);
});

test('dragging beside the window, or with Shift, chooses a range of states; Escape clears it', async () => {
  const page = await opened([RUN]);
  const nEvents = RUN.document.events.action.length;
  const [left] = await placeOf(page, 'window');
  await dragStrip(page, left - 0.15, left - 0.05);
  const [rangeLeft, rangeWidth] = await placeOf(page, 'range');
  assert.ok(
    Math.abs(rangeLeft - left + 0.15) < 0.02 && Math.abs(rangeWidth - 0.1) < 0.02,
    `${rangeLeft} ${rangeWidth}`,
  );
  await page.keyboard.press('t');
  await page.keyboard.press('f');
  await rested(page, 80);
  await dragStrip(page, 0.25, 0.5);
  await rested(page, 400);
  const [run, first, last] = /range=([\d.]+)/
    .exec(await hash(page))[1]
    .split('.')
    .map(Number);
  assert.equal(run, 0);
  assert.ok(
    Math.abs(first / nEvents - 0.25) < 0.01 && Math.abs(last / nEvents - 0.5) < 0.01,
    `${first} to ${last} of ${nEvents}`,
  );
  await page.locator('.overview').dblclick({ position: { x: 300, y: 17 } });
  await rested(page, 60);
  const [windowLeft, windowWidth] = await placeOf(page, 'window');
  assert.ok(
    Math.abs(windowLeft - 0.25) < 0.02 && Math.abs(windowWidth - 0.25) < 0.03,
    `${windowLeft} ${windowWidth}`,
  );
  await page.keyboard.press('Escape');
  await rested(page, 60);
  assert.ok(await page.locator('.overview .range').isHidden());
  await closed(page);
});

test('dragging with Shift in the timeline chooses a range too, and does not pan', async () => {
  const page = await opened([RUN]);
  const [left] = await placeOf(page, 'window');
  const box = await page.locator('.canvases').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 200, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 80, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await rested(page, 80);
  assert.ok(await page.locator('.overview .range').isVisible());
  assert.equal((await placeOf(page, 'window'))[0], left);
  assert.equal(await page.locator('#pinned *').count(), 0);
  await closed(page);
});

test('the legend hides a group and shows one alone, by mouse and by keyboard, and the peak is that of the remaining groups', async () => {
  const page = await opened([RUN]);
  const button = (name) => page.locator('#legend button.group', { hasText: name });
  const pressed = async () => {
    await rested(page, 60);
    return page
      .locator('#legend button.group')
      .evaluateAll((all) =>
        all
          .filter((each) => each.getAttribute('aria-pressed') === 'true')
          .map((each) => each.querySelector('.label').textContent),
      );
  };
  const all = await pressed();
  await button('optimizer state').click();
  assert.deepEqual(
    await pressed(),
    all.filter((name) => name !== 'optimizer state'),
  );
  await button('parameters').click({ modifiers: ['Alt'] });
  assert.deepEqual(await pressed(), ['parameters']);
  await button('parameters').focus();
  await page.keyboard.press('Alt+Enter');
  assert.deepEqual(await pressed(), all);
  await page.keyboard.press('Enter');
  assert.deepEqual(
    await pressed(),
    all.filter((name) => name !== 'parameters'),
  );
  await rested(page, 400);
  assert.match(await hash(page), /hide=parameter\b/);
  await closed(page);
});

test('colours by scope, call stack, size and lifetime have their own legends; many groups are behind a button', async () => {
  const r = new Recording();
  for (let i = 0; i < 30; i++) {
    r.path = [`caller${i}`];
    r.alloc('x', 'unknown', (40 - i) << 16);
  }
  const page = await opened([RUN]);
  const select = page.locator('#legend select');
  for (const [value, pattern] of [
    ['scope', /layer \* › attention/],
    ['stack', /attention \(attention\.c:\d+\)/],
    ['size', /16 – 128 MiB/],
    ['age', /never freed/],
    ['category', /gradients/],
  ]) {
    await select.selectOption(value);
    await page.waitForFunction(
      (source) => new RegExp(source).test(document.getElementById('legend').innerText),
      pattern.source,
    );
  }
  await closed(page);
  const many = await opened([{ label: 'many', document: r.document() }]);
  assert.equal(await many.locator('#legend select').inputValue(), 'stack', 'no block has a category');
  assert.equal(await many.locator('#legend button.group').count(), 12);
  await many.getByRole('button', { name: 'all 30' }).click();
  assert.equal(await many.locator('#legend button.group').count(), 30);
  await closed(many);
});

test('pointing at a phase in a lane highlights that phase, and leaving it ends that', async () => {
  const page = await opened([RUN]);
  const picture = () => page.evaluate(() => document.querySelector('.canvases canvas').toDataURL());
  const before = await picture();
  const box = await page.locator('.canvases').boundingBox();
  await page.mouse.move(box.x + 400, box.y + box.height - 23 * 3 + 10);
  await rested(page, 120);
  assert.notEqual(await picture(), before);
  await page.mouse.move(5, 5);
  await rested(page, 120);
  assert.equal(await picture(), before);
  await closed(page);
});

test('the picture is saved with title, legend and timelines', async () => {
  const page = await opened([RUN]);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'PNG' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'small-train-fp32.png');
  const bytes = readFileSync(await download.path());
  const canvas = await page
    .locator('.canvases canvas')
    .first()
    .evaluate((each) => [each.width, each.height]);
  assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
  assert.ok(bytes.readUInt32BE(16) > canvas[0] && bytes.readUInt32BE(20) > canvas[1] + 60);
  page.problems = page.problems.filter((problem) => !problem.startsWith('request: blob:'));
  await closed(page);
});

test('the cursor of one run is shown at the same place of the others', async () => {
  const page = await opened([
    RUN,
    { label: 'half', document: trainingRun({ warmup: 1, steps: 4, bytes: 2 }) },
  ]);
  const overlay = () =>
    page.evaluate(() =>
      [...document.querySelectorAll('.canvases')].map((frame) =>
        frame.querySelectorAll('canvas')[1].toDataURL(),
      ),
    );
  const before = await overlay();
  const box = await page.locator('.canvases').first().boundingBox();
  await page.mouse.move(box.x + 500, box.y + 60);
  await rested(page, 120);
  const after = await overlay();
  assert.ok(after[0] !== before[0] && after[1] !== before[1]);
  assert.match(await text(page, '#legend'), /at the cursor of/);
  await closed(page);
});

/** A run of 1 GiB of parameters under a curve of 32 MiB, on a card of 80 GiB. */
function lowCurve() {
  const r = new Recording();
  r.alloc('weight', 'parameter', 2 ** 30);
  for (let step = 0; step < 40; step++) {
    const block = r.alloc('curve', 'activation', (step % 2 === 0 ? 32 : 8) * 2 ** 20);
    r.event('mark', {});
    r.free(block);
  }
  r.event('mark', {});
  const document = r.document();
  document.devices = [{ ...document.devices[0], kind: 'cuda', total_bytes: 80 * 2 ** 30 }];
  return { label: 'low', document };
}

/** The text of the tooltip at a share of the plot's width and height. */
async function tooltipAt(page, x, height) {
  const box = await page.locator('.canvases').boundingBox();
  const plot = { w: box.width - 84, h: box.height - 34 };
  await page.mouse.move(box.x + 74 + x * plot.w, box.y + 10 + (1 - height) * plot.h);
  await rested(page, 80);
  return page.locator('#tooltip').innerText();
}

test('hidden parameters leave the picture to the rest, and lines that flatten it come back by key and button', async () => {
  const page = await opened([lowCurve()]);
  const button = page.locator('#lines-button');
  assert.equal(await button.innerText(), 'limits: left out');
  assert.match(await tooltipAt(page, 0.5, 0.5), /^weight/);
  await page.locator('#legend button.group', { hasText: 'parameters' }).click();
  await rested(page, 80);
  assert.match(await tooltipAt(page, 0.012, 0.5), /^curve\s/);
  await button.click();
  await rested(page, 80);
  assert.equal(await button.innerText(), 'limits: in the picture');
  assert.match(await tooltipAt(page, 0.012, 0.5), /allocated/);
  await rested(page, 300);
  assert.match(await hash(page), /lines=all/);
  await page.keyboard.press('c');
  await rested(page, 80);
  assert.match(await tooltipAt(page, 0.012, 0.5), /^curve\s/);
  await closed(page);
});

test('the wheel with Shift and keys zoom the memory scale, and F shows it whole again', async () => {
  const page = await opened([lowCurve()]);
  await page.keyboard.press('t');
  assert.match(await tooltipAt(page, 0.5, 0.9), /^weight/);
  await page.keyboard.down('Shift');
  for (let i = 0; i < 12; i++) await page.mouse.wheel(0, -300);
  await page.keyboard.up('Shift');
  assert.match(await tooltipAt(page, 0.5, 0.5), /^weight/);
  for (let i = 0; i < 40 && /^weight/.test(await tooltipAt(page, 0.5, 0.03)); i++)
    await page.keyboard.press('Shift+ArrowUp');
  assert.doesNotMatch(await tooltipAt(page, 0.5, 0.03), /^weight/); // it fills the bottom of the whole scale
  await page.keyboard.press('f');
  await rested(page, 80);
  assert.match(await tooltipAt(page, 0.5, 0.3), /^weight/);
  await page.keyboard.press('Shift+KeyW');
  await page.keyboard.press('Shift+KeyS');
  await rested(page, 80);
  assert.match(await tooltipAt(page, 0.5, 0.3), /^weight/);
  await closed(page);
});

test("the cursor's figures follow a zoom by the wheel at once", async () => {
  const page = await opened([RUN]);
  const legend = () => page.locator('#legend').innerText();
  await tooltipAt(page, 0.21, 0.5);
  for (let i = 0; i < 4; i++) {
    await page.mouse.wheel(0, -280);
    await rested(page, 250);
    const [after, said] = [await legend(), await page.locator('#tooltip').innerText()];
    assert.match(said, /\w/);
    await tooltipAt(page, 0.21, 0.5);
    assert.equal(await legend(), after);
    assert.equal(await page.locator('#tooltip').innerText(), said);
  }
  await closed(page);
});
