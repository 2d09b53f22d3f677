// The viewer's page in headless Chromium, opened from disk as people open it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readSnapshot } from '../../viewer/src/format.js';
import { openAllRows, openPage, reportHtml, settled, temporaryFolder, openBrowser } from './pages.mjs';
import { Recording, runOnDevices, trainingRun } from './synthetic.mjs';

const browser = await openBrowser();
if (browser === null) process.exit(77);
after(() => browser.close());
const folder = temporaryFolder();
const TRAINING = trainingRun({ warmup: 2, steps: 4 });
const RUN = {
  label: 'small-train-fp32',
  document: { ...TRAINING, run: { ...TRAINING.run, implementation: 'tidemark' } },
};

/** Three blocks at known places: the lowest is allocated first, and so on; the last state is long. */
function knownRun(names = ['low', 'middle', 'top']) {
  const r = new Recording();
  const path = names[0];
  r.within('step', 'step', 0, () => {
    r.begin('phase', path);
    names.forEach((name, i) => r.alloc(name, ['parameter', 'activation', 'temporary'][i], 2 ** 20));
    for (let i = 0; i < 9; i++) r.event('mark', {});
    r.end();
  });
  return r.document({ run: { precision: path } });
}

/** A point of the timeline, at a share of its width and of the height of the peak. */
async function onTimeline(page, x, share) {
  return page.evaluate(
    ([x, share]) => {
      const box = document.querySelector('.canvases').getBoundingClientRect();
      const plot = { x: 74, y: 10, w: box.width - 84, h: box.height - 10 - 24 - 23 * 2 };
      return { x: box.left + plot.x + x * plot.w, y: box.top + plot.y + plot.h - (share / 1.07) * plot.h };
    },
    [x, share],
  );
}

const text = (page, selector) => page.locator(selector).innerText();
const picture = (page) => page.evaluate(() => document.querySelector('.canvases canvas').toDataURL());

/** The picture once it has changed. */
async function changed(page, before) {
  for (let i = 0; i < 40; i++) {
    const now = await picture(page);
    if (now !== before) return now;
    await page.waitForTimeout(25);
  }
  assert.fail('the picture did not change');
  return '';
}

async function opened(runs, comparison = null, options = {}) {
  return openPage(browser, folder, reportHtml(runs, comparison), options);
}

