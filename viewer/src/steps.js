/* steps.js - the steps of a run on one device: by its scopes, by the annotations that PyTorch's profiler and
 * optimizers leave, or because its allocations repeat. The command line has the same rule (docs/explain.md).
 */
import { SCOPE } from './format_names.js';
import { inferSteps } from './step_period.js';

const OPEN = -1; // the duration of a scope that had not ended

/**
 * @typedef {object} Step
 * @property {number} number -1: it has none
 * @property {string} name
 * @property {number} first event
 * @property {number} last event
 * @property {boolean} isWarmup
 * @property {boolean} isOpen the recording ends within it
 *
 * @typedef {'recorded' | 'profiler' | 'optimizer' | 'inferred'} StepSource
 * @typedef {{source: StepSource, steps: Step[], nAllocs: number, share: number}} Steps nAllocs and share of
 *   inferred ones: the allocations of a step, and how many of all repeat
 */

/**
 * The steps that the outermost scopes of a choice are.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} device
 * @param {(scope: number, name: string) => number | null} numberOf null: the scope is no step
 * @returns {Step[]}
 */
function byScopes({ scopes, strings, events }, device, numberOf) {
  const stepOf = new Int32Array(scopes.count).fill(-1);
  /** @type {Step[]} */
  const steps = [];
  for (let s = 0; s < scopes.count; s++) {
    const parent = scopes.parent[s];
    if (parent >= 0 && stepOf[parent] >= 0) {
      stepOf[s] = stepOf[parent];
      continue;
    }
    const name = scopes.name[s] < 0 ? '' : strings[scopes.name[s]];
    const number = numberOf(s, name);
    if (number === null) continue;
    stepOf[s] = steps.length;
    steps.push({
      number,
      name: scopes.kind[s] === SCOPE.STEP ? name : 'step',
      first: -1,
      last: -1,
      isWarmup: name === 'warmup',
      isOpen: scopes.durationNs[s] === OPEN,
    });
  }
  for (let e = 0; e < events.count && steps.length > 0; e++) {
    if (events.device[e] !== device || events.scope[e] < 0) continue;
    const step = steps[stepOf[events.scope[e]]];
    if (step === undefined) continue;
    if (step.first < 0) step.first = e;
    step.last = e;
  }
  return steps.filter(({ first }) => first >= 0).sort((a, b) => a.first - b.first);
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} device
 * @param {Float64Array} totals allocated bytes of the device per state
 * @returns {Steps} without steps if the recording shows none
 */
export function findSteps(snapshot, device, totals) {
  const { scopes } = snapshot;
  const none = { nAllocs: 0, share: 0 };
  const isUser = (/** @type {number} */ s) => scopes.kind[s] === SCOPE.USER;
  const recorded = byScopes(snapshot, device, (s) =>
    scopes.kind[s] === SCOPE.STEP ? scopes.index[s] : null,
  );
  if (recorded.length > 0) return { source: 'recorded', steps: recorded, ...none };
  const profiled = byScopes(snapshot, device, (s, name) => {
    if (!isUser(s) || !name.startsWith('ProfilerStep#')) return null;
    const digits = /^\d{1,18}$/.exec(name.slice('ProfilerStep#'.length));
    return digits === null ? -1 : Number(digits[0]);
  });
  if (profiled.length > 0) return { source: 'profiler', steps: profiled, ...none };
  let optimizer = '';
  const ended = byScopes(snapshot, device, (s, name) => {
    if (!isUser(s) || !name.startsWith('Optimizer.step#')) return null;
    optimizer ||= name; // a program with several optimizers calls each of them once a step
    return name === optimizer ? -1 : null;
  });
  if (ended.length > 0) {
    ended.forEach((step, i) => {
      Object.assign(step, { first: i > 0 ? ended[i - 1].last + 1 : 0, number: i, isWarmup: i === 0 });
    });
    return { source: 'optimizer', steps: ended, ...none };
  }
  const inferred = inferSteps(snapshot, device, totals);
  const steps = (inferred?.steps ?? []).map((step, number) => ({
    ...step,
    number,
    name: 'step',
    isWarmup: false,
  }));
  return { source: 'inferred', steps, nAllocs: inferred?.nAllocs ?? 0, share: inferred?.share ?? 0 };
}

/** @param {Step} step */
export function stepText({ name, number }) {
  return number < 0 ? name : `${name} ${number}`;
}
