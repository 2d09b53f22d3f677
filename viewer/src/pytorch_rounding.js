/* pytorch_rounding.js - how PyTorch's allocator rounds the sizes of requests. */

export const MIN_BLOCK_BYTES = 512;

/**
 * Rounds up to a multiple of 1/d of the next lower power of two; powers of two stay.
 * @param {number} bytes
 * @param {number} divisions
 */
function roundDivided(bytes, divisions) {
  let floor = MIN_BLOCK_BYTES;
  while (floor <= Math.floor(bytes / 2)) floor *= 2;
  if (floor === bytes) return bytes;
  const step = Math.floor(floor / divisions);
  return step === 0 ? 2 * floor : Math.ceil(bytes / step) * step;
}

/**
 * The block size that the allocator's rounding rule alone gives a request.
 * @param {number[]} divisionsOf per power of two of MiB
 * @param {number} bytes
 */
export function roundRequest(divisionsOf, bytes) {
  if (bytes < MIN_BLOCK_BYTES) return MIN_BLOCK_BYTES;
  let interval = 0;
  while (interval + 1 < divisionsOf.length && bytes >= 2 ** (21 + interval)) interval++;
  const divisions = divisionsOf[interval];
  if (divisions > 1 && bytes > MIN_BLOCK_BYTES * divisions) return roundDivided(bytes, divisions);
  return Math.ceil(bytes / MIN_BLOCK_BYTES) * MIN_BLOCK_BYTES;
}
