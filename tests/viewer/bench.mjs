// Measures the viewer in a browser: loading, panning, zooming, pointing, searching, memory. ./dev bench
// viewer
//   node tests/viewer/bench.mjs [--runs N] [--out FILE.json] [CASE...]
//   cases: 100k 1m 3m deep html two, and those that take longer: 10m pickle
// Needs TIDEMARK_VIEWER_HTML, playwright-core and Chromium. Headless, software drawing, window 1600x1000.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { writeLarge } from './support/large.mjs';
import { openBrowser, openPage, reportHtml, temporaryFolder } from './support/pages.mjs';

const HZ = 60;
const INPUT_MS = 2500; // duration of panning, and of zooming
const given = process.argv.slice(2);
const option = (name, usual) => (given.includes(name) ? given.splice(given.indexOf(name), 2)[1] : usual);
const RUNS = Number(option('--runs', '3'));
const OUT = option('--out', '');
const MAKE_PICKLE = new URL('../bench/make_pickle.py', import.meta.url).pathname;
const CACHE = option('--cache', join(new URL('../../build', import.meta.url).pathname, 'bench-viewer'));
const CASES = {
  '100k': [1e5, {}],
  '1m': [1e6, {}],
  '3m': [3e6, {}],
  deep: [1e6, { layers: 540 }],
  html: [5_550_000, {}],
  '10m': [1e7, {}],
};
const PICKLE_EVENTS = 1_000_000; // of PyTorch's shape: 155 MB
const CHOSEN = given.length > 0 ? given : ['100k', '1m', '3m', 'deep', 'html', 'two'];

/** Targets: case, measure, comparison, value, unit. */
const TARGETS = [
  ['100k', 'load', '<=', 0.3, 's'],
  ['1m', 'load', '<=', 0.7, 's'],
  ['3m', 'load', '<=', 1.5, 's'],
  ['1m', 'freeze', '<=', 0.1, 's'],
  ['1m', 'panFps', '>=', 50, ''],
  ['1m', 'panP95', '<=', 20, 'ms'],
  ['3m', 'panFps', '>=', 50, ''],
  ['3m', 'panP95', '<=', 20, 'ms'],
  ['1m', 'zoomFps', '>=', 40, ''],
  ['deep', 'panFps', '>=', 50, ''],
  ['deep', 'zoomFps', '>=', 30, ''],
  ['1m', 'hoverP95', '<=', 30, 'ms'],
  ['1m', 'searchMax', '<=', 50, 'ms'],
  ['1m', 'heapMB', '<=', 80, 'MB'],
  ['1m', 'rendererMB', '<=', 300, 'MB'],
  ['3m', 'heapMB', '<=', 160, 'MB'],
  ['3m', 'rendererMB', '<=', 450, 'MB'],
  ['html', 'load', '<=', 2.8, 's'],
  ['html', 'rendererMB', '<=', 700, 'MB'],
  ['two', 'load', '<=', 1.4, 's'],
  ['two', 'panFps', '>=', 45, ''],
  ['10m', 'load', '<=', 4, 's'],
  ['10m', 'panFps', '>=', 50, ''],
  ['10m', 'rendererMB', '<=', 1200, 'MB'],
  ['pickle', 'load', '<=', 1.5, 's'],
  ['pickle', 'rendererMB', '<=', 400, 'MB'],
];

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) / 2)];
const quantile = (list, q) =>
  [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))] ?? NaN;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs in the page before its script: records when the runs are drawn. */
