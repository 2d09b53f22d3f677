// Random snapshots by PyTorch, the page's and the program's reading of a file, and the comparison of two runs
// part by part.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readSource } from '../../../viewer/src/engine/unpack.js';
import { randomNumbers, eventRows } from './synthetic.mjs';
import './engine.mjs';
import './transfer.mjs';

export const CLI = process.env.TIDEMARK_CLI ?? '';
export const NO_CLI = existsSync(CLI) ? false : 'TIDEMARK_CLI names no program';

export const opened = async (path) => readSource(new Blob([readFileSync(path)]), () => undefined);

/** The program's result for the same file, which the report holds. */
export async function imported(path) {
  const report = `${path}.html`;
  execFileSync(CLI, ['view', path, '-o', report], { stdio: 'ignore' });
  const [, base64] = /class="tidemark-snapshot"[^>]*>([^<]+)</.exec(readFileSync(report, 'latin1'));
  const bytes = Buffer.from(base64, 'base64');
  assert.notEqual(bytes[0], 0x80, 'the report holds a snapshot, not the pickle');
  return readSource(new Uint8Array(bytes), () => undefined);
}

/** All parts of a run, with texts in place of their numbers. */
export function partsOf({ snapshot, derived }) {
  const { strings, frames, stacks, scopes, start, events } = snapshot;
  const text = (i) => (i < 0 ? null : strings[i]);
  const frame = (f) => `${text(frames.function[f])} ${text(frames.file[f])}:${frames.line[f]}`;
  const chains = [];
  for (let s = 0; s < stacks.frame.length; s++)
    chains.push(`${frame(stacks.frame[s])}${stacks.parent[s] < 0 ? '' : ` < ${chains[stacks.parent[s]]}`}`);
  const chain = (s) => (s < 0 ? null : chains[s]);
  const texts = (column) => Array.from(column, text);
  const plain = (column) => Array.from(column);
  const rows = eventRows(snapshot);
  const stream = (s) => `${snapshot.streams[s].device}/${snapshot.streams[s].handle}`;
  return {
    origin: snapshot.origin,
    clock: snapshot.clockSource,
    nDropped: snapshot.nDropped,
    devices: snapshot.devices.map((device) => device.kind),
    allocator: { ...snapshot.allocator },
    oom: snapshot.oom,
    scopes: {
      parent: plain(scopes.parent),
      name: texts(scopes.name),
      kind: plain(scopes.kind),
      begin: plain(scopes.beginNs),
      duration: plain(scopes.durationNs),
    },
    events: {
      time: plain(events.timeNs),
      action: plain(events.action),
      device: plain(events.device),
      address: rows.address,
      requested: rows.requestedBytes,
      block: rows.blockBytes,
      stream: rows.stream.map(stream),
      stack: Array.from(events.stack, chain),
      scope: plain(events.scope),
      category: rows.category.map((number) => snapshot.categories[number]),
      certainty: rows.certainty,
      name: texts(rows.name),
    },
    segments: {
      device: plain(start.device),
      address: plain(start.address),
      total: plain(start.totalBytes),
      expandable: plain(start.isExpandable),
      pool: start.pool,
      poolId: start.poolId,
      stream: Array.from(start.stream, stream),
      first: plain(start.firstBlock),
    },
    blocks: {
      offset: plain(start.blocks.offsetBytes),
      bytes: plain(start.blocks.blockBytes),
      requested: plain(start.blocks.requestedBytes),
      state: plain(start.blocks.state),
      stack: Array.from(start.blocks.stack, chain),
      name: texts(start.blocks.name),
    },
    peak: [
      derived.index.totals[derived.index.peakState],
      derived.index.peakState,
      derived.index.blocks.nUnmatched,
      derived.reserved.maxBytes,
    ],
  };
}

/** Compares column by column, so that a message is short. */
export function assertSame(ours, theirs, name) {
  for (const [part, columns] of Object.entries(partsOf(theirs))) {
    const mine = partsOf(ours)[part];
    if (typeof columns !== 'object' || columns === null || Array.isArray(columns)) {
      assert.deepEqual(mine, columns, `${name}: ${part}`);
      continue;
    }
    for (const [key, column] of Object.entries(columns)) {
      const at = Array.isArray(column)
        ? column.findIndex((value, i) => JSON.stringify(value) !== JSON.stringify(mine[key][i]))
        : -1;
      assert.ok(
        at < 0,
        `${name}: ${part}.${key}[${at}] is ${JSON.stringify(mine[key]?.[at])}, not ${JSON.stringify(column[at])}`,
      );
      assert.deepEqual(mine[key], column, `${name}: ${part}.${key}`);
    }
  }
}

