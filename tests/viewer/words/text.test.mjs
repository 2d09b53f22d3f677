// Texts and ticks: numbers, sentences and names as people read them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteTicks, decimalTicks, timeTickText } from '../../../viewer/src/words/ticks.js';
import {
  distinctParts,
  formatBytes,
  formatCount,
  formatDuration,
  formatExactBytes,
  formatMeanStd,
  formatPlural,
  formatRatio,
  formatShare,
  formatTickBytes,
  splitSentence,
} from '../../../viewer/src/words/text.js';

test('binary ticks are powers of two apart, few enough, and labelled shortly', () => {
  assert.deepEqual(
    byteTicks(2 ** 30 + 5, 4).ticks.map((tick) => formatTickBytes(tick)),
    ['0 B', '256 MiB', '512 MiB', '768 MiB', '1 GiB'],
  );
  assert.deepEqual(
    byteTicks(1.6 * 2 ** 30, 3).ticks.map((tick) => formatTickBytes(tick)),
    ['0 B', '512 MiB', '1 GiB', '1.5 GiB'],
  );
  assert.deepEqual(byteTicks(3, 4).ticks, [0, 1, 2, 3]);
  assert.deepEqual(byteTicks(0, 4).ticks, [0]);
  for (let bytes = 1; bytes < 2 ** 45; bytes *= 1.7) assert.ok(byteTicks(bytes, 6).ticks.length <= 7);
});

test('decimal ticks and their labels', () => {
  assert.deepEqual(decimalTicks(0, 100, 5), { ticks: [0, 20, 40, 60, 80, 100], step: 20 });
  assert.deepEqual(decimalTicks(3, 5, 10, 1), { ticks: [3, 4, 5], step: 1 });
  assert.equal(timeTickText(12_500_000, 500_000, 20e6), '12.5 ms');
  assert.equal(timeTickText(1_250_000_000, 50_000_000, 2e9), '1.25 s');
  assert.equal(timeTickText(1500, 500, 9000), '1.5 µs');
});

test('texts', () => {
  assert.deepEqual([0, 512, 1536, 2072772608, 85_017_493_504].map(formatBytes), [
    '0 B',
    '512 B',
    '1.50 KiB',
    '1.93 GiB',
    '79.18 GiB',
  ]);
  assert.deepEqual(
    [1048575, 1179648, 1441792, 1179647].map(formatBytes),
    ['1.00 MiB', '1.13 MiB', '1.38 MiB', '1.12 MiB'],
    'as the command line rounds',
  );
  assert.equal(formatExactBytes(1234567), '1,234,567 B');
  assert.equal(formatCount(999), '999');
  assert.deepEqual([12, 1500, 12_345_678, 2.5e9].map(formatDuration), [
    '12 ns',
    '1.50 µs',
    '12.3 ms',
    '2.50 s',
  ]);
  assert.deepEqual(
    [0, 1, 1234].map((n) => formatPlural(n, 'event')),
    ['0 events', '1 event', '1,234 events'],
  );
  assert.equal(formatMeanStd(31.086, 0.894), '31.09 ± 0.89 ms');
  assert.equal(formatMeanStd(1620.137, 0.324), '1,620.14 ± 0.32 ms');
  assert.equal(formatMeanStd(1.843273, 2e-16), '1.843 ± 0 ms');
  assert.equal(formatMeanStd(1.843273, 0.6e-6), '1.843273 ± 0.000001 ms');
  assert.equal(formatMeanStd(1234567.8, 3.21), '1,234,567.8 ± 3.2 ms');
  assert.equal(formatMeanStd(4870.732, 600.139), '4,871 ± 600 ms');
  assert.equal(formatMeanStd(0.0123456, 0.0000021), '0.012346 ± 0.000002 ms');
  assert.equal(formatMeanStd(1620.4, 0), '1,620 ± 0 ms');
  assert.deepEqual([1.934, 0.0253, 0, 1234.5, NaN].map(formatRatio), [
    '1.93×',
    '0.025×',
    '0×',
    '1,235×',
    '–',
  ]);
  assert.deepEqual([0.1234, 0.0001, 0].map(formatShare), ['12.3 %', '<0.1 %', '0.0 %']);
});

test('the first sentence is split off; dots of numbers end none', () => {
  assert.deepEqual(splitSentence('2.7B fp32 does not fit. bf16-mixed peaks at 72.55 GiB.'), [
    '2.7B fp32 does not fit.',
    'bf16-mixed peaks at 72.55 GiB.',
  ]);
  assert.deepEqual(splitSentence('one\ntwo'), ['one', 'two']);
  assert.deepEqual(splitSentence('fp32 does not fit; bf16 does.'), ['fp32 does not fit;', 'bf16 does.']);
  assert.deepEqual(splitSentence('alone at 1.5 GiB.'), ['alone at 1.5 GiB.', '']);
  assert.deepEqual(splitSentence(''), ['', '']);
});

test('names are shortened to the parts that differ', () => {
  assert.deepEqual(distinctParts(['small-train-fp32', 'small-train-bf16-mixed']), ['fp32', 'bf16-mixed']);
  assert.deepEqual(distinctParts(['a-c128-fp32', 'a-c256-fp32']), ['c128', 'c256']);
  assert.deepEqual(distinctParts(['a-b', 'a']), ['a-b', 'a']);
  assert.deepEqual(distinctParts(['same', 'same']), ['same', 'same']);
  assert.deepEqual(distinctParts(['alone-x']), ['alone-x']);
  assert.deepEqual(distinctParts([]), []);
});
