// Large snapshots for the benchmark, deterministic: the first steps of a synthetic training run, and then its
// last step repeated. Times vary from row to row like measured ones, so an event takes as many bytes as in a
// measured file.
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { createGzip } from 'node:zlib';
import { randomNumbers, trainingRun } from './synthetic.mjs';

/** @param {number[]} deltas */
function summed(deltas) {
  let sum = 0;
  return deltas.map((delta) => (sum += delta));
}

/** The rows of a table by column: `first` once, then `again` repeatedly. */
class Repeated {
  constructor(count, from, to, times) {
    this.length = count + (times - 1) * (to - from);
    this.from = from;
    this.to = to;
    this.count = count;
  }

  /** The row of the short run that a row of the long run repeats, and the number of the repetition. */
  at(row) {
    const { from, to } = this;
    if (row < to) return [row, 0];
    return [from + ((row - from) % (to - from)), Math.floor((row - from) / (to - from))];
  }
}

/** Writes a list of numbers without building its whole text. */
async function writeColumn(out, key, length, value, isDelta) {
  let text = `"${key}":[`;
  let before = 0;
  for (let row = 0; row < length; row++) {
    const now = value(row);
    text += `${row > 0 ? ',' : ''}${isDelta ? now - before : now}`;
    before = now;
    if (text.length > 1 << 16) {
      if (!out.write(text)) await once(out, 'drain');
      text = '';
    }
  }
  out.write(`${text}]`);
}

/**
 * Writes a snapshot of about `nEvents` rows to `path`, gzip-compressed.
 * @returns {Promise<number>} its events
 */
export async function writeLarge(path, nEvents, options = {}) {
  const document = trainingRun({ layers: 36, operators: 4, warmup: 1, steps: 2, ...options });
  const { events, scopes } = document;
  const scope = summed(events.scope_delta);
  const address = summed(events.address_delta);
  const time = summed(events.time_delta);
  const begin = summed(scopes.begin_delta);
  const step = scopes.kind.lastIndexOf(0);
  const inStep = (s) => s >= step;
  const firstRow = scope.findIndex(inStep);
  const n = scope.length;
  const nScopes = scopes.kind.length;
  const times = Math.max(1, Math.round((nEvents - firstRow) / (n - firstRow)));
  const rows = new Repeated(n, firstRow, n, times);
  const places = new Repeated(nScopes, step, nScopes, times);
  const lastNs = begin[step] + scopes.duration[step];
  const stepNs = lastNs - begin[step] + 5000;
  const random = randomNumbers(7);
  const noise = (length, ns) => Float64Array.from({ length }, () => Math.floor(random() * ns));
  const jitter = noise(rows.length, 9000);
  const beginJitter = noise(places.length, 900);
  const durationJitter = noise(places.length, 9000);
  const out = createGzip({ level: 6 });
  const file = createWriteStream(path);
  out.pipe(file);
  const rest = { ...document };
  for (const key of ['events', 'scopes', 'summary']) delete rest[key];
  out.write(`${JSON.stringify(rest).slice(0, -1)},"scopes":{`);
  const scopeValue = {
    parent: (column) => (row) => {
      const [r, k] = places.at(row);
      return column[r] < step ? column[r] : column[r] + k * (nScopes - step);
    },
    index: (column) => (row) => {
      const [r, k] = places.at(row);
      return r === step ? column[r] + k : column[r];
    },
    begin_delta: () => {
      let last = 0; // begins do not decrease
      return (row) => {
        const [r, k] = places.at(row);
        return (last = Math.max(last, begin[r] + k * stepNs + beginJitter[row]));
      };
    },
    duration: (column) => (row) => column[places.at(row)[0]] + durationJitter[row],
  };
  for (const [i, key] of Object.keys(scopes).entries()) {
    if (i > 0) out.write(',');
    await writeColumn(
      out,
      key,
      places.length,
      (scopeValue[key] ?? ((column) => (row) => column[places.at(row)[0]]))(scopes[key]),
      key.endsWith('_delta'),
    );
  }
  out.write('},"events":{');
  const eventValue = {
    time_delta: (row) => {
      const [r, k] = rows.at(row);
      return time[r] + k * stepNs + jitter[row];
    },
    address_delta: (row) => address[rows.at(row)[0]],
    scope_delta: (row) => {
      const [r, k] = rows.at(row);
      return scope[r] < step ? scope[r] : scope[r] + k * (nScopes - step);
    },
  };
  for (const [i, key] of Object.keys(events).entries()) {
    if (i > 0) out.write(',');
    await writeColumn(
      out,
      key,
      rows.length,
      eventValue[key] ?? ((row) => events[key][rows.at(row)[0]]),
      key.endsWith('_delta'),
    );
  }
  out.end('}}');
  await once(file, 'close');
  return rows.length;
}
