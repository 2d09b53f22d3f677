/* open.js - opens runs: files that are chosen or dropped, and the data that the command line embedded in the
 * page.
 */
import { bytesOfBase64 } from '../engine/base64.js';
import { FormatError } from '../run/columns.js';
import { byId, element } from '../elements/dom.js';
import { isDigest, readRanks } from '../engine/rank_digests.js';
import { loadRun, prepareLoading } from '../engine/load.js';
import { parseHarmless } from '../words/harmless.js';
import { openSource, snapshotIn } from '../engine/unpack.js';

const KIND_CHARACTERS = 256; // of the beginning of a text, by which a digest is known
const AT_ONCE = 2; // files read in parallel
const PATIENCE_MS = 150; // delay before progress is shown

/**
 * Shows a sentence above the page.
 * @param {string} text
 * @param {boolean} isError
 */
export function banner(text, isError) {
  byId('banners').append(element('div', { class: isError ? 'banner error' : 'banner' }, text));
}

/**
 * A file's name without folder and extension.
 * @param {string} name
 */
function labelOf(name) {
  return name.replace(/^.*\//, '').replace(/\.(json|pickle|pkl|html)(\.gz)?$/, '');
}

/**
 * Shows a progress line above the page.
 * @param {string} label
 */
function progressLine(label) {
  const line = element(
    'div',
    {
      class: 'banner progress',
      role: 'progressbar',
      'aria-label': `Reading ${label}`,
      'aria-valuemin': '0',
      'aria-valuemax': '100',
    },
    `Reading ${label} …`,
  );
  const timer = setTimeout(() => byId('banners').append(line), PATIENCE_MS);
  return {
    /** @param {import('../engine/unpack.js').Progress} progress */
    show: ({ bytes, totalBytes }) => {
      const percent = Math.floor((100 * bytes) / totalBytes);
      line.setAttribute('aria-valuenow', String(percent));
      line.textContent = `Reading ${label}: ${percent} % …`;
    },
    remove: () => {
      clearTimeout(timer);
      line.remove();
    },
  };
}

/**
 * The ranks of a source that begins as a digest.
 * @param {import('../engine/unpack.js').Source} source
 * @returns {Promise<import('../engine/rank_digests.js').Rank[] | null>} null: it is no digest
 * @throws {FormatError}
 */
async function readDigests(source) {
  const open = async () => (await openSource(source, () => undefined)).pull;
  const pull = await open();
  const decoder = new TextDecoder();
  let text = '';
  while (text.length < KIND_CHARACTERS) {
    const part = await pull();
    if (part === null) break;
    text += decoder.decode(part, { stream: true });
  }
  return isDigest(text) ? readRanks(open) : null;
}

/**
 * @typedef {import('../run/run.js').Run | import('../engine/rank_digests.js').Rank[]} Read a run, or the ranks of digests
 */

/**
 * @param {string} label
 * @param {import('../engine/unpack.js').Source} file
 * @returns {Promise<Read | null>} null: a banner gives the reason
 */
async function readRun(label, file) {
  const progress = progressLine(label);
  try {
    const source = await snapshotIn(file);
    return (await readDigests(source)) ?? (await loadRun(source, label, progress.show));
  } catch (problem) {
    const why =
      problem instanceof FormatError
        ? problem.message
        : `it cannot be shown (${/** @type {Error} */ (problem).message})`;
    banner(`${label}: ${why}.`, true);
    return null;
  } finally {
    progress.remove();
  }
}

/**
 * Reads runs in parallel, a few at a time.
 * @template T
 * @param {T[]} from
 * @param {(each: T) => Promise<Read | null>} read
 * @returns {Promise<(Read | null)[]>} in the order of `from`
 */
async function readAll(from, read) {
  /** @type {(Read | null)[]} */
  const runs = from.map(() => null);
  let next = 0;
  const line = async () => {
    while (next < from.length) {
      const i = next++;
      runs[i] = await read(from[i]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, line));
  return runs;
}

/**
 * @typedef {{runs: import('../run/run.js').Run[], ranks: import('../engine/rank_digests.js').Rank[]}} Sorted
 * @param {(Read | null)[]} all
 * @returns {Sorted}
 */
function sorted(all) {
  /** @type {Sorted} */
  const found = { runs: [], ranks: [] };
  for (const read of all)
    if (Array.isArray(read)) for (const rank of read) found.ranks.push(rank);
    else if (read !== null) found.runs.push(read);
  if (found.runs.length > 0 && found.ranks.length > 0)
    banner(
      'Digests are shown without the snapshots beside them; `tidemark digest` makes a digest of one.',
      false,
    );
  return found;
}

/**
 * Reads chosen files.
 * @param {File[]} files
 * @returns {Promise<Sorted>} the readable ones
 */
export async function readFiles(files) {
  return sorted(await readAll(files, (file) => readRun(labelOf(file.name), file)));
}

/**
 * The sentence and names that `tidemark compare` gives, or empty texts; and of each run, by device, the
 * answers of `tidemark explain` with a sentence of a replay, which the page does not make.
 * @returns {{sentence: string, names: string[], answers: (import('../run/sentences.js').Sentence[] | null)[][]}}
 */
function readFacts() {
  const found = { sentence: '', names: /** @type {string[]} */ ([]), answers: [] };
  for (const node of document.querySelectorAll('script.tidemark-comparison')) {
    try {
      const facts = new TextDecoder().decode(bytesOfBase64((node.textContent ?? '').trim()));
      const comparison = parseHarmless(facts);
      if (typeof comparison?.sentence === 'string') found.sentence = comparison.sentence;
      if (Array.isArray(comparison?.names)) found.names = comparison.names.map(String);
      found.answers = comparison?.answers ?? [];
    } catch {
      banner('The comparison in this page is damaged; the table is computed from the snapshots.', true);
    }
    node.remove();
  }
  return found;
}

/**
 * Reads the data that the command line embedded, and removes it from the document.
 * @returns {Promise<Sorted & {sentence: string}>}
 */
export async function readEmbedded() {
  const { sentence, names, answers } = readFacts();
  const nodes = [...document.querySelectorAll('script.tidemark-snapshot')];
  const runs = await readAll(nodes, (node) => {
    const text = (node.textContent ?? '').trim();
    const label = labelOf(node.getAttribute('data-label') ?? 'snapshot');
    node.remove();
    return readRun(label, text);
  });
  runs.forEach((run, i) => {
    const name = labelOf(names[i] ?? '');
    if (run === null || Array.isArray(run)) return;
    run.given = name === run.label ? '' : name;
    answers[i]?.forEach((answer, device) => {
      if (answer !== null) run.snapshot.sentences[device] = answer;
    });
  });
  prepareLoading();
  return { ...sorted(runs), sentence };
}
