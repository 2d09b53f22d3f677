/* map_rows.js - places the segments of a layout in rows, one after the other, each as wide as it is large. */

const LEAST_WIDTH = 5; // CSS pixels of the smallest segment
const SEGMENT_GAP = 3; // between segments

/**
 * @typedef {object} MapRect
 * @property {number} x CSS pixels
 * @property {number} row
 * @property {number} width
 * @property {number} segment index in the list given
 * @property {number} piece index in the segment's pieces
 * @property {boolean} isFirst the segment begins with this rectangle
 * @property {boolean} isLast the segment ends with this rectangle
 */

/**
 * Bytes per pixel such that all segments fill at most `nRows` rows.
 * @param {import('../run/layout.js').Segment[]} segments
 * @param {number} width
 * @param {number} nRows
 */
export function scaleToFit(segments, width, nRows) {
  const total = segments.reduce((sum, segment) => sum + segment.bytes, 0);
  const room = Math.max(1, width * nRows - segments.length * (LEAST_WIDTH + SEGMENT_GAP));
  return Math.max(1, total / room);
}

/**
 * Places the pieces. A segment that does not fit the rest of its row continues in the next one.
 * @param {import('../run/layout.js').Segment[]} segments in the order of display
 * @param {number} width of a row, CSS pixels
 * @param {number} bytesPerPixel
 * @returns {{rects: MapRect[], nRows: number}}
 */
export function layOutMap(segments, width, bytesPerPixel) {
  const rects = /** @type {MapRect[]} */ ([]);
  let row = 0;
  let x = 0;
  segments.forEach((segment, s) => {
    const wide = Math.max(LEAST_WIDTH, segment.bytes / bytesPerPixel);
    const perByte = wide / segment.bytes;
    if (x > 0 && x + Math.min(wide, LEAST_WIDTH) > width) {
      row++;
      x = 0;
    }
    segment.pieces.forEach((piece, p) => {
      let left = piece.bytes * perByte;
      let isFirst = p === 0;
      while (left > 0) {
        if (width - x < 1e-6) {
          row++;
          x = 0;
        }
        const part = Math.min(left, width - x);
        left = left - part < 1e-6 ? 0 : left - part;
        rects.push({
          x,
          row,
          width: part,
          segment: s,
          piece: p,
          isFirst,
          isLast: p === segment.pieces.length - 1 && left === 0,
        });
        isFirst = false;
        x += part;
      }
    });
    x += SEGMENT_GAP;
    if (x >= width) {
      row++;
      x = 0;
    }
  });
  return { rects, nRows: rects.length > 0 ? rects[rects.length - 1].row + 1 : 0 };
}

/**
 * The rectangle at a place, or null.
 * @param {MapRect[]} rects in order
 * @param {number} x
 * @param {number} row
 */
export function rectAt(rects, x, row) {
  let lo = 0;
  let hi = rects.length;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (rects[middle].row < row || (rects[middle].row === row && rects[middle].x <= x)) lo = middle + 1;
    else hi = middle;
  }
  const found = rects[lo - 1];
  return found !== undefined && found.row === row && x < found.x + found.width ? found : null;
}
