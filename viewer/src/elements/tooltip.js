/* tooltip.js - the tooltip: one box that follows the pointer inside the window. */
import { byId } from './dom.js';

const GAP = 16; // CSS pixels between the pointer and the box

/**
 * @param {(Node | string)[]} content
 * @param {number} clientX
 * @param {number} clientY
 */
export function showTooltip(content, clientX, clientY) {
  const tooltip = byId('tooltip');
  tooltip.hidden = false;
  tooltip.replaceChildren(...content);
  const box = tooltip.getBoundingClientRect();
  const left =
    clientX + GAP + box.width > window.innerWidth - 4
      ? Math.max(4, clientX - GAP - box.width)
      : clientX + GAP;
  const top = Math.max(4, Math.min(window.innerHeight - box.height - 4, clientY + GAP));
  tooltip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

/** Hides the box. */
export function hideTooltip() {
  byId('tooltip').hidden = true;
}
