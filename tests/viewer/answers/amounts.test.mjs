// Bytes alive, allocated, freed or kept, split level by level; frames of the user; exported tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  blocksOf,
  leavesOf,
  pickOf,
  sortAmounts,
  splitAmount,
  whatOf,
  wholeOf,
} from '../../../viewer/src/answers/amounts.js';
import { CATEGORIES } from '../../../viewer/src/words/colours.js';
import { csvField, csvLine, textTable } from '../../../viewer/src/words/csv.js';
import { snapshotOf } from '../support/engine.mjs';
import { FRAME, foldedStack, frameText } from '../../../viewer/src/run/frames.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { CHUNK_ROWS, treeRows } from '../../../viewer/src/answers/tree_rows.js';
import { levelsOf, usualSplit } from '../../../viewer/src/answers/levels.js';
import { Recording } from '../support/recording.mjs';
import { randomNumbers, randomRun, trainingRun } from '../support/synthetic.mjs';

const SEED = Number(process.env.TIDEMARK_TEST_SEED ?? 20261121);
const training = makeRun(snapshotOf(trainingRun({ layers: 5, warmup: 1, steps: 2 })), 'training');

/** The blocks, by the simplest walk over the events. */
function plainBlocks(document) {
  const alive = new Map();
  const blocks = [];
  let address = 0;
  document.events.action.forEach((action, e) => {
    address += document.events.address_delta[e];
    if (action === 0) {
      alive.set(address, blocks.length);
      blocks.push({
        born: e + 1,
        died: Infinity,
        bytes: document.events.block_bytes[e],
        requested: document.events.requested_bytes[e],
      });
    } else if (action === 1) {
      blocks[alive.get(address)].died = e + 1;
      alive.delete(address);
    }
  });
  return blocks;
}

const sorted = (list) => [...list].sort((a, b) => a - b);

test(`blocks of instants and ranges equal a plain walk (seed ${SEED})`, () => {
  const document = randomRun(1500, SEED);
  const run = makeRun(snapshotOf(document), 'r');
  const plain = plainBlocks(document);
  const random = randomNumbers(SEED);
  const matching = (test) => plain.flatMap((block, i) => (test(block) ? [i] : []));
  for (let round = 0; round < 200; round++) {
    const first = Math.floor(random() * run.index.nStates);
    const last = first + 1 + Math.floor(random() * (run.index.nStates - first));
    const was = (kind) => sorted(blocksOf(run, { kind, first, last }, null));
    assert.deepEqual(
      sorted(blocksOf(run, { kind: 'alive', state: first }, null)),
      matching((b) => b.born <= first && b.died > first),
    );
    assert.deepEqual(
      was('allocated'),
      matching((b) => b.born >= first && b.born < last),
    );
    assert.deepEqual(
      was('freed'),
      matching((b) => b.died >= first && b.died < last),
    );
    assert.deepEqual(
      was('kept'),
      matching((b) => b.born >= first && b.born < last && b.died >= last),
    );
  }
});

test('the peak of a range is the largest total in it', () => {
  const run = makeRun(snapshotOf(randomRun(1500, SEED)), 'r');
  const what = whatOf(run, 'peak', -1, { first: 300, last: 700 });
  assert.equal(run.index.totals[what.state], Math.max(...run.index.totals.subarray(300, 700)));
  assert.ok(what.state >= 300 && what.state < 700);
  assert.equal(whatOf(run, 'peak', -1, null).state, run.peakState);
  assert.equal(whatOf(run, 'cursor', -1, null).state, run.peakState);
  assert.deepEqual(whatOf(run, 'range-freed', -1, null), {
    kind: 'freed',
    first: 0,
    last: run.index.nStates,
  });
});

