/* category_rules.js - the rule that fits a block, from the functions of its call stack, from who released it,
 * and from whether it is older than the recording. The program gives categories by the same rules
 * (docs/categories.md); the page counts how many bytes each explains.
 */
import { CERTAINTY_NAMES } from './format_names.js';
import { MOVED, movedOf } from './rule_moved.js';
import { placesOf } from './rule_places.js';
import { SIGN } from './stack_signs.js';
import { NO_BLOCK, STATE } from './subjects.js';

export const BY_RULE = CERTAINTY_NAMES.indexOf('by rule');
export const NO_RULE = 255;

/* In the order of the command line, which numbers new categories by it. */
const RULE = Object.freeze({
  WORKSPACE: 0,
  COLLECTIVE: 1,
  ACCUMULATE: 2,
  OPTIMIZER_STATE: 3,
  OPTIMIZER_SCRATCH: 4,
  PARAMETER: 5,
  MOVED_GRADIENT: 6,
  MOVED_BUFFER: 7,
  FORWARD_KEPT: 8,
  FORWARD: 9,
  BACKWARD: 10,
  BACKWARD_KEPT: 11,
  OLDER_STATE: 12,
  OLDER_GRADIENT: 13,
  OLDER: 14,
  INPUT: 15,
  SAVED: 16,
  STEP: 17,
});
export const CATEGORY_OF_RULE = [
  'workspace',
  'communication',
  'gradient',
  'optimizer_state',
  'temporary',
  'parameter',
  'gradient',
  'buffer',
  'activation',
  'temporary',
  'temporary',
  'gradient',
  'optimizer_state',
  'gradient',
  'parameter_or_older',
  'input',
  'activation',
  'temporary',
];

/** What each rule is, in the words of `tidemark summary`. */
export const RULE_WORDS = [
  'work area of cuBLAS or cuDNN',
  'torch.distributed',
  'AccumulateGrad',
  'made by the optimizer and kept',
  'made and released by the optimizer',
  'made or moved with its module, and kept',
  'moved with its module, after its parameter',
  'moved with its module, after the parameters',
  "made by a module's call and alive after it",
  "made and released by a module's call",
  'made and released by the backward pass',
  'made by the backward pass and alive after it',
  'from before the recording, and replaced by the optimizer',
  'from before the recording, until zero_grad',
  'from before the recording, and never released',
  'copied from the host, and passed to a module or soon replaced',
  'made by the forward pass and found by the backward pass',
  'made and released within one step',
];

/** By MOVED. */
const RULE_OF_MOVED = [RULE.PARAMETER, RULE.MOVED_GRADIENT, RULE.MOVED_BUFFER];
const INPUT_STEPS = 2; // a batch that is loaded ahead is replaced in the step after the next
const SAVED_STEPS = 1; // results of a step are replaced in the next one
const MIB = 2 ** 20;
const WORKSPACE_SIZES = [32 * MIB, 8 * MIB + 128 * 1024]; // of Hopper, of other devices

/**
 * @typedef {object} Traces what a block's beginning and end say
 * @property {number} bytes that were asked for
 * @property {number} made signs
 * @property {number} freed signs; 0: not known
 * @property {boolean} isReleased
 * @property {boolean} isOlder from before the recording
 * @property {boolean} isSameOptimizerCall made and released within one call of an optimizer
 * @property {boolean} isSameModuleCall
 * @property {boolean} isSameStep made and released in one step
 * @property {boolean} isFound a backward pass begins, or memory runs out, while it is alive
 * @property {boolean} isFromHost its content was copied from the host
 * @property {boolean} isArgument and it was passed to a module
 * @property {number} nSteps that begin while it is alive
 * @property {boolean} isOfSteps it was made in a step, or released in one or after some
 * @property {number} moved RULE: which rule it has if it was moved with its module
 */

/** @param {Traces} of */
function ruleOfOlder({ freed, isReleased }) {
  if (!isReleased) return RULE.OLDER;
  if ((freed & SIGN.OPTIMIZER) !== 0) return RULE.OLDER_STATE;
  return (freed & SIGN.ZERO_GRAD) !== 0 ? RULE.OLDER_GRADIENT : NO_RULE;
}

/**
 * Without frames of native code, the work area that cuBLAS gets in its first call looks like a result that is
 * kept. The sizes are those that PyTorch gives it.
 * @param {Traces} of
 */
function mayBeWorkspace({ bytes, made, isReleased }) {
  return !isReleased && (made & SIGN.NATIVE) === 0 && WORKSPACE_SIZES.includes(bytes);
}

/**
 * The forward pass, also one that is computed again within the backward pass, and that pass.
 * @param {Traces} of
 */
function ruleOfPass(of) {
  const { made, freed, isReleased } = of;
  const endsInBackward = (freed & SIGN.BACKWARD) !== 0;
  if ((made & SIGN.MODULE) !== 0) {
    if (mayBeWorkspace(of)) return NO_RULE;
    const isSamePass = endsInBackward === ((made & SIGN.BACKWARD) !== 0) && of.isSameModuleCall;
    return isReleased && (freed & SIGN.MODULE) !== 0 && isSamePass ? RULE.FORWARD : RULE.FORWARD_KEPT;
  }
  return isReleased && endsInBackward ? RULE.BACKWARD : RULE.BACKWARD_KEPT;
}

