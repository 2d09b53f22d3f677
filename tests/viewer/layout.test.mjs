// The memory map: segments, blocks and gaps at any instant, and their places in the picture.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { snapshotOf } from './engine.mjs';
import { aliveAt } from '../../viewer/src/index.js';
import { layoutAt, reservedAt } from '../../viewer/src/layout.js';
import { layOutMap, rectAt, scaleToFit } from '../../viewer/src/map_rows.js';
import { makeRun } from '../../viewer/src/run.js';
import { Recording } from './recording.mjs';

const runOf = (document) => makeRun(snapshotOf(document), 'run');
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

test('blocks and gaps fill their segments', () => {
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
  const at = (state) => pieces(layoutAt(run, state));
  assert.deepEqual(at(0), []);
  assert.deepEqual(at(1), ['free 20']);
  assert.deepEqual(at(4), ['block 4, block 6, block 2, free 8']);
  assert.deepEqual(at(6), ['free 2', 'block 4, free 6, block 2, free 8']);
  assert.deepEqual(at(7), ['free 2', 'block 4, free 6, pending 2, free 8']);
  assert.deepEqual(at(9), ['free 2', 'free 20']);
  assert.deepEqual(at(10), ['free 2']);
  assert.deepEqual(layoutAt(run, 7).account, {
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

test('expandable segments join, are cut, and give back whole granules', () => {
  const run = rowsAt([
    ['segment_map', 40 * MIB, 20 * MIB],
    ['segment_map', 80 * MIB, 20 * MIB],
    ['segment_map', 60 * MIB, 20 * MIB],
    ['alloc', 40 * MIB, 5 * MIB],
    ['segment_unmap', 60 * MIB, 20 * MIB],
  ]);
  assert.deepEqual(pieces(layoutAt(run, 2)), ['free 20', 'free 20']);
  assert.deepEqual(pieces(layoutAt(run, 4)), ['block 5, free 55']);
  assert.equal(layoutAt(run, 4).account.releasable, 40 * MIB);
  assert.deepEqual(pieces(layoutAt(run, 5)), ['block 5, free 15', 'free 20']);
});

test('contradictions of a recording appear in the account', () => {
  const run = rowsAt([
    ['alloc', 20 * MIB, 4 * MIB],
    ['segment_alloc', 40 * MIB, 4 * MIB],
    ['alloc', 42 * MIB, 4 * MIB],
  ]);
  const { account } = layoutAt(run, 3);
  assert.equal(
    account.unexplained,
    account.reserved - account.asked - account.splittable - account.releasable,
  );
  assert.equal(account.unexplained, 4 * MIB - 8 * MIB - 4 * MIB);
});

const cli = process.env.TIDEMARK_CLI ?? '';
test(
  "the account of each reserved byte is the program's, and every block alive has its place",
  { skip: existsSync(cli) ? false : 'TIDEMARK_CLI names no program' },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-layout-'));
    try {
      for (const settings of [
        '',
        'expandable_segments:True',
        'roundup_power2_divisions:4,max_split_size_mb:40',
      ]) {
        const path = join(folder, 'a.json.gz');
        execFileSync(
          cli,
          [
            'profile',
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
            '-o',
            path,
            ...(settings ? ['--alloc-conf', settings] : []),
          ],
          { stdio: 'ignore' },
        );
        const run = runOf(JSON.parse(gunzipSync(readFileSync(path)).toString()));
        const { nStates, blocks } = run.index;
        for (let state = 0; state < nStates; state += 211) {
          const layout = layoutAt(run, state);
          const placed = layout.segments.flatMap((s) => s.pieces).filter((piece) => piece.block >= 0);
          assert.equal(layout.account.unexplained, 0, `${settings} ${state}`);
          assert.deepEqual(
            placed.map((piece) => piece.block).sort((a, b) => a - b),
            aliveAt(run.index, state).sort((a, b) => a - b),
          );
          for (const piece of placed)
            assert.deepEqual(
              [piece.address, piece.bytes],
              [blocks.address[piece.block], blocks.bytes[piece.block]],
            );
          assert.equal(
            layout.segments.reduce((sum, s) => sum + s.bytes, 0),
            reservedAt(run, state),
          );
        }
        const report = JSON.parse(
          execFileSync(cli, ['summary', path, '--fragmentation', '--format', 'json']).toString(),
        );
        const rows = JSON.stringify(report);
        const { account } = layoutAt(run, run.snapshot.events.count > 0 ? run.index.peakState : 0);
        for (const key of ['asked', 'rounding', 'unsplit', 'splittable', 'releasable']) {
          if (account[key] > 0)
            assert.ok(
              rows.includes(`:${account[key]},`) || rows.includes(`: ${account[key]},`),
              `${key} ${account[key]} is in the report`,
            );
        }
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test('the map fits its rows, keeps proportions, and finds each piece again', () => {
  const run = rowsAt([
    ['segment_alloc', 20 * MIB, 20 * MIB],
    ['alloc', 20 * MIB, 4 * MIB],
    ['alloc', 24 * MIB, 6 * MIB],
    ['segment_alloc', 2 * MIB, 2 * MIB],
    ['segment_alloc', 100 * MIB, 300 * MIB],
    ['alloc', 200 * MIB, 1 * MIB],
  ]);
  const { segments } = layoutAt(run, 6);
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
