/* format_names.js - the names that version 1 of the format gives to its numbers. */

export const ACTION_NAMES = [
  'alloc',
  'free',
  'free_requested',
  'free_completed',
  'segment_alloc',
  'segment_free',
  'segment_map',
  'segment_unmap',
  'oom',
  'mark',
];
export const CATEGORY_NAMES = [
  'unknown',
  'parameter',
  'gradient',
  'optimizer_state',
  'activation',
  'temporary',
  'workspace',
  'input',
  'weight_copy',
  'kv_cache',
];
/** How a category became known, in words, numbered as in the files. */
export const CERTAINTY_NAMES = ['unknown', 'by rule', 'named'];

/** The duration of a scope that is known only at the allocations that name it. */
export const NO_INTERVAL = -2;

/** Kinds of scopes, numbered as in the files of version 1. */
export const SCOPE = Object.freeze({ STEP: 0, PHASE: 1, LAYER: 2, OPERATOR: 3, USER: 4 });
export const SCOPE_NAMES = ['step', 'phase', 'layer', 'operator', 'user'];

export const STATE_NAMES = ['free', 'allocated', 'pending_free']; // by STATE

/** For checkDocument. */
export const USUAL_NAMES = { actions: ACTION_NAMES, kinds: SCOPE_NAMES, states: STATE_NAMES };
export const UNKNOWN_ACTION = 255;
