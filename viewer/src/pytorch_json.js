/* pytorch_json.js - reads a PyTorch snapshot as JSON, which `tidemark export --to pytorch-json` or Python's
 * json writes.
 */
import { JsonReader } from './json.js';
import { PickleContainer, PickleReal } from './pickle_values.js';

const FIRST_KEY =
  /^\s*\{\s*"(segments|device_traces|allocator_settings|external_annotations|host_segments|host_traces)/;
const FREE_TREE_BYTES = 256 * 1024;
const TREE_DENSITY = 6; // the most bytes of memory per byte of text: 8 for a value, 24 for a container
const LOOKED_AT = 4096; // first bytes of a file, which hold its first key

/**
 * True for such a file; our own format begins with other keys.
 * @param {Uint8Array} first bytes of the text
 */
export function isPytorchJson(first) {
  return FIRST_KEY.test(String.fromCharCode(...first.subarray(0, LOOKED_AT)));
}

/**
 * @param {JsonReader} json
 * @returns {number | PickleReal}
 */
function numberOf(json) {
  const begin = json.at;
  const size = json.numberSize();
  const value = json.getReal();
  const isWhole = /^-?\d+$/.test(String.fromCharCode(...json.bytes.subarray(begin, begin + size)));
  return isWhole && Math.abs(value) < 2 ** 64 ? value : new PickleReal(value);
}

/**
 * The size of the text bounds the memory of the tree.
 * @param {JsonReader} json
 * @param {{nCharged: number}} spent
 * @param {number} n bytes
 */
function chargeTree(json, spent, n) {
  spent.nCharged += n;
  if (spent.nCharged > FREE_TREE_BYTES + TREE_DENSITY * json.end)
    json.fail(`up to here the ${json.end} bytes make more memory than a snapshot does`);
}

/**
 * Reads a container and its contents; a dict's keys and values alternate.
 * @param {JsonReader} json
 * @param {boolean} isList
 * @param {{nCharged: number}} spent
 */
function containerOf(json, isList, spent) {
  chargeTree(json, spent, 24);
  const made = new PickleContainer(isList ? 'list' : 'dict', json.at);
  made.items = [];
  json.enter(isList);
  const level = json.levels[json.levels.length - 1];
  while (isList ? json.nextItem() : json.takeKey()) {
    if (!isList) made.items.push(json.textOf(level.keyAt, level.keyAt + level.keySize));
    made.items.push(valueOf(json, spent));
  }
  return made;
}

/**
 * @param {JsonReader} json
 * @param {{nCharged: number}} spent
 * @returns {any} in the form of readPickle
 */
function valueOf(json, spent) {
  const kind = json.peek();
  chargeTree(json, spent, 8);
  if (kind === 'array' || kind === 'object') return containerOf(json, kind === 'array', spent);
  if (kind === 'number') return numberOf(json);
  if (kind === 'boolean') return json.getBoolean();
  if (kind === 'text') return json.getText();
  json.skip();
  return null;
}

/**
 * @param {Uint8Array} bytes the whole text
 * @returns {any} in the form of readPickle
 * @throws {import('./columns.js').FormatError}
 */
export function readPytorchJson(bytes) {
  const json = new JsonReader(bytes, true);
  const root = valueOf(json, { nCharged: 0 });
  if (json.look() >= 0) json.expected("nothing after the document's end");
  return root;
}
