// Recomputes every figure of a snapshot from its start state and its events. This code follows only
// docs/reference/snapshot-format.md and shares nothing with the program's reader or the viewer's modules.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const ROUNDING_BYTES = 512;

/** The running sum of a column of differences. */
function running(deltas) {
  let value = 0;
  return deltas.map((delta) => (value += delta));
}

/** The document of a file with its columns decoded to rows. */
export function decode(bytes) {
  const file = JSON.parse(gunzipSync(bytes).toString('utf8'));
  const unit = file.address_unit_bytes;
  const { events: columns } = file;
  const times = running(columns.time_delta);
  const addresses = running(columns.address_delta);
  const scopes = running(columns.scope_delta);
  const events = columns.action.map((action, i) => ({
    time: times[i],
    action: file.actions[action],
    device: columns.device[i],
    address: addresses[i] * unit,
    requested: columns.requested_bytes[i],
    bytes: columns.block_bytes[i],
    stack: columns.stack[i],
    scope: scopes[i],
    category: file.categories[columns.category[i]],
    name: columns.name[i],
  }));
  const begins = running(file.scopes.begin_delta);
  const table = file.scopes.kind.map((kind, i) => ({
    parent: file.scopes.parent[i],
    kind: file.scope_kinds[kind],
    name: file.strings[file.scopes.name[i]],
    index: file.scopes.index[i],
    begin: begins[i],
  }));
  return { file, unit, events, scopes: table, text: (number) => (number < 0 ? '' : file.strings[number]) };
}

export const load = (path) => decode(readFileSync(path));

/** Segments and blocks by address at one end of the document, with separate runs of mapped memory. */
function stateOf(document, end) {
  const segments = new Map();
  const runs = new Map();
  const blocks = new Map();
  for (const segment of document.file[end].segments) {
    const address = segment.address * document.unit;
    (segment.is_expandable ? runs : segments).set(address, segment.total_bytes);
    for (const block of segment.blocks) {
      const state = document.file.block_states[block.state];
      if (state === 'free') continue;
      blocks.set(address + block.offset_bytes, {
        bytes: block.block_bytes,
        requested: block.requested_bytes,
        stack: block.stack,
        scope: block.scope,
        category: document.file.categories[block.category],
        name: block.name,
        allocated: state === 'allocated',
        born: 0,
      });
    }
  }
  return { segments, runs, blocks };
}

/** Adds mapped memory [address, + bytes) and merges it with adjacent runs. */
function mapRun(runs, address, bytes, must) {
  for (const [from, length] of [...runs]) {
    must(from + length <= address || address + bytes <= from);
    if (from + length === address || address + bytes === from) {
      runs.delete(from);
      [address, bytes] = [Math.min(address, from), bytes + length];
    }
  }
  runs.set(address, bytes);
}

