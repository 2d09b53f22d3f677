/* frame.js - work that is done before the next picture: once, however often it was asked for. */

/** @type {Set<() => void>} */
const asked = new Set();
let isFrameAsked = false;

/**
 * What work asks for in turn is done before the same picture.
 * @param {() => void} work the same function is the same work
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
