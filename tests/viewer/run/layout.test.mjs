// The memory map: segments, blocks and gaps at any instant, and their places in the picture.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { layoutsOf, runOf } from '../support/engine.mjs';
import { devicesUsed } from '../../../viewer/src/run/blocks.js';
import { aliveAt } from '../../../viewer/src/run/index.js';
import { layoutAt, reservedAt } from '../../../viewer/src/run/layout.js';
import { Layouts } from '../../../viewer/src/run/layouts.js';
import { layOutMap, rectAt, scaleToFit } from '../../../viewer/src/answers/map_rows.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { segmentRun } from '../../../viewer/src/run/segment_run.js';
import { readSource } from '../../../viewer/src/engine/unpack.js';
import { Recording } from '../support/recording.mjs';

const MIB = 2 ** 20;

/** Rows at addresses chosen by the test, in bytes. */
function rowsAt(rows) {
  const r = new Recording();
  for (const [action, address, bytes, requested = bytes] of rows)
    r.event(action, { address: address / 512, requested, block: bytes });
  return runOf(r.document());
}

/** Pieces as text: "block 2 MiB", "free 1 MiB". */
const pieces = ({ segments }) =>
  segments.map((segment) =>
    segment.pieces
      .map(
        (piece) => `${piece.block < 0 ? 'free' : piece.isPending ? 'pending' : 'block'} ${piece.bytes / MIB}`,
      )
      .join(', '),
  );

test('blocks and gaps fill their segments', async () => {
  const run = rowsAt([
    ['segment_alloc', 20 * MIB, 20 * MIB],
    ['alloc', 20 * MIB, 4 * MIB],
    ['alloc', 24 * MIB, 6 * MIB],
    ['alloc', 30 * MIB, 2 * MIB],
    ['free', 24 * MIB, 6 * MIB],
    ['segment_alloc', 2 * MIB, 2 * MIB],
    ['free_requested', 30 * MIB, 2 * MIB],
    ['free', 20 * MIB, 4 * MIB],
    ['free_completed', 30 * MIB, 2 * MIB],
    ['segment_free', 20 * MIB, 20 * MIB],
  ]);
  const at = async (state) => pieces(await layoutAt(run, state));
  assert.deepEqual(await at(0), []);
  assert.deepEqual(await at(1), ['free 20']);
  assert.deepEqual(await at(4), ['block 4, block 6, block 2, free 8']);
  assert.deepEqual(await at(6), ['free 2', 'block 4, free 6, block 2, free 8']);
  assert.deepEqual(await at(7), ['free 2', 'block 4, free 6, pending 2, free 8']);
  assert.deepEqual(await at(9), ['free 2', 'free 20']);
  assert.deepEqual(await at(10), ['free 2']);
  assert.deepEqual((await layoutAt(run, 7)).account, {
    asked: 4 * MIB,
    rounding: 0,
    unsplit: 0,
    pending: 2 * MIB,
    splittable: 14 * MIB,
    releasable: 2 * MIB,
    unexplained: 0,
    reserved: 22 * MIB,
  });
});

test('expandable segments join, are cut, and give back whole granules', async () => {
  const run = rowsAt([
    ['segment_map', 40 * MIB, 20 * MIB],
    ['segment_map', 80 * MIB, 20 * MIB],
    ['segment_map', 60 * MIB, 20 * MIB],
    ['alloc', 40 * MIB, 5 * MIB],
    ['segment_unmap', 60 * MIB, 20 * MIB],
  ]);
  assert.deepEqual(pieces(await layoutAt(run, 2)), ['free 20', 'free 20']);
  assert.deepEqual(pieces(await layoutAt(run, 4)), ['block 5, free 55']);
  assert.equal((await layoutAt(run, 4)).account.releasable, 40 * MIB);
  assert.deepEqual(pieces(await layoutAt(run, 5)), ['block 5, free 15', 'free 20']);
});

test('contradictions of a recording appear in the account', async () => {
  const run = rowsAt([
    ['alloc', 20 * MIB, 4 * MIB],
    ['segment_alloc', 40 * MIB, 4 * MIB],
    ['alloc', 42 * MIB, 4 * MIB],
  ]);
  const { account } = await layoutAt(run, 3);
  assert.equal(
    account.unexplained,
    account.reserved - account.asked - account.splittable - account.releasable,
  );
  assert.equal(account.unexplained, 4 * MIB - 8 * MIB - 4 * MIB);
});

