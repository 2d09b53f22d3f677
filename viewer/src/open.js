/* open.js - where runs come from: files that are chosen or dropped, and what the command line put into the page.
 */
import { FormatError } from './columns.js';
import { byId, element } from './dom.js';
import { parseSnapshot } from './format.js';
import { bytesOfBase64, textOfBytes } from './load.js';
import { makeRun } from './run.js';

/** A sentence above the page. @param {string} text @param {boolean} isError */
export function banner(text, isError) {
  byId('banners').append(element('div', { class: isError ? 'banner error' : 'banner' }, text));
}

/** A file's name without what all of them end in. @param {string} name */
function labelOf(name) {
  return name.replace(/^.*\//, '').replace(/\.json(\.gz)?$/, '');
}

/** @param {string} label @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<import('./run.js').Run | null>} null: a banner says why */
async function readRun(label, bytes) {
  try {
    return makeRun(parseSnapshot(await textOfBytes(bytes)), label);
  } catch (problem) {
    const why = problem instanceof FormatError ? problem.message : `it cannot be shown (${/** @type {Error} */ (problem).message})`;
    banner(`${label}: ${why}.`, true);
    return null;
  }
}

/** Reads files that someone chose. @param {File[]} files @returns {Promise<import('./run.js').Run[]>} those that could be read */
export async function readFiles(files) {
  const loaded = [];
  for (const file of files) {
    const run = await readRun(labelOf(file.name), new Uint8Array(await file.arrayBuffer()));
    if (run !== null) loaded.push(run);
  }
  return loaded;
}

/** What `tidemark compare` says of the runs, or empty texts. @returns {{sentence: string, names: string[]}} */
function readComparison() {
  const found = { sentence: '', names: /** @type {string[]} */ ([]) };
  for (const node of document.querySelectorAll('script.tidemark-comparison')) {
    try {
      const comparison = JSON.parse(new TextDecoder().decode(bytesOfBase64((node.textContent ?? '').trim())));
      if (typeof comparison?.sentence === 'string') found.sentence = comparison.sentence;
      if (Array.isArray(comparison?.names)) found.names = comparison.names.map(String);
    } catch {
      banner('The comparison in this page is damaged; the table is computed from the snapshots.', true);
    }
    node.remove();
  }
  return found;
}

/** Reads what the command line put into the page, and takes it out of the document.
 * @returns {Promise<{runs: import('./run.js').Run[], sentence: string}>} */
export async function readEmbedded() {
  const { sentence, names } = readComparison(), runs = [];
  for (const [i, node] of document.querySelectorAll('script.tidemark-snapshot').entries()) {
    const label = labelOf(node.getAttribute('data-label') ?? 'snapshot');
    try {
      const run = await readRun(label, bytesOfBase64((node.textContent ?? '').trim()));
      if (run !== null) {
        const name = labelOf(names[i] ?? '');
        run.given = name === label ? '' : name;
        runs.push(run);
      }
    } catch {
      banner(`${label}: the data in this page is damaged.`, true);
    }
    node.remove();
  }
  return { runs, sentence };
}
