/* category_rules.js - categories by rule, for snapshots of PyTorch, which name none: from the functions of a
 * block's call stack, from who released it, and from whether it is older than the recording. The command line
 * has the same rules (docs/categories.md).
 */
import { CERTAINTY_NAMES } from './format_names.js';
import { ACTION, NO_BLOCK, STATE } from './subjects.js';

export const BY_RULE = CERTAINTY_NAMES.indexOf('by rule');
export const NO_RULE = 255;

/** What the functions of a stack, or the scopes around an event, say. */
const SIGN = Object.freeze({
  MODULE: 1,
  BACKWARD: 2,
  ACCUMULATE: 4,
  OPTIMIZER: 8,
  STATE: 16,
  WORKSPACE: 32,
  COLLECTIVE: 64,
  PARAMETER: 128,
  ZERO_GRAD: 256,
});

/* In the order of the command line, which numbers new categories by it. */
const RULE = Object.freeze({
  WORKSPACE: 0,
  COLLECTIVE: 1,
  ACCUMULATE: 2,
  OPTIMIZER_STATE: 3,
  OPTIMIZER_SCRATCH: 4,
  PARAMETER: 5,
  FORWARD_KEPT: 6,
  FORWARD: 7,
  BACKWARD: 8,
  BACKWARD_KEPT: 9,
  OLDER_STATE: 10,
  OLDER_GRADIENT: 11,
  OLDER: 12,
});
export const CATEGORY_OF_RULE = [
  'workspace',
  'communication',
  'gradient',
  'optimizer_state',
  'temporary',
  'parameter',
  'activation',
  'temporary',
  'temporary',
  'gradient',
  'optimizer_state',
  'gradient',
  'parameter_or_older',
];

/** What each rule is, in the words of `tidemark summary`. */
export const RULE_WORDS = [
  'work area of cuBLAS or cuDNN',
  'torch.distributed',
  'AccumulateGrad',
  'made by the optimizer and kept',
  'made and released by the optimizer',
  'made or moved with its module, and kept',
  "made by a module's call and alive behind it",
  "made and released by a module's call",
  'made and released by the backward pass',
  'made by the backward pass and alive behind it',
  'from before the recording, and replaced by the optimizer',
  'from before the recording, until zero_grad',
  'from before the recording, and never released',
];

/**
 * @param {string} file with '/' between folders
 * @param {string} name of the function
 */
function pythonSigns(file, name) {
  const isModules = file.includes('torch/nn/modules/');
  const isOptimizers = file.includes('torch/optim/');
  let signs = file.includes('torch/distributed/') ? SIGN.COLLECTIVE : 0;
  if (isModules && name === '_call_impl') signs |= SIGN.MODULE;
  if (isModules && ['_apply', '__init__', 'reset_parameters'].includes(name)) signs |= SIGN.PARAMETER;
  if (file.includes('torch/autograd/') && ['_engine_run_backward', 'backward'].includes(name))
    signs |= SIGN.BACKWARD;
  if (name === 'zero_grad') return isOptimizers || isModules ? signs | SIGN.ZERO_GRAD : signs;
  if (isOptimizers) signs |= SIGN.OPTIMIZER | (name === '_init_group' ? SIGN.STATE : 0);
  return signs;
}

