// Gives the modules under node the engine that the page holds. Import it for its effect.
import { existsSync, readFileSync } from 'node:fs';
import { provideEngine } from '../../viewer/src/engine_module.js';

const path = process.env.TIDEMARK_ENGINE ?? '';

/** Why tests of the engine are skipped; false: they are not. */
export const NO_ENGINE = existsSync(path) ? false : 'TIDEMARK_ENGINE names no engine';

if (!NO_ENGINE) provideEngine(async () => new WebAssembly.Module(readFileSync(path)));