test('mapped memory without a block, and less than a granule of it', async () => {
  const run = rowsAt([['segment_map', 40 * MIB, 30 * MIB]]);
  const { account, segments } = await layoutAt(run, 1);
  assert.deepEqual([account.releasable, account.splittable], [20 * MIB, 10 * MIB]);
  assert.deepEqual(
    segments.map(({ pool, poolId, isExpandable, largestFreeBytes }) => [
      pool,
      poolId,
      isExpandable,
      largestFreeBytes,
    ]),
    [['large', '', true, 30 * MIB]],
  );
});

test('a view of segments fills each of them with its own blocks', async () => {
  const run = rowsAt([
    ['segment_map', 0, 20 * MIB],
    ['segment_map', 20 * MIB, 20 * MIB],
    ['segment_alloc', 80 * MIB, 2 * MIB],
    ['alloc', 0, 2 * MIB],
    ['segment_unmap', 10 * MIB, 20 * MIB],
  ]);
  const segments = segmentRun(run);
  const at = async (state) => pieces(await layoutAt(segments, state));
  assert.deepEqual(await at(0), []);
  assert.deepEqual(await at(2), ['block 10, block 10']);
  assert.deepEqual(await at(5), ['block 10, block 10, block 10, block 10', 'block 2']);
  // The event that unmaps two pieces has two rows, and counts as a whole.
  for (const state of [7, 8]) assert.deepEqual(await at(state), ['block 10', 'block 10', 'block 2']);
  const { account } = await layoutAt(segments, 8);
  assert.deepEqual([account.asked, account.reserved, account.unexplained], [22 * MIB, 22 * MIB, 0]);
});

