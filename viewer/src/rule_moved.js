/* rule_moved.js - what torch.nn.Module._apply moves: parameters, their gradients, buffers.
 *
 * One function moves all three, from three lines in this order; the numbers of the lines differ between
 * versions. A gradient is moved right after its parameter, and has its size. Buffers come after all
 * parameters of a module.
 */
import { isApply } from './stack_signs.js';
import { ACTION } from './subjects.js';

export const MOVED = Object.freeze({ PARAMETER: 0, GRADIENT: 1, BUFFER: 2 });

/**
 * The innermost frame of _apply of each stack; -1: none.
 * @param {import('./format.js').Snapshot} snapshot
 */
function innermostApply(snapshot) {
  const { frames, stacks } = snapshot;
  const isOfApply = Uint8Array.from(frames.function, (_, f) => (isApply(snapshot, f) ? 1 : 0));
  const innermost = new Int32Array(stacks.frame.length).fill(-1);
  for (let s = 0; s < innermost.length; s++) {
    if (isOfApply[stacks.frame[s]] === 1) innermost[s] = stacks.frame[s];
    else if (stacks.parent[s] >= 0) innermost[s] = innermost[stacks.parent[s]];
  }
  return innermost;
}

/**
 * Counts the allocations of each line of _apply, those right after one of the same size from an earlier line,
 * and finds the first line of each file that has some.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Int32Array} innermost
 */
function countLines({ frames, events, subjects }, innermost) {
  const all = new Uint32Array(frames.function.length);
  const afterParameter = new Uint32Array(frames.function.length);
  /** @type {Map<number, number>} */
  const firstLine = new Map();
  let last = -1; // the allocation before, if it is of _apply
  let lastFrame = -1;
  for (let e = 0; e < events.count; e++) {
    if (events.action[e] !== ACTION.ALLOC) continue;
    const frame = events.stack[e] >= 0 ? innermost[events.stack[e]] : -1;
    if (frame >= 0) {
      const file = frames.file[frame];
      const line = frames.line[frame];
      all[frame]++;
      const isSameSize =
        last >= 0 &&
        subjects.requestedBytes[events.act[last]] === subjects.requestedBytes[events.act[e]] &&
        events.device[last] === events.device[e];
      if (isSameSize && frames.file[lastFrame] === file && frames.line[lastFrame] < line)
        afterParameter[frame]++;
      firstLine.set(file, Math.min(firstLine.get(file) ?? line, line));
    }
    last = frame >= 0 ? e : -1;
    lastFrame = frame;
  }
  return { all, afterParameter, firstLine };
}

/**
 * For every stack, MOVED: what Module._apply moves there.
 * @param {import('./format.js').Snapshot} snapshot
 */
export function movedOf(snapshot) {
  const { file, line } = snapshot.frames;
  const innermost = innermostApply(snapshot);
  const { all, afterParameter, firstLine } = countLines(snapshot, innermost);
  return Uint8Array.from(innermost, (frame) => {
    if (frame < 0 || line[frame] <= (firstLine.get(file[frame]) ?? Infinity)) return MOVED.PARAMETER;
    return afterParameter[frame] === all[frame] ? MOVED.GRADIENT : MOVED.BUFFER;
  });
}
