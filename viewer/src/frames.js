/* frames.js - classifies the frames of call stacks by whose code they are, and picks the frame that stands
 * for a stack.
 *
 * Stacks that PyTorch records begin deep inside PyTorch, and pass through it and Python's interpreter
 * repeatedly. The frame that readers look for is the innermost one that belongs to neither. The command line
 * has the same rule.
 */
import { oncePer } from './once.js';

/** The owner of a frame's code. */
export const FRAME = Object.freeze({ USER: 0, LIBRARY: 1, TOOL: 2 });

/* Packages that stand between a program and its tensors, or around its training loop: of a stack without a
 * line of the program's own, their lines say less than those of other packages. */
const PLUMBING = new Set([
  'torch',
  'torchgen',
  'functorch',
  'triton',
  'einops',
  'numpy',
  'opt_einsum',
  'accelerate',
  'lightning',
  'lightning_fabric',
  'pytorch_lightning',
  'jaxtyping',
  'beartype',
]);
/* Folders of tidemark that allocate, record, or run the program's commands. */
const TOOL_FOLDERS = [
  'allocator/',
  'capture/',
  'cli/',
  'common/',
  'device/',
  'recorder/',
  'run/',
  'snapshot/',
  'stack/',
];
/* What torch.compile generated: a hash in base 32, in the folder of its second and third character. */
const GENERATED = /\/(..)\/[a-z2-7]\1[a-z2-7]{37,}\.[^/]*$/;
const ENTRY_FUNCTIONS = new Set([
  '_start',
  '__libc_start_main',
  '__libc_start_call_main',
  '__libc_init_first',
  'start_thread',
  '__clone',
  '__clone3',
]);

/**
 * Python code of the program's own: outside of the standard library and of every installed package, or below
 * the folder that the user named.
 * @param {string} file with '/' between folders
 * @param {string} userPath the same; "": none
 */
function isPythonOfUser(file, userPath) {
  if (!file.endsWith('.py') || file.startsWith('<')) return false;
  if (userPath !== '' && file.startsWith(`${userPath.replace(/\/+$/, '')}/`)) return true;
  return !(
    file.includes('-packages/') ||
    file.includes('/lib/python3') ||
    (file[1] === ':' && file.includes('/Lib/')) ||
    file.includes('/torch/') ||
    file.includes('/python/tidemark/') ||
    GENERATED.test(file)
  );
}

/**
 * Python code of a package that a program uses for its model, such as a library of layers.
 * @param {string} file with '/' between folders
 */
function isModelLibrary(file) {
  const at = file.lastIndexOf('-packages/');
  if (at < 0 || !file.endsWith('.py') || file.startsWith('<')) return false;
  return !PLUMBING.has(file.slice(at + '-packages/'.length).split('/')[0]);
}

/** @param {string} name of a function */
function isRecording(name) {
  return ['torch::unwind::', 'torch::CapturedTraceback::', 'torch::cuda::', 'c10::cuda::'].some((prefix) =>
    name.startsWith(prefix),
  );
}

/**
 * Frames of a program in C or C++.
 * @param {string} name
 * @param {string} file
 */
function nativeKind(name, file) {
  if (TOOL_FOLDERS.some((folder) => file.startsWith(folder))) return FRAME.TOOL;
  return file === '' || file === '??' || file.startsWith('/usr/') || ENTRY_FUNCTIONS.has(name)
    ? FRAME.LIBRARY
    : FRAME.USER;
}

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

/** The FRAME value of each frame. If any frame is Python, only Python frames can be the user's. */
export const frameKinds = oncePer((/** @type {import('./format.js').Snapshot} */ snapshot) => {
  const count = snapshot.frames.function.length;
  const kinds = new Uint8Array(count).fill(FRAME.LIBRARY);
  let hasPython = false;
  for (let f = 0; f < count && !hasPython; f++) hasPython = fileOf(snapshot, f).endsWith('.py');
  const userPath = snapshot.userPath.replaceAll('\\', '/');
  for (let f = 0; f < count; f++) {
    const file = fileOf(snapshot, f);
    const name = functionOf(snapshot, f);
    if (isRecording(name)) kinds[f] = FRAME.TOOL;
    else if (hasPython) kinds[f] = isPythonOfUser(file, userPath) ? FRAME.USER : FRAME.LIBRARY;
    else kinds[f] = nativeKind(name, file);
  }
  return kinds;
});

/**
 * The frame that stands for each stack: the innermost of the user's frames; in stacks without one that of a
 * library that is not below every program as PyTorch is; in threads of autograd that of the operation whose
 * gradient is computed; else the innermost outside the allocator; else the innermost.
 */
