/* engine.js - the program's reader as WebAssembly: one instance with its memory. It runs in a worker, in
 * the page and in node. snapshot/wasm/engine.h describes the functions.
 *
 * An instance reads one file and is dropped: memory of WebAssembly never shrinks, and after a trap its
 * content is not known.
 */
import { FormatError } from '../run/columns.js';

const TYPES = [Int8Array, Uint8Array, Int16Array, Int32Array, Uint32Array, Float64Array];
const NAME_BYTES = 4096; // with the zero that ends it
const BATCH_ROWS = 16384; // TIDE_ENGINE_BATCH of snapshot/wasm/engine.h
const NO_FILE = 8; // the system's number for "no such file"

// Newer browsers let WebAssembly wait for a promise; others need the whole text before they begin.
const { Suspending, promising } = /** @type {any} */ (globalThis.WebAssembly ?? {});
export const CAN_WAIT = Suspending !== undefined && promising !== undefined;

/**
 * @typedef {Uint8Array | null} Part of a file; null: the end
 *
 * @typedef {object} Bytes where the bytes of a file come from
 * @property {(most: number) => Part | Promise<Part>} read the next ones, at most so many; a promise only if
 *   CAN_WAIT
 * @property {() => void} rewind the next read gives the first byte again
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

// In place of a file that was read, whose last part would stay in memory.
const NOTHING = bytesInMemory([]);

/** @param {unknown} problem */
function trapped(problem) {
  return new FormatError(`reading it failed (${/** @type {Error} */ (problem).message})`);
}

export class Engine {
  /**
   * @param {WebAssembly.Module} module
   * @param {Bytes} source
   */
  constructor(module, source) {
    this.source = source;
    /** @type {unknown} why the page could not read the file; null: it could */
    this.problem = null;
    /** @type {any} of the instance */
    this.exports = null;
    this.handle = 0;
    const read = (/** @type {number} */ to, /** @type {number} */ most) => this.#read(to >>> 0, most >>> 0);
    /** @type {Record<string, any>} of the instance */
    this.imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module))
      this.imports[from] = { ...this.imports[from], [name]: () => NO_FILE };
    this.imports.page = {
      read: CAN_WAIT ? new Suspending(read) : read,
      rewind: () => this.source.rewind(),
    };
  }

  /**
   * @param {WebAssembly.Module} module
   * @param {Bytes} source
   * @returns {Promise<Engine>}
   */
  static async start(module, source) {
    const engine = new Engine(module, source);
    engine.begin(await WebAssembly.instantiate(module, engine.imports));
    return engine;
  }

  /** @param {WebAssembly.Instance} instance that has the imports of this engine */
  begin(instance) {
    this.exports = instance.exports;
    this.exports._initialize();
    this.handle = this.#call('create');
    if (this.handle === 0) throw new RangeError('allocation failed');
  }

  get #bytes() {
    return new Uint8Array(this.exports.memory.buffer);
  }

  /**
   * @param {number} to
   * @param {number} most
   */
  #read(to, most) {
    const take = (/** @type {Part} */ part) => {
      if (part === null) return 0;
      this.#bytes.set(part, to);
      return part.length;
    };
    const fail = (/** @type {unknown} */ problem) => {
      this.problem = problem;
      return -1;
    };
    try {
      const part = this.source.read(most);
      return part instanceof Promise ? part.then(take).catch(fail) : take(part);
    } catch (problem) {
      return fail(problem);
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
      throw trapped(problem);
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

  /** @param {string} fileName for messages */
  #setName(fileName) {
    const at = this.#call('name', this.handle);
    const name = new TextEncoder().encode(fileName).subarray(0, NAME_BYTES - 1);
    this.#bytes.set(name, at);
    this.#bytes[at + name.length] = 0;
  }

  /**
   * Reads the file.
   * @param {string} fileName for messages
   * @param {string} [by] the export that does it: "open", "open_layouts", "ranks"
   * @throws {FormatError} in the program's words
   */
  open(fileName, by = 'open') {
    this.#setName(fileName);
    this.#require(this.#call(by, this.handle));
    this.source = NOTHING;
  }

  /**
   * The same, of a source that may have to be waited for.
   * @param {string} fileName
   * @param {string} [by]
   */
  async openWaiting(fileName, by = 'open') {
    this.#setName(fileName);
    const open = promising(this.exports[by]);
    this.#require(
      await open(this.handle).catch((/** @type {unknown} */ problem) => {
        throw trapped(problem);
      }),
    );
    this.source = NOTHING;
  }

  /**
   * The text that an export answers with.
   * @param {string} name "document", "layout", "summary"
   * @param {number[]} given
   */
  answer(name, ...given) {
    this.#require(this.#call(name, this.handle, ...given));
    return this.answered();
  }

  /** The text that the last export answered with. */
  answered() {
    const at = this.#call('text', this.handle);
    const n = this.#call('text_bytes', this.handle);
    return new TextDecoder().decode(this.#bytes.subarray(at, at + n));
  }

  /**
   * The large tables of the document, copied out of the instance.
   * @returns {Record<string, Record<string, import('../run/columns.js').Numbers>>} by table and key
   */
  columns() {
    const n = this.#call('columns', this.handle);
    /** @type {Record<string, Record<string, import('../run/columns.js').Numbers>>} */
    const found = {};
    for (let i = 0; i < n; i++) {
      const at = this.#call('column', this.handle, i);
      const { buffer } = this.exports.memory;
      const [key, count, type] = new Uint32Array(buffer, at, 3);
      const [table, column] = this.#text(key).split('.');
      const made = new TYPES[type](count);
      for (let first = 0; first < count; first += BATCH_ROWS) {
        const rows = this.#call('rows', this.handle, i, first);
        made.set(new TYPES[type](buffer, rows, Math.min(BATCH_ROWS, count - first)), first);
      }
      found[table] = { ...found[table], [column]: made };
    }
    return found;
  }
}
