// Searching, and the address that keeps the state of the page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSnapshot } from '../../viewer/src/format.js';
import { decodeAddress, encodeAddress } from '../../viewer/src/hash.js';
import { aliveAt } from '../../viewer/src/index.js';
import { scopePath } from '../../viewer/src/lanes.js';
import { stackFrames } from '../../viewer/src/peak.js';
import { makeRun } from '../../viewer/src/run.js';
import { compileQuery, nextFound, searchBlocks, sumFound } from '../../viewer/src/search.js';
import { initialState } from '../../viewer/src/store.js';
import { trainingRun } from './synthetic.mjs';

const run = makeRun(readSnapshot(trainingRun({ warmup: 1, steps: 2 })), 'run');
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
    assert.deepEqual(decodeAddress(hash, [run]), { state: {}, view: null, find: '', device: -1 }, hash);
  }
});