async function closed(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

test('opens from disk on the step of the peak, with the peak in one sentence, nothing asked of a network', async () => {
  const page = await opened([RUN]);
  assert.match(
    await text(page, '#headline'),
    /^Peak 981\.47\sMiB allocated in step 0, backward, first reached in warm-up 0: optimizer state/,
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
  assert.match(await text(page, '#panels'), /not computed: a virtual device computes nothing/);
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
  assert.match(await text(page, '#banners'), /bf16: bf16 is emulated on the cpu/);
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

test('what is too long of the comparison is behind a button; only the first sentence is bold', async () => {
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

test('the keyboard alone reaches the timeline, goes through its allocations, pins one and lets it go', async () => {
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

test('the page without data takes at most 150 kB', () => {
  assert.ok(readFileSync(process.env.TIDEMARK_VIEWER_HTML).length <= 150_000);
});

test(
  'the command line hands the names of its comparison to the page',
  { skip: existsSync(process.env.TIDEMARK_CLI ?? '') ? false : 'TIDEMARK_CLI names no program' },
  async () => {
    const files = ['fp32', 'bf16-mixed'].map((precision) => join(folder, `small-${precision}.json.gz`));
    for (const [i, precision] of ['fp32', 'bf16-mixed'].entries()) {
      execFileSync(
        process.env.TIDEMARK_CLI,
        [
          'profile',
          '--size',
          'small',
          '--precision',
          precision,
          '--device',
          'virtual',
          '--steps',
          '1',
          '--warmup',
          '0',
          '-o',
          files[i],
        ],
        { stdio: 'ignore' },
      );
    }
    const report = join(folder, 'named.html');
    execFileSync(process.env.TIDEMARK_CLI, ['view', ...files, '-o', report], { stdio: 'ignore' });
    const page = await openPage(browser, folder, readFileSync(report, 'utf8'));
    assert.deepEqual(await page.locator('.run h2').allInnerTexts(), ['fp32', 'bf16-mixed']);
    assert.equal(await page.locator('.run h2 + span').first().innerText(), 'small-fp32');
    await closed(page);
  },
);

test('a run out of memory says where it ended', async () => {
  const page = await opened([{ label: 'oom', document: trainingRun({ limitBytes: 500e6 }) }]);
  assert.match(
    await text(page, '#headline'),
    /^Out of memory in warm-up 0, backward: 29\.30\sMiB more did not fit/,
  );
  await closed(page);
});

test('another device is chosen, and stands in the address', async () => {
  const page = await opened([{ label: 'two', document: runOnDevices() }]);
  const shown = () => page.locator('#device-select').inputValue();
  assert.deepEqual(
    [await shown(), await text(page, '#headline')],
    ['1', 'Peak 4.00\u00a0KiB allocated: no call stack 4.00\u00a0KiB.'],
  );
  await page.locator('#device-select').selectOption('0');
  assert.match(await text(page, '#headline'), /^Peak 1\.50\sKiB/);
  await page.waitForFunction(() => location.hash === '#device=0');
  await page.reload();
  await page.waitForFunction(() => document.getElementById('headline').textContent.startsWith('Peak 1.50'));
  assert.equal(await shown(), '0');
  await page.evaluate(() => (location.hash = ''));
  await page.waitForFunction(() => document.getElementById('headline').textContent.startsWith('Peak 4.00'));
  await page.evaluate(() => (location.hash = 'device=2'));
  await page.waitForTimeout(50);
  assert.equal(await shown(), '1', 'nothing was allocated on the third');
  await closed(page);
});

/**
 * The document with markup in every text that may hold any text; and, one by one, documents with markup in
 * one other text.
 */
function markedUp(document, markup) {
  const marked = structuredClone(document);
  const refused = [];
  const visit = (value, put, path) => {
    if (typeof value === 'string') {
      put(markup);
      try {
        readSnapshot(structuredClone(marked));
      } catch {
        refused.push({ label: path, document: structuredClone(marked) });
        put(value);
      }
    } else if (
      typeof value === 'object' &&
      value !== null &&
      !ArrayBuffer.isView(value) &&
      typeof value[0] !== 'number'
    ) {
      for (const key of Object.keys(value))
        visit(value[key], (other) => (value[key] = other), `${path}.${key}`);
    }
  };
  visit(marked, () => undefined, '');
  return { marked, refused };
}

test('markup in every text of a file stays text, whether the file is shown or refused', async () => {
  const document = trainingRun({ layers: 1, warmup: 0, steps: 1 });
  document.kernels = {
    name: [0],
    phase: [1],
    path: [2],
    launches: [1],
    total_ns: [1],
    mean_ns: [1],
    min_ns: [1],
    max_ns: [1],
  };
  document.origin = { format: 'other', events: 1, contradictions: 2 };
  const { marked, refused } = markedUp(
    document,
    '<img src=x onerror="window.broken=1"><script>window.broken=2</script>',
  );
  assert.ok(refused.length > 3 && JSON.stringify(marked).split('<img').length > 80);
  const page = await opened([{ label: 'marked', document: marked }, ...refused]);
  assert.equal(await page.locator('#banners .error').count(), refused.length);
  for (const panel of ['flame', 'map', 'events', 'tree']) {
    await page.locator(`#tab-${panel}`).click();
    await settled(page);
  }
  await openAllRows(page);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator('body img').count(), 0);
  await closed(page);
});

test('markup in a file stays text, and nothing in it runs', async () => {
  const evil = [
    '<script>window.broken=1</script>',
    '<img src=x onerror="window.broken=2">',
    '"\'><svg onload=window.broken=3>&amp;',
  ];
  const document = knownRun(evil);
  document.devices[0].name = evil[1];
  document.run.model.size = evil[0];
  document.timing.phases = [{ name: evil[2], host_ms: [1, 2], device_ms: [-1, -1] }];
  const page = await opened(
    [
      { label: evil[1], document },
      { label: evil[2], document },
    ],
    { sentence: evil[0] },
  );
  assert.equal(await text(page, '#headline'), evil[0]);
  const shown = await page.locator('body').innerText();
  for (const name of evil.slice(1)) assert.ok(shown.includes(name), name);
  const at = await onTimeline(page, 0.6, 0.5 / 3);
  await page.mouse.move(at.x, at.y);
  assert.equal(await page.locator('#tooltip .block-name').innerText(), evil[0]);
  await page.mouse.click(at.x, at.y);
  await openAllRows(page);
  assert.ok((await page.locator('.tree-grid').innerText()).includes(evil[0]));
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator('body img, body svg[onload], body script').count(), 2);
  await closed(page);
});

test('inline script that is not the viewer does not run, and text cannot become markup', async () => {
  const page = await opened([RUN]);
  page.problems.length = 0;
  const result = await page.evaluate(() => {
    const script = document.createElement('script');
    try {
      script.textContent = 'window.broken = 4';
      document.body.append(script);
      document.body.insertAdjacentHTML('beforeend', '<p id=injected>');
    } catch (problem) {
      return String(problem);
    }
    return 'accepted';
  });
  assert.match(result, /TypeError/);
  assert.equal(await page.evaluate(() => window.broken ?? document.getElementById('injected')), null);
  await page.context().close();
});

test('files can be dropped and chosen; a bad one is refused in a sentence and the page stays usable', async () => {
  const page = await opened([]);
  assert.ok(await page.locator('#empty').isVisible());
  const good = join(folder, 'dropped.json.gz');
  const plain = join(folder, 'plain.json');
  const bad = join(folder, 'bad.json.gz');
  const cut = join(folder, 'cut.json.gz');
  const packed = gzipSync(JSON.stringify(RUN.document));
  writeFileSync(good, packed);
  writeFileSync(plain, JSON.stringify(RUN.document));
  writeFileSync(bad, gzipSync('{"format": "something else"}'));
  writeFileSync(cut, packed.subarray(0, packed.length / 2));
  await page.setInputFiles('#file-input', [bad, cut]);
  await page.waitForFunction(() => document.querySelectorAll('.banner.error').length === 2);
  const said = await text(page, '#banners');
  for (const pattern of [
    /bad: byte 10, format: this is not a tidemark snapshot/,
    /cut: the file is damaged or cut off/,
  ])
    assert.match(said, pattern);
  await page.setInputFiles('#file-input', good);
  await page.waitForFunction(() => document.getElementById('headline').textContent.startsWith('Peak 981'));
  assert.ok(await page.locator('#empty').isHidden());
  assert.equal(await page.locator('.banner').count(), 0);
  const transfer = await page.evaluateHandle(async (content) => {
    const data = new DataTransfer();
    data.items.add(new File([content], 'one.json'));
    data.items.add(new File([content], 'two.json'));
    return data;
  }, JSON.stringify(RUN.document));
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
  await page.waitForFunction(() => document.querySelectorAll('.run').length === 2);
  await closed(page);
});

test('a report that the library writes opens, labels and comparison included', async () => {
  const snapshot = join(folder, 'for-c.json.gz');
  const report = join(folder, 'report.html');
  const label = 'fp32 "first" <b>&amp;';
  writeFileSync(snapshot, gzipSync(JSON.stringify(RUN.document)));
  execFileSync(process.env.TIDEMARK_WRITE_REPORT, [
    report,
    '{"sentence": "one </script> sentence é"}',
    label,
    snapshot,
    'second',
    snapshot,
  ]);
  const page = await openPage(browser, folder, readFileSync(report, 'utf8'));
  assert.equal(await text(page, '#headline'), 'one </script> sentence é');
  assert.deepEqual(await page.locator('.run h2').allInnerTexts(), [label, 'second']);
  assert.equal(await page.locator('script[data-label]').count(), 0);
  await closed(page);
});

test("PyTorch's pickles open, and one that names code does not", async () => {
  const good = join(folder, 'dump.pickle');
  const bad = join(folder, 'code.pickle');
  const blocks =
    '[{"size": 1048576, "requested_size": 1000000, "state": "active_allocated", "frames": [{"name": "<b>f</b>", "filename": "/me/train.py", "line": 7}]}]';
  execFileSync('python3', [
    '-c',
    `import collections, pickle, sys
pickle.dump({"segments": [{"device": 0, "address": 4096, "total_size": 1048576, "stream": 0, "blocks": ${blocks}}], "device_traces": [[
  {"action": "alloc", "addr": 4096, "size": 1000000, "stream": 0, "frames": []}]]}, open(sys.argv[1], "wb"))
pickle.dump(collections.OrderedDict(a=1), open(sys.argv[2], "wb"))`,
    good,
    bad,
  ]);
  const page = await opened([]);
  await page.setInputFiles('#file-input', [good, bad]);
  await page.waitForFunction(() => document.getElementById('headline').textContent.startsWith('Peak 1.00'));
  assert.match(
    await text(page, '#banners'),
    /code: byte \d+, opcode STACK_GLOBAL: refused, it names code to be imported/,
  );
  await closed(page);
});

test('runs are read in workers, by the page where it may have none and where they are small', async () => {
  const large = {
    label: 'large',
    bytes: Buffer.from(`${' '.repeat(200_000)}${JSON.stringify(RUN.document)}`),
  };
  const page = await opened([large, RUN, { ...large, label: 'again' }], null, {
    init: () => {
      window.answers = [];
      window.Worker = class extends Worker {
        constructor(...given) {
          super(...given);
          this.addEventListener('message', ({ data }) => window.answers.push(Object.keys(data)[0]));
          this.addEventListener('error', () => window.answers.push('error'));
        }
      };
    },
  });
  assert.deepEqual(
    (await page.evaluate(() => window.answers)).filter((each) => each === 'loaded' || each === 'error'),
    ['loaded', 'loaded'],
  );
  await closed(page);
  for (const init of [
    () => delete window.Worker,
    () =>
      (window.Worker = class {
        constructor() {
          setTimeout(() => this.onerror(new Event('error')));
        }
        terminate() {}
      }),
  ]) {
    const alone = await opened([large], null, { init });
    assert.match(await text(alone, '#headline'), /^Peak 981/);
    await closed(alone);
  }
});

test('damaged data in the page is said, and the rest is shown', async () => {
  const page = await opened([{ label: 'broken', bytes: Buffer.from([0x1f, 0x8b, 8, 0, 1, 2]) }, RUN]);
  assert.match(await text(page, '#banners'), /broken: the file is damaged or cut off/);
  assert.match(await text(page, '#headline'), /^Peak 981/);
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

test('100,000 events come onto the screen; the time is printed, not judged', async () => {
  const document = trainingRun({ layers: 36, steps: 85, operators: 4 });
  assert.ok(document.events.action.length >= 95_000, String(document.events.action.length));
  const page = await opened([]);
  const path = join(folder, 'large.json.gz');
  writeFileSync(path, gzipSync(JSON.stringify(document)));
  await page.evaluate(() => {
    window.observed = new Promise((resolve) =>
      new MutationObserver(() =>
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now()))),
      ).observe(window.document.getElementById('headline'), {
        childList: true,
        characterData: true,
        subtree: true,
      }),
    );
    window.document
      .getElementById('file-input')
      .addEventListener('change', () => (window.began = performance.now()), { capture: true });
  });
  await page.setInputFiles('#file-input', path);
  const ms = await page.evaluate(async () => (await window.observed) - window.began);
  console.log(`# ${document.events.action.length} events: ${ms.toFixed(0)} ms`);
  assert.match(await text(page, '#headline'), /^Peak \S+\s[KMG]iB/);
  await closed(page);
});
