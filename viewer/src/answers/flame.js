/* flame.js - a flame graph: bytes by call stack, from the outermost frame inwards. Consecutive frames that
 * are not the user's are folded into one unless the reader unfolds them.
 */
import { foldedStack, frameText } from '../run/frames.js';
import { oncePer } from '../run/once.js';

/** Values that represent no single frame. */
export const FLAME = Object.freeze({ ALL: -1, FOLDED: -2, NONE: -3, BEFORE: -4 });

// represents the stack of blocks from before the recording, about which nothing else is known
const BEFORE_STACK = -2;

/**
 * @typedef {object} FlameNode
 * @property {number} frame or a value of FLAME
 * @property {number} parent index of a node; -1: none
 * @property {number} depth 0: all blocks
 * @property {number} bytes whole blocks
 * @property {number} requestedBytes
 * @property {number} count blocks
 * @property {number} ownBytes bytes of the stacks that end here
 * @property {number} from bytes to the left of it, in the whole graph
 * @property {number} fewest frames folded here
 * @property {number} most frames folded here
 * @property {Map<number, number>} groups bytes by group of the timelines' colours
 * @property {Map<number, number>} childOf child by frame
 * @property {number[]} children indices, most bytes first
 *
 * @typedef {{nodes: FlameNode[], depth: number}} Flame nodes[0]: all blocks; depth: rows
 */

/**
 * The frames of a stack from the outermost inwards, as parts to show and parts to fold; computed once per
 * stack.
 */
const outwardParts = oncePer((/** @type {import('../run/format.js').Snapshot} */ snapshot) => {
  /** @type {Map<number, {isFolded: boolean, frames: number[]}[]>} */
  const known = new Map();
  return (/** @type {number} */ stack) => {
    let parts = known.get(stack);
    if (parts === undefined) {
      parts = foldedStack(snapshot, stack)
        .reverse()
        .map(({ isFolded, frames }) => ({ isFolded, frames: [...frames].reverse() }));
      known.set(stack, parts);
    }
    return parts;
  };
});

/**
 * The nodes that a stack passes through: frames, or FOLDED with a count. When frames are folded, the start-up
 * code of the program and its threads is left out, so that stacks meet in the user's outermost frame.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} stack
 * @param {boolean} isUnfolded
 * @returns {{frame: number, n: number}[]}
 */
function stepsOf(snapshot, stack, isUnfolded) {
  if (stack < 0) return [{ frame: stack === BEFORE_STACK ? FLAME.BEFORE : FLAME.NONE, n: 0 }];
  return outwardParts(snapshot)(stack).flatMap(({ isFolded, frames }, i, { length }) =>
    i === 0 && length > 1 && isFolded && !isUnfolded
      ? []
      : isFolded && !isUnfolded
        ? [{ frame: FLAME.FOLDED, n: frames.length }]
        : frames.map((frame) => ({ frame, n: 0 })),
  );
}

/**
 * @param {number} frame
 * @param {number} parent
 * @param {number} depth
 * @returns {FlameNode}
 */
function flameNode(frame, parent, depth) {
  return {
    frame,
    parent,
    depth,
    bytes: 0,
    requestedBytes: 0,
    count: 0,
    ownBytes: 0,
    from: 0,
    fewest: Infinity,
    most: 0,
    groups: new Map(),
    childOf: new Map(),
    children: [],
  };
}

/**
 * A block's stack, or the value that represents it.
 * @param {import('../run/blocks.js').Blocks} blocks
 * @param {number} block
 */
function stackOf({ stack, bornState }, block) {
  return stack[block] < 0 && bornState[block] === 0 ? BEFORE_STACK : stack[block];
}

/**
 * Bytes and blocks per stack and group.
 * @param {import('../run/run.js').Run} run
 * @param {Int32Array} list blocks
 * @param {(block: number) => number} groupOf
 */
