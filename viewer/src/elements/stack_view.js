/* stack_view.js - a call stack as a list, innermost frame first; frames of libraries and of the tool are
 * folded, with a button that shows them.
 */
import { element, pushButton } from './dom.js';
import { foldedStack, framePlace } from '../run/frames.js';
import { stackFrames } from '../run/peak.js';
import { formatCount } from '../words/text.js';

/**
 * An item of the list.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} frame
 */
export function frameItem(snapshot, frame) {
  const name = snapshot.frames.function[frame];
  return element(
    'li',
    {},
    element('code', {}, name < 0 ? '??' : snapshot.strings[name]),
    ' ',
    element('span', { class: 'muted' }, framePlace(snapshot, frame)),
  );
}

/**
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} stack -1: none
 */
export function stackView(snapshot, stack) {
  const parts = foldedStack(snapshot, stack);
  if (parts.length === 0) return element('p', { class: 'muted' }, 'no call stack recorded');
  const list = element('ol', { class: 'frames' });
  for (const { isFolded, frames } of parts) {
    if (!isFolded) {
      list.append(...frames.map((frame) => frameItem(snapshot, frame)));
      continue;
    }
    const text = `${formatCount(frames.length)} library frame${frames.length === 1 ? '' : 's'}`;
    const folded = element('li', { class: 'folded' });
    const button = pushButton(
      text,
      () => {
        const items = frames.map((frame) => frameItem(snapshot, frame));
        items[0].tabIndex = -1;
        folded.replaceWith(...items);
        items[0].focus();
      },
      { class: 'link', title: 'Show them', 'aria-expanded': 'false' },
    );
    folded.append(button);
    list.append(folded);
  }
  return list;
}

/**
 * A whole stack as text, one frame per line.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} stack
 */
export function stackLines(snapshot, stack) {
  return stackFrames(snapshot, stack).map((frame) => `  ${frame.function} ${frame.place}`.trimEnd());
}