test('an engine that traps gives a sentence, now and for each later question', async () => {
  const run = rowsAt([['segment_alloc', 0, 2 * MIB]]);
  await assert.rejects(layoutAt(run, 2), /^Error: reading it failed \(/); // there is one event
  await assert.rejects(layoutAt(run, 1), /^Error: reading it failed \(/);
  const other = rowsAt([['segment_alloc', 0, 2 * MIB]]);
  other.layouts.close();
  await assert.rejects(layoutAt(other, 1), /^Error: its file was closed$/);
});

test('a file is read again for the first question, and once', async () => {
  let nOpened = 0;
  const layouts = new Layouts(async () => {
    nOpened++;
    return { at: async (device, state) => `${device} ${state}`, close: () => undefined };
  });
  assert.equal(layouts.isOpen, false);
  assert.deepEqual(await Promise.all([layouts.at(0, 1), layouts.at(2, 3)]), ['0 1', '2 3']);
  assert.deepEqual([nOpened, layouts.isOpen], [1, true]);
  let isClosed = false;
  const early = new Layouts(async () => ({ at: async () => '', close: () => (isClosed = true) }));
  const asked = early.at(0, 0);
  await null;
  early.close(); // while the file is being read
  await asked;
  assert.equal(isClosed, true);
});

const CLI = process.env.TIDEMARK_CLI ?? '';
const NO_CLI = existsSync(CLI) ? false : 'TIDEMARK_CLI names no program';
const SHARED = process.env.TIDEMARK_SHARED ?? new URL('../../../../shared', import.meta.url).pathname;
const LINES = {
  requested: 'asked',
  rounding: 'rounding',
  'unsplit tails': 'unsplit',
  pending: 'pending',
  'cached, splittable': 'splittable',
  'cached, releasable': 'releasable',
  unexplained: 'unexplained',
  reserved: 'reserved',
};

function program(path, device, at) {
  const given = ['--fragmentation', '--device', device, '--at', at, '--top', 100_000, '--format', 'json'];
  const report = execFileSync(CLI, ['summary', path, ...given.map(String)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 28,
  });
  return JSON.parse(report.toString()).tables;
}

/** The account and the segments with free memory that blocks hold, as the program prints them. */
function assertAsPrinted({ account, segments }, tables, what) {
  const printed = tables.account.rows.filter(({ line }) => line in LINES);
  for (const { line, bytes } of printed) assert.equal(account[LINES[line]], bytes, `${what}, ${line}`);
  assert.ok(printed.length >= 7 && (account.unexplained === 0 || printed.length === 8), what);
  const held = segments
    .filter(({ cachedBytes, releasableBytes }) => cachedBytes > releasableBytes)
    .map((segment) => [
      `0x${segment.address.toString(16)}`,
      segment.pool,
      segment.bytes,
      segment.cachedBytes - segment.releasableBytes,
      segment.pieces.filter(({ block }) => block >= 0).length,
    ])
    .sort((a, b) => b[3] - a[3] || a[0].length - b[0].length || (a[0] < b[0] ? -1 : 1));
  assert.deepEqual(
    held,
    tables.pinned.rows.map((row) => [row.segment, row.pool, row.segment_bytes, row.bytes, row.blocks]),
    what,
  );
}

/** The pieces name the blocks that are alive or pending, with their places. */
function assertPlaced({ segments }, { index }, state, what) {
  const { blocks } = index;
  const found = segments.flatMap((segment) => segment.pieces).filter(({ block }) => block >= 0);
  for (const { block, address, bytes, isPending } of found) {
    assert.deepEqual([address, bytes], [blocks.address[block], blocks.bytes[block]], what);
    const isAlive = blocks.bornState[block] <= state && state < blocks.diedState[block];
    const isHeld = blocks.bornState[block] <= state && state < blocks.pendingState[block];
    assert.deepEqual([isAlive, isHeld], [!isPending, true], what);
  }
  return found.length;
}

async function assertAgrees(path) {
  const { snapshot, engine } = await readSource(new Uint8Array(readFileSync(path)), () => undefined);
  const layouts = layoutsOf(engine);
  let nPieces = 0;
  for (const device of devicesUsed(snapshot)) {
    const run = makeRun(snapshot, 'run', device);
    run.layouts = layouts;
    const { count } = snapshot.events;
    for (const state of new Set([0, Math.floor(count / 3), run.peakState, count])) {
      const what = `${path}, device ${device}, state ${state}`;
      const layout = await layoutAt(run, state);
      assertAsPrinted(layout, program(path, device, state === 0 ? 'start' : state - 1), what);
      const nPlaced = assertPlaced(layout, run, state, what);
      if (layout.account.unexplained === 0 && layout.account.pending === 0)
        assert.equal(nPlaced, aliveAt(run.index, state).length, what);
      assert.equal(layout.account.reserved, reservedAt(run, state), what);
      nPieces += nPlaced;
    }
  }
  assert.ok(nPieces > 0, path);
}

const filesIn = (place) =>
  readdirSync(place, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(json|pickle)(\.gz)?$/.test(entry.name))
    .map((entry) => join(place, entry.name));

test(
  "the engine's layouts are those of the program, for the files that the tests keep",
  { skip: NO_CLI },
  async () => {
    for (const path of filesIn(new URL('../../golden/snapshots/', import.meta.url).pathname))
      await assertAgrees(path);
  },
);

test(
  'and for files by PyTorch',
  { skip: NO_CLI || (existsSync(SHARED) ? false : 'skipped: ../shared is absent') },
  async () => {
    const root = `${SHARED}/pytorch-snapshots`;
    for (const place of [root, `${root}/made`]) for (const path of filesIn(place)) await assertAgrees(path);
  },
);

test('and for recordings of each kind of the allocator', { skip: NO_CLI }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-layout-'));
  try {
    for (const settings of [
      '',
      'expandable_segments:True',
      'roundup_power2_divisions:4,max_split_size_mb:40',
    ]) {
      const path = join(folder, 'a.json.gz');
      const run = [
        '--size',
        'small',
        '--device',
        'virtual',
        '--context',
        '100',
        '--steps',
        '1',
        '--warmup',
        '1',
      ];
      execFileSync(CLI, ['profile', ...run, '-o', path, ...(settings ? ['--alloc-conf', settings] : [])], {
        stdio: 'ignore',
      });
      await assertAgrees(path);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the map fits its rows, keeps proportions, and finds each piece again', async () => {
  const run = rowsAt([
    ['segment_alloc', 20 * MIB, 20 * MIB],
    ['alloc', 20 * MIB, 4 * MIB],
    ['alloc', 24 * MIB, 6 * MIB],
    ['segment_alloc', 2 * MIB, 2 * MIB],
    ['segment_alloc', 100 * MIB, 300 * MIB],
    ['alloc', 200 * MIB, 1 * MIB],
  ]);
  const { segments } = await layoutAt(run, 6);
  const width = 500;
  const scale = scaleToFit(segments, width, 6);
  const { rects, nRows } = layOutMap(segments, width, scale);
  assert.ok(nRows <= 6 && nRows >= 5, String(nRows));
  const drawn = segments.map((_, s) =>
    rects.filter((rect) => rect.segment === s).reduce((sum, rect) => sum + rect.width, 0),
  );
  assert.ok(Math.abs(drawn[2] / drawn[1] - 15) < 0.01, String(drawn));
  for (const rect of rects) {
    assert.ok(rect.x >= 0 && rect.x + rect.width <= width + 1e-6);
    assert.equal(rectAt(rects, rect.x + rect.width / 2, rect.row), rect);
  }
  assert.equal(rectAt(rects, 10, nRows + 1), null);
});
