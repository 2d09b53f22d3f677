// Gives the modules under node the page's engine, and makes snapshots and ranks with it.
import { existsSync, readFileSync } from 'node:fs';
import { documentOf } from '../../viewer/src/document.js';
import { bytesInMemory, Engine } from '../../viewer/src/engine.js';
import { provideEngine } from '../../viewer/src/engine_module.js';
import { readSnapshot } from '../../viewer/src/format.js';
import { readRanks } from '../../viewer/src/rank_digests.js';

const path = process.env.TIDEMARK_ENGINE ?? '';

/** The reason to skip tests of the engine, or false. */
export const NO_ENGINE = existsSync(path) ? false : 'TIDEMARK_ENGINE names no engine';

const module = NO_ENGINE ? null : new WebAssembly.Module(readFileSync(path));
if (!NO_ENGINE) provideEngine(async () => module);

/** The snapshot of a document, as the page reads it from a file. */
export function snapshotOf(document) {
  const text = new TextEncoder().encode(JSON.stringify(document));
  const engine = new Engine(module, bytesInMemory([text]));
  engine.begin(new WebAssembly.Instance(module, engine.imports));
  engine.open('the file');
  return readSnapshot(documentOf(engine));
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
