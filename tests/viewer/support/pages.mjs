// Opens viewer pages in the system's Chromium. Exits with 77 if Chromium or playwright-core is absent.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

// The shell starts less than the browser: opening eight pages takes 9 s of processor time instead of 20.
const CHROMIUMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const CHROMIUM = process.env.TIDEMARK_CHROMIUM ?? CHROMIUMS.find((path) => existsSync(path)) ?? CHROMIUMS[1];
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The built page; its path is given by the build. */
export const VIEWER_HTML = process.env.TIDEMARK_VIEWER_HTML ?? '';

/** @returns {Promise<any>} the browser, or null, with a message, if there is none */
export async function openBrowser() {
  let playwright;
  try {
    playwright = await import('playwright-core');
  } catch {
    console.log('skipped: playwright-core is absent; run npm ci in tests/viewer');
    return null;
  }
  if (!existsSync(CHROMIUM)) {
    console.log(`skipped: no Chromium at ${CHROMIUM}`);
    return null;
  }
  return playwright.chromium.launch({ executablePath: CHROMIUM, args: FLAGS, headless: true });
}

/** A report as the command line writes it: the page with embedded documents (or raw bytes). */
export function reportHtml(runs, comparison = null) {
  const page = readFileSync(VIEWER_HTML, 'utf8');
  const escape = (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  const data = runs.map(({ label, document, bytes }) => {
    const content = bytes ?? gzipSync(JSON.stringify(document));
    return `<script type="application/octet-stream" class="tidemark-snapshot" data-label="${escape(label)}">${content.toString('base64')}</script>\n`;
  });
  if (comparison !== null) {
    data.unshift(
      `<script type="application/octet-stream" class="tidemark-comparison">${Buffer.from(JSON.stringify(comparison)).toString('base64')}</script>\n`,
    );
  }
  return page.replace('<!--DATA-->', () => `${data.join('')}<!--DATA-->`);
}

/** Creates a folder for one test's files, which is removed at exit. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-viewer-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Longer than the busiest machine needs. */
export const PATIENCE_MS = 120_000;

/**
 * Opens `html` from disk, after the optional script `init`. `page.problems` collects console errors, page
 * errors, and requests other than the file itself and the script of the page's workers.
 */
export async function openPage(browser, folder, html, { init, ...options } = {}) {
  const path = join(folder, `page-${Math.random().toString(36).slice(2)}.html`);
  writeFileSync(path, html);
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  if (init) await page.addInitScript(init);
  const url = `file://${path}`;
  page.problems = [];
  page.on(
    'console',
    (message) =>
      ['error', 'warning'].includes(message.type()) && page.problems.push(`console: ${message.text()}`),
  );
  page.on('pageerror', (problem) => page.problems.push(`page: ${problem.message}`));
  page.on(
    'request',
    (request) =>
      request.url() !== url &&
      !request.url().startsWith('blob:') &&
      page.problems.push(`request: ${request.url()}`),
  );
  await page.goto(url);
  await page.waitForSelector('html[data-ready=yes]', { state: 'attached' });
  return page;
}

/** Waits until the page has applied all changes: its parts are notified once per frame. */
export function settled(page) {
  return page.evaluate(
    () =>
      new Promise((resolve) =>
        requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve))),
      ),
  );
}

/**
 * Waits that long by the page's own timers, whose order does not depend on the load of the machine: timers of
 * the page with a shorter time have run.
 */
export async function rested(page, ms) {
  await page.evaluate((ms) => new Promise((resolve) => setTimeout(resolve, ms)), ms);
  await settled(page);
}

/** Opens every row of the tree, down to single blocks. */
export async function openAllRows(page) {
  await page.evaluate(async () => {
    for (;;) {
      const closed = document.querySelectorAll('.tree-row[aria-expanded=false] .twisty');
      if (closed.length === 0) break;
      closed.forEach((twisty) => twisty.click());
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    }
  });
}

/** Opens all groups of the tree in one split, and reads its rows as a tree, without rows of blocks. */
export async function treeOf(page, split) {
  await page.getByLabel('Split by').selectOption(split);
  await openAllRows(page);
  return page.evaluate(() => {
    const roots = [];
    const above = [];
    for (const row of document.querySelectorAll('.tree-grid [aria-level]')) {
      if (row.dataset.kind === 'block') continue;
      const [bytes, requested, count] = [...row.querySelectorAll('.number')].map((cell) => cell.textContent);
      const read = {
        name: row.querySelector('.label').textContent,
        bytes,
        requested,
        count,
        share: row.querySelector('.tree-share').textContent,
        exact: Number(row.querySelector('.number').title.replace(/\D/g, '')),
        bar: parseFloat(row.querySelector('.share-bar').style.width),
        below: [],
      };
      const level = Number(row.getAttribute('aria-level'));
      above.length = level - 1;
      (level === 1 ? roots : above[level - 2].below).push(read);
      above.push(read);
    }
    return roots;
  });
}

/** A point of the timeline, at a share of its width and of the height of the peak. */
export async function onTimeline(page, x, share) {
  return page.evaluate(
    ([x, share]) => {
      const box = document.querySelector('.canvases').getBoundingClientRect();
      const plot = { x: 74, y: 10, w: box.width - 84, h: box.height - 10 - 24 - 23 * 2 };
      return { x: box.left + plot.x + x * plot.w, y: box.top + plot.y + plot.h - (share / 1.07) * plot.h };
    },
    [x, share],
  );
}

/** The text of an element. */
export const text = (page, selector) => page.locator(selector).innerText();

/** Closes a page that must have had no problems. */
export async function closed(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}