export const representativeFrames = oncePer((/** @type {import('./format.js').Snapshot} */ snapshot) => {
  const { parent, frame } = snapshot.stacks;
  const kinds = frameKinds(snapshot);
  const count = frame.length;
  const user = new Int32Array(count).fill(-1);
  const library = new Int32Array(count).fill(-1);
  const gradient = new Int32Array(count).fill(-1);
  const outside = new Int32Array(count).fill(-1);
  const isGradient = Uint8Array.from(kinds, (_, f) => {
    const name = functionOf(snapshot, f);
    return name.startsWith('torch::autograd::') && name.includes('::apply(') ? 1 : 0;
  });
  const isLibrary = Uint8Array.from(kinds, (_, f) => (isModelLibrary(fileOf(snapshot, f)) ? 1 : 0));
  const representative = new Int32Array(count);
  for (let s = 0; s < count; s++) {
    const f = frame[s];
    const p = parent[s];
    user[s] = kinds[f] === FRAME.USER ? f : p < 0 ? -1 : user[p];
    library[s] = isLibrary[f] ? f : p < 0 ? -1 : library[p];
    gradient[s] = isGradient[f] ? f : p < 0 ? -1 : gradient[p];
    outside[s] = kinds[f] !== FRAME.TOOL ? f : p < 0 ? -1 : outside[p];
    const named = user[s] >= 0 ? user[s] : library[s];
    const told = named >= 0 ? named : gradient[s];
    representative[s] = told >= 0 ? told : outside[s] >= 0 ? outside[s] : f;
  }
  return representative;
});

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
  const open = name.includes(':') ? name.indexOf('(') : -1;
  const short = (open > 0 ? name.slice(0, open) : name) || '?';
  return line > 0 ? `${short} (${file.slice(file.lastIndexOf('/') + 1)}:${line})` : short;
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} frame
 */
function lineOfFrame(snapshot, frame) {
  const name = functionOf(snapshot, frame);
  const file = fileOf(snapshot, frame);
  const line = snapshot.frames.line[frame];
  const isNamed = name !== '' && !name.startsWith('<');
  if (line <= 0 || file === '' || isNamed) return frameText(snapshot, frame);
  return `${file.slice(file.lastIndexOf('/') + 1)}:${line}`;
}

/**
 * The line of the program that a stack is told by: "forward (gpt.py:15)"; where a library lies between it and
 * PyTorch, with the library's line behind it: "main (run.py:8), in forward (model.py:104)". As in the command
 * line.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} stack
 */
export function lineText(snapshot, stack) {
  const { parent, frame } = snapshot.stacks;
  const kinds = frameKinds(snapshot);
  const told = representativeFrames(snapshot)[stack];
  let library = -1;
  for (let s = stack; s >= 0 && library < 0 && kinds[frame[s]] !== FRAME.USER; s = parent[s])
    if (isModelLibrary(fileOf(snapshot, frame[s]))) library = frame[s];
  const own = lineOfFrame(snapshot, told);
  return library >= 0 && library !== told ? `${own}, in ${lineOfFrame(snapshot, library)}` : own;
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
 * The site of each block: the frame that stands for its stack; -1: no call stack; -2: from before the
 * recording.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {import('./blocks.js').Blocks} blocks
 * @returns {(block: number) => number}
 */
export function sitesOf(snapshot, { stack, bornState }) {
  const representative = representativeFrames(snapshot);
  return (block) =>
    stack[block] >= 0 ? representative[stack[block]] : bornState[block] === 0 ? BEFORE_RECORDING : -1;
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} site
 */
export function siteText(snapshot, site) {
  return site === BEFORE_RECORDING ? 'from before the recording' : frameText(snapshot, site);
}

/**
 * A stack, innermost frame first, as runs of frames to show and runs to fold. Frames that are not the user's
 * are folded, unless nothing would be left.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} stack -1: none
 * @returns {{isFolded: boolean, frames: number[]}[]}
 */
export function foldedStack(snapshot, stack) {
  const { parent, frame } = snapshot.stacks;
  const kinds = frameKinds(snapshot);
  /** @type {{isFolded: boolean, frames: number[]}[]} */
  const parts = [];
  const representative = stack < 0 ? -1 : representativeFrames(snapshot)[stack];
  for (let s = stack; s >= 0; s = parent[s]) {
    const f = frame[s];
    const isFolded = kinds[f] !== FRAME.USER && f !== representative;
    const last = parts[parts.length - 1];
    if (last?.isFolded === isFolded) last.frames.push(f);
    else parts.push({ isFolded, frames: [f] });
  }
  return parts;
}
