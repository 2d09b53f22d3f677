/* engine.js - the program's reader as WebAssembly: one instance with its memory. It runs in a worker, in
 * the page and in node. snapshot/wasm/engine.h describes the functions.
 *
 * An instance reads one file and is dropped: memory of WebAssembly never shrinks, and after a trap its
 * content is not known.
 */
import { FormatError } from './columns.js';

const TYPES = [Int8Array, Uint8Array, Int16Array, Int32Array, Uint32Array, Float64Array];
const NAME_BYTES = 4096; // with the zero that ends it
const COLUMN_BYTES = 32; // of a row in the table of columns
const NO_FILE = 8; // the system's number for "no such file"

/**
 * @typedef {object} Bytes where the bytes of a file come from
 * @property {(most: number) => Uint8Array | null} read the next ones, at most so many; null: the end
 * @property {() => void} rewind the next read gives the first byte again
 *
 * @typedef {import('./columns.js').Column} Column
 */

/**
 * @param {Uint8Array[]} parts of a file
 * @returns {Bytes}
 */
export function bytesInMemory(parts) {
  let part = 0;
  let at = 0;
  return {
    read: (most) => {
      while (part < parts.length && at === parts[part].length) {
        part++;
        at = 0;
      }
      if (part === parts.length) return null;
      const some = parts[part].subarray(at, at + most);
      at += some.length;
      return some;
    },
    rewind: () => (part = at = 0),
  };
}

export class Engine {
  /**
   * @param {Bytes} source
   */
  constructor(source) {
    this.source = source;
    /** @type {unknown} why the page could not read the file; null: it could */
    this.problem = null;
    /** @type {any} of the instance */
    this.exports = null;
    this.handle = 0;
  }

  /**
   * @param {WebAssembly.Module} module
   * @param {Bytes} source
   * @returns {Promise<Engine>}
   */
  static async start(module, source) {
    const engine = new Engine(source);
    /** @type {Record<string, Record<string, Function>>} */
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module))
      imports[from] = { ...imports[from], [name]: () => NO_FILE };
    imports.page = {
      read: (/** @type {number} */ to, /** @type {number} */ most) => engine.#read(to >>> 0, most >>> 0),
      rewind: () => source.rewind(),
    };
    const instance = await WebAssembly.instantiate(module, /** @type {any} */ (imports));
    engine.exports = instance.exports;
    engine.exports._initialize();
    engine.handle = engine.#call('create');
    if (engine.handle === 0) throw new RangeError('allocation failed');
    return engine;
  }

  get #bytes() {
    return new Uint8Array(this.exports.memory.buffer);
  }

  /**
   * @param {number} to
   * @param {number} most
   */
  #read(to, most) {
    try {
      const part = this.source.read(most);
      if (part === null) return 0;
      this.#bytes.set(part, to);
      return part.length;
    } catch (problem) {
      this.problem = problem;
      return -1;
    }
  }

  /**
   * @param {string} name
   * @param {number[]} given
   * @returns {number}
   * @throws {FormatError} it trapped
   */
  #call(name, ...given) {
    try {
      return this.exports[name](...given) >>> 0;
    } catch (problem) {
      throw new FormatError(`reading it failed (${/** @type {Error} */ (problem).message})`);
    }
  }

  /** @param {number} done what a call returned; 0: it failed */
  #require(done) {
    if (this.problem !== null) throw this.problem;
    if (done === 0) throw new FormatError(this.#text(this.#call('error', this.handle)));
    return done;
  }

  /**
   * A text that ends with a zero.
   * @param {number} at
   */
  #text(at) {
    const bytes = this.#bytes;
    return new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
  }

  /**
   * Reads the file.
   * @param {string} fileName for messages
   * @throws {FormatError} in the program's words
   */
  open(fileName) {
    const at = this.#call('name', this.handle);
    const name = new TextEncoder().encode(fileName).subarray(0, NAME_BYTES - 1);
    this.#bytes.set(name, at);
    this.#bytes[at + name.length] = 0;
    this.#require(this.#call('open', this.handle));
  }

  /**
   * The text that an export answers with.
   * @param {string} name "document", "summary"
   */
  answer(name) {
    this.#require(this.#call(name, this.handle));
    const at = this.#call('text', this.handle);
    const n = this.#call('text_bytes', this.handle);
    return new TextDecoder().decode(this.#bytes.subarray(at, at + n));
  }

  /**
   * The large tables of the document, copied out of the instance.
   * @returns {Record<string, Record<string, Column>>} by table and key
   */
  columns() {
    const n = this.#require(this.#call('columns', this.handle));
    const table = this.#call('column_table', this.handle);
    const { buffer } = this.exports.memory;
    const rows = new DataView(buffer, table, n * COLUMN_BYTES);
    /** @type {Record<string, Record<string, Column>>} */
    const found = {};
    for (let at = 0; at < n * COLUMN_BYTES; at += COLUMN_BYTES) {
      const [key, values, count, type] = [0, 4, 8, 12].map((offset) => rows.getUint32(at + offset, true));
      const [part, column] = this.#text(key).split('.');
      found[part] ??= {};
      found[part][column] = {
        values: new TYPES[type](buffer, values, count).slice(),
        min: rows.getFloat64(at + 16, true),
        max: rows.getFloat64(at + 24, true),
        isSummed: column.endsWith('_delta'),
        exact: null,
      };
    }
    return found;
  }
}
