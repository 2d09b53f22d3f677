/* rule_coverage.js - what each rule of the categories explains at the peak. */
import { BY_RULE, CATEGORY_OF_RULE, NO_RULE, RULE_WORDS, rulesOf } from './category_rules.js';
import { element } from './dom.js';
import { aliveAt } from './index.js';
import { oncePer } from './once.js';
import { peakWord } from './peak.js';
import { isOfPytorch } from './run.js';
import { categoryText, formatBytes, formatShare } from './text.js';

const OWN_WORDS = 'rules of your own';

/**
 * @typedef {{words: string, category: string, bytes: number, count: number}} RuleRow count: of blocks
 */

/**
 * The rule of each block of the run's device. Only the command line knows rules of the user's own (--rules):
 * a category by rule that no built-in rule gives comes from one of these.
 */
const rulesOnDevice = oncePer((/** @type {import('./run.js').Run} */ { snapshot, index: { blocks } }) => {
  const { subjects, start, events, categories } = snapshot;
  const all = rulesOf(snapshot);
  const rules = new Uint8Array(blocks.count);
  let n = 0;
  const add = (/** @type {number} */ subject) => {
    const isFromRule = blocks.certainty?.[n] === BY_RULE;
    const isBuiltIn = CATEGORY_OF_RULE[all[subject]] === categories[blocks.category[n]];
    rules[n++] = !isFromRule ? NO_RULE : isBuiltIn ? all[subject] : RULE_WORDS.length;
  };
  subjects.atStart.forEach(({ segment }, subject) => {
    if (start.device[segment] === blocks.device) add(subject);
  });
  for (let e = 0; e < events.count; e++)
    if (events.act[e] >= 0 && events.device[e] === blocks.device) add(events.act[e]);
  return rules;
});

/**
 * True if categories at the peak come from rules.
 * @param {import('./run.js').Run} run
 */
export function hasRules(run) {
  return isOfPytorch(run.snapshot) && (run.peak.certainties?.[BY_RULE] ?? 0) > 0;
}

/**
 * @param {import('./run.js').Run} run
 * @returns {RuleRow[]} in the order of the rules, those of the user's own together at the end; empty if no
 *   category comes from one
 */
export function ruleRows(run) {
  if (!hasRules(run)) return [];
  const { bytes, category } = run.index.blocks;
  const rule = rulesOnDevice(run);
  const rows = [...RULE_WORDS, OWN_WORDS].map((words) => ({ words, category: '', bytes: 0, count: 0 }));
  for (const block of aliveAt(run.index, run.peakState)) {
    if (rule[block] === NO_RULE) continue;
    const row = rows[rule[block]];
    row.category = row.words === OWN_WORDS ? '' : run.snapshot.categories[category[block]];
    row.bytes += bytes[block];
    row.count++;
  }
  return rows.filter(({ count }) => count > 0);
}

/**
 * The rules with what they explain, and what none explains.
 * @param {import('./run.js').Run} run
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
