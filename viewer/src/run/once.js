/* once.js - computes a value derived from an object on first use and keeps it as long as the object lives. */

/**
 * @template {object} K
 * @template V
 * @param {(key: K) => V} derive
 * @returns {(key: K) => V}
 */
export function oncePer(derive) {
  /** @type {WeakMap<K, V>} */
  const known = new WeakMap();
  return (key) => {
    let value = known.get(key);
    if (value === undefined) {
      value = derive(key);
      known.set(key, value);
    }
    return value;
  };
}
