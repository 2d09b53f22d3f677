/* frame.js - runs work once before the next frame, however often it was requested. */

/** @type {Set<() => void>} */
const asked = new Set();
let isFrameAsked = false;

/**
 * Requests made by such work run before the same frame.
 * @param {() => void} work identity decides: the same function runs once
 */
export function beforePicture(work) {
  asked.add(work);
  if (isFrameAsked) return;
  isFrameAsked = true;
  requestAnimationFrame(() => {
    try {
      for (const each of asked) {
        asked.delete(each);
        each();
      }
    } finally {
      isFrameAsked = false;
    }
  });
}
