// The panels in Chromium: tree, flame graph, events, times, a pinned allocation; by mouse and by keyboard.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import {
  onTimeline,
  openBrowser,
  openPage,
  reportHtml,
  settled,
  temporaryFolder,
  treeOf,
} from '../support/pages.mjs';
import { Recording } from '../support/recording.mjs';
import { knownRun, randomRun, trainingRun } from '../support/synthetic.mjs';

const browser = await openBrowser();
if (browser === null) process.exit(77);
after(() => browser.close());
const folder = temporaryFolder();
const DOCUMENT = trainingRun({ layers: 3, warmup: 1, steps: 2 });
const RUN = { label: 'small', document: DOCUMENT };

const opened = (runs) => openPage(browser, folder, reportHtml(runs));
const text = (page, selector) => page.locator(selector).innerText();
const picture = (page) => page.evaluate(() => document.querySelector('.canvases canvas').toDataURL());
const focusedRow = (page) =>
  page.evaluate(
    () => document.activeElement.querySelector('.label')?.textContent ?? document.activeElement.tagName,
  );

async function closed(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

/** The text of the file that a button saves. */
async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
}

test('keys go through the tree: open, close, choose, and choose again', async () => {
  const page = await opened([RUN]);
  const before = await picture(page);
  await page.locator('.tree-row[tabindex="0"]').focus();
  const first = await focusedRow(page);
  await page.keyboard.press('ArrowLeft');
  await settled(page);
  assert.equal(await page.locator('.tree-row[aria-expanded=true]').count(), 0);
  await page.keyboard.press('ArrowRight');
  await settled(page);
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await focusedRow(page), first);
  await page.keyboard.press('ArrowLeft');
  assert.equal(await focusedRow(page), first);
  await page.keyboard.press('Enter');
  await settled(page);
  assert.equal(await text(page, '#pick-label'), first);
  assert.equal(await page.locator('.tree-row[aria-selected=true] .label').innerText(), first);
  assert.notEqual(await picture(page), before);
  await page.keyboard.press('Enter');
  await settled(page);
  assert.ok(await page.locator('#pick').isHidden());
  await page.keyboard.press('End');
  const last = await focusedRow(page);
  await page.keyboard.press('Home');
  assert.notEqual(await focusedRow(page), last);
  await page.keyboard.press('*');
  await settled(page);
  assert.equal(await page.locator('.tree-row[aria-level="1"][aria-expanded=false]').count(), 0);
  await closed(page);
});

test('columns sort, and say so', async () => {
  const page = await opened([RUN]);
  const names = () => page.locator('.tree-row[aria-level="1"] .label').allInnerTexts();
  const bytes = () => page.locator('.tree-row[aria-level="1"] .number:nth-child(3)').allInnerTexts();
  const head = (name) => page.locator('.tree-head [role=columnheader]', { hasText: name });
  assert.equal(await head('bytes').getAttribute('aria-sort'), 'descending');
  const byBytes = await bytes();
  await head('bytes').getByRole('button').click();
  assert.deepEqual(await bytes(), [...byBytes].reverse());
  await head('name').getByRole('button').click();
  assert.equal(await head('name').getAttribute('aria-sort'), 'ascending');
  assert.equal(await head('bytes').getAttribute('aria-sort'), 'none');
  const sorted = await names();
  assert.deepEqual(
    sorted,
    [...sorted].sort((a, b) => a.localeCompare(b)),
  );
  assert.ok(sorted.length > 3);
  await closed(page);
});

test('the tree follows the cursor and the legend, and adds up', async () => {
  const page = await opened([RUN]);
  const exact = async () =>
    Number((await page.locator('.tree-panel .panel-summary b').getAttribute('title')).replace(/\D/g, ''));
  const atPeak = await exact();
  await page.getByRole('button', { name: 'at the cursor' }).click();
  await page.locator('.canvases').focus();
  const box = await page.locator('.canvases').boundingBox();
  await page.mouse.click(box.x + box.width * 0.3, box.y + box.height / 2);
  await settled(page);
  const rows = await treeOf(page, 'category');
  const atCursor = await exact();
  assert.notEqual(atCursor, atPeak);
  assert.equal(
    rows.reduce((sum, row) => sum + row.exact, 0),
    atCursor,
  );
  for (const name of ['allocated', 'freed', 'kept']) {
    await page.getByRole('button', { name, exact: true }).click();
    await settled(page);
    assert.match(await text(page, '.tree-panel .panel-summary'), new RegExp(`${name} in the whole run`));
  }
  await closed(page);
});