/** Checks all groups below one, and returns their number. */
function checkSums(run, levels, parent) {
  const children = splitAmount(run, levels, parent);
  if (parent.depth === levels.length - 1) return assert.equal(children.length, 0) ?? 1;
  const sum = (key) => children.reduce((total, child) => total + child[key], 0);
  for (const key of ['bytes', 'requestedBytes', 'count'])
    assert.equal(sum(key), parent[key], `${key} of ${parent.label}`);
  const all = children.flatMap((child) => [...child.blocks]);
  assert.deepEqual(sorted(all), sorted(parent.blocks));
  return children.reduce((n, child) => n + checkSums(run, levels, child), 1);
}

test('each level adds up exactly to the one above it', () => {
  const { nStates } = training.index;
  for (const what of [
    whatOf(training, 'peak', -1, null),
    { kind: 'allocated', first: 0, last: nStates },
    { kind: 'freed', first: 100, last: 300 },
  ]) {
    for (const split of ['category', 'scope', 'site', 'stack']) {
      for (const single of [false, true]) {
        const whole = wholeOf(training, blocksOf(training, what, null));
        assert.ok(checkSums(training, levelsOf(training, split, single), whole) > 20);
      }
    }
  }
});

test('the sums of blocks are those of the file', () => {
  const document = randomRun(900, SEED);
  const run = makeRun(snapshotOf(document), 'r');
  const plain = plainBlocks(document);
  const whole = wholeOf(run, blocksOf(run, { kind: 'allocated', first: 0, last: run.index.nStates }, null));
  assert.equal(
    whole.bytes,
    plain.reduce((sum, block) => sum + block.bytes, 0),
  );
  assert.equal(
    whole.requestedBytes,
    plain.reduce((sum, block) => sum + block.requested, 0),
  );
  assert.equal(run.index.blocks.bytes[whole.largest], Math.max(...plain.map((block) => block.bytes)));
});

test('layers are one group or each its own', () => {
  const whole = wholeOf(training, blocksOf(training, whatOf(training, 'peak', -1, null), null));
  const scopes = (single) =>
    splitAmount(training, levelsOf(training, 'scope', single), whole).map(({ label }) => label);
  assert.ok(scopes(false).includes('backward › layers 0–4'), scopes(false).join('\n'));
  assert.ok(scopes(true).includes('backward › layer 3'), scopes(true).join('\n'));
  const names = splitAmount(
    training,
    levelsOf(training, 'scope', true),
    splitAmount(training, levelsOf(training, 'scope', true), whole).find(
      ({ label }) => label === 'backward › layer 3',
    ),
  ).map(({ label }) => label);
  assert.deepEqual(names, ['gradients']);
});

test('groups hidden by the legend are not counted', () => {
  const { blocks } = training.index;
  const visible = Uint8Array.from(blocks.category, (c) => (CATEGORIES[c] === 'parameter' ? 0 : 1));
  const what = whatOf(training, 'peak', -1, null);
  const all = wholeOf(training, blocksOf(training, what, null));
  const some = wholeOf(training, blocksOf(training, what, visible));
  const parameters = splitAmount(training, levelsOf(training, 'category', false), all).find(
    ({ label }) => label === 'parameters',
  );
  assert.ok(parameters.bytes > 0);
  assert.equal(some.bytes, all.bytes - parameters.bytes);
  assert.ok(
    splitAmount(training, levelsOf(training, 'category', false), some).every(
      ({ label }) => label !== 'parameters',
    ),
  );
});

test('a group picks its blocks, and blocks with the same texts in another run', () => {
  const other = makeRun(
    snapshotOf(trainingRun({ layers: 5, warmup: 1, steps: 1, precision: 'bf16-mixed', bytes: 2 })),
    'other',
  );
  const levels = levelsOf(training, 'category', false);
  let whole = wholeOf(
    training,
    blocksOf(training, { kind: 'allocated', first: 0, last: training.index.nStates }, null),
  );
  const path = [];
  for (let l = 0; l < levels.length; l++) {
    const next = splitAmount(training, levels, whole).sort((a, b) => b.count - a.count)[0];
    path.push(levels[l].text(next.group));
    const mask = pickOf(training, 'category', false, path);
    assert.deepEqual(
      sorted(next.blocks),
      [...mask].flatMap((on, i) => (on ? [i] : [])),
      path.join(' / '),
    );
    assert.ok(next.count < training.index.blocks.count);
    whole = next;
    const theirs = pickOf(other, 'category', false, path);
    assert.ok(theirs.includes(1), `nothing of ${path.join(' / ')} in the other run`);
    assert.ok(theirs.every((on, i) => !on || CATEGORIES[other.index.blocks.category[i]] === path[0]));
  }
  assert.equal(pickOf(other, 'category', false, ['no such category']).includes(1), false);
});