/* Functions that rules of categories look for, and others. */
const FUNCTIONS = [
  ...['forward', 'apply', 'c10::cuda::f()', '', '_call_impl', '_apply', '__init__', 'zero_grad', 'backward'],
  ...['torch::autograd::generated::MulBackward0::apply(int)', 'torch::autograd::AccumulateGrad::apply(int)'],
  ...['torch::autograd::Engine::run()', 'at::cuda::blas::gemm()', 'at::native::Workspace::f()', 'c10d::f()'],
  ...['_init_group', 'wrapper'],
];
const FILES = [
  ...['/me/a.py', '??', '/x/site-packages/torch/b.py', '/x/site-packages/einx/c.py', 'C:\\P\\Lib\\d.py'],
  ...['/x/site-packages/torch/nn/modules/module.py', 'D:\\x\\torch\\optim\\adamw.py'],
  ...['/x/torch/autograd/graph.py', '/x/torch/distributed/fsdp/e.py'],
];

/** Traces that may contradict their segments in every way, as a Python script. */
export function randomTraces(seed) {
  const random = randomNumbers(seed);
  const whole = (n) => Math.floor(random() * n);
  const pick = (list) => list[whole(list.length)];
  const devices = 1 + whole(3);
  const frames = Array.from({ length: 10 }, (_, i) => ({
    name: pick(FUNCTIONS),
    filename: pick(FILES),
    line: i - 1,
  }));
  const stack = () => Array.from({ length: whole(4) }, () => pick(frames));
  const address = () => 2 ** 30 + 512 * pick([0, 1, 2, 4, 8, 2048, 4096, 8192, 9000, 20000, 40000]);
  const size = () => pick([1, 512, 700, 1024, 2048, 2 ** 20, 2 ** 20 + 1, 3 * 2 ** 20, 5 * 2 ** 20 + 77]);
  const event = (i) => {
    const action = pick([
      'alloc',
      'alloc',
      'alloc',
      'free_requested',
      'free_completed',
      'free',
      'segment_alloc',
      'segment_free',
      'segment_map',
      'segment_unmap',
      'oom',
      'snapshot',
      'annotate',
      'workspace',
    ]);
    const made = {
      action,
      addr: address(),
      size: size(),
      stream: pick([0, 0, 12345]),
      time_us: 1_700_000_000_000_000 + i * 10 + whole(15),
      frames: stack(),
    };
    if (random() < 0.2) made.user_metadata = pick(['lr', 'weight @ step 1', ' @ x', 'y @ ', '']);
    if (random() < 0.1) made.compile_context = pick(['N/A', '0/0']);
    if (random() < 0.1) made.category = pick(['parameter', 'nonsense']);
    if (action === 'oom') made.device_free = pick([0, 2 ** 53 - 1, 4096]);
    return made;
  };
  const segment = (device, i) => {
    const sizes = Array.from({ length: 1 + whole(5) }, () => 512 * pick([1, 2, 4, 2048, 8192]));
    const total = sizes.reduce((a, b) => a + b, 0);
    return {
      device,
      address: 2 ** 30 + i * 2 ** 26,
      total_size: total,
      stream: pick([0, 12345]),
      segment_type: pick(['small', 'large']),
      is_expandable: random() < 0.3,
      segment_pool_id: [0, whole(2)],
      blocks: sizes.map((bytes) => ({
        size: bytes,
        requested_size: bytes - pick([0, 100]),
        state: pick(['inactive', 'active_allocated', 'active_pending_free']),
        frames: stack(),
      })),
    };
  };
  return {
    segments: Array.from({ length: 4 }, (_, i) => segment(whole(devices), i)),
    device_traces: Array.from({ length: devices }, () => Array.from({ length: 60 }, (_, i) => event(i))),
    allocator_settings: {
      max_split_size: pick([-1, 3 * 2 ** 20]),
      expandable_segments: true,
      roundup_power2_divisions: pick([
        0,
        Object.fromEntries(Array.from({ length: 16 }, (_, i) => [2 ** i, whole(5)])),
      ]),
      name: 'native',
    },
    external_annotations: Array.from({ length: 20 }, (_, i) => ({
      stage: pick(['START', 'START', 'END']),
      name: pick(['a', 'b']),
      device: whole(devices),
      time_us: 1_700_000_000_000_000 + i * 40,
    })),
  };
}
