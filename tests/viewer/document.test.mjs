// Documents as text: read in pieces, strictly, by content, and with odd values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { FormatError } from '../../viewer/src/columns.js';
import { readDocument } from '../../viewer/src/document.js';
import { readSnapshot } from '../../viewer/src/format.js';
import { makeRun } from '../../viewer/src/run.js';
import { bytesOfBase64 } from '../../viewer/src/base64.js';
import { readSource, TOO_LONG } from '../../viewer/src/unpack.js';
import { buffersOf } from '../../viewer/src/worker.js';
import { trainingRun } from './synthetic.mjs';
import './transfer.mjs';

/** Reads a text in pieces of a given size. */
async function documentOf(text, piece = 1 << 16) {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  let at = 0;
  return readDocument(
    async () => {
      if (at >= bytes.length) return null;
      at += piece;
      return bytes.slice(at - piece, at);
    },
    () => undefined,
  );
}

/** Columns as plain lists, and objects with the usual prototype. */
function plain(value) {
  if (ArrayBuffer.isView(value?.values))
    return value.isSummed
      ? Array.from(value.values, (v, i) => v - (i > 0 ? value.values[i - 1] : 0))
      : [...value.values];
  if (Array.isArray(value)) return value.map(plain);
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]))
    : value;
}

test('a document read in pieces of any size equals the result of JSON.parse', async () => {
  const document = trainingRun({ layers: 2, steps: 2, limitBytes: 2e8 });
  document.strings.push('é ü 😀 "\\/ \u007f \u2028', 'x'.repeat(500));
  const expected = document;
  for (const text of [
    JSON.stringify(document),
    JSON.stringify(document, null, ' '),
    JSON.stringify(document).replaceAll('/', '\\/').replaceAll('é', '\\u00e9'),
  ]) {
    for (const piece of [1, 2, 3, 7, 64, 1000, 1 << 20])
      assert.deepEqual(plain(await documentOf(text, piece)), expected, `pieces of ${piece}`);
  }
});

