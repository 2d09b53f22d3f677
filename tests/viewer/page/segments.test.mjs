// Segments in place of allocations, the pools they belong to, and the devices to choose from.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { deviceOutlines } from '../../../viewer/src/run/devices.js';
import { layoutsOf, snapshotOf } from '../support/engine.mjs';
import { layoutAt, reservedAt } from '../../../viewer/src/run/layout.js';
import { poolRows } from '../../../viewer/src/panels/pools_table.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { segmentHeadline, segmentRun } from '../../../viewer/src/run/segment_run.js';
import { hasSegments } from '../../../viewer/src/run/segments.js';
import { readSource } from '../../../viewer/src/engine/unpack.js';
import { closed, text } from '../support/pages.mjs';
import { opened, RUN } from '../support/page_run.mjs';
import { Recording } from '../support/recording.mjs';
import '../support/transfer.mjs';
import { runOnDevices, trainingRun } from '../support/synthetic.mjs';

const MIB = 2 ** 20;

function rowsAt(rows) {
  const r = new Recording();
  for (const [action, address, bytes] of rows)
    r.event(action, { address: address / 512, requested: bytes, block: bytes });
  return makeRun(snapshotOf(r.document()), 'run');
}

/** The totals of a segment run after each event of the recording, by time. */
const totalsOf = ({ index: { totals } }) => [...totals].map((bytes) => bytes / MIB);

test('the bytes of the segments are the reserved bytes in every state', () => {
  const run = makeRun(snapshotOf(trainingRun({ steps: 2 })), 'run');
  const segments = segmentRun(run);
  assert.equal(segments.index.nStates, run.index.nStates);
  for (let state = 0; state < run.index.nStates; state++)
    assert.equal(segments.index.totals[state], reservedAt(run, state), `state ${state}`);
  assert.equal(segments.blocksRun, run);
  assert.equal(segments.index.blocks.nUnmatched, 0);
  assert.match(segmentHeadline(segments), /^At most [\d.]+\s[KMG]iB reserved/);
});

test('mapped memory that is unmapped in other pieces is cut where it must be', () => {
  const run = rowsAt([
    ['segment_map', 0, 20 * MIB],
    ['segment_map', 20 * MIB, 20 * MIB],
    ['alloc', 0, 2 * MIB],
    ['segment_unmap', 10 * MIB, 20 * MIB],
    ['segment_unmap', 30 * MIB, 10 * MIB],
  ]);
  const segments = segmentRun(run);
  const { blocks } = segments.index;
  // Two purchases are four pieces; the first unmapping takes one piece of each.
  assert.deepEqual(
    Array.from(blocks.bytes, (bytes) => bytes / MIB),
    [10, 10, 10, 10],
  );
  assert.deepEqual(totalsOf(segments), [0, 10, 20, 30, 40, 40, 30, 20, 10]);
  assert.deepEqual([blocks.nUnmatched, segments.reserved.maxBytes], [0, 40 * MIB]);
});

test('segments that are given back without having been bought are counted', () => {
  const run = rowsAt([
    ['segment_alloc', 0, 2 * MIB],
    ['segment_free', 64 * MIB, 2 * MIB],
    ['segment_free', 0, 2 * MIB],
    ['segment_alloc', 0, 4 * MIB],
  ]);
  const segments = segmentRun(run);
  assert.deepEqual(totalsOf(segments), [0, 2, 2, 0, 4]);
  assert.equal(segments.index.blocks.nUnmatched, 1);
  assert.equal(hasSegments(run.snapshot, 0), true);
  assert.equal(hasSegments(rowsAt([['alloc', 0, MIB]]).snapshot, 0), false);
});

test('every device has its outline, on the order of all events', () => {
  const snapshot = snapshotOf(runOnDevices());
  const outlines = deviceOutlines(snapshot, 8);
  assert.equal(outlines.length, snapshot.devices.length);
  outlines.forEach(({ peakBytes, columns }, device) => {
    const { index } = makeRun(snapshot, 'run', device);
    assert.equal(peakBytes, Math.max(...index.totals));
    assert.equal(Math.max(...columns), peakBytes);
  });
});

const SHARED = process.env.TIDEMARK_SHARED ?? fileURLToPath(new URL('../../../../shared', import.meta.url));
const PRIVATE = join(SHARED, 'pytorch-snapshots/made/private.pickle');
const CLI = process.env.TIDEMARK_CLI ?? '';
const ABSENT = existsSync(PRIVATE) && existsSync(CLI) ? false : 'no file with private pools, or no program';

test(
  'private pools are listed by their number and stream, as the program lists them',
  { skip: ABSENT },
  async () => {
    const { snapshot, engine } = await readSource(new Uint8Array(readFileSync(PRIVATE)), () => undefined);
    const run = makeRun(snapshot, 'run');
    run.layouts = layoutsOf(engine);
    const [row, ...others] = poolRows((await layoutAt(run, run.peakState)).segments);
    assert.deepEqual(
      [row.pool, row.blocks, row.count, row.reservedBytes, row.reservedBytes - row.freeBytes],
      ['private, of the program (0, 1)', 'large', 1, 4096 * MIB, 888 * MIB],
    );
    assert.deepEqual(others, []);
    const report = execFileSync(CLI, ['summary', PRIVATE, '--format', 'json'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    assert.deepEqual(JSON.parse(report.toString()).tables.pools.rows, [
      {
        pool: row.pool,
        blocks: row.blocks,
        stream: 'default stream',
        segments: row.count,
        reserved_bytes: row.reservedBytes,
        free_bytes: row.freeBytes,
      },
    ]);
    assert.deepEqual(poolRows([]), []);
  },
);

test('a button and a key switch between allocations and segments, and the address keeps it', async () => {
  const page = await opened([RUN]);
  const before = await text(page, '#headline');
  const columns = () => page.locator('.tree-head [role=columnheader]').allInnerTexts();
  assert.deepEqual(await columns().then((all) => all.slice(-2)), ['requested', 'blocks']);
  assert.equal(await text(page, '#segments-button'), 'show: allocations');
  await page.locator('#segments-button').click();
  assert.match(await text(page, '#headline'), /^At most .* reserved/);
  assert.match(await text(page, '#dock .tree, #dock'), /in \d+ segments?;/);
  assert.deepEqual(await columns().then((all) => all.slice(-2)), ['reserved', 'segments']);
  await page.waitForFunction(() => location.hash.includes('show=segments'));
  await page.reload();
  await page.waitForFunction(() => document.getElementById('headline').textContent.startsWith('At most'));
  assert.equal(await page.locator('#segments-button').getAttribute('aria-pressed'), 'true');
  await page.keyboard.press('g');
  assert.equal(await text(page, '#headline'), before);
  await page.waitForFunction(() => !location.hash.includes('segments'));
  await closed(page);
});
