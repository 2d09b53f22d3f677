// Synthetic documents in the snapshot format, deterministic: a transformer's training steps with scopes,
// stacks and names, as regular or as hostile as a test needs.
import { subjectOf } from '../../../viewer/src/run/subjects.js';
import { CATEGORIES, Recording } from './recording.mjs';

/** A generator of numbers in [0, 1) from a seed. */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * A training run. `limitBytes` ends it with an out-of-memory row at the first allocation beyond it.
 */
export function trainingRun({
  layers = 12,
  warmup = 1,
  steps = 3,
  width = 768,
  tokens = 512,
  vocab = 10000,
  bytes = 4,
  precision = 'fp32',
  limitBytes = Infinity,
  device = 'cpu',
  label = (name) => name,
  operators = 4,
  times = device === 'cpu',
} = {}) {
  const r = new Recording();
  let live = 0;
  let reserved = 0;
  class Full extends Error {}
  const take = (name, category, n) => {
    if (live + n > limitBytes) {
      r.outOfMemory(n, Math.max(0, Math.floor(limitBytes - live)));
      throw new Full();
    }
    while (live + n > reserved) {
      const segment = Math.max(20 << 20, Math.ceil(n / (2 << 20)) * (2 << 20));
      reserved += segment;
      r.segment(segment);
    }
    const block = r.alloc(label(name), category, n);
    live += block.block;
    return block;
  };
  const drop = (block) => {
    live -= block.block;
    r.free(block);
  };
  const weights = [];
  const state = [];
  const weight = (name, n) => weights.push({ name, n, block: take(name, 'parameter', n * 4) });
  const step = (kind, number) => {
    r.within('step', kind, number, () => {
      const saved = [];
      const gradients = new Map();
      r.within('phase', 'forward', -1, () => {
        for (let l = 0; l < layers; l++) {
          r.within('layer', 'layer', l, () => {
            for (let o = 0; o < operators; o++) {
              r.within('operator', ['ln1', 'attention', 'ln2', 'ffn'][o % 4], -1, () => {
                const temporary = take(`layers.${l}.op${o}.scratch`, 'temporary', tokens * width * bytes);
                saved.push([
                  l,
                  o,
                  take(`layers.${l}.op${o}.out`, 'activation', tokens * width * (1 + (o % 4)) * bytes),
                ]);
                drop(temporary);
              });
            }
          });
        }
        r.within('operator', 'loss', -1, () =>
          saved.push([-1, 0, take('logits', 'activation', tokens * vocab * bytes)]),
        );
      });
      r.within('phase', 'backward', -1, () => {
        for (let l = layers - 1; l >= -1; l--) {
          r.begin('layer', l < 0 ? 'embedding' : 'layer', l);
          const mine =
            l === layers - 1
              ? saved.filter(([k]) => k === l || k === -1)
              : saved.filter(([k]) => k === l && k >= 0);
          for (const [k, o, block] of mine.reverse()) {
            const temporary = take(`layers.${l}.op${o}.grad`, 'temporary', tokens * width * bytes);
            drop(block);
            for (const w of weights.filter((x) => k >= 0 && x.name.startsWith(`layers.${l}.op${o}.`))) {
              gradients.set(w.name, take(`${w.name}.grad`, 'gradient', w.n * 4));
            }
            drop(temporary);
          }
          if (l < 0) gradients.set('embedding', take('embedding.weight.grad', 'gradient', vocab * width * 4));
          r.end();
        }
      });
      r.within('phase', 'optimizer', -1, () => {
        r.within('operator', 'adamw', -1, () => {
          if (state.length === 0) {
            for (const w of weights)
              state.push(
                take(`${w.name}.exp_avg`, 'optimizer_state', w.n * 4),
                take(`${w.name}.exp_avg_sq`, 'optimizer_state', w.n * 4),
              );
          }
        });
        for (const block of gradients.values()) drop(block);
      });
    });
  };
  try {
    r.within('phase', 'setup', -1, () => {
      weight('embedding.weight', vocab * width);
      for (let l = 0; l < layers; l++) {
        for (let o = 0; o < operators; o++)
          weight(`layers.${l}.op${o}.weight`, o % 2 === 0 ? width : 4 * width * width);
      }
      take('tokens', 'input', tokens * 4);
    });
    for (let i = 0; i < warmup; i++) step('warmup', i);
    for (let i = 0; i < steps; i++) step('step', i);
  } catch (problem) {
    if (!(problem instanceof Full)) throw problem;
  }
  const random = randomNumbers(7);
  const phases = [
    ['forward', 30],
    ['backward', 62],
    ['optimizer', 18],
    ['step', 111],
  ].map(([name, ms]) => ({
    name,
    host_ms: times ? Array.from({ length: steps }, () => ms * (1 + 0.08 * random())) : [],
    device_ms: Array.from({ length: times ? steps : 0 }, () => -1),
  }));
  return r.document({
    devices: [
      {
        kind: device,
        name: device === 'virtual' ? 'h100-80' : device,
        total_bytes: device === 'virtual' ? 85_017_493_504 : -1,
      },
    ],
    timing: { warmup_steps: warmup, measured_steps: steps, phases: times ? phases : [], flops: -1 },
    run: {
      precision,
      outcome: r.oom.length > 0 ? 'oom' : 'completed',
      memory_limit_bytes: Number.isFinite(limitBytes) ? Math.floor(limitBytes) : -1,
    },
  });
}

