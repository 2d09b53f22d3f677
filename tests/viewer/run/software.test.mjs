// The software that ran, and the figures that are not exact.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../support/engine.mjs';
import { makeRun } from '../../../viewer/src/run/run.js';
import { answerOf, warningsOf } from '../../../viewer/src/run/sentences.js';
import { trainingRun } from '../support/synthetic.mjs';

test('versions stand in the title, and what is not exact is part of the answer', () => {
  const run = (more) => makeRun(snapshotOf({ ...trainingRun(), ...more }), 'x');
  const software = { python: '3.12.1', torch: '2.14.1+cu130', cuda: '', own: '7' };
  assert.match(run({ software }).title, /^Python 3\.12\.1, PyTorch 2\.14\.1\+cu130, own 7 · /);
  assert.doesNotMatch(run({}).title, /Python/);
  const row = (call, more) => ({ call, what: 'not known', bound_bytes: -1, refused: false, ...more });
  const inexact = [row('a', { bound_bytes: 1 << 20 }), row('b', { refused: true })];
  const printed = 'not exact: a (at most 1.00\u00a0MiB): not known; b, which was refused: not known';
  assert.deepEqual(warningsOf(run({ inexact }), true), [printed]);
  assert.deepEqual(warningsOf(run({ inexact }), false), []);
  assert.deepEqual(answerOf(run({ inexact })).at(-1), printed);
  assert.deepEqual(warningsOf(run({ inexact: [] }), true), []);
});
