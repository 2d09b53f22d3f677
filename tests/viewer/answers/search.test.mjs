// Searching, and the address that keeps the state of the page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../support/engine.mjs';
import { decodeAddress, encodeAddress } from '../../../viewer/src/page/hash.js';
import { aliveAt } from '../../../viewer/src/run/index.js';
import { scopePath } from '../../../viewer/src/run/lanes.js';
import { stackFrames } from '../../../viewer/src/run/peak.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { compileQuery, nextFound, searchBlocks, sumFound } from '../../../viewer/src/answers/search.js';
import { initialState } from '../../../viewer/src/elements/store.js';
import { Recording } from '../support/recording.mjs';
import { trainingRun } from '../support/synthetic.mjs';

const run = makeRun(snapshotOf(trainingRun({ warmup: 1, steps: 2 })), 'run');
const { blocks } = run.index;
const { snapshot } = run;
const search = (text) => searchBlocks(run, compileQuery(text));

/** A search by brute force, in every text of every block. */
function expected(test) {
  return Array.from({ length: blocks.count }, (_, b) => {
    const parts = scopePath(snapshot, blocks.scope[b]).split(' › ');
    const frames = stackFrames(snapshot, blocks.stack[b]).flatMap((frame) => [
      frame.function,
      frame.place.replace(/:\d+$/, ''),
    ]);
    return [snapshot.strings[blocks.name[b]] ?? '', ...parts, ...frames].some(test) ? 1 : 0;
  });
}

test('names, scopes and stacks are found, in any case', () => {
  for (const text of ['attn', 'BACKWARD', 'layer 1', 'logits', 'nothing like it']) {
    assert.deepEqual(
      [...search(text)],
      expected((given) => given.toLowerCase().includes(text.toLowerCase())),
      text,
    );
  }
  assert.ok(search('layer 1').includes(1) && search('layer 1').includes(0));
});

test('a category is found by its name', () => {
  const found = search('optimizer state');
  for (let b = 0; b < blocks.count; b++) if (blocks.category[b] === 1) assert.equal(found[b], 1);
});

test('regular expressions; a broken one finds nothing and says so', () => {
  assert.deepEqual(
    [...search('/attn\\.(q|k)$/')],
    expected((given) => /attn\.(q|k)$/i.test(given)),
  );
  assert.equal(compileQuery('/(/').problem, 'not a regular expression');
  assert.ok(!search('/(/').includes(1));
});

test('an address finds the blocks that ever held it', () => {
  const at = blocks.address[3] + Math.floor(blocks.bytes[3] / 2);
  const found = search(`0x${at.toString(16)}`);
  for (let b = 0; b < blocks.count; b++) {
    assert.equal(found[b], at >= blocks.address[b] && at < blocks.address[b] + blocks.bytes[b] ? 1 : 0);
  }
  assert.equal(found[3], 1);
});

test('the result of a search is summed at an instant', () => {
  const found = search('layer 1');
  const alive = aliveAt(run.index, run.peakState).filter((b) => found[b]);
  assert.deepEqual(sumFound(run, found, run.peakState), {
    nBlocks: found.reduce((a, b) => a + b, 0),
    nAlive: alive.length,
    aliveBytes: alive.reduce((sum, b) => sum + blocks.bytes[b], 0),
  });
  assert.ok(alive.length > 0);
});

test('the next one comes after the last one, and around the end', () => {
  const found = Uint8Array.of(0, 1, 0, 1);
  assert.deepEqual(
    [nextFound(found, -1), nextFound(found, 1), nextFound(found, 3), nextFound(Uint8Array.of(0), -1)],
    [1, 3, 1, -1],
  );
});

