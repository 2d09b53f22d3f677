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

const ASIDE_PREFIXES = [
  'torch::unwind::',
  'torch::CapturedTraceback::',
  'torch::cuda::',
  'c10::cuda::',
  '_ZN3c104cuda',
  'cudaError ',
];
const ASIDE_FOLDERS = [
  '/python/tidemark/',
  '-packages/tidemark/',
  '/include/c++/',
  '/cuda/include/',
  '-linux/include/',
  '/cuda_runtime.h',
];

/**
 * The allocator of PyTorch and what records it, the CUDA runtime, headers, and Python code of tidemark.
 * @param {string} name of a function
 * @param {string} file
 */
function isAside(name, file) {
  return (
    ASIDE_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
    /^cu(da)?[A-Z]/.test(name) ||
    ASIDE_FOLDERS.some((part) => file.includes(part))
  );
}

/**
 * Python code of PyTorch, or of packages like it.
 * @param {string} file
 */
function isPythonOfPlumbing(file) {
  const at = file.lastIndexOf('-packages/');
  return (
    at >= 0 &&
    file.endsWith('.py') &&
    !file.startsWith('<') &&
    PLUMBING.has(file.slice(at + '-packages/'.length).split('/')[0])
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
    if (isAside(name, file)) kinds[f] = FRAME.TOOL;
    else if (hasPython) kinds[f] = isPythonOfUser(file, userPath) ? FRAME.USER : FRAME.LIBRARY;
    else kinds[f] = nativeKind(name, file);
  }
  return kinds;
});

/** Of each frame, as bits: what it can be for a stack without a frame of the user's. */
const CAN_BE = Object.freeze({ LIBRARY: 1, GRADIENT: 2, NATIVE: 4, OUTSIDE: 8, PYTHON: 16, PLUMBING: 32 });

/**
 * @param {string} name
 * @param {string} file
 */
function whatItCanBe(name, file) {
  const isPython = file.endsWith('.py') && !file.startsWith('<');
  const isTool = !isPython && TOOL_FOLDERS.some((folder) => file.startsWith(folder));
  const isOutside = !isAside(name, file) && !isTool;
  const isNative =
    file !== '' && file !== '??' && !file.startsWith('/usr/') && !ENTRY_FUNCTIONS.has(name) && isOutside;
  return (
    (isOutside && isModelLibrary(file) ? CAN_BE.LIBRARY : 0) |
    (name.startsWith('torch::autograd::') && name.includes('::apply(') ? CAN_BE.GRADIENT : 0) |
    (isNative ? CAN_BE.NATIVE : 0) |
    (isOutside ? CAN_BE.OUTSIDE : 0) |
    (isPython || name.startsWith('_PyEval_') ? CAN_BE.PYTHON : 0) |
    (isPythonOfPlumbing(file) ? CAN_BE.PLUMBING : 0)
  );
}

/**
 * The frame that stands for each stack: the innermost of the user's frames; in stacks without one that of a
 * library that is not below every program as PyTorch is; in threads of autograd that of the operation whose
 * gradient is computed; in stacks without Python the innermost that has a source file outside of the system;
 * else the innermost outside the allocator; else the innermost. -1: all of it is Python code of PyTorch.
 */
export const representativeFrames = oncePer((/** @type {import('./format.js').Snapshot} */ snapshot) => {
  const { parent, frame } = snapshot.stacks;
  const kinds = frameKinds(snapshot);
  const count = frame.length;
  const canBe = Uint8Array.from(kinds, (_, f) => whatItCanBe(functionOf(snapshot, f), fileOf(snapshot, f)));
  const isPython = Uint8Array.from(kinds, (_, f) =>
    isPythonOfUser(fileOf(snapshot, f), snapshot.userPath.replaceAll('\\', '/')) ? 1 : 0,
  );
  const hasPython = new Uint8Array(count);
  const isPlumbing = new Uint8Array(count);
  const innermost = (/** @type {(f: number) => boolean} */ is) => {
    const found = new Int32Array(count).fill(-1);
    for (let s = 0; s < count; s++)
      found[s] = is(frame[s]) ? frame[s] : parent[s] < 0 ? -1 : found[parent[s]];
    return found;
  };
  const user = innermost((f) => isPython[f] === 1);
  const library = innermost((f) => (canBe[f] & CAN_BE.LIBRARY) !== 0);
  const gradient = innermost((f) => (canBe[f] & CAN_BE.GRADIENT) !== 0);
  const native = innermost((f) => (canBe[f] & CAN_BE.NATIVE) !== 0);
  const outside = innermost((f) => (canBe[f] & CAN_BE.OUTSIDE) !== 0);
  return Int32Array.from(frame, (f, s) => {
    const p = parent[s];
    hasPython[s] = canBe[f] & CAN_BE.PYTHON || (p >= 0 && hasPython[p]) ? 1 : 0;
    isPlumbing[s] = canBe[f] & CAN_BE.PLUMBING && (p < 0 || isPlumbing[p]) ? 1 : 0;
    for (const found of [user[s], library[s], gradient[s], hasPython[s] ? -1 : native[s]])
      if (found >= 0) return found;
    return isPlumbing[s] ? -1 : outside[s] >= 0 ? outside[s] : f;
  });
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
  const open = name.search(/\((?!anonymous namespace\))/);
  const short = (open > 0 ? name.slice(0, open) : name) || '?';
  return line > 0 ? `${short} (${file.slice(file.lastIndexOf('/') + 1)}:${line})` : short;
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
