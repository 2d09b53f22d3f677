// Prints as JSON what the page says about a recording: for each device its sentences, [key, text].
//   TIDEMARK_ENGINE=ENGINE.wasm node page_sentences.mjs FILE
import { readFileSync } from 'node:fs';
import './engine.mjs';
import { readSource } from '../../../viewer/src/engine/unpack.js';

const { snapshot } = await readSource(new Uint8Array(readFileSync(process.argv[2])), () => undefined);
console.log(JSON.stringify(snapshot.sentences));
