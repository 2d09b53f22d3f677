/* rule_places.js - where the program is at each event, from call stacks and scopes. */
import { SCOPE } from './format_names.js';
import { SIGN, stackSigns } from './stack_signs.js';
import { ACTION } from './subjects.js';

/** @type {Record<string, number>} */
const SIGN_OF_PHASE = { forward: SIGN.FORWARD, backward: SIGN.BACKWARD, optimizer: SIGN.OPTIMIZER };

/**
 * What the scopes around an event say: signs, and the scope of the step, -1 if it is in none.
 * @param {import('./format.js').Snapshot} snapshot
 */
function readScopes({ scopes, strings }) {
  const signs = new Uint16Array(scopes.name.length);
  const steps = new Int32Array(scopes.name.length);
  for (let i = 0; i < signs.length; i++) {
    const parent = scopes.parent[i];
    const kind = scopes.kind[i];
    const name = scopes.name[i] < 0 ? '' : strings[scopes.name[i]];
    const around = parent < 0 ? 0 : signs[parent];
    let own = 0;
    if (name.startsWith('Optimizer.step#')) own = SIGN.ANNOTATED;
    else if (kind === SCOPE.PHASE) own = Object.hasOwn(SIGN_OF_PHASE, name) ? SIGN_OF_PHASE[name] : 0;
    // In the backward pass, a layer is the one whose forward call made the node.
    else if (kind === SCOPE.LAYER && (around & SIGN.BACKWARD) === 0) own = SIGN.MODULE;
    signs[i] = around | own;
    steps[i] = kind === SCOPE.STEP ? i : parent < 0 ? -1 : steps[parent];
  }
  return { signs, steps };
}

/**
 * The next event, from each one on, of a backward pass or of a request that failed; -1: none.
 * @param {Uint8Array} action
 * @param {Uint16Array} signs of each event
 */
function nextFound(action, signs) {
  const found = new Int32Array(signs.length);
  let next = -1;
  for (let e = signs.length - 1; e >= 0; e--) {
    if (action[e] === ACTION.OOM || (signs[e] & SIGN.BACKWARD) !== 0) next = e;
    found[e] = next;
  }
  return found;
}

/**
 * @typedef {object} Places
 * @property {(stack: number, scope: number) => number} signsAt of an allocation
 * @property {(scope: number) => number} stepAt the scope of the step, or -1
 * @property {Uint16Array} signs of each event
 * @property {Uint32Array} optimizerCalls of each event: how often an optimizer has been entered by then
 * @property {Uint32Array} moduleCalls
 * @property {Uint32Array} steps of each event: how many steps have begun by then
 * @property {number} nSteps of the snapshot
 * @property {Int32Array} found of each event: the next one of a backward pass, or a request that failed; -1
 */

/**
 * Where the program is at each event. A release without a call stack happens where the event before it does;
 * an allocation without one is of a thread of autograd, or of nowhere.
 * @param {import('./format.js').Snapshot} snapshot
 * @returns {Places}
 */
export function placesOf(snapshot) {
  const { action, stack, scope, count } = snapshot.events;
  const ofStacks = stackSigns(snapshot);
  const ofScopes = readScopes(snapshot);
  // `isPlaced`: what has no call stack is of the thread that has the scope, and not one of autograd's.
  const signsOf = (
    /** @type {number} */ at,
    /** @type {number} */ within,
    /** @type {boolean} */ isPlaced,
  ) => {
    const own = at < 0 ? 0 : ofStacks[at];
    let around = within < 0 ? 0 : ofScopes.signs[within];
    if ((around & SIGN.ANNOTATED) !== 0 && isPlaced) around |= SIGN.OPTIMIZER;
    // a closure that the optimizer calls
    if ((own & (SIGN.MODULE | SIGN.BACKWARD)) !== 0) around &= ~SIGN.OPTIMIZER;
    return own | around;
  };
  const signsAt = (/** @type {number} */ at, /** @type {number} */ within) =>
    signsOf(at, within, at >= 0 || ofStacks.length === 0);
  const stepAt = (/** @type {number} */ within) => (within < 0 ? -1 : ofScopes.steps[within]);
  const signs = new Uint16Array(count);
  const optimizerCalls = new Uint32Array(count);
  const moduleCalls = new Uint32Array(count);
  const steps = new Uint32Array(count);
  const now = { signs: 0, optimizers: 0, modules: 0, steps: 0 };
  let called = 0; // signs of the last event that has a call stack or a scope
  let step = -1;
  for (let e = 0; e < count; e++) {
    const isPlaced = stack[e] >= 0 || scope[e] >= 0;
    if (action[e] === ACTION.ALLOC) now.signs = signsAt(stack[e], scope[e]);
    else if (isPlaced) now.signs = signsOf(stack[e], scope[e], true);
    if (isPlaced) {
      const entered = now.signs & ~called;
      if ((entered & SIGN.OPTIMIZER) !== 0) now.optimizers++;
      if ((entered & SIGN.MODULE) !== 0) now.modules++;
      called = now.signs;
    }
    const stepNow = stepAt(scope[e]);
    if (stepNow >= 0 && stepNow !== step) {
      now.steps++;
      step = stepNow;
    }
    signs[e] = now.signs;
    optimizerCalls[e] = now.optimizers;
    moduleCalls[e] = now.modules;
    steps[e] = now.steps;
  }
  const found = nextFound(action, signs);
  return { signsAt, stepAt, signs, optimizerCalls, moduleCalls, steps, nSteps: now.steps, found };
}