function watch() {
  window.seen = { began: 0, shown: 0, freeze: 0 };
  document.addEventListener('change', () => (window.seen.began = performance.now()), { capture: true });
  const look = () => {
    const canvas = document.querySelector('.canvases canvas');
    const title = document.getElementById('headline')?.textContent ?? '';
    if (canvas && canvas.width > 0 && title !== '' && document.querySelectorAll('.run').length > 0) {
      requestAnimationFrame(() => setTimeout(() => (window.seen.shown = performance.now())));
      return;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Records the longest time without a timer callback until the runs are shown. It takes memory of its own. */
function watchFreezes() {
  let last = performance.now();
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    const now = performance.now();
    if (window.seen.began > 0 && window.seen.shown === 0)
      window.seen.freeze = Math.max(window.seen.freeze, now - last);
    last = now;
    if (window.seen.shown === 0) setTimeout(() => channel.port2.postMessage(0));
  };
  channel.port2.postMessage(0);
}

const shown = (page) => page.waitForFunction(() => window.seen.shown > 0, null, { timeout: 60000 });

/** Process IDs of renderers. */
async function renderers(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo.filter((each) => each.type === 'renderer').map((each) => each.id);
}

/** The peak memory of the renderers in MB, since the browser last reset it, which it sometimes does. */
async function mostMemory(browser) {
  return Math.max(
    ...(await renderers(browser)).map(
      (pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1000,
    ),
  );
}

/**
 * The peak memory of the renderers, at least `before` (the peak while loading), and the size of the heap now,
 * in MB.
 */
async function memory(browser, page, before) {
  const peak = Math.max(before, await mostMemory(browser));
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.enable');
  await session.send('HeapProfiler.collectGarbage');
  const {
    usedSize,
    embedderHeapUsedSize = 0,
    backingStorageSize = 0,
  } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return {
    rendererMB: peak,
    heapMB: (usedSize + embedderHeapUsedSize + backingStorageSize) / 1e6,
    jsHeapMB: usedSize / 1e6,
  };
}

/**
 * Sends inputs at 60 Hz and counts the frames that the compositor drew meanwhile; does not count if
 * `isTraced` is false, because a trace takes memory.
 */
async function drawn(browser, page, isTraced, send) {
  if (isTraced)
    await browser.startTracing(page, {
      categories: [
        'disabled-by-default-devtools.timeline',
        'devtools.timeline',
        'disabled-by-default-devtools.timeline.frame',
        'devtools.timeline.frame',
      ],
    });
  const begin = performance.now();
  for (let i = 0; performance.now() - begin < INPUT_MS; i++) {
    const wait = begin + (i * 1000) / HZ - performance.now();
    if (wait > 0) await pause(wait);
    send(i);
  }
  const seconds = (performance.now() - begin) / 1000;
  if (!isTraced) return { fps: 0, p95: 0 };
  const { traceEvents } = JSON.parse(String(await browser.stopTracing()));
  const times = traceEvents
    .filter((event) => event.name === 'DrawFrame')
    .map((event) => event.ts / 1000)
    .sort((a, b) => a - b);
  return {
    fps: times.length / seconds,
    p95: quantile(
      times.slice(1).map((time, i) => time - times[i]),
      0.95,
    ),
  };
}

/** The time from each input to the frame after it. */
async function answers(page, type, inputs) {
  await page.evaluate((kind) => {
    window.answers = [];
    window.onAnswer?.();
    const listen = (event) =>
      requestAnimationFrame(() => setTimeout(() => window.answers.push(performance.now() - event.timeStamp)));
    document.addEventListener(kind, listen, { capture: true });
    window.onAnswer = () => document.removeEventListener(kind, listen, { capture: true });
  }, type);
  await inputs();
  await pause(200);
  return page.evaluate(() => window.answers);
}

async function interact(browser, page, isTraced) {
  const box = await page.locator('.canvases').first().boundingBox();
  const session = await page.context().newCDPSession(page);
  const y = box.y + box.height * 0.55;
  const mouse = (type, x, more = {}) =>
    session.send('Input.dispatchMouseEvent', { type, x, y, button: 'none', ...more }).catch(() => undefined);
  await page.mouse.move(box.x + box.width / 2, y);
  await mouse('mousePressed', box.x + box.width / 2, { button: 'left', buttons: 1, clickCount: 1 });
  const pan = await drawn(browser, page, isTraced, (i) =>
    mouse('mouseMoved', box.x + box.width / 2 + 300 * Math.sin(i / 25), { button: 'left', buttons: 1 }),
  );
  await mouse('mouseReleased', box.x + box.width / 2, { button: 'left', clickCount: 1 });
  const zoom = await drawn(browser, page, isTraced, (i) =>
    mouse('mouseWheel', box.x + box.width / 2 + 3, { deltaX: 0, deltaY: Math.floor(i / 40) % 2 ? -60 : 60 }),
  );
  const hover = await answers(page, 'pointermove', async () => {
    for (let i = 0; i < 60; i++) {
      await page.mouse.move(
        box.x + 90 + ((i * 37) % (box.width - 120)),
        box.y + 40 + ((i * 53) % (box.height * 0.6)),
      );
      await pause(30);
    }
  });
  await page.keyboard.press('/');
  const keys = await answers(page, 'keydown', async () => {
    for (const key of 'layers.1') {
      await page.keyboard.press(key);
      await pause(250);
    }
  });
  await session.detach();
  return {
    panFps: pan.fps,
    panP95: pan.p95,
    zoomFps: zoom.fps,
    zoomP95: zoom.p95,
    hoverP95: quantile(hover, 0.95),
    searchMax: Math.max(...keys),
  };
}

/** @returns {Promise<string>} the file of a case, which is created if it does not exist */
async function fileOf(name) {
  const isPickle = name === 'pickle';
  const path = join(CACHE, isPickle ? 'events.pickle' : `${name}.json.gz`);
  mkdirSync(CACHE, { recursive: true });
  if (!existsSync(path) && isPickle)
    execFileSync('python3', ['-B', MAKE_PICKLE, String(PICKLE_EVENTS), path]);
  if (!existsSync(path)) await writeLarge(path, ...CASES[name]);
  return path;
}

/** Opens a case as a user does, by choosing a file in an open page, and then runs `body(browser, page)`. */
async function opened(folder, name, init, body) {
  const browser = await openBrowser();
  if (browser === null) process.exit(77);
  try {
    const isHtml = name === 'html';
    const files = name === 'two' ? [await fileOf('1m'), await fileOf('1m')] : [await fileOf(name)];
    const html = reportHtml(isHtml ? [{ label: 'large', bytes: readFileSync(files[0]) }] : []);
    const page = await openPage(browser, folder, html, { init });
    if (!isHtml) {
      await page.waitForSelector('html[data-ready=yes]');
      await pause(500);
      await page.setInputFiles('#file-input', files);
    }
    await shown(page);
    return {
      ...(await body(browser, page)),
      fileMB: files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6,
    };
  } finally {
    await browser.close();
  }
}

/**
 * Measures times in one browser, and memory in another after the same inputs, because measuring times takes
 * memory.
 */
async function measure(folder, name) {
  const times = await opened(folder, name, `(${watch})(); (${watchFreezes})();`, async (browser, page) => {
    const { began, shown: at, freeze } = await page.evaluate(() => window.seen);
    return {
      load: (at - began) / 1000,
      freeze: freeze / 1000,
      ...(name === 'html' ? {} : await interact(browser, page, true)),
    };
  });
  return {
    ...times,
    ...(await opened(folder, name, `(${watch})();`, async (browser, page) => {
      const loaded = await mostMemory(browser);
      if (name !== 'html') await interact(browser, page, false);
      return memory(browser, page, loaded);
    })),
  };
}

const folder = temporaryFolder();
const samples = {};
for (const name of CHOSEN) {
  samples[name] = [];
  for (let run = 0; run < RUNS; run++) {
    samples[name].push(await measure(folder, name));
    console.error(
      name,
      Object.entries(samples[name].at(-1))
        .map(([key, value]) => `${key} ${value.toFixed(2)}`)
        .join(', '),
    );
  }
}
if (OUT)
  writeFileSync(
    OUT,
    `${JSON.stringify({ cpu: cpus()[0].model, nCpus: cpus().length, runs: RUNS, samples }, null, 1)}\n`,
  );
console.log('| case | measure | target | measured (median of runs) | runs |\n|---|---|---|---|---|');
for (const [name, key, sign, target, unit] of TARGETS.filter(([each]) => samples[each])) {
  const values = samples[name].map((sample) => sample[key]);
  const middle = median(values);
  const isMet = sign === '<=' ? middle <= target : middle >= target;
  console.log(
    `| ${name} | ${key} | ${sign} ${target} ${unit} | ${middle.toFixed(2)} ${unit}${isMet ? '' : ' (missed)'} | ${values.map((value) => value.toFixed(2)).join(' ')} |`,
  );
}
