/* pickle_place.js - finds the place in the tree of the list that a pickle is adding to. A container is made
 * before its parent gets it, so all containers around the list are on the stack below it, each followed by
 * the values that it has not got yet.
 */
import { PickleContainer } from './pickle_values.js';

const MOST_STEPS = 2; // nobody asks for more

/**
 * @param {import('./pickle.js').Unpickler} of
 * @param {number} at
 * @param {'list' | 'dict'} kind
 */
function isKind({ stack }, at, kind) {
  return stack[at] instanceof PickleContainer && stack[at].kind === kind;
}

/**
 * The container that will get the value at `at`, and under which key or index; null: the value is the root,
 * or the file is written in an order in which this is not known yet.
 * @param {import('./pickle.js').Unpickler} of
 * @param {number} at
 * @returns {{at: number, step: {key: any, index: number}} | null} index -1: it is a key
 */
function parentOf(of, at) {
  const first = of.marks.findLast((mark) => mark <= at) ?? 0; // of the values under the same mark
  const { stack } = of;
  if (at === 0) return null;
  if (first > 0 && isKind(of, first - 1, 'list'))
    return { at: first - 1, step: { key: undefined, index: stack[first - 1].items.length + (at - first) } };
  if (first > 0 && isKind(of, first - 1, 'dict') && (at - first) % 2 === 1)
    return { at: first - 1, step: { key: stack[at - 1], index: -1 } };
  if (at > first && isKind(of, at - 1, 'list'))
    return { at: at - 1, step: { key: undefined, index: stack[at - 1].items.length } };
  if (at > first + 1 && isKind(of, at - 2, 'dict'))
    return { at: at - 2, step: { key: stack[at - 1], index: -1 } };
  return null;
}

/**
 * The keys and indices that lead from the root to the value at `at` of the stack; null: they are too many, or
 * not known.
 * @param {import('./pickle.js').Unpickler} of
 * @param {number} at
 * @returns {{key: any, index: number}[] | null}
 */
export function stepsTo(of, at) {
  const steps = [];
  let from = at;
  for (let parent = parentOf(of, from); parent !== null; parent = parentOf(of, from)) {
    if (steps.length === MOST_STEPS) return null;
    steps.unshift(parent.step);
    from = parent.at;
  }
  return from === 0 ? steps : null;
}