test('thousands of groups are shown in chunks, and a row sums the others', async () => {
  const page = await opened([{ label: 'many', document: randomRun(4500, 5) }]);
  await page.getByRole('button', { name: 'allocated', exact: true }).click();
  await page.getByLabel('single layers').check();
  await page.locator('.tree-row[tabindex="0"]').focus();
  await page.keyboard.press('ArrowRight');
  await settled(page);
  const count = () => page.locator('.tree-row[aria-level]').count();
  const before = await count();
  const total = await page.locator('.tree-row[aria-level="1"] .number').first().getAttribute('title');
  const more = page.locator('[data-kind=more]').first();
  assert.match(await more.innerText(), /\d+ more: show \d+/);
  await more.click();
  await settled(page);
  assert.ok((await count()) > before);
  assert.equal(await page.locator('.tree-row[aria-level="1"] .number').first().getAttribute('title'), total);
  await closed(page);
});

test('the tree is saved as a table that adds up, and copied to the clipboard', async () => {
  const page = await opened([RUN]);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const { name, text: csv } = await saved(
    page,
    page.locator('.tree-panel').getByRole('button', { name: 'CSV' }),
  );
  const [head, ...lines] = csv.trimEnd().split('\r\n');
  assert.equal(name, 'small-peak.csv');
  assert.equal(head, 'category,scope,name,call stack,bytes,requested_bytes,blocks');
  const exact = Number(
    (await page.locator('.tree-panel .panel-summary b').getAttribute('title')).replace(/\D/g, ''),
  );
  assert.equal(
    lines.reduce((sum, line) => sum + Number(line.split(',').at(-3)), 0),
    exact,
  );
  await page.locator('.tree-panel').getByRole('button', { name: 'copy' }).click();
  await page.waitForFunction(() => document.querySelector('.tree-panel [role=status]').textContent !== '');
  assert.equal(await text(page, '.tree-panel [role=status]'), 'copied');
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /name +bytes +share/);
  await closed(page);
});

test('the flame graph zooms by click and key, describes frames, and isolates their blocks', async () => {
  const page = await opened([RUN]);
  await page.getByRole('tab', { name: 'Flame graph' }).click();
  await settled(page);
  const frame = page.locator('.flame-frame');
  const drawn = () => page.evaluate(() => document.querySelector('.flame-frame canvas').toDataURL());
  const whole = await drawn();
  const box = await frame.boundingBox();
  await page.mouse.move(box.x + 40, box.y + 30);
  await settled(page);
  assert.match(
    await text(page, '#tooltip'),
    /main \(main\.c:\d+\)[\s\S]*= [\d,]+ B in \d+ blocks[\s\S]*% of all/,
  );
  await frame.focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
  await settled(page);
  assert.notEqual(await drawn(), whole);
  assert.ok(await page.getByRole('button', { name: 'zoom out' }).isEnabled());
  await page.keyboard.press('Shift+Enter');
  await settled(page);
  assert.match(await text(page, '#pick-label'), /^under /);
  await page.keyboard.press('Escape');
  await settled(page);
  assert.ok(await page.getByRole('button', { name: 'zoom out' }).isDisabled());
  await page.locator('.flame-list summary').click();
  await settled(page);
  assert.match(await text(page, '.flame-list'), /all\s+[\d.]+ [MG]iB, 100\.0 %/);
  await closed(page);
});

test('the arrow keys in the list of events move the cursor everywhere, and the list follows it', async () => {
  const page = await opened([RUN]);
  await page.getByRole('tab', { name: 'Events' }).click();
  await settled(page);
  const selected = () => page.locator('.event-row[aria-selected=true] > :first-child').innerText();
  const at = Number((await selected()).replaceAll(',', ''));
  await page.locator('[role=grid][aria-label=Events]').focus();
  await page.keyboard.press('ArrowDown');
  await settled(page);
  assert.equal(Number((await selected()).replaceAll(',', '')), at + 1);
  assert.match(await text(page, '.event-details'), new RegExp(`^${(at + 1).toLocaleString('en')}: `));
  assert.ok(
    await page.evaluate(
      () =>
        document
          .getElementById(document.querySelector('[role=grid]').getAttribute('aria-activedescendant'))
          .getAttribute('aria-selected') === 'true',
    ),
  );
  await page.keyboard.press('Home');
  await settled(page);
  assert.equal(await selected(), '0');
  await page.keyboard.press('.');
  await settled(page);
  assert.equal(await selected(), '1');
  await page.keyboard.press('End');
  await settled(page);
  assert.equal(Number((await selected()).replaceAll(',', '')), DOCUMENT.events.action.length - 1);
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.ok((await page.locator('.event-row:not([hidden])').count()) < 60);
  await closed(page);
});

