/* layouts.js - asks an engine that has read a run's file how its memory is divided at an instant. The engine
 * of a file that is not small ends after loading, and the first question reads the file again.
 */

/**
 * @typedef {object} Divider an engine that holds a document
 * @property {(device: number, state: number) => Promise<string>} at one question at a time
 * @property {() => void} close
 */

/** The layouts of one file, which all runs of its devices and segments share. */
export class Layouts {
  /** @param {Divider | (() => Promise<Divider>)} from the engine, or what reads the file again */
  constructor(from) {
    /** @type {Promise<Divider> | null} null: the first question reads the file */
    this.divider = typeof from === 'function' ? null : Promise.resolve(from);
    /** Null once it is not needed, because it holds the file. */
    this.open = typeof from === 'function' ? from : null;
    /** @type {Promise<unknown>} the last question */
    this.asked = Promise.resolve();
  }

  /** False: the next question reads the file. */
  get isOpen() {
    return this.divider !== null;
  }

  /** The engine, which reads the file first if it must. */
  opened() {
    if (this.open !== null) this.divider = this.open();
    this.open = null;
    return /** @type {Promise<Divider>} */ (this.divider);
  }

  /**
   * The layout as the engine writes it. A failure is final: the engine may be in no known state.
   * @param {number} device
   * @param {number} state
   * @returns {Promise<string>}
   */
  at(device, state) {
    const answer = this.asked.then(async () => (await this.opened()).at(device, state));
    this.asked = answer;
    return answer;
  }

  /** Frees the engine; later questions fail. */
  close() {
    this.divider?.then((divider) => divider.close()).catch(() => undefined);
    this.divider = this.open = null;
    this.asked = Promise.reject(new Error('its file was closed'));
    this.asked.catch(() => undefined);
  }
}