test('the state of the page comes back from its address', () => {
  const state = {
    ...initialState(),
    axis: /** @type {const} */ ('event'),
    colourBy: /** @type {const} */ ('scope'),
    dock: /** @type {const} */ ('map'),
    instant: /** @type {const} */ ('range-freed'),
    hidden: new Set(['activation', 'a&b=c#d']),
    cursor: { run: 0, state: 17, held: true },
    range: { run: 0, first: 3, last: 40 },
    pinned: { run: 0, block: 5 },
  };
  const text = encodeAddress(state, { x0: 12.5, x1: 1e9 }, 'layers & "more"', 'time', 'category', 2);
  const back = decodeAddress(`#${text}`, [run]);
  assert.deepEqual(back, {
    state: {
      axis: 'event',
      colourBy: 'scope',
      dock: 'map',
      instant: 'range-freed',
      hidden: state.hidden,
      cursor: state.cursor,
      range: state.range,
      pinned: state.pinned,
    },
    view: { x0: 12.5, x1: 1e9 },
    find: 'layers & "more"',
    device: 2,
    isBySegment: false,
    base: 0,
  });
  assert.equal(encodeAddress({ ...initialState(), axis: 'event' }, null, '', 'event', 'category'), '');
});

test('an address that fits other runs, or nothing, does no harm', () => {
  const n = run.index.nStates;
  for (const hash of [
    '#x=sideways&panel=cellar&of=never&colour=plaid',
    `#cursor=0.${n}&range=0.5.5&block=9.1`,
    '#cursor=a.b&range=1.2&view=2_1&run=7',
    `#range=0.1.${n + 1}`,
    '#view=1e999_2',
    '#%E0%A4%A',
  ]) {
    assert.deepEqual(
      decodeAddress(hash, [run]),
      { state: {}, view: null, find: '', device: -1, isBySegment: false, base: 0 },
      hash,
    );
  }
});

/** A run with the stacks of a Python program in PyTorch, and blocks of several sizes. */
function pythonRun() {
  const r = new Recording();
  const frames = [
    'main (/home/me/train.py:88)',
    'silu (/home/me/model.py:527)',
    'relu (/home/me/model.py:52)',
  ];
  r.within('phase', 'forward', -1, () =>
    r.within('layer', 'layer', 12, () => {
      r.alloc('blocks.12.out', 'activation', 4 * 2 ** 20);
      r.alloc('blocks.13.out', 'activation', 2 ** 30 - 100);
    }),
  );
  r.alloc('last', 'activation', 2 ** 30 + 512);
  const document = r.document();
  const parts = frames.map((text) => /^(\w+) \((.*):(\d+)\)$/.exec(text));
  const base = document.strings.length;
  document.strings = [...document.strings, ...parts.flatMap(([, name, file]) => [name, file])];
  document.frames = {
    function: parts.map((_, i) => base + 2 * i),
    file: parts.map((_, i) => base + 2 * i + 1),
    line: parts.map(([, , , line]) => Number(line)),
    inlined: parts.map(() => 0),
  };
  document.stacks = { parent: [-1, 0, 0], frame: [0, 1, 2] };
  document.events.stack = [1, 2, -1];
  return makeRun(snapshotOf(document), 'python');
}

test('what the page shows is found: lines, frames with callers, paths of scopes, names with stars, sizes', () => {
  const python = pythonRun();
  const found = (text) => [...searchBlocks(python, compileQuery(text))].join('');
  const wanted = {
    'model.py:527': '100',
    'model.py:52': '010',
    'MODEL.PY:5': '000',
    '/home/me/model.py:527': '100',
    'silu (model.py:527)': '100',
    'relu (model.py:52)': '010',
    'silu (model.py:527) < main (train.py:88)': '100',
    'main (train.py:88) < silu': '000',
    'train.py:88': '110',
    'forward › layer 12': '110',
    'forward > layer 12': '110',
    'forward › layer *': '110',
    'forward › layer 1': '110',
    'layer 12 › forward': '000',
    'blocks.*.out': '110',
    'no call stack': '001',
    '>1GiB': '001',
    '>=1 GiB': '011',
    '<=4 MiB': '100',
    '< 4MiB': '000',
    '=4M': '100',
    '≥ 1,024 MiB': '011',
    '4.00 MiB': '100',
    '1,073,742,336 B': '001',
    '> 9.9.9 GiB': '000',
  };
  for (const [text, blocks] of Object.entries(wanted)) assert.equal(found(text), blocks, text);
  for (let b = 0; b < 3; b++) assert.equal(found(`0x${python.index.blocks.address[b].toString(16)}`)[b], '1');
  const old = makeRun(snapshotOf(new Recording().document()), 'x');
  assert.equal(searchBlocks(old, compileQuery('from before')).length, 0);
});