/**
 * Of what is made with a module or moved with it, outside of its calls.
 * @param {Traces} of
 */
function ruleOfMoved({ freed, isReleased, moved }) {
  const isDropped = moved === RULE.MOVED_GRADIENT && (freed & (SIGN.ZERO_GRAD | SIGN.OPTIMIZER)) !== 0;
  return !isReleased || isDropped ? moved : NO_RULE;
}

/**
 * What steps and phases say of a block of which nothing better is known.
 * @param {Traces} of
 */
function ruleOfStep(of) {
  if (of.isFromHost) {
    const isReplaced = of.isOfSteps && of.nSteps <= INPUT_STEPS;
    return of.isArgument || isReplaced ? RULE.INPUT : NO_RULE;
  }
  if ((of.made & SIGN.FORWARD) !== 0 && of.isFound && of.nSteps <= SAVED_STEPS) return RULE.SAVED;
  return of.isSameStep ? RULE.STEP : NO_RULE;
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
    return (made & SIGN.STATE) !== 0 || !of.isSameOptimizerCall
      ? RULE.OPTIMIZER_STATE
      : RULE.OPTIMIZER_SCRATCH;
  if ((made & (SIGN.PARAMETER | SIGN.MODULE)) === SIGN.PARAMETER) {
    const moved = ruleOfMoved(of);
    if (moved !== NO_RULE) return moved;
  }
  if ((made & (SIGN.MODULE | SIGN.BACKWARD)) !== 0) return ruleOfPass(of);
  const older = of.isOlder ? ruleOfOlder(of) : NO_RULE;
  return older !== NO_RULE ? older : ruleOfStep(of);
}

/**
 * The event that ends each block; -1: before the first; `count`: none.
 * @param {import('./format.js').Snapshot} snapshot
 */
function endsOf({ events, subjects, start }) {
  const { act, replaced, count } = events;
  const ends = new Int32Array(subjects.nBlocks).fill(count);
  subjects.atStart.forEach(({ row }, block) => {
    if (start.blocks.state[row] === STATE.PENDING_FREE) ends[block] = -1;
  });
  for (let e = 0; e < count; e++) if (act[e] < 0 && act[e] > NO_BLOCK) ends[~act[e]] = e;
  for (const [block, e] of replaced) if (ends[block] === count) ends[block] = e;
  return ends;
}

/**
 * Whether all that is known of a block's category is that its content was copied from the host.
 * @param {import('./format.js').Snapshot} snapshot
 * @returns {(block: number) => boolean}
 */
function fromHostOf({ subjects, categories }) {
  const input = categories.indexOf('input');
  return (block) => subjects.category[block] === input && subjects.certainty?.[block] === BY_RULE;
}

/**
 * Finds what a block's beginning and end say.
 * @param {import('./format.js').Snapshot} snapshot
 */
function tracer(snapshot) {
  const { events, subjects } = snapshot;
  const places = placesOf(snapshot);
  const moved = movedOf(snapshot);
  const ends = endsOf(snapshot);
  const isFromHost = fromHostOf(snapshot);
  /**
   * @param {number} block
   * @param {number} born the event, or -1
   * @param {number} stack
   * @param {number} scope
   * @returns {Traces}
   */
  return (block, born, stack, scope) => {
    const end = ends[block];
    const isKnown = end >= 0 && end < events.count;
    const isWithin = isKnown && born >= 0; // or there is no history
    const freed = isKnown ? places.signs[end] : 0;
    const step = places.stepAt(scope);
    const { optimizerCalls, moduleCalls, steps, found } = places;
    return {
      bytes: subjects.requestedBytes[block],
      made: places.signsAt(stack, scope),
      freed,
      isReleased: end < events.count,
      isOlder: born < 0 && events.count > 0, // without a history it is not known
      isSameOptimizerCall:
        isWithin && (freed & SIGN.OPTIMIZER) !== 0 && optimizerCalls[born] === optimizerCalls[end],
      isSameModuleCall: isWithin && moduleCalls[born] === moduleCalls[end],
      isSameStep: isKnown && step >= 0 && step === places.stepAt(events.scope[end]),
      isFound: born >= 0 && found[born] >= 0 && end >= found[born],
      isFromHost: isFromHost(block),
      isArgument: isFromHost(block) && subjects.name[block] >= 0,
      nSteps: (isKnown ? steps[end] : places.nSteps) - (born >= 0 ? steps[born] : 0),
      isOfSteps: step >= 0 || (isKnown && steps[end] > 0),
      moved: RULE_OF_MOVED[stack < 0 ? MOVED.PARAMETER : moved[stack]],
    };
  };
}

/**
 * The rule of each block of the file, RULE or NO_RULE, whatever category the block has.
 * @param {import('./format.js').Snapshot} snapshot
 */
export function rulesOf(snapshot) {
  const { events, subjects, start } = snapshot;
  const tracesOf = tracer(snapshot);
  const rules = new Uint8Array(subjects.nBlocks).fill(NO_RULE);
  subjects.atStart.forEach(({ row }, block) => {
    rules[block] = ruleOf(tracesOf(block, -1, start.blocks.stack[row], start.blocks.scope?.[row] ?? -1));
  });
  for (let e = 0; e < events.count; e++) {
    const block = events.act[e];
    if (block >= 0) rules[block] = ruleOf(tracesOf(block, e, events.stack[e], events.scope[e]));
  }
  return rules;
}
