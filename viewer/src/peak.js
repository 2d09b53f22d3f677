/* peak.js - what is alive in one state: by category, scope and name, and by call stack. Every level
 * adds up exactly to the allocated bytes.
 */
import { CATEGORIES } from './colours.js';
import { aliveAt } from './index.js';
import { scopeGroup } from './lanes.js';
import { layersText, namePattern } from './text.js';

/**
 * @typedef {object} Group
 * @property {string} key
 * @property {string} label
 * @property {number} bytes whole blocks
 * @property {number} count blocks
 * @property {Group[]} children largest first
 *
 * @typedef {object} Breakdown
 * @property {number} state
 * @property {number} bytes
 * @property {number} requestedBytes
 * @property {number} count
 * @property {Group[]} categories category > scope > name; in the order of CATEGORIES
 * @property {Group[]} scopes scope > category; largest first
 * @property {{stack: number, bytes: number, count: number, largest: number}[]} stacks largest first; largest: a block
 */

/** @typedef {{label: string, bytes: number, count: number, layers: Set<number>, children: Map<string, Node>}} Node */

/** @param {string} label @returns {Node} */
function emptyNode(label) {
  return { label, bytes: 0, count: 0, layers: new Set(), children: new Map() };
}

/** Adds a block along a path of keys. @param {Node} root @param {string[]} path @param {number} bytes @param {number} layer */
function addAlong(root, path, bytes, layer) {
  let node = root;
  for (let depth = 0; ; depth++) {
    node.bytes += bytes;
    node.count++;
    if (layer >= 0) node.layers.add(layer);
    if (depth === path.length) return;
    let child = node.children.get(path[depth]);
    if (child === undefined) {
      child = emptyNode(path[depth]);
      node.children.set(path[depth], child);
    }
    node = child;
  }
}

/** @param {Node} node @param {string} key @returns {Group} */
function finished(node, key) {
  const children = [...node.children].map(([k, child]) => finished(child, k)).sort((a, b) => b.bytes - a.bytes);
  return { key, label: node.label.replace('layer #', layersText(node.layers)), bytes: node.bytes, count: node.count, children };
}

/**
 * @param {import('./format.js').Snapshot} snapshot @param {import('./index.js').MemoryIndex} index @param {number} state
 * @returns {Breakdown}
 */
export function breakdownAt(snapshot, index, state) {
  const { blocks } = index, byCategory = emptyNode(''), byScope = emptyNode('');
  /** @type {Map<number, {path: string, layer: number}>} */
  const groups = new Map();
  /** @type {Map<number, {stack: number, bytes: number, count: number, largest: number}>} */
  const stacks = new Map();
  let requestedBytes = 0;
  for (const b of aliveAt(index, state)) {
    const scope = blocks.scope[b], bytes = blocks.bytes[b], category = CATEGORIES[blocks.category[b]];
    let group = groups.get(scope);
    if (group === undefined) groups.set(scope, (group = scopeGroup(snapshot, scope)));
    const name = blocks.name[b] < 0 ? '(no name)' : namePattern(snapshot.strings[blocks.name[b]]);
    addAlong(byCategory, [category, group.path, name], bytes, group.layer);
    addAlong(byScope, [group.path, category], bytes, group.layer);
    requestedBytes += blocks.requestedBytes[b];
    const stack = stacks.get(blocks.stack[b]);
    if (stack === undefined) {
      stacks.set(blocks.stack[b], { stack: blocks.stack[b], bytes, count: 1, largest: b });
    } else {
      stack.bytes += bytes;
      stack.count++;
      if (bytes > blocks.bytes[stack.largest]) stack.largest = b;
    }
  }
  const categories = finished(byCategory, '').children.sort((a, b) => CATEGORIES.indexOf(a.key) - CATEGORIES.indexOf(b.key));
  return {
    state, bytes: byCategory.bytes, requestedBytes, count: byCategory.count, categories,
    scopes: finished(byScope, '').children, stacks: [...stacks.values()].sort((a, b) => b.bytes - a.bytes),
  };
}

/**
 * The frames of a call stack, innermost first.
 * @param {import('./format.js').Snapshot} snapshot @param {number} stack -1: none
 * @returns {{function: string, place: string}[]} place "file:line", or ""
 */
export function stackFrames(snapshot, stack) {
  const { stacks, frames, strings } = snapshot, list = [];
  for (let s = stack; s >= 0; s = stacks.parent[s]) {
    const f = stacks.frame[s], file = frames.file[f] < 0 ? '' : strings[frames.file[f]];
    list.push({
      function: frames.function[f] < 0 ? '??' : strings[frames.function[f]],
      place: frames.line[f] > 0 ? `${file}:${frames.line[f]}` : file,
    });
  }
  return list;
}
