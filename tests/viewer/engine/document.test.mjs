// Files as the page reads them: recognised by content, with odd values, and passed on without a copy.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { FormatError } from '../../../viewer/src/run/columns.js';
import { snapshotOf } from '../support/engine.mjs';
import { makeRun } from '../../../viewer/src/run/run.js';
import { bytesOfBase64 } from '../../../viewer/src/engine/base64.js';
import { readSource, TOO_LONG } from '../../../viewer/src/engine/unpack.js';
import { buffersOf } from '../../../viewer/src/engine/worker.js';
import { trainingRun } from '../support/synthetic.mjs';
import '../support/transfer.mjs';

const read = (text) => readSource(new Blob([text]), () => undefined);

test('a key of a file cannot reach into objects of the page', async () => {
  const text = JSON.stringify(trainingRun({ layers: 1, steps: 1 })).replace(
    '"run":{',
    '"run":{"__proto__":{"outcome":"oom"},"constructor":1,',
  );
  const { snapshot } = await read(text);
  assert.equal(snapshot.run.outcome, 'completed');
  assert.equal({}.outcome, undefined);
});

test('files are known by their content: plain, compressed, base64', async () => {
  const document = trainingRun({ layers: 2, steps: 1 });
  const text = JSON.stringify(document);
  const packed = gzipSync(text);
  const seen = [];
  const expected = makeRun(snapshotOf(document), 'x');
  for (const source of [
    new Blob([text]),
    new Blob([packed]),
    new Uint8Array(packed),
    packed.toString('base64'),
    new TextEncoder().encode(`\n ${text}`),
  ]) {
    const { snapshot, derived } = await readSource(source, (progress) => seen.push(progress));
    const run = makeRun(snapshot, 'x', undefined, derived);
    assert.deepEqual(run.peak, expected.peak);
    assert.deepEqual(snapshot.events, expected.snapshot.events);
    assert.equal(seen.at(-1).bytes, seen.at(-1).totalBytes);
  }
  assert.deepEqual([...bytesOfBase64('AAH/')], [0, 1, 255]);
  for (const [source, pattern] of [
    [new Blob([]), /empty/],
    [new Blob([packed.subarray(0, packed.length / 2)]), /damaged or cut off/],
    [new Blob([packed, 'x']), /damaged or cut off/],
    [new Blob([packed.subarray(0, 100), packed.subarray(120)]), /damaged or cut off/],
    ['%%%', /damaged/],
    [new Blob(['hello']), /^the file is not a snapshot: it holds neither gzip nor a JSON object/],
  ]) {
    await assert.rejects(
      readSource(source, () => undefined),
      (problem) => problem instanceof FormatError && pattern.test(problem.message),
      String(pattern),
    );
  }
});

test('every large buffer is transferred, and none twice', async () => {
  const { snapshot, derived } = await read(JSON.stringify(trainingRun({ layers: 4, steps: 3 })));
  const buffers = [...buffersOf({ snapshot, derived })];
  assert.equal(new Set(buffers).size, buffers.length);
  const total = buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0);
  const back = structuredClone({ snapshot, derived }, { transfer: buffers });
  assert.equal(snapshot.events.timeNs.length, 0, 'it went over');
  assert.ok(
    total < 250 * back.snapshot.events.count,
    `${total} bytes for ${back.snapshot.events.count} events`,
  );
  assert.equal(
    makeRun(back.snapshot, 'x', undefined, back.derived).peak.bytes,
    makeRun(snapshotOf(trainingRun({ layers: 4, steps: 3 })), 'x').peak.bytes,
  );
});

test('odd values that are only displayed become unknown and are counted', async () => {
  const document = trainingRun({ layers: 1, steps: 1 });
  Object.assign(document.frames, {
    line: document.frames.line.map((line, i) => (i === 0 ? -1 : i === 1 ? 'LARGE' : line)),
    inlined: document.frames.inlined.map((_, i) => (i === 2 ? 7 : 0)),
  });
  document.run.seed = null;
  document.devices[0].total_bytes = 'many';
  const text = JSON.stringify(document).replace('"LARGE"', '18446744073709551615');
  const { frames, odd, run, devices } = (await read(text)).snapshot;
  assert.deepEqual(
    [frames.line[0], frames.line[1], frames.line[2], frames.inlined[2]],
    [0, 0, document.frames.line[2], 0],
  );
  assert.deepEqual([odd.count, run.seed, devices[0].totalBytes], [3, -1, -1]);
});

test('a small file that expands to much text is read in a worker', async () => {
  const packed = gzipSync(Buffer.alloc(1 << 22, 32));
  await assert.rejects(
    readSource(new Blob([packed]), () => undefined, 1 << 20),
    (problem) => problem === TOO_LONG,
  );
});
