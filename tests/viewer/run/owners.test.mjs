// The owners of the memory that a device's driver reports as in use, and the private pool of a block.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../support/engine.mjs';
import { accountLines } from '../../../viewer/src/run/owners.js';
import { blockText } from '../../../viewer/src/panels/pinned_card.js';
import { poolText } from '../../../viewer/src/run/pools.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { Recording } from '../support/recording.mjs';

const MIB = 2 ** 20;

/** The account of a small run, in whole MiB unless a test adds other rows. */
function recorded(account = {}, rows = []) {
  const recording = new Recording();
  recording.alloc('weight', 'parameter', 1024);
  recording.alloc('graph', 'activation', 1024);
  return recording.document({
    owners: {
      accounts: [
        {
          device: 0,
          total_bytes: 80 * 1024 * MIB,
          used_at_start_bytes: 730 * MIB,
          used_at_peak_bytes: 8844 * MIB,
          used_at_end_bytes: 700 * MIB,
          context_bytes: 666 * MIB,
          ...account,
        },
      ],
      rows: [
        { name: 'others', device: 0, peak_bytes: 2 * MIB, end_bytes: 0 },
        { name: 'PyTorch', device: 0, peak_bytes: 8176 * MIB, end_bytes: 20 * MIB },
        ...rows,
      ],
    },
  });
}

const linesOf = (document) => {
  const { owners } = snapshotOf(document);
  return Object.fromEntries(accountLines(owners, 0).map(({ when, text }) => [when, text]));
};

test('the account of a device is a sum at the start, at its peak and at the end', () => {
  assert.deepEqual(linesOf(recorded()), {
    start: '730 MiB = context 666 + allocated by then 64',
    peak: '8,844 MiB = PyTorch 8,176 + context 666 + others 2 + unexplained 0',
    end: '700 MiB = PyTorch 20 + context 666 + unexplained 14',
  });
});

test('whole numbers add up, and what is claimed twice is below 0', () => {
  const half = { name: 'NCCL', device: 0, peak_bytes: 1.5 * MIB, end_bytes: 0 };
  assert.equal(
    linesOf(recorded({}, [half, { ...half, name: 'cuBLAS' }])).peak,
    '8,844 MiB = PyTorch 8,176 + NCCL 2 + cuBLAS 1 + context 666 + others 2 + unexplained −3',
  );
});

test('what is not known is left out', () => {
  assert.deepEqual(linesOf(recorded({ used_at_start_bytes: -1, used_at_end_bytes: -1, context_bytes: -1 })), {
    peak: '8,844 MiB = PyTorch 8,176 + others 2 + context and unexplained 666',
  });
  const unknown = { name: 'NCCL', device: 0, end_bytes: 0 };
  assert.equal(linesOf(recorded({}, [unknown])).peak, '8,844 MiB');
  const elsewhere = recorded();
  elsewhere.devices.push(elsewhere.devices[0]);
  elsewhere.owners.accounts[0].device = 1;
  assert.deepEqual(linesOf(elsewhere), {});
  const without = recorded();
  delete without.owners;
  assert.deepEqual(linesOf(without), {});
});

test("a block's private pool is named", () => {
  const document = recorded();
  document.pools = [[3, 0]];
  document.events.pool = [0, 1];
  const block = { offset_bytes: 0, block_bytes: 512, requested_bytes: 512, state: 1, stack: -1, scope: -1 };
  document.start.segments = [
    {
      device: 0,
      address: 1 << 20,
      total_bytes: 512,
      stream: 0,
      pool_id: [0, 2],
      blocks: [{ ...block, category: 1, name: -1 }],
    },
  ];
  const run = makeRun(snapshotOf(document), 'x');
  assert.deepEqual(run.snapshot.pools, ['3, 0', '0, 2']);
  assert.deepEqual([...run.index.blocks.pool], [2, 0, 1]);
  assert.match(blockText(run, 0), /^pool: private, of the program \(0, 2\)$/m);
  assert.doesNotMatch(blockText(run, 1), /^pool/m);
  assert.match(blockText(run, 2), /^pool: private, of a graph \(3, 0\)$/m);
  assert.equal(poolText(['0, 0'], 1), 'private (0, 0)');
});

test('a file without pools keeps no column for them', () => {
  assert.equal(makeRun(snapshotOf(recorded()), 'x').index.blocks.pool, null);
});

test('pinned memory beside a virtual device has no times that mean anything', () => {
  const document = recorded();
  const [device] = document.devices;
  document.devices = [
    { ...device, kind: 'virtual' },
    { ...device, kind: 'pinned' },
  ];
  document.events.device = [0, 1];
  assert.ok(makeRun(snapshotOf(document), 'x', 1).isVirtual);
  document.devices[0].kind = 'cuda';
  assert.ok(!makeRun(snapshotOf(document), 'x', 1).isVirtual);
});
