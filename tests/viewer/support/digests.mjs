// Digests of ranks for the tests: DIGESTS RANKS STEPS FOLDER writes a world with outliers; the modules use
// makeDigests.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const MOST_POINTS = 256; // of a timeline, as in a digest that the program writes
export const LEAKS = 5; // the rank whose memory grows
export const ENDS = 11; // the rank that runs out of memory
export const CLOCKLESS = 2; // the rank without a clock

function rowsOf(stage, isLast) {
  const row = (line, category, scope, bytes, n_blocks) => ({
    line,
    category,
    certainty: 'rule',
    scope,
    bytes,
    n_blocks,
  });
  return [
    row('Block.__init__ (model.py:12)', 'parameter', '', 8 * GIB, 96),
    row('Block.forward (model.py:40)', 'activation', 'forward > layer *', (12 - 2 * stage) * GIB, 48),
    ...(isLast ? [row('Head.forward (model.py:71)', 'activation', 'forward > head', 8 * MIB, 1)] : []),
  ];
}

/** What `tidemark explain` prints of a rank: the leak, the failure, and the peak with figures of its own. */
function explainedOf(rank, peak) {
  const growth = {
    kind: 'keeps',
    line: 'log (train.py:88)',
    unit: 'iteration',
    bytes_per_pass: 256 * MIB,
    bytes: 4 * GIB,
    passes: 16,
  };
  const text =
    'The loop at train (train.py:80-90) keeps 256.00 MiB on each iteration. Cure: `losses.append(loss.item())`.';
  const filled = `The peak, ${(peak / GIB).toFixed(2)} GiB, is 8.00 GiB at Block.__init__ (model.py:12).`;
  const causes = rank === LEAKS ? [{ cause: 'training_graph_kept', bytes: 4 * GIB, text }] : [];
  return {
    version: 1,
    failure: null,
    growth: rank === LEAKS ? [growth] : [],
    causes,
    sentences: [
      ...(rank === ENDS ? [{ key: 'oom', text: 'Out of memory at Block.forward (model.py:40).' }] : []),
      ...causes.map((cause) => ({ key: 'cause', text: cause.text })),
      { key: 'filled', text: filled },
      { key: 'kinds', text: 'By kind: 8.00 GiB of weights.' },
    ],
  };
}

/** A digest of one rank of `n`, in 4 pipeline stages of equal size; 8 ranks a node. */
export function makeDigest(rank, n, nSteps) {
  const perStage = Math.max(1, Math.floor(n / 4));
  const stage = Math.min(3, Math.floor(rank / perStage));
  const rows = rowsOf(stage, rank === n - 1);
  const base = rows.reduce((sum, row) => sum + row.bytes, 0);
  const peakAt = (step) => base - (step === 0 ? GIB : 0) + (rank === LEAKS ? step * 256 * MIB : 0);
  const nDone = rank === ENDS ? Math.ceil(nSteps / 2) : nSteps;
  const steps = Array.from({ length: nDone }, (_, index) => ({
    index,
    n_steps: 1,
    name: `step ${index}`,
    begin_ns: index * 1e9,
    end_ns: (index + 1) * 1e9,
    allocated_peak_bytes: rank === ENDS && index === nDone - 1 ? 79 * GIB : peakAt(index),
    reserved_peak_bytes: peakAt(index) + 2 * GIB,
    end_bytes: 8 * GIB,
  }));
  const peak = Math.max(...steps.map((step) => step.allocated_peak_bytes));
  const bytes = {
    requested_bytes: peak,
    allocated_bytes: peak,
    active_bytes: peak,
    reserved_bytes: peak + GIB,
  };
  const all = steps.flatMap((step) => [
    [step.begin_ns, 8 * GIB],
    [step.begin_ns + 6e8, step.allocated_peak_bytes],
  ]);
  const each = Math.ceil(all.length / MOST_POINTS); // the highest of this many becomes one point
  const points = all
    .filter((_, i) => i % each === 0)
    .map(([time], i) => [time, Math.max(...all.slice(i * each, (i + 1) * each).map(([, value]) => value))]);
  return {
    format: 'tidemark-digest',
    version: 1,
    tool: { version: '1.0.0', build: '' },
    source: {
      file: `rank${rank}.json.gz`,
      format: 'tidemark',
      command: 'train.py',
      started_unix_us: 1.79e15,
      outcome: rank === ENDS ? 'oom' : 'completed',
    },
    rank: {
      rank,
      local_rank: rank % 8,
      world_size: n,
      node: `node${Math.floor(rank / 8)}`,
      from: 'recorded',
      groups: [
        { name: 'pp', description: '', size: 4, position: stage, first: 0, stride: perStage },
        { name: 'dp', description: '', size: n, position: rank, first: 0, stride: 1 },
      ],
    },
    host: { name: `node${Math.floor(rank / 8)}`, os: 'Linux', cpu: '' },
    software: { torch: '2.14.1' },
    settings: { expandable_segments: 'False' },
    devices: [
      {
        index: 0,
        kind: 'cuda',
        name: 'NVIDIA H100 80GB',
        total_bytes: 80 * GIB,
        counts: { events: 1000, dropped: 0 },
        peak: { event: 10, time_ns: 6e8, step: 1, phase: 'backward', ...bytes },
        max: bytes,
        end: { ...bytes, allocated_bytes: 8 * GIB },
        headroom_bytes: 79 * GIB - peak,
        low_bytes: -1,
        high_bytes: -1,
        oom:
          rank === ENDS
            ? {
                event: 999,
                time_ns: points[points.length - 1][0],
                requested_bytes: 2 * GIB,
                free_bytes: 512 * MIB,
                line: 'Block.forward (model.py:40)',
              }
            : null,
        explained: explainedOf(rank, peak),
        rows,
        rest: { bytes: 0, n_blocks: 0, n_rows: 0 },
        steps,
        timeline: {
          begin_unix_us: rank === CLOCKLESS ? -1 : 1.79e15 + rank * 1e4,
          time_ns: points.map(([time]) => time),
          allocated_bytes: points.map(([, value]) => value),
          reserved_bytes: points.map(([, value]) => value + 2 * GIB),
        },
      },
    ],
    owners: [],
    inexact: [],
  };
}

export function makeDigests(n, nSteps) {
  return Array.from({ length: n }, (_, rank) => makeDigest(rank, n, nSteps));
}

/** The document of a page of ranks. */
export function ranksDocument(digests) {
  return { format: 'tidemark-ranks', version: 1, digests };
}

if (process.argv[1]?.endsWith('digests.mjs')) {
  const [n, nSteps, folder] = process.argv.slice(2);
  mkdirSync(folder, { recursive: true });
  for (const digest of makeDigests(Number(n), Number(nSteps)))
    writeFileSync(join(folder, `rank${digest.rank.rank}.digest.json.gz`), gzipSync(JSON.stringify(digest)));
}
