/* rule_coverage.js - what each rule of the categories explains at the peak. */
import { element } from '../elements/dom.js';
import { CERTAINTY_NAMES } from '../words/format_names.js';
import { peakWord } from '../run/peak.js';
import { categoryText, formatBytes, formatShare } from '../words/text.js';

const BY_RULE = CERTAINTY_NAMES.indexOf('by rule');

/**
 * @param {import('../run/run.js').Run} run
 * @returns {import('../run/format.js').RuleRow[]} in the order of the rules; empty if no category at the peak
 *   comes from one
 */
export function ruleRows({ snapshot, device, peak }) {
  return (peak.certainties?.[BY_RULE] ?? 0) > 0 ? (snapshot.rules[device] ?? []) : [];
}

/**
 * The rules with what they explain, and what none explains.
 * @param {import('../run/run.js').Run} run
 */
export function ruleTable(run) {
  const rows = ruleRows(run);
  const all = run.peak.bytes;
  const explained = rows.reduce((sum, { bytes }) => sum + bytes, 0);
  const row = (/** @type {string} */ words, /** @type {string} */ category, /** @type {number} */ bytes) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, words),
      element('td', {}, category),
      element('td', { class: 'number' }, formatBytes(bytes)),
      element('td', { class: 'number muted' }, formatShare(all > 0 ? bytes / all : 0)),
    );
  return element(
    'table',
    { class: 'compare rules' },
    element('caption', {}, `Alive at the ${peakWord(run)}, by the rule of the category`),
    element(
      'tbody',
      {},
      ...rows.map(({ words, category, bytes }) =>
        row(words, category === '' ? '' : categoryText(category), bytes),
      ),
      ...(all > explained ? [row('no rule', '', all - explained)] : []),
    ),
  );
}
