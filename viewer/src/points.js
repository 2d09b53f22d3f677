/* points.js - a set of numbers below a bound that finds the next and the previous member. It has levels of
 * bits; each bit says whether a word of the level below is not zero.
 */
const BITS = 5; // bits of a number within one word

export class PointSet {
  /** @param {number} bound */
  constructor(bound) {
    /** @type {Uint32Array[]} the lowest level first */
    this.levels = [];
    for (let n = bound; ;) {
      n = Math.max(1, Math.ceil(n / 32));
      this.levels.push(new Uint32Array(n));
      if (n === 1) break;
    }
  }

  /** @param {number} point */
  insert(point) {
    for (const words of this.levels) {
      words[point >>> BITS] |= 1 << (point & 31);
      point >>>= BITS;
    }
  }

  /** @param {number} point */
  remove(point) {
    for (const words of this.levels) {
      if ((words[point >>> BITS] &= ~(1 << (point & 31))) !== 0) return;
      point >>>= BITS;
    }
  }

  /**
   * The smallest member above a point; -1: none.
   * @param {number} point
   */
  above(point) {
    const { levels } = this;
    for (let level = 0; level < levels.length; level++) {
      const bit = point & 31;
      const word = bit === 31 ? 0 : levels[level][point >>> BITS] & (-2 << bit);
      point >>>= BITS;
      if (word === 0) continue;
      point = point * 32 + 31 - Math.clz32(word & -word);
      while (level-- > 0) point = point * 32 + 31 - Math.clz32(levels[level][point] & -levels[level][point]);
      return point;
    }
    return -1;
  }

  /**
   * The largest member at or below a point; -1: none.
   * @param {number} point
   */
  atOrBelow(point) {
    const { levels } = this;
    for (let level = 0; level < levels.length && point >= 0; level++) {
      const bit = point & 31;
      const word = levels[level][point >>> BITS] & (bit === 31 ? -1 : (2 << bit) - 1);
      point >>>= BITS;
      if (word === 0) {
        point--;
        continue;
      }
      point = point * 32 + 31 - Math.clz32(word);
      while (level-- > 0) point = point * 32 + 31 - Math.clz32(levels[level][point]);
      return point;
    }
    return -1;
  }
}
