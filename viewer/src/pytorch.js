/* pytorch.js - snapshots by PyTorch, pickles and the same tree as JSON, which the program's code reads. */
import { FormatError } from './columns.js';
import { Engine } from './engine.js';
import { engineModule } from './engine_module.js';

const FIRST_KEY =
  /^\s*\{\s*"(segments|device_traces|allocator_settings|external_annotations|host_segments|host_traces)/;
const LOOKED_AT = 4096; // first bytes of a file, which hold its first key
const PROGRESS_MS = 50;
const NAME = 'the file'; // the page names it before each message

/**
 * True for such a file; our own format begins with other keys.
 * @param {Uint8Array} first bytes of the text
 */
export function isPytorchJson(first) {
  return FIRST_KEY.test(String.fromCharCode(...first.subarray(0, LOOKED_AT)));
}

/**
 * The same bytes, with a report now and then.
 * @param {import('./engine.js').Bytes} source
 * @param {() => void} report
 * @returns {import('./engine.js').Bytes}
 */
function reported(source, report) {
  let reportedAt = 0;
  return {
    read: (most) => {
      const now = performance.now();
      if (now - reportedAt > PROGRESS_MS) {
        reportedAt = now;
        report();
      }
      return source.read(most);
    },
    rewind: () => source.rewind(),
  };
}

/**
 * @param {import('./engine.js').Bytes} source
 * @param {() => void} report called now and then
 * @returns {Promise<Record<string, any>>} for readSnapshot
 * @throws {FormatError}
 */
export async function readPytorch(source, report) {
  const engine = await Engine.start(await engineModule(), reported(source, report));
  try {
    engine.open(NAME);
    const doc = JSON.parse(engine.answer('document'));
    return { ...doc, ...engine.columns(), odd: doc.odd.count > 0 ? doc.odd : null };
  } catch (problem) {
    if (!(problem instanceof FormatError)) throw problem;
    const { message } = problem;
    throw new FormatError(message.replace(`cannot read '${NAME}': `, '').replaceAll(`'${NAME}'`, NAME));
  }
}
