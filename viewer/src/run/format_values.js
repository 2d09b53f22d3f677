/* format_values.js - values of a document that may be unknown. */

/**
 * @param {any} parent
 * @param {string} key
 * @returns {Record<string, any>} {} if it is absent
 */
export function section(parent, key) {
  return parent[key] ?? {};
}

/**
 * @param {any} parent
 * @param {string} key
 * @returns {any[]} [] if it is absent
 */
export function list(parent, key) {
  return parent[key] ?? [];
}

/**
 * @param {unknown} value
 * @param {number} fallback
 */
export function numberOr(value, fallback) {
  return typeof value === 'number' && Number.isFinite(value) ? value : fallback;
}

/**
 * @param {unknown} value
 * @param {string} fallback
 */
export function textOr(value, fallback) {
  return typeof value === 'string' ? value : fallback;
}
