// The allocator's settings and the number of devices in the page equal those of the command line.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { deviceChoices } from '../../../viewer/src/run/devices.js';
import { snapshotOf } from '../support/engine.mjs';
import { makeRun } from '../../../viewer/src/run/run.js';
import { settingsOf, settingsText } from '../../../viewer/src/run/settings.js';
import { trainingRun } from '../support/synthetic.mjs';

const cli = process.env.TIDEMARK_CLI ?? '';
const small = () => trainingRun({ layers: 2, warmup: 0, steps: 1 });
const allocator = {
  small_size: 2 ** 20,
  max_split_size: 40 * 2 ** 20,
  expandable_segments: 1,
  release_lock_on_cudamalloc: 0,
};

/** A document with devices that hold nothing. */
function fourDevices() {
  const document = small();
  document.devices = [0, 1, 2, 3].map(() => ({ ...document.devices[0] }));
  document.allocator = allocator;
  return document;
}

test('settings that differ from the defaults come first', () => {
  const snapshot = snapshotOf(fourDevices());
  assert.equal(settingsText(snapshot), 'allocator: max_split_size 40.00 MiB, expandable_segments True');
  assert.deepEqual(
    settingsOf(snapshot).map(({ name }) => name),
    ['max_split_size', 'expandable_segments', 'small_size', 'release_lock_on_cudamalloc'],
  );
  const without = (given) => settingsText(snapshotOf({ ...small(), allocator: given }));
  assert.equal(without({}), 'allocator: the file holds no settings');
  assert.equal(without({ small_size: 2 ** 20 }), "allocator: PyTorch's defaults");
});

test('every device of the file is counted and offered, also one that recorded nothing', () => {
  const run = makeRun(snapshotOf(fourDevices()), 'four');
  const choices = deviceChoices(run);
  assert.deepEqual(
    choices.map(({ device, isEmpty }) => [device, isEmpty]),
    [
      [0, false],
      [1, true],
      [2, true],
      [3, true],
    ],
  );
  assert.equal(choices[3].text, 'cpu:3');
});

test(
  'the command line says the same of settings and devices',
  { skip: existsSync(cli) ? false : 'TIDEMARK_CLI names no program' },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-settings-'));
    try {
      const path = join(folder, 'a.json.gz');
      writeFileSync(path, gzipSync(JSON.stringify(fourDevices())));
      const printed = execFileSync(cli, ['summary', path], { encoding: 'utf8' });
      const snapshot = snapshotOf(fourDevices());
      assert.ok(printed.includes(settingsText(snapshot)));
      assert.match(printed, new RegExp(`device 0 of ${deviceChoices(makeRun(snapshot, 'a')).length}`));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
