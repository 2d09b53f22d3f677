// The page's state: which listeners are notified, and when.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Store } from '../../../viewer/src/elements/store.js';

/** A store whose frames the test triggers. */
function storeWithFrames() {
  const waiting = [];
  const store = new Store((flush) => waiting.push(flush));
  return { store, frame: () => waiting.splice(0).forEach((flush) => flush()), waiting };
}

test('a listener is called once a frame, for its keys only', () => {
  const { store, frame, waiting } = storeWithFrames();
  const calls = [];
  store.on(['phase', 'dock'], (state) => calls.push([state.phase, state.dock]));
  store.set({ phase: 'forward' });
  store.set({ phase: 'backward', dock: 'map' });
  assert.equal(calls.length, 0);
  assert.equal(waiting.length, 1);
  frame();
  assert.deepEqual(calls, [['backward', 'map']]);
  store.set({ shown: 1 });
  frame();
  assert.equal(calls.length, 1);
});

test('equal values notify nobody', () => {
  const { store, frame, waiting } = storeWithFrames();
  let calls = 0;
  store.on(['axis'], () => calls++);
  store.set({ axis: store.get().axis });
  assert.equal(waiting.length, 0);
  frame();
  assert.equal(calls, 0);
});

test('changes by a listener are delivered in the next frame', () => {
  const { store, frame } = storeWithFrames();
  const seen = [];
  store.on(['dock'], () => store.set({ instant: 'cursor' }));
  store.on(['instant'], (state) => seen.push(state.instant));
  store.set({ dock: 'flame' });
  frame();
  assert.deepEqual(seen, []);
  frame();
  assert.deepEqual(seen, ['cursor']);
});
