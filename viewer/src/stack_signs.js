/* stack_signs.js - what the functions of a call stack say of the block that is allocated or released there.
 */

/** What the functions of a stack, or the scopes around an event, say. */
export const SIGN = Object.freeze({
  MODULE: 1, // within a call of a module
  BACKWARD: 2, // within the engine of autograd
  ACCUMULATE: 4, // AccumulateGrad, which makes the gradients of parameters
  OPTIMIZER: 8, // within an optimizer's step
  STATE: 16, // where an optimizer makes its state
  WORKSPACE: 32, // work areas of cuBLAS, cuBLASLt, cuDNN
  COLLECTIVE: 64, // of torch.distributed, called by no module
  PARAMETER: 128, // where modules make or move their parameters
  ZERO_GRAD: 256, // where an optimizer or a module drops the gradients
  FORWARD: 512, // within the phase "forward" of a step
  NATIVE: 1024, // the stack has frames of native code
  ANNOTATED: 2048, // within PyTorch's annotation of an optimizer's step
});

/**
 * The last part of a name with its class, "Module._apply", which not all recordings have.
 * @param {string} name
 */
function lastName(name) {
  return name.slice(name.lastIndexOf('.') + 1);
}

/**
 * The function of a frame, without its class, and its file, with '/' between folders.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} frame
 */
function placeOfFrame({ frames, strings }, frame) {
  const name = frames.function[frame] < 0 ? '' : strings[frames.function[frame]];
  const file = frames.file[frame] < 0 ? '' : strings[frames.file[frame]].replaceAll('\\', '/');
  return { name, file };
}

/**
 * Whether the frame is of torch.nn.Module._apply, which moves a module.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} frame
 */
export function isApply(snapshot, frame) {
  const { name, file } = placeOfFrame(snapshot, frame);
  return lastName(name) === '_apply' && file.includes('torch/nn/modules/');
}

/**
 * @param {string} file with '/' between folders
 * @param {string} name of the function, without its class
 */
function pythonSigns(file, name) {
  const isModules = file.includes('torch/nn/modules/');
  const isOptimizers = file.includes('torch/optim/');
  // What normalisations by batches make is a parameter or a buffer.
  const isMade = name === '__init__' && !file.includes('batchnorm');
  let signs = file.includes('torch/distributed/') ? SIGN.COLLECTIVE : 0;
  if (isModules && name === '_call_impl') signs |= SIGN.MODULE;
  if (isModules && (isMade || name === '_apply' || name === 'reset_parameters')) signs |= SIGN.PARAMETER;
  if (file.includes('torch/autograd/') && ['_engine_run_backward', 'backward'].includes(name))
    signs |= SIGN.BACKWARD;
  if (name === 'zero_grad') return isOptimizers || isModules ? signs | SIGN.ZERO_GRAD : signs;
  if (isOptimizers) signs |= SIGN.OPTIMIZER | (name === '_init_group' ? SIGN.STATE : 0);
  return signs;
}

/** @param {string} name of a function of C++ */
function nativeSigns(name) {
  let signs = SIGN.NATIVE | (name.startsWith('c10d::') ? SIGN.COLLECTIVE : 0);
  if (name.startsWith('torch::autograd::')) {
    if (name.includes('::apply(') || name.includes('Engine::')) signs |= SIGN.BACKWARD;
    if (name.includes('AccumulateGrad::')) signs |= SIGN.ACCUMULATE;
  }
  const isWorkspace =
    name.startsWith('at::cuda::blas::') ||
    ['Workspace', 'run_conv_plan', 'CUDABlas'].some((part) => name.includes(part));
  return isWorkspace ? signs | SIGN.WORKSPACE : signs;
}

/**
 * The signs of every stack: what its own frame says, and its callers.
 * @param {import('./format.js').Snapshot} snapshot
 */
export function stackSigns(snapshot) {
  const { frames, stacks } = snapshot;
  const count = frames.function.length;
  const ofFrames = new Uint16Array(count);
  const isPython = new Uint8Array(count);
  for (let f = 0; f < count; f++) {
    const { name, file } = placeOfFrame(snapshot, f);
    isPython[f] = file.length > 3 && file.endsWith('.py') ? 1 : 0;
    ofFrames[f] = isPython[f] === 1 ? pythonSigns(file, lastName(name)) : nativeSigns(name);
  }
  const signs = new Uint16Array(stacks.frame.length);
  for (let s = 0; s < signs.length; s++) {
    const f = stacks.frame[s];
    let above = stacks.parent[s] < 0 ? 0 : signs[stacks.parent[s]];
    // A wrapper of torch.distributed calls the whole model: only what its own Python code calls directly is a
    // collective.
    if (isPython[f] === 1) above &= ~SIGN.COLLECTIVE;
    // A closure that an optimizer calls has passes of its own.
    if ((ofFrames[f] & (SIGN.MODULE | SIGN.BACKWARD)) !== 0) above &= ~(SIGN.OPTIMIZER | SIGN.STATE);
    signs[s] = above | ofFrames[f];
  }
  return signs;
}