function unmapRun(runs, address, bytes, must) {
  const run = [...runs].find(([from, length]) => from <= address && address + bytes <= from + length);
  must(run !== undefined);
  const [from, length] = run;
  const end = address + bytes;
  runs.delete(from);
  if (from < address) runs.set(from, address - from);
  if (end < from + length) runs.set(end, from + length - end);
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

function totalsOf({ segments, runs, blocks }) {
  const all = [...blocks.values()];
  const allocated = all.filter((block) => block.allocated);
  return {
    requested_bytes: sum(all.map((block) => block.requested)),
    allocated_bytes: sum(allocated.map((block) => block.bytes)),
    active_bytes: sum(all.map((block) => block.bytes)),
    reserved_bytes: sum([...segments.values(), ...runs.values()]),
    n_blocks: allocated.length,
    n_segments: segments.size,
  };
}

function apply(state, event, i) {
  const { segments, runs, blocks } = state;
  const block = blocks.get(event.address);
  const must = (holds) => {
    if (!holds) throw new Error(`event ${i}: ${event.action} at ${event.address} does not fit`);
  };
  switch (event.action) {
    case 'alloc':
      must(block === undefined);
      blocks.set(event.address, { ...event, allocated: true, born: i + 1 });
      break;
    case 'free':
    case 'free_requested':
    case 'free_completed':
      must(
        block !== undefined &&
          block.bytes === event.bytes &&
          block.requested === event.requested &&
          block.category === event.category &&
          block.name === event.name &&
          block.allocated === (event.action !== 'free_completed'),
      );
      if (event.action === 'free_requested') block.allocated = false;
      else blocks.delete(event.address);
      break;
    case 'segment_alloc':
      must(!segments.has(event.address));
      segments.set(event.address, event.bytes);
      break;
    case 'segment_free':
      must(segments.get(event.address) === event.bytes);
      segments.delete(event.address);
      break;
    case 'segment_map':
      mapRun(runs, event.address, event.bytes, must);
      break;
    case 'segment_unmap':
      unmapRun(runs, event.address, event.bytes, must);
      break;
    default:
  }
}

/** The state after event number `until` (-1: before the first). */
export function stateAfter(document, until) {
  const state = stateOf(document, 'start');
  for (let i = 0; i <= until; i++) apply(state, document.events[i], i);
  return state;
}

/** The four quantities after each event, beginning with the instant before the first. */
function course(document) {
  const state = stateOf(document, 'start');
  const rows = [totalsOf(state)];
  for (const [i, event] of document.events.entries()) {
    apply(state, event, i);
    rows.push(totalsOf(state));
  }
  return rows;
}

/** "backward > layer 1 > matmul": without steps. `phaseOnly`: its phase alone. */
export function pathOf(document, scope, phaseOnly = false, layer = null) {
  const chain = [];
  for (let s = scope; s >= 0; s = document.scopes[s].parent) chain.unshift(document.scopes[s]);
  const named = chain.filter((row) => row.kind !== 'step');
  const end = phaseOnly ? named.findIndex((row) => row.kind === 'phase') + 1 : named.length;
  return named
    .slice(0, end)
    .map((row) =>
      row.kind === 'layer' && layer !== null ? layer : row.index >= 0 ? `${row.name} ${row.index}` : row.name,
    )
    .join(' > ');
}

export function stepOf(document, scope) {
  for (let s = scope; s >= 0; s = document.scopes[s].parent) if (document.scopes[s].kind === 'step') return s;
  return -1;
}

/** Bytes of blocks by the key from `keyOf`. */
export function groups(document, blocks, keyOf) {
  const found = new Map();
  const sorted = [...blocks].sort(([a, x], [b, y]) => y.bytes - x.bytes || x.born - y.born || a - b);
  for (const [, block] of sorted) {
    const key = keyOf(block);
    if (!found.has(key))
      found.set(key, { bytes: 0, requested_bytes: 0, count: 0, largest: document.text(block.name) });
    const group = found.get(key);
    group.bytes += block.bytes;
    group.requested_bytes += block.requested;
    group.count++;
  }
  return found;
}

export const alive = (state) => [...state.blocks].filter(([, block]) => block.allocated);

/** The expected `summary[0]` of the file. Lists of groups are maps by path or stack. */
export function summarise(document) {
  const rows = course(document);
  const { events } = document;
  const max = (key) => {
    const bytes = rows.reduce((most, row) => Math.max(most, row[key]), 0);
    return { bytes, event: rows.findIndex((row) => row[key] === bytes) - 1 };
  };
  const highest = max('allocated_bytes');
  const at = highest.event;
  const state = stateAfter(document, at);
  const blocks = alive(state);
  const counts = Object.fromEntries(
    document.file.actions.map((action) => [action, events.filter((event) => event.action === action).length]),
  );
  const scope = at < 0 ? -1 : events[at].scope;
  const step = stepOf(document, scope);
  const byCategory = groups(document, blocks, (block) => block.category);
  const none = { bytes: 0, requested_bytes: 0, count: 0, largest: '' };
  let rounding = 0;
  let unsplit = 0;
  for (const [, { bytes, requested }] of blocks) {
    const up = Math.min(Math.ceil(requested / ROUNDING_BYTES) * ROUNDING_BYTES, bytes);
    rounding += up - requested;
    unsplit += bytes - up;
  }
  return {
    course: rows,
    counts,
    peak: {
      event: at,
      time: at < 0 ? -1 : events[at].time,
      step: step < 0 ? -1 : document.scopes[step].index,
      phase: pathOf(document, scope, true),
      scope: pathOf(document, scope),
      ...rows[at + 1],
      accounting: {
        requested_bytes: sum(blocks.map(([, block]) => block.requested)),
        rounding_bytes: rounding,
        unsplit_bytes: unsplit,
      },
      by_category: Object.fromEntries(
        document.file.categories.map((category) => [category, byCategory.get(category) ?? none]),
      ),
      by_phase: groups(document, blocks, (block) => pathOf(document, block.scope, true)),
      by_scope: groups(document, blocks, (block) => pathOf(document, block.scope)),
      by_stack: groups(document, blocks, (block) => block.stack),
    },
    max: {
      requested: max('requested_bytes'),
      allocated: highest,
      active: max('active_bytes'),
      reserved: max('reserved_bytes'),
    },
    end: rows[rows.length - 1],
    blocks: blocks.map(([address, block]) => ({ address, ...block })),
  };
}

/** Mean, deviation of the population, median, least and greatest; -1 each without samples. */
/** Printed figures use the standard deviation of the sample; files store that of the population. */
export function statistics(samples, isStored = false) {
  const measured = samples.filter((sample) => sample >= 0);
  const n = measured.length;
  if (n === 0) return { mean: -1, std: -1, median: -1, min: -1, max: -1 };
  const mean = sum(measured) / n;
  const sorted = [...measured].sort((a, b) => a - b);
  const std =
    n > 1 || isStored ? Math.sqrt(sum(measured.map((x) => (x - mean) ** 2)) / (isStored ? n : n - 1)) : -1;
  return {
    mean,
    std,
    median: (sorted[Math.floor((n - 1) / 2)] + sorted[Math.ceil((n - 1) / 2)]) / 2,
    min: sorted[0],
    max: sorted[n - 1],
  };
}

/** By the device's clock, else by the host's. Null: no times. */
export function phaseTimes(document, name) {
  const phase = document.file.timing.phases.find((each) => each.name === name);
  if (phase === undefined) return null;
  const samples = phase.device_ms.some((ms) => ms >= 0) ? phase.device_ms : phase.host_ms;
  return samples.some((ms) => ms >= 0) ? { samples, ...statistics(samples) } : null;
}

/**
 * FLOP of a training step's matrix products, summed product by product; backward has two for each of forward.
 */
export function trainingFlops({ run }) {
  const { d_model: C, d_ff: F, n_layers: L, vocab_size: V } = run.model;
  const T = run.context_length;
  const B = run.batch_size;
  const product = (m, n, k) => 2 * m * n * k;
  const tokens = B * T;
  const layer = 4 * product(tokens, C, C) + 3 * product(tokens, F, C) + 2 * product(B * T, T, C);
  return 3 * (L * layer + product(tokens, V, C));
}

/** The recorder's share of a step. */
export function recorderCost(document) {
  const { timing } = document.file;
  const step = document.scopes.findLastIndex((row) => row.kind === 'step' && row.name === 'step');
  const isInPhase = (scope) => stepOf(document, scope) === step && pathOf(document, scope, true) !== '';
  const n = document.events.filter((event) => event.scope >= 0 && isInPhase(event.scope)).length;
  const stepMs = statistics(timing.phases.find((phase) => phase.name === 'step').host_ms).mean;
  const pairs = timing.recorder_pairs;
  const shares = pairs
    ? pairs.recorded_ms.map((ms, i) => (ms - pairs.unrecorded_ms[i]) / ms).sort((a, b) => a - b)
    : [];
  return {
    n,
    ns: timing.recorder_ns_per_event,
    share: (n * timing.recorder_ns_per_event) / (stepMs * 1e6),
    shares,
  };
}

/** "1.13 MiB": two decimals, halves upwards. */
export function bytesText(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  let divisor = 1;
  while (unit < 3 && n / divisor >= (unit === 0 ? 1024 : 1023.995)) {
    divisor *= 1024;
    unit++;
  }
  return unit === 0 ? `${n} B` : `${(Math.floor((n * 100) / divisor + 0.5) / 100).toFixed(2)} ${units[unit]}`;
}
