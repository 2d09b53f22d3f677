// The software that ran, and the figures that are not exact.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../support/engine.mjs';
import { makeRun } from '../../../viewer/src/run/run.js';
import { trainingRun } from '../support/synthetic.mjs';

test('versions stand in the title, and what is not exact is a warning', () => {
  const run = (more) => makeRun(snapshotOf({ ...trainingRun(), ...more }), 'x');
  const software = { python: '3.12.1', torch: '2.14.1+cu130', cuda: '', own: '7' };
  assert.match(run({ software }).title, /^Python 3\.12\.1, PyTorch 2\.14\.1\+cu130, own 7 · /);
  assert.doesNotMatch(run({}).title, /Python/);
  const row = (call, more) => ({ call, what: 'not known', bound_bytes: -1, refused: false, ...more });
  assert.deepEqual(
    run({ inexact: [row('a', { bound_bytes: 1 << 20 }), row('b', { refused: true })] }).warnings,
    ['Not exact: a: not known; up to 1.00 MiB more; refused: b: not known.'],
  );
  const many = run({ inexact: Array.from({ length: 7 }, (_, i) => row(`f${i}`)) }).warnings[0];
  assert.match(many, /f4: not known; and 2 more, which tidemark summary lists\.$/);
  assert.doesNotMatch(many, /f5/);
  assert.deepEqual(run({ inexact: [] }).warnings, []);
});