/** Random blocks without scopes or names, about `n` events. */
export function randomRun(n, seed) {
  const r = new Recording();
  const random = randomNumbers(seed);
  const alive = [];
  const categories = CATEGORIES;
  while (r.events.length < n) {
    r.nsPerEvent = random() < 0.2 ? 0 : Math.floor(random() * 5000);
    if (alive.length > 0 && random() < 0.47) r.free(alive.splice(Math.floor(random() * alive.length), 1)[0]);
    else
      alive.push(
        r.alloc(
          `t${r.events.length}`,
          categories[Math.floor(random() * categories.length)],
          1 + Math.floor(random() ** 3 * 4e6),
        ),
      );
  }
  return r.document();
}

/** A run on three devices, of which two are used, the second more than the first. */
export function runOnDevices() {
  const document = new Recording().document();
  const rows = [
    [0, 1, 512],
    [0, 2, 512],
    [1, 1, 4096],
    [0, 3, 512],
  ]; // device, address, bytes
  document.devices = ['a', 'b', 'c'].map((name) => ({ kind: 'cuda', name, total_bytes: 1e9 }));
  document.events = {
    time_delta: rows.map(() => 1),
    action: rows.map(() => 0),
    device: rows.map((row) => row[0]),
    address_delta: [1, 1, -1, 2],
    requested_bytes: rows.map((row) => row[2]),
    block_bytes: rows.map((row) => row[2]),
    stream: rows.map(() => 0),
    stack: rows.map(() => -1),
    scope_delta: [-1, 0, 0, 0],
    category: rows.map(() => 0),
    name: rows.map(() => -1),
  };
  return document;
}

/**
 * The rows of a snapshot's events with the data of their subjects: address, bytes, stream, category and name.
 */
export function eventRows({ events, subjects }) {
  const of = (column) => Array.from(events.act, (act) => column[subjectOf(act)]);
  return {
    ...events,
    address: of(subjects.address),
    requestedBytes: of(subjects.requestedBytes),
    blockBytes: of(subjects.bytes),
    stream: of(subjects.stream),
    category: of(subjects.category),
    certainty: subjects.certainty === null ? null : of(subjects.certainty),
    name: of(subjects.name),
  };
}

/** Small valid documents that together contain every feature of a document. */
export function smallDocuments() {
  const training = trainingRun({
    layers: 1,
    warmup: 0,
    steps: 1,
    operators: 1,
    times: false,
    limitBytes: 2e8,
  });
  const started = randomRun(40, 7);
  const segments = runOnDevices();
  const name = training.strings.push('gemm', 'forward', 'forward > layer') - 3;
  training.kernels = {
    name: [name, name],
    phase: [-1, name + 1],
    path: [name + 2, name + 2],
    launches: [3, 1],
    total_ns: [30, 5],
    mean_ns: [10, 5],
    min_ns: [9, 5],
    max_ns: [12, 5],
  };
  training.events.certainty = training.events.action.map((_, i) => i % 3);
  training.scopes.duration[training.scopes.duration.length - 1] = -2;
  training.pools = [
    [1, 0],
    [0, 2],
  ];
  training.events.pool = training.events.action.map((_, i) => (i % 5 === 0 ? 1 + (i % 2) : 0));
  training.owners = {
    accounts: [{ device: 0, total_bytes: 1e9, used_at_peak_bytes: 5e8, context_bytes: 3e7 }],
    rows: [
      { name: 'PyTorch', device: 0, peak_bytes: 4e8, end_bytes: 2e8, allocations: 3 },
      { name: 'others', device: 0 },
    ],
  };
  training.rank = {
    rank: 7,
    local_rank: 3,
    world_size: 1024,
    groups: [
      { name: 'tp', description: 'tensor', size: 8, position: 7, first: 0, stride: 1 },
      { name: '1', size: 2 },
    ],
  };
  training.peak_range = [{ device: 0, allocated_low_bytes: 7, allocated_high_bytes: 8 }];
  training.origin = { format: 'pytorch', events: 7, contradictions: 2 };
  training.loss = [9.25, 'nan', 'inf', '-inf', 1];
  training.categories = [...training.categories, 'kv cache'];
  training.log = { full_policy: 'stop', dropped_events: 1, dropped_scopes: 2 };
  training.allocator = { max_split_bytes: -1, backend: 'native', share: 0.5 };
  const block = (offset, bytes, state, more = {}) => ({
    offset_bytes: offset,
    block_bytes: bytes,
    requested_bytes: state === 0 ? 0 : bytes - 3,
    state,
    stack: -1,
    scope: -1,
    category: 0,
    name: -1,
    ...more,
  });
  const state = {
    segments: [
      {
        device: 0,
        address: 1 << 20,
        total_bytes: 2048,
        stream: 0,
        is_expandable: false,
        pool: 'small',
        pool_id: [0, 0],
        blocks: [
          block(0, 512, 1, { category: 4, certainty: 2, name: 0 }),
          block(512, 1024, 2),
          block(1536, 512, 0),
        ],
      },
      {
        device: 0,
        address: 1 << 21,
        total_bytes: 512,
        stream: 0,
        is_expandable: true,
        pool: 'large',
        pool_id: [1, 0],
        blocks: [block(0, 512, 1)],
      },
    ],
  };
  return { training, started: { ...started, start: state, end: state }, segments };
}

/** Three blocks at known places: the lowest is allocated first, and so on; the last state is long. */
export function knownRun(names = ['low', 'middle', 'top']) {
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
