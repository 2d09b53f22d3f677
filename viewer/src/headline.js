/* headline.js - the sentence at the top, folded where it is too long for the screen.
 */
import { byId, element } from './dom.js';
import { formatBytes, splitSentence } from './text.js';

/** Of several runs the first sentence stands out; what is too long for the screen is behind a button. @param {string} text @param {boolean} several */
export function showHeadline(text, several) {
  const [first, rest] = several ? splitSentence(text) : [text, ''], line = byId('headline');
  line.classList.toggle('several', several);
  line.classList.remove('open');
  line.replaceChildren(first, ...(rest ? [' ', element('span', { class: 'rest' }, rest)] : []));
}

/** Shows or hides the button that unfolds it. */
export function fitHeadline() {
  const line = byId('headline'), button = byId('more-button'), isOpen = line.classList.contains('open');
  button.hidden = !isOpen && line.scrollHeight <= line.clientHeight + 2;
  button.textContent = isOpen ? 'less' : 'more';
  button.setAttribute('aria-expanded', String(isOpen));
}

/** What several runs come to, where the command line gave no sentence. @param {import('./run.js').Run[]} runs */
export function comparisonSentence(runs) {
  const [base, ...others] = runs;
  return `${base.short} peaks at ${formatBytes(base.peak.bytes)}; ${others.map((run) =>
    `${run.short} at ${formatBytes(run.peak.bytes)}, ${(run.peak.bytes / base.peak.bytes).toFixed(2)} times as much`).join('; ')}.`;
}
