/* once.js - what is derived from a value, worked out when it is first asked for and kept as long as the value lives. */

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
