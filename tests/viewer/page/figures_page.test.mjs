// Every figure that the report of `profile --precision fp32,bf16-mixed` shows in its panels, against the same
// figure recomputed from the events and samples of the files in it.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CASES, PHASES, PRECISIONS, profile, sentenceOf, tidemark } from '../support/figures.mjs';
import { openBrowser, openPage, temporaryFolder, settled, treeOf } from '../support/pages.mjs';
import { alive, bytesText, groups, pathOf, stateAfter, stepOf } from '../support/recompute.mjs';

const browser = await openBrowser();
if (browser === null) process.exit(77);
after(() => browser.close());
const root = temporaryFolder();
const NAMES = {
  parameter: 'parameters',
  gradient: 'gradients',
  optimizer_state: 'optimizer state',
  activation: 'activations',
  temporary: 'temporaries',
  workspace: 'workspaces',
  input: 'inputs',
  weight_copy: 'weight copies',
  unknown: 'unknown',
};

const count = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
const share = (part) => (part > 0 && part < 0.001 ? '<0.1 %' : `${(100 * part).toFixed(1)} %`);
const plain = (text) => text.replace(/[\s\u00a0]+/g, ' ').trim();

/** The state that the page shows: the first instant in a measured step that reaches the run's peak. */
function shown({ document, summary }) {
  const { course, peak } = summary;
  let at = peak.event;
  for (const [step, { kind, name }] of document.scopes.entries()) {
    if (kind !== 'step' || name === 'warmup') continue;
    const first = document.events.findIndex(
      (event, i) =>
        stepOf(document, event.scope) === step && course[i + 1].allocated_bytes === peak.allocated_bytes,
    );
    if (first >= 0) {
      at = first;
      break;
    }
  }
  const blocks = alive(stateAfter(document, at));
  const by = (keyOf) => groups(document, blocks, keyOf);
  return {
    at,
    bytes: course[at + 1].allocated_bytes,
    requested: blocks.reduce((total, [, block]) => total + block.requested, 0),
    n: blocks.length,
    categories: by((block) => block.category),
    scopes: by(
      (block) =>
        pathOf(document, block.scope, false, 'layer *').replaceAll(' > ', ' › ') || 'outside every scope',
    ),
    stacks: by((block) => block.stack),
  };
}

/** Each row shows the sums of its group, and its children add up to the byte. */
function checkRows(rows, expected, total) {
  assert.deepEqual(
    rows.map((row) => [row.name, row.bytes, row.exact, row.share, row.count]),
    expected.map(([name, group]) => [
      name,
      bytesText(group.bytes),
      group.bytes,
      share(group.bytes / total),
      count(group.count),
    ]),
  );
  rows.forEach((row, i) =>
    assert.ok(Math.abs(row.bar - (100 * expected[i][1].bytes) / total) < 0.006, `${row.name}: its bar`),
  );
}

const number = (text) => Number(text.replaceAll(',', ''));

function checkSums(row) {
  if (row.below.length === 0) return;
  assert.equal(
    row.below.reduce((total, each) => total + number(each.count), 0),
    number(row.count),
    row.name,
  );
  assert.equal(
    row.below.reduce((total, each) => total + each.exact, 0),
    row.exact,
    row.name,
  );
  row.below.forEach(checkSums);
}

/**
 * A list, largest first. The order of groups of equal size is unspecified, so a row may match any group of
 * its size.
 */
function checkList(rows, groups, total) {
  const sorted = [...groups.values()].sort((a, b) => b.bytes - a.bytes);
  assert.deepEqual(
    rows.map((row) => [row.exact, row.bytes, row.share]),
    sorted.map(({ bytes }) => [bytes, bytesText(bytes), share(bytes / total)]),
  );
  rows.forEach((row) =>
    assert.ok(
      sorted.some((group) => group.bytes === row.exact && count(group.count) === row.count),
      row.name,
    ),
  );
  assert.equal(
    rows.reduce((sum, row) => sum + number(row.count), 0),
    sorted.reduce((sum, group) => sum + group.count, 0),
  );
  rows.forEach(checkSums);
}

async function checkPeakTree(page, run) {
  const { at, bytes, requested, n, categories, scopes, stacks } = shown(run);
  assert.ok(
    plain(await page.locator('.panel-summary').first().innerText()).startsWith(
      `${bytesText(bytes)} in ${count(n)} blocks, ${bytesText(requested)} requested; alive after event ${count(at)}`,
    ),
  );
  const rows = await treeOf(page, 'category');
  assert.deepEqual(
    rows.map((row) => row.name).sort(),
    [...categories.keys()].map((key) => NAMES[key]).sort(),
  );
  const keyOf = (name) => Object.keys(NAMES).find((key) => NAMES[key] === name);
  checkRows(
    rows,
    rows.map((row) => [row.name, categories.get(keyOf(row.name))]),
    bytes,
  );
  rows.forEach(checkSums);
  const places = await treeOf(page, 'scope');
  checkList(places, scopes, bytes);
  for (const row of places) {
    const pattern = row.name.replace(/layers? [\d–, ]*\d|\d+ layers/, 'layer *');
    assert.deepEqual(
      [row.exact, row.count],
      [scopes.get(pattern)?.bytes, count(scopes.get(pattern)?.count)],
      row.name,
    );
  }
  checkList(await treeOf(page, 'stack'), stacks, bytes);
}

const msText = (ms) =>
  ms >= 1000 ? count(Math.round(ms)) : ms >= 100 ? ms.toFixed(1) : ms >= 10 ? ms.toFixed(2) : ms.toFixed(3);