function sumStacks(run, list, groupOf) {
  const { blocks } = run.index;
  const { bytes, requestedBytes } = blocks;
  /**
   * @type {Map<number, {bytes: number, requestedBytes: number, count: number, groups: Map<number, number>}>}
   */
  const sums = new Map();
  for (const block of list) {
    const stack = stackOf(blocks, block);
    let sum = sums.get(stack);
    if (sum === undefined)
      sums.set(stack, (sum = { bytes: 0, requestedBytes: 0, count: 0, groups: new Map() }));
    const group = groupOf(block);
    sum.bytes += bytes[block];
    sum.requestedBytes += requestedBytes[block];
    sum.count++;
    sum.groups.set(group, (sum.groups.get(group) ?? 0) + bytes[block]);
  }
  return sums;
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {Int32Array} list blocks
 * @param {boolean} isUnfolded
 * @param {(block: number) => number} groupOf
 * @returns {Flame}
 */
export function buildFlame(run, list, isUnfolded, groupOf) {
  const nodes = [flameNode(FLAME.ALL, -1, 0)];
  let depth = 1;
  for (const [stack, sum] of sumStacks(run, list, groupOf)) {
    let at = 0;
    const add = (/** @type {FlameNode} */ node) => {
      node.bytes += sum.bytes;
      node.requestedBytes += sum.requestedBytes;
      node.count += sum.count;
      for (const [group, bytes] of sum.groups) node.groups.set(group, (node.groups.get(group) ?? 0) + bytes);
    };
    add(nodes[0]);
    for (const { frame, n } of stepsOf(run.snapshot, stack, isUnfolded)) {
      let child = nodes[at].childOf.get(frame);
      if (child === undefined) {
        child = nodes.length;
        nodes.push(flameNode(frame, at, nodes[at].depth + 1));
        nodes[at].childOf.set(frame, child);
        depth = Math.max(depth, nodes[child].depth + 1);
      }
      at = child;
      const node = nodes[at];
      add(node);
      if (frame === FLAME.FOLDED) {
        node.fewest = Math.min(node.fewest, n);
        node.most = Math.max(node.most, n);
      }
    }
    nodes[at].ownBytes += sum.bytes;
  }
  for (const node of nodes) {
    // a parent comes before its children
    node.children = [...node.childOf.values()].sort((a, b) => nodes[b].bytes - nodes[a].bytes || a - b);
    let { from } = node;
    for (const child of node.children) {
      nodes[child].from = from;
      from += nodes[child].bytes;
    }
  }
  return { nodes, depth };
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {FlameNode} node
 */
export function flameText(run, { frame, fewest, most }) {
  if (frame === FLAME.ALL) return 'all';
  if (frame === FLAME.NONE) return 'no call stack';
  if (frame === FLAME.BEFORE) return 'from before the recording';
  if (frame === FLAME.FOLDED)
    return `folded: ${fewest === most ? most : `${fewest}–${most}`} frame${most === 1 ? '' : 's'}`;
  return frameText(run.snapshot, frame);
}

/**
 * A node's path from the outermost frame, without the root.
 * @param {Flame} flame
 * @param {number} at
 * @returns {number[]} frames
 */
export function flamePath({ nodes }, at) {
  const path = [];
  for (let i = at; i > 0; i = nodes[i].parent) path.push(nodes[i].frame);
  return path.reverse();
}

/**
 * The node at the end of a path of frames, or as far along it as the graph goes.
 * @param {Flame} flame
 * @param {number[]} path
 */
export function followPath({ nodes }, path) {
  let at = 0;
  for (const frame of path) {
    const child = nodes[at].childOf.get(frame);
    if (child === undefined) break;
    at = child;
  }
  return at;
}

/**
 * The node under a point of the graph.
 * @param {Flame} flame
 * @param {number} zoomed node that fills the graph's width
 * @param {number} share 0..1 from its left
 * @param {number} depth row
 * @returns {number} -1: none
 */
export function nodeAt({ nodes }, zoomed, share, depth) {
  let at = zoomed;
  while (nodes[at].depth > depth) at = nodes[at].parent;
  const bytes = nodes[zoomed].from + share * nodes[zoomed].bytes;
  while (nodes[at].depth < depth) {
    const next = nodes[at].children.find(
      (child) => bytes >= nodes[child].from && bytes < nodes[child].from + nodes[child].bytes,
    );
    if (next === undefined) return -1;
    at = next;
  }
  return at;
}

/**
 * The text that identifies a frame in other runs.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} frame
 */
function frameKey({ frames, strings }, frame) {
  if (frame < 0) return frame;
  return `${frames.function[frame] < 0 ? '' : strings[frames.function[frame]]} ${frames.file[frame] < 0 ? '' : strings[frames.file[frame]]} ${frames.line[frame]}`;
}

/**
 * The blocks below a frame, in any run.
 * @param {import('../run/run.js').Run} run
 * @param {import('../run/run.js').Run} of the run that the path belongs to
 * @param {number[]} path frames
 * @param {boolean} isUnfolded
 * @returns {Uint8Array} per block 1 or 0
 */
export function blocksUnder(run, of, path, isUnfolded) {
  const { blocks } = run.index;
  const { count } = blocks;
  const mask = new Uint8Array(count);
  const keys = path.map((frame) => frameKey(of.snapshot, frame));
  /** @type {Map<number, number>} */
  const known = new Map();
  for (let block = 0; block < count; block++) {
    const stack = stackOf(blocks, block);
    let is = known.get(stack);
    if (is === undefined) {
      const steps = stepsOf(run.snapshot, stack, isUnfolded);
      is =
        steps.length >= keys.length && keys.every((key, i) => key === frameKey(run.snapshot, steps[i].frame))
          ? 1
          : 0;
      known.set(stack, is);
    }
    mask[block] = is;
  }
  return mask;
}

/**
 * The graph as indented text, largest first, down to a share of all bytes.
 * @param {import('../run/run.js').Run} run
 * @param {Flame} flame
 * @param {number} least share
 * @returns {{depth: number, text: string, bytes: number, count: number}[]}
 */
export function flameRows(run, { nodes }, least) {
  /** @type {{depth: number, text: string, bytes: number, count: number}[]} */
  const rows = [];
  const pending = [0];
  while (pending.length > 0) {
    const node = nodes[/** @type {number} */ (pending.pop())];
    rows.push({ depth: node.depth, text: flameText(run, node), bytes: node.bytes, count: node.count });
    pending.push(...node.children.filter((child) => nodes[child].bytes >= least * nodes[0].bytes).reverse());
  }
  return rows;
}