test('anything but strict JSON is refused, with byte and key path', async () => {
  const text = JSON.stringify(trainingRun({ layers: 1, steps: 1 }));
  const refusals = [
    [text.slice(0, -1), /^byte \d+, run: ',' or '}' was expected, not the end of the file/],
    [
      text.slice(0, text.indexOf('"action":[') + 30),
      /^byte \d+, events\.action\[\d+\]: .* not the end of the file/,
    ],
    [text.slice(0, 9), /^byte 9, format: ':' was expected/],
    [`${text} 1`, /nothing after the document's end was expected, not '1'/],
    ['', /neither a JSON object nor/],
    ['[]', /neither a JSON object nor/],
    [text.replace('"stream":[0', '"stream":[00'), /events\.stream\[0\]: an integer/],
    [text.replace('"stream":[0', '"stream":[,0'), /events\.stream\[0\]: an integer/],
    [text.replace('"stream":[0,', '"stream":[0,,'), /events\.stream\[1\]/],
    [text.replace('"stream":[0,', '"stream":[0.5,'), /events\.stream\[0\]: 0\.5 is not an integer/],
    [text.replace('"stream":[0,', '"stream":[1e400,'), /events\.stream\[0\]/],
    [text.replace('"stream":[0,', '"stream":[null,'), /events\.stream\[0\]: .* not 'n'/],
    [text.replace('"stream":[0,', '"stream":["<b>",'), /events\.stream\[0\]: .* not '"'/],
    [text.replace('"stream":[0,', '"stream":[0 0,'), /events\.stream\[0\]: ',' or '\]'/],
    [text.replace('"stream":[0,', '"stream":[-,'), /events\.stream\[0\]/],
    [text.replace('"stream":[', '"stream":[],"stream":['), /events\.stream: /],
    [text.replace('"version":1', '"version":1,"version":1'), /version: this key comes twice/],
    [
      text.replace('"log":{', '"log":{"full_policy":"","full_policy":"",'),
      /log\.full_policy: this key comes twice/,
    ],
    [text.replace('"strings":[', '"strings":["\u0001",'), /strings\[0\]: a text holds the control character/],
    [text.replace('"strings":[', '"strings":["\\u0000",'), /an escape that means no character/],
    [text.replace('"strings":[', '"strings":["\\ud800",'), /an escape that means no character/],
    [text.replace('"strings":[', '"strings":["\\x",'), /an escape that means no character/],
    [
      text.replace('"run":{', `"deep":${'['.repeat(40)}${']'.repeat(40)},"run":{`),
      /nested deeper than the limit of 32/,
    ],
    [
      text.replace('"strings":[', `"strings":["${'y'.repeat(2 ** 20 + 1)}",`),
      /longer than the limit of 1048576/,
    ],
    [text.replace('"version":1', '"version":tru'), /version: an integer/],
    [text.replace('"version":1', '"version":1}'), /the key 'address_unit_bytes' is missing/],
    [text.replace('"oom":[]', '"oom":7'), /oom: an array was expected/],
  ];
  for (const [broken, pattern] of refusals) {
    assert.notEqual(broken, text);
    await assert.rejects(
      async () => readSnapshot(await documentOf(broken, 50)),
      (problem) => problem instanceof FormatError && pattern.test(problem.message),
      String(pattern),
    );
  }
  const latin = new TextEncoder().encode(text.replace('"strings":[', '"strings":["~~",'));
  latin[latin.indexOf(126)] = 0xe9;
  await assert.rejects(documentOf(latin), /not UTF-8/);
});

test('a key of a file cannot reach into objects of the page', async () => {
  const text = JSON.stringify(trainingRun({ layers: 1, steps: 1 })).replace(
    '"run":{',
    '"run":{"__proto__":{"outcome":"oom"},"constructor":1,',
  );
  const run = makeRun(readSnapshot(await documentOf(text)), 'x');
  assert.equal(run.snapshot.run.outcome, 'completed');
  assert.equal({}.outcome, undefined);
});

test('files are known by their content: plain, compressed, base64', async () => {
  const document = trainingRun({ layers: 2, steps: 1 });
  const text = JSON.stringify(document);
  const packed = gzipSync(text);
  const seen = [];
  const expected = makeRun(readSnapshot(document), 'x');
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
    assert.equal(seen.at(-1).rows, snapshot.events.count);
    assert.equal(seen.at(-1).bytes, seen.at(-1).totalBytes);
  }
  assert.deepEqual([...bytesOfBase64('AAH/')], [0, 1, 255]);
  for (const [source, pattern] of [
    [new Blob([]), /empty/],
    [new Blob([packed.subarray(0, packed.length / 2)]), /damaged or cut off/],
    [new Blob([packed, 'x']), /damaged or cut off/],
    [new Blob([packed.subarray(0, 100), packed.subarray(120)]), /damaged or cut off/],
    ['%%%', /damaged/],
    [new Blob(['hello']), /neither a JSON object/],
  ]) {
    await assert.rejects(
      readSource(source, () => undefined),
      (problem) => problem instanceof FormatError && pattern.test(problem.message),
      String(pattern),
    );
  }
});

test('a file that unpacks to more than 2 GiB is refused before it fills the memory', async () => {
  const spaces = new Uint8Array(1 << 16).fill(32);
  spaces[0] = 123;
  let n = 0;
  await assert.rejects(
    readDocument(
      async () => (n++ === 0 ? spaces : spaces.subarray(1)),
      () => undefined,
      1 << 22,
    ),
    /more than 2 GiB/,
  );
  assert.equal(n, 65);
});

test('every large buffer is transferred, and none twice', async () => {
  const { snapshot, derived } = await readSource(
    new Blob([JSON.stringify(trainingRun({ layers: 4, steps: 3 }))]),
    () => undefined,
  );
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
    makeRun(readSnapshot(trainingRun({ layers: 4, steps: 3 })), 'x').peak.bytes,
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
  for (const piece of [7, 1 << 16]) {
    const { frames, odd, run, devices } = readSnapshot(await documentOf(text, piece));
    assert.deepEqual(
      [frames.line[0], frames.line[1], frames.line[2], frames.inlined[2]],
      [0, 0, document.frames.line[2], 0],
    );
    assert.deepEqual([odd.count, run.seed, devices[0].totalBytes], [3, -1, -1]);
  }
});

test('a small file that expands to much text is read in a worker', async () => {
  const packed = gzipSync(Buffer.alloc(1 << 22, 32));
  await assert.rejects(
    readSource(new Blob([packed]), () => undefined, 1 << 20),
    (problem) => problem === TOO_LONG,
  );
});
