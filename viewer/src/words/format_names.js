/* format_names.js - the names that version 1 of the format gives to its numbers. */

/** How a category became known, in words, numbered as in the files. */
export const CERTAINTY_NAMES = ['unknown', 'by rule', 'named'];

/** The duration of a scope that is known only at the allocations that name it. */
export const NO_INTERVAL = -2;

/** Kinds of scopes, numbered as in the files of version 1. */
export const SCOPE = Object.freeze({ STEP: 0, PHASE: 1, LAYER: 2, OPERATOR: 3, USER: 4 });