test('events are filtered, and the filtered ones saved with exact numbers', async () => {
  const page = await opened([RUN]);
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByLabel('Actions').selectOption({ label: 'allocations' });
  await page.getByLabel('Filter events').fill('logits');
  await settled(page);
  assert.match(await text(page, '.events-panel [role=status]'), /^3 of [\d,]+ events/);
  assert.deepEqual(
    new Set(await page.locator('.event-row[data-row]:not([hidden]) > :nth-child(6)').allInnerTexts()),
    new Set(['logits']),
  );
  const { name, text: csv } = await saved(
    page,
    page.locator('.events-panel').getByRole('button', { name: 'CSV' }),
  );
  assert.equal(name, 'small-events.csv');
  assert.equal(csv.trimEnd().split('\r\n').length, 4);
  assert.match(csv, /,allocate,20480000,20480000,logits,activation,0x/);
  await page.getByLabel('Filter events').fill('/(/');
  await settled(page);
  assert.equal(await text(page, '.events-panel [role=status]'), 'not a regular expression');
  await closed(page);
});

test('pointing at a phase highlights it in the timelines', async () => {
  const page = await opened([RUN]);
  const before = await picture(page);
  await page.locator('.phase button', { hasText: 'backward' }).focus();
  await settled(page);
  assert.notEqual(await picture(page), before);
  assert.equal(await page.locator('.phase.lit').getAttribute('data-phase'), 'backward');
  await page.locator('#open-button').focus();
  await settled(page);
  assert.equal(await page.locator('.phase.lit').count(), 0);
  await closed(page);
});

test('rates and kernels are shown with the times', async () => {
  const document = structuredClone(DOCUMENT);
  const id = (name) => document.strings.push(name) - 1;
  document.timing = { ...document.timing, flops: 4e12, stated_peak_flops: 8e13, recorder_ns_per_event: 150 };
  document.kernels = {
    name: [],
    phase: [],
    path: [],
    launches: [],
    total_ns: [],
    mean_ns: [],
    min_ns: [],
    max_ns: [],
  };
  for (let i = 0; i < 12; i++) {
    const row = {
      name: id(`kernel_${i}<float>`),
      phase: id('forward'),
      path: id('forward > layer'),
      launches: i + 1,
      total_ns: 1000 * (i + 1),
      mean_ns: 1000,
      min_ns: 900,
      max_ns: 1000,
    };
    for (const [key, value] of Object.entries(row)) document.kernels[key].push(value);
  }
  const page = await opened([{ label: 'timed', document }]);
  assert.match(
    await text(page, '.rates'),
    /tokens\s+[\d,]+ per second\s+products\s+[\d.]+ TFLOP\/s, [\d.]+ % of the stated peak\s+recorder\s+[\d.]+ % of a step/,
  );
  assert.equal(await page.locator('.kernels tbody tr').count(), 8);
  assert.match(
    await page.locator('.kernels tbody tr').first().innerText(),
    /kernel_11<float>\s+12\s+12\.0 µs\s+1\.00 µs\s+15\.4 %/,
  );
  await page.getByRole('button', { name: '4 more kernels' }).click();
  assert.equal(await page.locator('.kernels tbody tr').count(), 12);
  await closed(page);
});

test('a pinned allocation shows where it was allocated and freed, and goes to these events', async () => {
  const r = new Recording();
  r.path = ['main', 'work'];
  const block = r.alloc('weights', 'parameter', 3000);
  r.alloc('other', 'activation', 5000);
  r.path = ['main', 'cleanup'];
  r.free(block);
  const page = await opened([{ label: 'two', document: r.document() }]);
  await page.getByRole('tab', { name: 'Events' }).click();
  await settled(page);
  await page.locator('[role=grid][aria-label=Events]').focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.match(
    await text(page, '#pinned'),
    /weights[\s\S]*allocated event 0[\s\S]*work[\s\S]*freed event 2[\s\S]*cleanup/,
  );
  await page.locator('#pinned').getByRole('button', { name: 'event 2' }).click();
  await settled(page);
  assert.equal(await page.locator('.event-row[aria-selected=true] > :first-child').innerText(), '2');
  await closed(page);
});

test('legend and tooltip say how categories became known, if the file does', async () => {
  const document = knownRun();
  document.events.certainty = document.events.action.map((_, i) => [2, 1, 0][i] ?? 0);
  const page = await opened([{ label: 'known', document }]);
  const line = page.locator('#legend').getByText('categories at the peak');
  assert.equal(
    await line.innerText(),
    'categories at the peak: 1.00 MiB named, 1.00 MiB by rule, 1.00 MiB unknown',
  );
  for (const [share, said] of [
    [1 / 6, 'parameters (named)'],
    [1 / 2, 'activations (by rule)'],
    [5 / 6, 'temporaries'],
  ]) {
    const at = await onTimeline(page, 0.6, share);
    await page.mouse.move(at.x, at.y);
    assert.equal(await page.locator('#tooltip dd').first().innerText(), said);
  }
  await page.getByLabel('Colour by').selectOption('scope');
  await settled(page);
  assert.ok(await line.isHidden());
  await closed(page);
  const other = await opened([{ label: 'other', document: knownRun() }]);
  assert.doesNotMatch(await text(other, '#legend'), /categories at/);
  await closed(other);
});

