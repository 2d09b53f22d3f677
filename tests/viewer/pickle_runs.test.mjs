// Lists of frames that were written before (pickle_runs.js): the page reads the same as the program, which
// reads the same as if each were read item by item (tests/unit/snapshot/test_pickle_runs.c).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertSame, imported, NO_CLI, opened } from './pickles.mjs';

const folder = mkdtempSync(join(tmpdir(), 'tidemark-runs-'));
after(() => rmSync(folder, { recursive: true }));

/** A pickle of protocol 4 as Python writes it, with one trace. */
class File {
  constructor() {
    this.bytes = [0x80, 4];
    this.nMemo = 0;
    this.put('}').memoize();
    this.put('(').text('frames that are known from now on').put(']').memoize();
    this.put('(');
    this.one = this.frame(1);
    this.two = this.frame(2);
    this.odd = this.frame(0); // its name is a number
    this.noFrame = this.nMemo;
    this.text('no frame').put('e').text('segments').put(']').memoize();
    this.text('device_traces').put(']').memoize();
    this.put(']').memoize();
  }

  /** Opcodes as letters and numbers. */
  put(...opcodes) {
    for (const each of opcodes)
      if (typeof each === 'string') this.bytes.push(...Buffer.from(each));
      else this.bytes.push(each);
    return this;
  }

  memoize() {
    this.put(0x94);
    return this.nMemo++;
  }

  text(text) {
    this.put(0x8c, text.length, text).memoize();
    return this;
  }

  frame(line) {
    const memo = this.put('}').memoize();
    this.put('(').text('name');
    if (line > 0) this.text('f');
    else this.put('K', 7);
    this.text('line').put('K', line, 'u');
    return memo;
  }

  /** The beginning of an event up to the list of its frames, which is empty. */
  begin() {
    this.put('(', '}').memoize();
    this.put('(').text('action').text('alloc').text('addr').put('K', 8).text('size').put('K', 1);
    return this.text('frames').put(']');
  }

  /** A batch of one event, so that it is read before the next one. */
  event(memos, isMemoized = true) {
    this.begin();
    if (isMemoized) this.memoize();
    return this.put('(', ...memos.flatMap((memo) => ['h', memo]), 'e', 'u', 'e');
  }

  async read() {
    const path = join(folder, 'runs.pickle');
    writeFileSync(path, Uint8Array.from([...this.bytes, ...Buffer.from('au.')]));
    const page = await opened(path);
    if (NO_CLI === false) assertSame(page, await imported(path), 'lists of frames');
    return page.snapshot;
  }
}

/** The lines of each event's frames, innermost first. */
function linesOf({ events, stacks, frames }) {
  return Array.from(events.stack, (stack) => {
    const lines = [];
    for (let node = stack; node >= 0; node = stacks.parent[node]) lines.push(frames.line[stacks.frame[node]]);
    return lines;
  });
}

test('lists repeat', async () => {
  const file = new File();
  const { one, two } = file;
  for (let i = 0; i < 3; i++) file.event([one, two]).event([two, one]).event([two, one, one]);
  const lists = [
    [1, 2],
    [2, 1],
    [2, 1, 1],
  ];
  assert.deepEqual(linesOf(await file.read()), [...lists, ...lists, ...lists]);
});

test('a memo number that is set again ends that', async () => {
  const file = new File();
  const { one, two } = file;
  file.event([one, two]).event([one, two]);
  file.put('h', two, 'q', one, '0').event([one, two]); // BINPUT, POP
  assert.deepEqual(linesOf(await file.read()), [
    [1, 2],
    [1, 2],
    [2, 2],
  ]);
});

test('an odd frame counts once, a text in place of a frame in every list', async () => {
  for (const [memo, expected] of [
    ['odd', 1],
    ['noFrame', 3],
  ]) {
    const file = new File();
    for (let i = 0; i < 3; i++) file.event([file.one, file[memo]]);
    assert.equal((await file.read()).odd.count, expected, memo);
  }
});

test('a long list comes in batches, the first of which was a whole list before', async () => {
  const file = new File();
  const many = new Array(1000).fill(file.one);
  file.event(many).event(many);
  file.begin().memoize();
  file.put(
    '(',
    ...many.flatMap((memo) => ['h', memo]),
    'e',
    '(',
    'h',
    file.two,
    'h',
    file.two,
    'e',
    'u',
    'e',
  );
  const [first, second, third] = linesOf(await file.read());
  assert.deepEqual(second, first);
  assert.deepEqual(third, [...first, 2, 2]);
});

test('a list without a memo number is a new one each time', async () => {
  const file = new File();
  const { one, two } = file;
  file.event([one, two]);
  for (let i = 0; i < 3; i++) file.event([one, two], false).event([two, one]);
  const lists = linesOf(await file.read());
  assert.equal(lists.length, 7);
  lists.slice(1).forEach((lines, i) => assert.deepEqual(lines, i % 2 === 0 ? [1, 2] : [2, 1]));
});

test("a file of PyTorch's shape is read as by the program", { skip: NO_CLI }, async () => {
  const path = join(folder, 'made.pickle');
  execFileSync('python3', ['-B', new URL('../bench/make_pickle.py', import.meta.url).pathname, '6000', path]);
  const page = await opened(path);
  assert.ok(page.snapshot.events.count > 3000);
  assert.equal(page.snapshot.origin.contradictions, 0);
  assertSame(page, await imported(path), 'made');
});