test('a run without categories is split by the frames of the user', () => {
  const r = new Recording();
  r.path = ['main', 'train'];
  r.alloc('', 'unknown', 1000);
  const run = makeRun(snapshotOf(r.document()), 'bare');
  assert.equal(usualSplit(run), 'site');
  assert.equal(usualSplit(training), 'category');
  assert.deepEqual(
    levelsOf(run, 'site', false).map(({ name }) => name),
    ['call site', 'name', 'call stack'],
  );
  assert.deepEqual(
    levelsOf(run, 'category', false).map(({ name }) => name),
    ['name', 'call stack'],
  );
});

test('groups are sorted by any column', () => {
  const whole = wholeOf(training, blocksOf(training, whatOf(training, 'peak', -1, null), null));
  const by = (order, down) =>
    sortAmounts(splitAmount(training, levelsOf(training, 'scope', true), whole), order, down);
  assert.deepEqual(
    by('bytes', true).map((a) => a.bytes),
    sorted(by('label', false).map((a) => a.bytes)).reverse(),
  );
  assert.deepEqual(
    by('count', false).map((a) => a.count),
    sorted(by('label', false).map((a) => a.count)),
  );
  const layers = by('label', false)
    .map((a) => a.label)
    .filter((label) => label.startsWith('backward › layer'));
  assert.deepEqual(
    layers,
    [0, 1, 2, 3, 4].map((l) => `backward › layer ${l}`),
  );
});

test('leaves hold every block once, with the whole path', () => {
  const levels = levelsOf(training, 'category', false);
  const whole = wholeOf(training, blocksOf(training, whatOf(training, 'peak', -1, null), null));
  const leaves = leavesOf(training, levels, whole);
  assert.equal(
    leaves.reduce((sum, { amount }) => sum + amount.bytes, 0),
    whole.bytes,
  );
  assert.ok(leaves.every(({ path }) => path.length === levels.length));
});

/** A snapshot with frames only: [function, file, line], innermost first. */
function stackOf(frames, userPath = '') {
  const recording = new Recording();
  const strings = [];
  const text = (value) => (strings.includes(value) ? strings.indexOf(value) : strings.push(value) - 1);
  const outermostFirst = [...frames].reverse();
  return snapshotOf(
    recording.document({
      user_path: userPath,
      frames: {
        function: outermostFirst.map(([name]) => text(name)),
        file: outermostFirst.map(([, file]) => text(file)),
        line: outermostFirst.map(([, , line]) => line),
        inlined: frames.map(() => 0),
      },
      stacks: { parent: frames.map((_, i) => i - 1), frame: frames.map((_, i) => i) },
      strings,
    }),
  );
}

const told = (frames, userPath = '') => {
  const snapshot = stackOf(frames, userPath);
  return frameText(snapshot, snapshot.stacks.userFrame[frames.length - 1]);
};