function meanStd(mean, std) {
  const decimals = Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(std))));
  const [whole, part] = mean.toFixed(decimals).split('.');
  return `${count(whole)}${part ? `.${part}` : ''} ± ${std.toFixed(decimals)} ms`;
}

async function checkTimingCard(page, run, device) {
  if (device === 'virtual') {
    assert.match(
      plain(await page.locator('#side').innerText()),
      /No times of steps: a virtual device computes nothing/,
    );
    return;
  }
  const shownPhases = await page
    .locator('.phase')
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector('.name').textContent,
        row.querySelector('.number').textContent,
        row.querySelector('svg').getAttribute('aria-label'),
      ]),
    );
  assert.deepEqual(
    shownPhases,
    PHASES.map((phase) => {
      const { mean, std, samples } = run.times(phase);
      return [phase, meanStd(mean, std), `${samples.length} samples: ${samples.map(msText).join(', ')} ms`];
    }),
  );
  assert.ok(
    plain(await page.locator('#panels').innerText()).includes(
      'mean ± sample standard deviation of 4 steps after 1 of warm-up, host clock',
    ),
  );
}

const ratioText = (ratio) =>
  !Number.isFinite(ratio)
    ? '–'
    : ratio >= 100
      ? `${count(Math.round(ratio))}×`
      : ratio >= 0.1
        ? `${ratio.toFixed(2)}×`
        : `${Number(ratio.toPrecision(2))}×`;

async function checkTable(page, { runs, device }) {
  const rows = await page
    .locator('#panels .compare tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const peaks = runs.map(shown);
  const bytesRow = (name, bytes) => {
    const [base, other] = bytes;
    return [
      name,
      ...bytes.map((n) => (n === 0 ? '–' : bytesText(n))),
      ratioText(base > 0 ? other / base : NaN),
    ];
  };
  const ofCategory = (category) => peaks.map((peak) => peak.categories.get(category)?.bytes ?? 0);
  const categories = Object.keys(NAMES)
    .filter((category) => ofCategory(category).some((bytes) => bytes > 0))
    .map((category) => bytesRow(NAMES[category], ofCategory(category)));
  const split = rows.findIndex(([title]) => title === 'Peak');
  assert.deepEqual(
    rows
      .slice(0, split)
      .map((row) => row.join('|'))
      .sort(),
    [['Alive at the peak'], ...categories].map((row) => row.join('|')).sort(),
  );
  const times =
    device === 'virtual'
      ? []
      : PHASES.map((phase) => {
          const [a, b] = runs.map((run) => run.times(phase).mean);
          return [phase, `${msText(a)} ms`, `${msText(b)} ms`, ratioText(b / a)];
        });
  assert.deepEqual(rows.slice(split), [
    ['Peak'],
    bytesRow(
      'allocated',
      peaks.map((peak) => peak.bytes),
    ),
    bytesRow(
      'requested',
      peaks.map((peak) => peak.requested),
    ),
    bytesRow(
      'reserved, largest',
      runs.map((run) => run.summary.max.reserved.bytes),
    ),
    ...(times.length > 0 ? [['Time, mean'], ...times] : []),
  ]);
}

/** A single run: the sentence on top and the legend, at the peak. */
async function checkAlone(run, folder) {
  const report = join(folder, `${run.name}.html`);
  const { document } = run;
  const { at, bytes, categories } = shown(run);
  assert.equal(tidemark('view', run.path, '-o', report).status, 0);
  const page = await openPage(browser, folder, readFileSync(report, 'utf8'));
  const said = (await page.locator('#headline').allInnerTexts()).map(plain).join(' ');
  const printed = tidemark('explain', run.path).stdout.trim().split('\n');
  assert.equal(said, plain(printed.filter((line) => !/^(note|warning): /.test(line)).join(' ')));
  assert.ok(said.includes(bytesText(bytes)), said);
  const legend = (await page.locator('#legend li').allInnerTexts())
    .map(plain)
    .filter((text) => !text.endsWith('–')); // without bytes alive there
  assert.deepEqual(
    legend.sort(),
    [...categories]
      .map(
        ([category, group]) => `${NAMES[category]} ${bytesText(group.bytes)} ${share(group.bytes / bytes)}`,
      )
      .sort(),
  );
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

for (const [i, each] of CASES.entries()) {
  test(`${each.name} on ${each.device}: each figure in the report's panels is what the events and samples say`, async () => {
    const folder = join(root, String(i));
    mkdirSync(folder);
    const result = profile(each, folder, 'text');
    const page = await openPage(browser, folder, readFileSync(result.report, 'utf8'));
    assert.equal(plain(await page.locator('#headline').innerText()), sentenceOf(result.runs));
    assert.deepEqual(await page.locator('.run h2').allInnerTexts(), PRECISIONS);
    assert.equal(
      plain(await page.locator('#banners').innerText()),
      each.device === 'cpu'
        ? 'bf16-mixed: note: bf16 is emulated on the cpu: its bytes are real, its times are not representative'
        : '',
    );
    await checkTable(page, result);
    for (const [k, run] of result.runs.entries()) {
      await page.locator('.tabs.of-run [role=tab]').nth(k).click();
      await settled(page);
      await checkTimingCard(page, run, each.device);
      await checkPeakTree(page, run);
    }
    assert.deepEqual(page.problems, []);
    await page.context().close();
    for (const run of result.runs) await checkAlone(run, folder);
  });
}