test('the account of the device that is shown is beside the timeline, if the file has one', async () => {
  const document = {
    ...DOCUMENT,
    owners: {
      accounts: [
        {
          device: 0,
          used_at_start_bytes: 730 * 2 ** 20,
          used_at_peak_bytes: 844 * 2 ** 20,
          used_at_end_bytes: 844 * 2 ** 20,
          context_bytes: 666 * 2 ** 20,
        },
      ],
      rows: [{ name: 'PyTorch', device: 0, peak_bytes: 178 * 2 ** 20, end_bytes: 178 * 2 ** 20 }],
    },
  };
  const page = await opened([{ label: 'live', document }]);
  assert.match(await text(page, '#owners'), /peak\s+844 MiB = PyTorch 178 \+ context 666 \+ unexplained 0/);
  await closed(page);
  const without = await opened([RUN]);
  assert.ok(await without.locator('#owners').isHidden());
  await closed(without);
});

/** The boxes of the lines of a text. */
const linesOf = (locator) =>
  locator.evaluateAll((spans) => spans.map((span) => span.getClientRects().length));

test('a narrow column breaks paths, but never inside a line number', async () => {
  const recording = new Recording();
  recording.path = ['main', ...Array.from({ length: 9 }, (_, i) => `${'deep/'.repeat(i + 3)}module${i}`)];
  recording.alloc('w', 'parameter', 4096);
  const page = await opened([{ label: 'paths', document: recording.document() }]);
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByRole('grid', { name: 'Events' }).press('End');
  await settled(page);
  const lines = page.locator('.event-details .path-line');
  for (let width = 150; width < 420; width += 9) {
    await page.evaluate((px) => {
      const list = document.querySelector('.event-details .frames');
      list.style.width = `${px}px`;
    }, width);
    assert.ok((await lines.count()) >= 9);
    assert.deepEqual(new Set(await linesOf(lines)), new Set([1]), `${width} px`);
  }
  await closed(page);
});

test('the panels below take the whole width where the column on the right has ended', async () => {
  const recording = new Recording();
  recording.alloc('w', 'parameter', 4096);
  const page = await opened([{ label: 'one block', document: recording.document() }]);
  const right = (selector) => page.locator(selector).evaluate((part) => part.getBoundingClientRect().right);
  const reaches = (selector) =>
    page.waitForFunction(
      (part) =>
        Math.abs(
          document.querySelector('#dock').getBoundingClientRect().right -
            document.querySelector(part).getBoundingClientRect().right,
        ) < 1,
      selector,
    );
  await reaches('#side');
  await page.evaluate(() => {
    document.querySelector('#largest').style.minHeight = '900px';
  });
  await reaches('#runs');
  assert.ok((await right('#dock')) < (await right('#side')));
  await closed(page);
});

test('a forecast has its range, and long names of kernels do not widen the page', async () => {
  const document = structuredClone(DOCUMENT);
  const id = (text) => document.strings.push(text) - 1;
  document.kernels = {
    name: [id(`elementwise_kernel<${'TrivialOffsetCalculator<1, unsigned int>, '.repeat(12)}>`)],
    phase: [id('forward')],
    path: [id('forward > layer')],
    launches: [3],
    total_ns: [30],
    mean_ns: [10],
    min_ns: [9],
    max_ns: [12],
  };
  document.forecast = {
    card: 'h100-80',
    bound: 'the GPU',
    is_calibrated: false,
    n_steps: 20,
    step: 4,
    step_ms: 28.9,
    low_ms: 21.8,
    high_ms: 43.8,
    gpu_ms: 28.3,
    host_ms: 0.0022,
    utilisation: 0.23,
    guessed_share: 0,
    uncompared_share: 0.37,
    host_factor: 0.54,
  };
  document.clock = { ...document.clock, source: 'forecast' };
  const page = await opened([{ label: 'forecast', document }]);
  const timing = await text(page, '.timing');
  assert.match(timing, /^Forecast time per step/);
  assert.match(
    timing,
    /by a model: the GPU is busy for 28\.3 ms in a step, which takes 21\.8 ms to 43\.8 ms, likely 28\.9 ms/,
  );
  assert.match(timing, /the host works for 2\.20 µs/);
  assert.match(timing, /bound by the GPU\. 0 % of the card's time is guessed, 37 % is in kernels/);
  assert.match(timing, /the forecast's clock/);
  assert.ok((await page.locator('.kernel-name wbr').count()) > 0, 'names are broken behind their parts');
  const [card, side] = await page.evaluate(() =>
    ['.timing', '#side'].map((at) => document.querySelector(at).getBoundingClientRect().right),
  );
  assert.ok(card <= side, `${card} > ${side}`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  await closed(page);
});
