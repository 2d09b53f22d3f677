/* category_table.js - all that the page knows of the built-in categories: their place in the stack, their
 * colours and their names in texts.
 */

/**
 * @typedef {object} BuiltIn
 * @property {string} name as in files
 * @property {string} colour of Okabe and Ito's palette, "#rrggbb"
 * @property {string} text in a sentence
 * @property {string} [short] where `text` is too long to stand beside a plot
 */

export const NO_COLOUR = '#696969';

/**
 * In stacking order, bottom first.
 * @type {readonly Readonly<BuiltIn>[]}
 */
export const BUILT_IN = Object.freeze([
  { name: 'parameter', colour: '#0072b2', text: 'parameters' },
  { name: 'optimizer_state', colour: '#cc79a7', text: 'optimizer state', short: 'optimizer' },
  { name: 'gradient', colour: '#e69f00', text: 'gradients' },
  { name: 'input', colour: '#56b4e9', text: 'inputs' },
  { name: 'workspace', colour: '#d55e00', text: 'workspaces' },
  { name: 'weight_copy', colour: '#651b4a', text: 'weight copies', short: 'copies' },
  { name: 'kv_cache', colour: '#73ecbd', text: 'KV cache' },
  { name: 'activation', colour: '#009e73', text: 'activations' },
  { name: 'temporary', colour: '#f0e442', text: 'temporaries' },
  { name: 'unknown', colour: NO_COLOUR, text: 'unknown' },
]);
