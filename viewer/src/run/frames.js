/* frames.js - the frames of call stacks as texts, and folded where they are not the user's code. The engine
 * finds whose code a frame is, and the frame that represents a stack (snapshot/analysis/user_frame.h).
 */

/** The owner of a frame's code. */
export const FRAME = Object.freeze({ USER: 0, LIBRARY: 1, TOOL: 2 });

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} frame
 */
function fileOf(snapshot, frame) {
  const file = snapshot.frames.file[frame];
  return file < 0 ? '' : snapshot.strings[file].replaceAll('\\', '/');
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} frame
 */
function functionOf(snapshot, frame) {
  const name = snapshot.frames.function[frame];
  return name < 0 ? '' : snapshot.strings[name];
}

/** Parts of a function's name that Python gives to code without a name: as tide_function_add. */
const NAMELESS = /^<(locals|module|lambda|listcomp|dictcomp|setcomp|genexpr)>$/;

/**
 * "forward (model.py:104)", without the arguments of a C++ function and without folders; "no call stack" for
 * -1.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} frame
 */
export function frameText(snapshot, frame) {
  if (frame < 0) return 'no call stack';
  const name = functionOf(snapshot, frame);
  const file = fileOf(snapshot, frame);
  const line = snapshot.frames.line[frame];
  const open = name.search(/\((?!anonymous namespace\))/);
  const short = (open > 0 ? name.slice(0, open) : name)
    .split('.')
    .filter((part) => !NAMELESS.test(part))
    .join('.');
  const place = line > 0 ? `${file.slice(file.lastIndexOf('/') + 1)}:${line}` : '';
  return place === '' ? short || '?' : short === '' ? place : `${short} (${place})`;
}

/**
 * A frame's source location as "file:line", or "".
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} frame
 */
export function framePlace({ frames, strings }, frame) {
  const file = frames.file[frame] < 0 ? '' : strings[frames.file[frame]];
  return frames.line[frame] > 0 ? `${file}:${frames.line[frame]}` : file;
}

export const BEFORE_RECORDING = -2; // a site: the block is from before the first event and has no call stack

/**
 * The site of each block: the frame that represents its stack; -1: no call stack; -2: from before the
 * recording.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {import('./blocks.js').Blocks} blocks
 * @returns {(block: number) => number}
 */
export function sitesOf(snapshot, { stack, bornState }) {
  const { userFrame } = snapshot.stacks;
  return (block) =>
    stack[block] >= 0 ? userFrame[stack[block]] : bornState[block] === 0 ? BEFORE_RECORDING : -1;
}

/**
 * What blocks that were alive before the first event are called.
 * @param {{nDropped: number}} snapshot
 */
function beforeText({ nDropped }) {
  return nDropped > 0 ? 'from before the events that were kept' : 'from before the recording';
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} site
 */
export function siteText(snapshot, site) {
  return site === BEFORE_RECORDING ? beforeText(snapshot) : frameText(snapshot, site);
}

/**
 * A stack, innermost frame first, as runs of frames to show and runs to fold. Frames that are not the user's
 * are folded, unless nothing would be left.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} stack -1: none
 * @returns {{isFolded: boolean, frames: number[]}[]}
 */
export function foldedStack(snapshot, stack) {
  const { parent, frame, userFrame } = snapshot.stacks;
  const { kind } = snapshot.frames;
  /** @type {{isFolded: boolean, frames: number[]}[]} */
  const parts = [];
  const representative = stack < 0 ? -1 : userFrame[stack];
  for (let s = stack; s >= 0; s = parent[s]) {
    const f = frame[s];
    const isFolded = kind[f] !== FRAME.USER && f !== representative;
    const last = parts[parts.length - 1];
    if (last?.isFolded === isFolded) last.frames.push(f);
    else parts.push({ isFolded, frames: [f] });
  }
  return parts;
}