test('the innermost frame of the user stands for a stack', () => {
  const library = [
    ['c10::cuda::CUDACachingAllocator::malloc(void**)', '??', 0],
    ['at::native::mm(at::Tensor const&)', '??', 0],
    ['_PyEval_EvalFrameDefault', '??', 0],
  ];
  const call = ['_call_impl', '/x/site-packages/torch/nn/modules/module.py', 1750];
  assert.equal(
    told([...library, call, ['forward', '/home/me/model.py', 104], ['main', '/home/me/train.py', 9]]),
    'forward (model.py:104)',
  );
  assert.equal(told([...library, call, ['forward', 'D:\\work\\model.py', 7]]), 'forward (model.py:7)');
  assert.equal(
    told([
      ...library,
      ['run', '/x/lib/python3.12/threading.py', 3],
      ['mine', '/x/site-packages/mymodel/net.py', 5],
    ]),
    'mine (net.py:5)',
  );
  const packages = [...library, ['mine', '/x/dist-packages/mymodel/net.py', 5], ['main', 'run.py', 1]];
  assert.equal(told(packages), 'main (run.py:1)');
  for (const folder of ['/x/dist-packages/mymodel', '/x/dist-packages/mymodel/'])
    assert.equal(told(packages, folder), 'mine (net.py:5)');
  assert.equal(told(packages, '/x/dist-packages/my'), 'main (run.py:1)');
  assert.equal(
    told([
      ['w', 'C:\\Python311\\Lib\\contextlib.py', 3],
      ['f', 'C:\\x\\a.py', 1],
    ]),
    'f (a.py:1)',
  );
  assert.equal(
    told([
      ...library,
      ['torch::autograd::generated::MulBackward0::apply(std::vector<x>)', '??', 0],
      ['run', '/x/lib/python3.12/threading.py', 3],
    ]),
    'torch::autograd::generated::MulBackward0::apply',
  );
  assert.equal(told([...library, ['run', '/x/lib/python3.12/threading.py', 3]]), 'at::native::mm');
  assert.equal(told([['c10::cuda::a(int)', '??', 0]]), 'c10::cuda::a');
  assert.equal(
    told([
      ['tide_cache_alloc', 'allocator/cache.c', 5],
      ['linear', 'model/ops.c', 12],
      ['main', 'cli/main.c', 1],
    ]),
    'linear (ops.c:12)',
  );
});

test('code that torch.compile generated is no code of the program', () => {
  const hash = 'ckjz4gqebekrb5gzrzuu7syzvy4mh7olz2yfuyjzomolrvraeq72.py';
  const kinds = (folder, name = hash) =>
    stackOf([['call', `/tmp/torchinductor_me/${folder}/${name}`, 7]]).frames.kind[0];
  assert.equal(kinds('kj'), FRAME.LIBRARY);
  assert.equal(kinds('kk'), FRAME.USER);
  assert.equal(kinds('kj', 'ckj.py'), FRAME.USER);
});

test('frames of libraries and of the tool are folded, and nothing gets lost', () => {
  const frames = [
    ['tide_cache_alloc', 'allocator/cache.c', 5],
    ['linear', 'model/ops.c', 12],
    ['helper', '', 0],
    ['__libc_start_main', '../csu/libc-start.c', 1],
    ['block', 'model/block.c', 3],
    ['main', 'cli/main.c', 1],
  ];
  const snapshot = stackOf(frames);
  const parts = foldedStack(snapshot, frames.length - 1);
  assert.deepEqual(
    parts.map(({ isFolded, frames: list }) => [isFolded, list.length]),
    [
      [true, 1],
      [false, 1],
      [true, 2],
      [false, 1],
      [true, 1],
    ],
  );
  assert.deepEqual(
    parts.flatMap((part) => part.frames),
    [5, 4, 3, 2, 1, 0],
  );
  assert.deepEqual([...snapshot.frames.kind].reverse(), [
    FRAME.TOOL,
    FRAME.USER,
    FRAME.LIBRARY,
    FRAME.LIBRARY,
    FRAME.USER,
    FRAME.TOOL,
  ]);
  const bare = stackOf([
    ['a', '', 0],
    ['b', '', 0],
  ]);
  assert.deepEqual(
    foldedStack(bare, 1).map(({ isFolded, frames: list }) => [isFolded, list.length]),
    [
      [false, 1],
      [true, 1],
    ],
  );
  assert.deepEqual(foldedStack(bare, -1), []);
});

