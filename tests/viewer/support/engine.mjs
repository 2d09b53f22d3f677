// Gives the modules under node the page's engine, and makes snapshots and ranks with it.
import { existsSync, readFileSync } from 'node:fs';
import { documentOf, readAnswer, readLayoutText } from '../../../viewer/src/engine/document.js';
import { bytesInMemory, Engine } from '../../../viewer/src/engine/engine.js';
import { provideEngine } from '../../../viewer/src/engine/engine_module.js';
import { readSnapshot } from '../../../viewer/src/run/format.js';
import { Layouts } from '../../../viewer/src/run/layouts.js';
import { makeRun } from '../../../viewer/src/run/run.js';
import { readRanks } from '../../../viewer/src/engine/rank_digests.js';

const path = process.env.TIDEMARK_ENGINE ?? '';

/** The reason to skip tests of the engine, or false. */
export const NO_ENGINE = existsSync(path) ? false : 'TIDEMARK_ENGINE names no engine';

const module = NO_ENGINE ? null : new WebAssembly.Module(readFileSync(path));
if (!NO_ENGINE) provideEngine(async () => module);

/** An engine that has read a document, as the page reads it from a file. */
function engineOf(document) {
  const text = new TextEncoder().encode(JSON.stringify(document));
  const engine = new Engine(module, bytesInMemory([text]));
  engine.begin(new WebAssembly.Instance(module, engine.imports));
  engine.open('the file');
  return engine;
}

function snapshotIn(engine) {
  const snapshot = readSnapshot(documentOf(engine));
  return Object.assign(snapshot, readAnswer(engine));
}

export function snapshotOf(document) {
  return snapshotIn(engineOf(document));
}

/** A run that asks its engine for layouts, as that of a small file. */
export function runOf(document, device = undefined) {
  const engine = engineOf(document);
  const run = makeRun(snapshotIn(engine), 'run', device);
  run.layouts = layoutsOf(engine);
  return run;
}

/** The layouts of an engine that has opened a file. */
export function layoutsOf(engine) {
  return new Layouts({
    at: (device, state) => readLayoutText(engine, device, state),
    close: () => undefined,
  });
}

/** The ranks of a text, its bytes or a document, as the page reads them from a file. */
export function ranksOf(source) {
  const text = () => (typeof source === 'string' ? source : JSON.stringify(source));
  const bytes = source instanceof Uint8Array ? source : new TextEncoder().encode(text());
  return readRanks(async () => {
    const parts = [bytes];
    return async () => parts.pop() ?? null;
  });
}
