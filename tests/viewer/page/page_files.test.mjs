// Files in the page: embedded, dropped, damaged or hostile, in headless Chromium.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { snapshotOf } from '../support/engine.mjs';
import { openAllRows, openPage, settled, closed, onTimeline, text } from '../support/pages.mjs';
import { browser, folder, opened, RUN } from '../support/page_run.mjs';
import { knownRun, trainingRun } from '../support/synthetic.mjs';

test('the page without data takes at most 340 kB, of which half are the engine', () => {
  assert.ok(readFileSync(process.env.TIDEMARK_VIEWER_HTML).length <= 340_000);
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

test('the highest point of a cut history is never called its peak, and a long name wraps', async () => {
  const document = trainingRun({ layers: 1, warmup: 0, steps: 1 });
  document.log = { full_policy: 'keep-newest', dropped_events: 5 };
  const page = await opened([{ label: 'cut', document }], null, { viewport: { width: 420, height: 900 } });
  assert.match(await text(page, '.largest-card h2'), /^Largest at the highest kept$/);
  for (const panel of ['flame', 'map', 'tree']) {
    await page.locator(`#tab-${panel}`).click();
    await settled(page);
    const words = (await page.locator('#page').innerText()).replaceAll('peak step', '');
    assert.match(words, /at the highest kept/);
    assert.doesNotMatch(words, /peak/i);
    assert.match(await text(page, '#banners'), /the peak may have been then/);
  }
  const headline = page.locator('#headline');
  await headline.evaluate((element) => element.append('x'.repeat(300)));
  assert.ok(await headline.evaluate((element) => element.scrollWidth <= element.clientWidth));
  await closed(page);
});

/**
 * The document with markup in every text that may be any text; and, one by one, documents with markup in one
 * other text.
 */
function markedUp(document, markup) {
  const marked = structuredClone(document);
  const refused = [];
  const visit = (value, put, path) => {
    if (typeof value === 'string') {
      put(markup);
      try {
        snapshotOf(structuredClone(marked));
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
  assert.equal(await page.locator('body img, body svg[onload], body script').count(), 3);
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
  await page.waitForFunction(() => document.getElementById('headline').textContent.includes('981.47'));
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

/** The page that memory_viz makes of a pickle, which it pads. */
function vizPage(bytes) {
  const data = Buffer.concat([bytes, Buffer.alloc(2)]).toString('base64');
  return `\n<!DOCTYPE html>\n<script>import {x} from "https://cdn/MemoryViz.js"\nconst local_files = [{"name": "snapshot.pickle", "base64": "${data}"}]</script>`;
}

test('a file without a history says so, and has no timeline', async () => {
  const bare = join(folder, 'bare.pickle');
  const maker = new URL('../../golden/snapshots/make_training.py', import.meta.url).pathname;
  writeFileSync(bare, execFileSync('python3', [maker, 'bare', 'leak']));
  const page = await opened([]);
  await page.setInputFiles('#file-input', [bare]);
  await page.waitForSelector('#page.no-history');
  assert.match(await text(page, '#headline'), /^This file has no history, .*_record_memory_history/);
  assert.ok(await page.locator('#runs').isHidden());
  assert.ok(await page.locator('#lines-button').isHidden());
  assert.ok(await page.locator('#dock').isVisible());
  assert.match(await text(page, '#dock'), /append_loss \(metrics\.py:17\)/);
  assert.match(await text(page, '#dock'), /at the time the file was written/);
  assert.match(await text(page, '#dock'), /alive when the file was written/);
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
  await page.waitForFunction(() => document.getElementById('headline').textContent.includes('1.00'));
  assert.match(
    await text(page, '#banners'),
    /code: byte \d+, opcode STACK_GLOBAL: refused, it names code to be imported/,
  );
  await closed(page);
});

test('the snapshot inside of a page opens, and other files are named', async () => {
  const pickle = join(folder, 'paged.pickle');
  const viz = join(folder, 'viz.html');
  const own = join(folder, 'own.html');
  const empty = join(folder, 'empty.html');
  const log = join(folder, 'train.log');
  const report = join(folder, 'train.nsys-rep');
  const maker = new URL('../../golden/snapshots/make_training.py', import.meta.url).pathname;
  const bytes = execFileSync('python3', [maker, 'leak']);
  writeFileSync(pickle, bytes);
  writeFileSync(viz, vizPage(bytes));
  execFileSync(process.env.TIDEMARK_CLI, ['view', pickle, '-o', own]);
  writeFileSync(empty, '<html><head><title>GPU Memory Timeline HTML</title></head></html>');
  writeFileSync(log, 'CUDA out of memory. Tried to allocate 1.00 GiB');
  writeFileSync(report, 'NVIDIA Tegra Profiler Report 2025\0');
  const page = await opened([]);
  await page.setInputFiles('#file-input', [viz, own, empty, log, report]);
  await page.waitForFunction(() => document.querySelectorAll('#banners .error').length === 3);
  await page.waitForFunction(() => document.querySelectorAll('.run h2').length === 2);
  assert.deepEqual(await page.locator('.run h2').allInnerTexts(), ['viz', 'own']);
  assert.match(await text(page, '#banners'), /empty: .* it has only a picture/);
  assert.match(await text(page, '#banners'), /train.log: .*`tidemark explain` reads what a log says/);
  assert.match(await text(page, '#banners'), /train.nsys-rep: .*`nsys export --type sqlite`/);
  await closed(page);
});

test('a large file that is not compressed is read by the worker itself, part by part', async () => {
  const path = join(folder, 'large.pickle');
  const cut = join(folder, 'cut.pickle');
  execFileSync('python3', [
    '-B',
    new URL('../../bench/make_pickle.py', import.meta.url).pathname,
    '30000',
    path,
  ]);
  const bytes = readFileSync(path);
  assert.ok(bytes.length > 2 ** 22, 'three parts at least');
  writeFileSync(cut, bytes.subarray(0, 3_000_000));
  const page = await opened([], null, {
    init: () => {
      window.sent = [];
      window.Worker = class extends Worker {
        postMessage(message, ...rest) {
          window.sent.push(...Object.keys(message));
          super.postMessage(message, ...rest);
        }
      };
    },
  });
  await page.setInputFiles('#file-input', [path, cut]);
  await page.waitForFunction(() => document.getElementById('headline').textContent.includes('1.79'));
  await page.waitForFunction(() => document.getElementById('banners').textContent !== '');
  assert.match(await text(page, '#banners'), /cut: byte \d+(, opcode \w+)?: the (pickle|file) is truncated/);
  assert.deepEqual((await page.evaluate(() => window.sent)).sort(), [
    'document',
    'engine',
    'engine',
    'file',
    'file',
    'isForAnswer',
    'isForLayouts',
    'isForLayouts',
  ]);
  await closed(page);
});

/** A dump of one block with markup in its stack, and a history of one allocation. */
function smallPickle(name) {
  const path = join(folder, name);
  const maker = new URL('../../golden/snapshots/make_training.py', import.meta.url).pathname;
  writeFileSync(path, execFileSync('python3', [maker]));
  return path;
}

test('a pickle is read without a worker, compressed in one, and gives the same page', async () => {
  const path = smallPickle('history.pickle');
  const packed = join(folder, 'packed.pickle.gz');
  const bytes = readFileSync(path);
  // zeros after a pickle are ignored, and too many for a text that the page reads itself
  writeFileSync(packed, gzipSync(Buffer.concat([bytes, Buffer.alloc(2 ** 24)])));
  const shown = [];
  for (const [file, init] of [
    [path, () => delete window.Worker],
    [packed, () => undefined],
  ]) {
    const page = await opened([], null, { init });
    await page.setInputFiles('#file-input', [file]);
    await page.waitForFunction(() => document.querySelectorAll('.run').length === 1);
    shown.push([await text(page, '#headline'), await text(page, '#dock'), await text(page, '#panels')]);
    await closed(page);
  }
  assert.deepEqual(shown[0], shown[1]);
  assert.match(shown[0][0], /^The peak/);
});

test('a browser without WebAssembly, or that refuses it, says so', async () => {
  const path = smallPickle('refused.pickle');
  const own = join(folder, 'own.json.gz');
  writeFileSync(own, gzipSync(JSON.stringify(RUN.document)));
  const cases = [
    [() => delete window.WebAssembly, /: this browser has no WebAssembly, which the page needs/],
    [
      () => (WebAssembly.compile = () => Promise.reject(new Error('not allowed here'))),
      /: this browser does not start the reader of snapshots \(not allowed here\)/,
    ],
  ];
  for (const [init, words] of cases) {
    const page = await opened([], null, { init });
    await page.setInputFiles('#file-input', [path, own]);
    await page.waitForFunction(() => document.querySelectorAll('.banner.error').length === 2);
    for (const banner of await page.locator('.banner.error').allInnerTexts()) assert.match(banner, words);
    await closed(page);
  }
});

test('a value that is found wrong at the end of a text is named with its byte, however the text comes', async () => {
  const document = structuredClone(RUN.document);
  document.events.name[2] = 99999;
  const content = `${' '.repeat(1_200_000)}${JSON.stringify(document)}`;
  const said = [];
  for (const init of [
    () => undefined,
    () => delete window.Worker,
    () => {
      delete WebAssembly.Suspending;
      delete window.Worker;
    },
  ]) {
    const page = await opened([{ label: 'wrong', bytes: Buffer.from(content) }, RUN], null, { init });
    said.push(await text(page, '#banners'));
    await closed(page);
  }
  assert.match(said[0], /wrong: byte 1\d{6}, events\.name\[2\]: 99999 refers to none of the \d+ strings/);
  const byte = Number(/byte (\d+)/.exec(said[0])[1]);
  assert.equal(content.slice(byte, byte + 5), '99999');
  assert.deepEqual(said, [said[0], said[0], said[0]]);
});

test('runs are read in workers, and by the page if they are small or no worker is allowed', async () => {
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
    assert.match(await text(alone, '#headline'), /^The peak, 981/);
    await closed(alone);
  }
});

test('damaged data in the page is reported, and the rest is shown', async () => {
  const page = await opened([{ label: 'broken', bytes: Buffer.from([0x1f, 0x8b, 8, 0, 1, 2]) }, RUN]);
  assert.match(await text(page, '#banners'), /broken: the file is damaged or cut off/);
  assert.match(await text(page, '#headline'), /^The peak, 981/);
  await closed(page);
});

test('100,000 events come onto the screen; the time is printed, not checked', async () => {
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
  assert.match(await text(page, '#headline'), /^The peak, \S+\s[KMG]iB,/);
  await closed(page);
});