test('rows of a level add up, also where not all of them are shown', () => {
  const run = makeRun(snapshotOf(randomRun(4500, SEED)), 'r');
  const levels = levelsOf(run, 'category', true);
  const whole = wholeOf(run, blocksOf(run, { kind: 'allocated', first: 0, last: run.index.nStates }, null));
  const state = {
    rootKey: 'k',
    open: new Set(),
    shownOf: new Map(),
    order: 'bytes',
    isDescending: true,
    colourOf: () => '',
  };
  const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);
  const top = treeRows(state, run, whole, levels);
  assert.equal(sum(top, 'bytes'), whole.bytes);
  state.open.add(top[0].key);
  for (const shown of [undefined, CHUNK_ROWS + 50, 100_000]) {
    if (shown !== undefined) state.shownOf.set(top[0].key, shown);
    const below = treeRows(state, run, whole, levels).filter((row) => row.level === 2);
    for (const key of ['bytes', 'requestedBytes', 'count'])
      assert.equal(sum(below, key), top[0][key], `${key} with ${shown} shown`);
    assert.equal(
      below.some((row) => row.kind === 'more'),
      shown !== 100_000,
    );
    assert.equal(
      below.filter((row) => row.kind !== 'more').length,
      Math.min(shown ?? CHUNK_ROWS, top[0].count),
    );
  }
  state.open.add(treeRows(state, run, whole, levels)[1].key);
  assert.equal(treeRows(state, run, whole, levels).filter((row) => row.level === 3).length, 1);
});

test('fields of tables contain no formula and keep their text', () => {
  assert.equal(csvField('=1+1'), "'=1+1");
  assert.equal(csvField('+a'), "'+a");
  assert.equal(csvField('-a'), "'-a");
  assert.equal(csvField('@SUM(A1)'), "'@SUM(A1)");
  assert.equal(csvField('\t=1'), "'\t=1");
  assert.equal(csvField('a,"b"\nc'), '"a,""b""\nc"');
  assert.equal(csvField('=a,b'), '"\'=a,b"');
  assert.equal(csvField(-5), '-5');
  assert.equal(csvLine(['a', 1]), 'a,1\r\n');
  assert.equal(
    textTable([
      ['name', 'bytes'],
      ['a', 5],
      ['bcd', 12345],
    ]),
    'name  bytes\na         5\nbcd   12345',
  );
});

test('long ranges are split; times are printed, not checked', (t) => {
  const run = makeRun(
    snapshotOf(trainingRun({ layers: 48, warmup: 0, steps: Math.ceil(2e5 / 1500), operators: 4 })),
    'long',
  );
  const since = (label, body) => {
    const began = performance.now();
    const value = body();
    t.diagnostic(`${label}: ${(performance.now() - began).toFixed(1)} ms`);
    return value;
  };
  t.diagnostic(`${run.snapshot.events.count} events, ${run.index.blocks.count} blocks`);
  const levels = since('levels', () => levelsOf(run, 'category', false));
  const all = since('whole range', () =>
    wholeOf(run, blocksOf(run, { kind: 'allocated', first: 0, last: run.index.nStates }, null)),
  );
  const categories = since('categories', () => splitAmount(run, levels, all));
  const scopes = since('scopes', () => splitAmount(run, levels, categories[0]));
  since('names', () => splitAmount(run, levels, scopes[0]));
  for (const warm of ['instant', 'instant again']) {
    since(warm, () => {
      const whole = wholeOf(
        run,
        blocksOf(run, { kind: 'alive', state: Math.floor(run.index.nStates / 2) + 700 }, null),
      );
      t.diagnostic(`${whole.count} blocks alive`);
      for (const category of splitAmount(run, levels, whole))
        for (const scope of splitAmount(run, levels, category)) splitAmount(run, levels, scope);
    });
  }
  since('pick', () => pickOf(run, 'category', false, ['activation', 'forward › layer * › attention']));
});