/** @param {string} name of a function of C++ */
function nativeSigns(name) {
  let signs = name.startsWith('c10d::') ? SIGN.COLLECTIVE : 0;
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
function stackSigns({ frames, stacks, strings }) {
  const count = frames.function.length;
  const ofFrames = new Uint16Array(count);
  const isPython = new Uint8Array(count);
  for (let f = 0; f < count; f++) {
    const name = frames.function[f] < 0 ? '' : strings[frames.function[f]];
    const file = frames.file[f] < 0 ? '' : strings[frames.file[f]].replaceAll('\\', '/');
    isPython[f] = file.length > 3 && file.endsWith('.py') ? 1 : 0;
    ofFrames[f] = isPython[f] === 1 ? pythonSigns(file, name) : nativeSigns(name);
  }
  const signs = new Uint16Array(stacks.frame.length);
  for (let s = 0; s < signs.length; s++) {
    const f = stacks.frame[s];
    const above = stacks.parent[s] < 0 ? 0 : signs[stacks.parent[s]];
    // A wrapper of torch.distributed calls the whole model: only what its own Python code calls directly is a
    // collective.
    signs[s] = (isPython[f] === 1 ? above & ~SIGN.COLLECTIVE : above) | ofFrames[f];
  }
  return signs;
}

/**
 * Whether each scope lies within an optimizer's step.
 * @param {import('./format.js').Snapshot} snapshot
 */
function optimizerScopes({ scopes, strings }) {
  const found = new Uint8Array(scopes.name.length);
  for (let i = 0; i < found.length; i++) {
    const name = scopes.name[i] < 0 ? '' : strings[scopes.name[i]];
    const isWithin = scopes.parent[i] >= 0 && found[scopes.parent[i]] === 1;
    found[i] = isWithin || name.startsWith('Optimizer.step#') ? 1 : 0;
  }
  return found;
}

/**
 * Where the program is at each event, and how often it has entered an optimizer's step by then. A release
 * without a call stack happens where the event before it does; an allocation without one is of a thread of
 * autograd, or of nowhere.
 * @param {import('./format.js').Snapshot} snapshot
 */
function placesOf(snapshot) {
  const { action, stack, scope, count } = snapshot.events;
  const signs = stackSigns(snapshot);
  const isOptimizer = optimizerScopes(snapshot);
  const signsAt = (/** @type {number} */ stackAt, /** @type {number} */ scopeAt) =>
    (stackAt < 0 ? 0 : signs[stackAt]) | (scopeAt >= 0 && isOptimizer[scopeAt] === 1 ? SIGN.OPTIMIZER : 0);
  const places = new Uint16Array(count);
  const calls = new Uint32Array(count);
  let place = 0;
  let nCalls = 0;
  let wasWithin = false;
  for (let e = 0; e < count; e++) {
    if (stack[e] >= 0 || scope[e] >= 0 || action[e] === ACTION.ALLOC) place = signsAt(stack[e], scope[e]);
    const isWithin = (place & SIGN.OPTIMIZER) !== 0;
    if (isWithin && !wasWithin) nCalls++;
    wasWithin = isWithin;
    places[e] = place;
    calls[e] = nCalls;
  }
  return { places, calls, signsAt };
}

/**
 * @typedef {object} Traces what a block's beginning and end say
 * @property {number} made signs
 * @property {number} freed signs; 0: not known
 * @property {boolean} isReleased
 * @property {boolean} isOlder from before the recording
 * @property {boolean} isSameCall made and released within one call of an optimizer
 */

/** @param {Traces} of */
function ruleOfOlder({ freed, isReleased }) {
  if (!isReleased) return RULE.OLDER;
  if ((freed & SIGN.OPTIMIZER) !== 0) return RULE.OLDER_STATE;
  return (freed & SIGN.ZERO_GRAD) !== 0 ? RULE.OLDER_GRADIENT : NO_RULE;
}

/**
 * The forward pass, also one that is computed again within the backward pass, and that pass.
 * @param {Traces} of
 */
function ruleOfPass({ made, freed, isReleased }) {
  const endsInBackward = (freed & SIGN.BACKWARD) !== 0;
  if ((made & SIGN.MODULE) !== 0) {
    const isSamePass = endsInBackward === ((made & SIGN.BACKWARD) !== 0);
    return isReleased && (freed & SIGN.MODULE) !== 0 && isSamePass ? RULE.FORWARD : RULE.FORWARD_KEPT;
  }
  return isReleased && endsInBackward ? RULE.BACKWARD : RULE.BACKWARD_KEPT;
}

/**
 * @param {Traces} of
 * @returns {number} RULE, or NO_RULE
 */
function ruleOf(of) {
  const { made } = of;
  if ((made & SIGN.WORKSPACE) !== 0) return RULE.WORKSPACE;
  if ((made & SIGN.COLLECTIVE) !== 0) return RULE.COLLECTIVE;
  if ((made & SIGN.ACCUMULATE) !== 0) return RULE.ACCUMULATE;
  if ((made & SIGN.OPTIMIZER) !== 0)
    return (made & SIGN.STATE) !== 0 || !of.isSameCall ? RULE.OPTIMIZER_STATE : RULE.OPTIMIZER_SCRATCH;
  if ((made & (SIGN.PARAMETER | SIGN.MODULE)) === SIGN.PARAMETER && !of.isReleased) return RULE.PARAMETER;
  if ((made & (SIGN.MODULE | SIGN.BACKWARD)) !== 0) return ruleOfPass(of);
  return of.isOlder ? ruleOfOlder(of) : NO_RULE;
}

/**
 * The event that ends each block; -1: before the first; `count`: none.
 * @param {import('./format.js').Snapshot} snapshot
 */
function endsOf({ events, subjects, start }) {
  const { act, replaced, count } = events;
  const ends = new Int32Array(subjects.nBlocks).fill(count);
  subjects.atStart.forEach(({ row }, block) => {
    if (start.blocks.state[row] === STATE.PENDING) ends[block] = -1;
  });
  for (let e = 0; e < count; e++) if (act[e] < 0 && act[e] > NO_BLOCK) ends[~act[e]] = e;
  for (const [block, e] of replaced) if (ends[block] === count) ends[block] = e;
  return ends;
}

/**
 * The rule of each block of the file, RULE or NO_RULE, whatever category the block has.
 * @param {import('./format.js').Snapshot} snapshot
 */
export function rulesOf(snapshot) {
  const { events, subjects, start } = snapshot;
  const { places, calls, signsAt } = placesOf(snapshot);
  const ends = endsOf(snapshot);
  const rules = new Uint8Array(subjects.nBlocks).fill(NO_RULE);
  const decide = (/** @type {number} */ block, /** @type {number} */ born, /** @type {number} */ made) => {
    const end = ends[block];
    const isKnown = end >= 0 && end < events.count;
    const freed = isKnown ? places[end] : 0;
    rules[block] = ruleOf({
      made,
      freed,
      isReleased: end < events.count,
      isOlder: born < 0 && events.count > 0, // without a history it is not known
      isSameCall: isKnown && born >= 0 && (freed & SIGN.OPTIMIZER) !== 0 && calls[born] === calls[end],
    });
  };
  subjects.atStart.forEach(({ row }, block) => {
    decide(block, -1, signsAt(start.blocks.stack[row], start.blocks.scope?.[row] ?? -1));
  });
  for (let e = 0; e < events.count; e++)
    if (events.act[e] >= 0) decide(events.act[e], e, signsAt(events.stack[e], events.scope[e]));
  return rules;
}

/**
 * Gives every block of a snapshot that was just read a category by rule, unless it has one.
 * @param {import('./format.js').Snapshot} snapshot its subjects and categories are changed
 */
export function nameByRule(snapshot) {
  const { subjects } = snapshot;
  const rules = rulesOf(snapshot);
  const isUsed = new Uint8Array(NO_RULE + 1);
  for (const rule of rules) isUsed[rule] = 1;
  const numbers = CATEGORY_OF_RULE.map((name, rule) => {
    if (isUsed[rule] === 0) return 0;
    if (!snapshot.categories.includes(name)) snapshot.categories.push(name);
    return snapshot.categories.indexOf(name);
  });
  const unknown = snapshot.categories.indexOf('unknown');
  subjects.certainty ??= new Uint8Array(subjects.count);
  for (let block = 0; block < subjects.nBlocks; block++) {
    if (rules[block] !== NO_RULE && subjects.category[block] === unknown) {
      subjects.category[block] = numbers[rules[block]];
      subjects.certainty[block] = BY_RULE;
    }
  }
}
