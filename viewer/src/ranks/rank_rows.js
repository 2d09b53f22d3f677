/* rank_rows.js - what the page says of many ranks: equal ones folded into one row, their order and groups,
 * the sentence at the top, the cells of the heat map, and what differs between two of them. Without a page.
 */
import { countUpTo } from '../run/axis.js';
import { categoryText, formatBytes, formatCount, formatPlural, formatShare } from '../words/text.js';

/**
 * @typedef {import('../engine/rank_digests.js').Rank} Rank
 * @typedef {object} Fold ranks whose figures are all equal; one rank where they are not folded
 * @property {Rank[]} ranks in the order of their numbers
 * @property {Rank} first
 * @property {string} label "0–62, 64"
 * @property {string} group of the grouping; "" without
 * @typedef {{groupBy: string, orderBy: 'rank' | 'peak', isFolded: boolean}} Choice groupBy: "", "node" or the
 *   name of a process group
 */

const NAMED = 3; // ranks that a sentence names one by one
const MOST_SENTENCES = 8; // of the answer
const KINDS = 'kinds'; // key of the sentence about kinds of memory, which are in the tables

/**
 * "0–62, 64": numbers in order, runs of three or more shortened.
 * @param {number[]} numbers never decreasing
 */
export function spansText(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length;) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end] + 1) end++;
    if (end - i < 2) end = i;
    parts.push(end > i ? `${numbers[i]}–${numbers[end]}` : String(numbers[i]));
    i = end + 1;
  }
  return parts.join(', ');
}

/** @type {(a: Rank, b: Rank) => number} */
function byNumber(a, b) {
  return a.rank - b.rank || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

/**
 * All figures that ranks of one row share: everything but the times and the names of files and hosts.
 * @param {Rank} rank
 */
function figuresOf(rank) {
  const { deviceName, totalBytes, peakBytes, reservedBytes, endBytes, lowBytes, highBytes } = rank;
  const { oom, explained, rows, rest, steps, outcome, nDropped } = rank;
  return JSON.stringify([
    [deviceName, totalBytes, peakBytes, reservedBytes, endBytes, lowBytes, highBytes, outcome, nDropped],
    oom && [oom.requestedBytes, oom.line],
    explained && [explained.growth, explained.sentences.map(({ text }) => text)],
    rows.map((row) => [row.line, row.category, row.scope, row.bytes, row.nBlocks]),
    rest,
    steps.map((step) => [step.index, step.nSteps, step.peakBytes, step.reservedBytes]),
  ]);
}

/**
 * How ranks may be grouped: by node if there are several, and by the process groups that divide the world.
 * @param {Rank[]} ranks
 * @returns {string[]}
 */
export function groupings(ranks) {
  const found = new Set();
  if (new Set(ranks.map(({ node }) => node)).size > 1) found.add('node');
  for (const rank of ranks)
    for (const { name, size, position } of rank.groups)
      if (name !== '' && size > 1 && position >= 0 && size !== rank.worldSize) found.add(name);
  return [...found].slice(0, 32);
}

/**
 * @param {Rank} rank
 * @param {string} groupBy
 */
export function groupOf(rank, groupBy) {
  if (groupBy === '') return '';
  if (groupBy === 'node') return rank.node || 'node not known';
  const group = rank.groups.find(({ name }) => name === groupBy);
  return group === undefined ? `not in ${groupBy}` : `${groupBy} ${group.position} of ${group.size}`;
}

/**
 * The positions of a rank in the groups that divide the world: "pp 0 of 4, tp 3 of 8".
 * @param {Rank} rank
 */
export function roleOf(rank) {
  return rank.groups
    .filter(({ name, size, position }) => name !== '' && size > 1 && position >= 0 && size !== rank.worldSize)
    .map(({ name, size, position }) => `${name} ${position} of ${size}`)
    .join(', ');
}

/**
 * @param {Rank[]} ranks
 * @param {string} group
 * @returns {Fold}
 */
function makeFold(ranks, group) {
  const isPlain = ranks.every(({ rank, name }) => rank >= 0 && name === `rank ${rank}`);
  const label = isPlain ? spansText(ranks.map(({ rank }) => rank)) : ranks.map(({ name }) => name).join(', ');
  return { ranks, first: ranks[0], label, group };
}

/**
 * The rows of the page. Any order of the ranks gives the same rows.
 * @param {Rank[]} ranks
 * @param {Choice} choice
 * @returns {Fold[]}
 */
export function foldRanks(ranks, { groupBy, orderBy, isFolded }) {
  /** @type {Map<string, {group: string, ranks: Rank[]}>} */
  const folds = new Map();
  for (const [i, rank] of [...ranks].sort(byNumber).entries()) {
    const group = groupOf(rank, groupBy);
    const key = isFolded ? `${group}\n${figuresOf(rank)}` : String(i);
    const fold = folds.get(key);
    if (fold === undefined) folds.set(key, { group, ranks: [rank] });
    else fold.ranks.push(rank);
  }
  const made = [...folds.values()].map((fold) => makeFold(fold.ranks, fold.group));
  const natural = new Intl.Collator('en', { numeric: true });
  return made.sort(
    (a, b) =>
      natural.compare(a.group, b.group) ||
      (orderBy === 'peak' ? b.first.peakBytes - a.first.peakBytes : 0) ||
      byNumber(a.first, b.first),
  );
}

/**
 * "rank 3", "ranks 0–62".
 * @param {Fold} fold
 */
export function foldName({ ranks, label, first }) {
  return ranks.length > 1 ? `ranks ${label}` : first.name;
}

/**
 * "rank 7", "ranks 3 and 5", "12 ranks".
 * @param {Rank[]} ranks
 */
function someNames(ranks) {
  if (ranks.length > NAMED) return formatPlural(ranks.length, 'rank');
  const names = ranks.map(({ name }) => name);
  return names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}` : names[0];
}

/**
 * The share by which the highest peak exceeds the lowest.
 * @param {Rank[]} ranks
 */
export function spreadOf(ranks) {
  const peaks = ranks.map(({ peakBytes }) => peakBytes);
  const least = Math.min(...peaks);
  return least > 0 ? Math.max(...peaks) / least - 1 : NaN;
}

/**
 * "ranks 1, 5 and 7", "12 of 64 ranks", "all 8 ranks".
 * @param {Rank[]} ranks
 * @param {number} nAll
 */
function whoText(ranks, nAll) {
  if (ranks.length > NAMED && ranks.length === nAll) return `all ${formatPlural(nAll, 'rank')}`;
  if (ranks.length > NAMED) return `${formatCount(ranks.length)} of ${formatPlural(nAll, 'rank')}`;
  const names = ranks.map(({ name }) => name);
  const isPlain = names.length > 1 && ranks.every(({ rank, name }) => name === `rank ${rank}`);
  const shown = isPlain ? ranks.map(({ rank }) => String(rank)) : names;
  const list =
    shown.length > 1 ? `${shown.slice(0, -1).join(', ')} and ${shown[shown.length - 1]}` : shown[0];
  return isPlain ? `ranks ${list}` : list;
}

/**
 * The sentences of `tidemark explain`, each once with the ranks that it holds for, as `tidemark ranks` prints
 * them: those of one fold are one, with the figures of the fullest rank.
 * @param {Rank[]} given
 * @returns {string[]}
 */
export function ranksAnswer(given) {
  /** @type {Map<string, {key: string, place: number, at: number, ranks: Rank[], fullest: Rank, text: string, isSame: boolean}>} */
  const found = new Map();
  for (const rank of [...given].sort(byNumber))
    for (const [at, { key, place, text, fold }] of (rank.explained?.sentences ?? []).entries()) {
      const row = found.get(`${key}\n${fold}`);
      if (row === undefined) {
        found.set(`${key}\n${fold}`, { key, place, at, ranks: [rank], fullest: rank, text, isSame: true });
        continue;
      }
      if (row.ranks[row.ranks.length - 1] !== rank) row.ranks.push(rank);
      row.isSame &&= row.text === text;
      if (rank.peakBytes > row.fullest.peakBytes) Object.assign(row, { fullest: rank, text });
    }
  return [...found.values()]
    .filter(({ key }) => key !== KINDS)
    .sort((a, b) => a.place - b.place || b.ranks.length - a.ranks.length || a.at - b.at)
    .slice(0, MOST_SENTENCES)
    .map(({ ranks, fullest, text, isSame }) => {
      const whose = isSame || ranks.length === 1 ? '' : ` (figures of ${fullest.name})`;
      return `${whoText(ranks, given.length)}${whose}: ${text}`;
    })
    .map((text) => text[0].toUpperCase() + text.slice(1));
}

/**
 * "512 of the world's 1,024 ranks", "8 ranks".
 * @param {Rank[]} ranks
 */
function countText(ranks) {
  const world = Math.max(...ranks.map(({ worldSize }) => worldSize));
  const nGiven = new Set(ranks.map(({ rank, name }) => (rank >= 0 ? rank : name))).size;
  return world > nGiven
    ? `${formatCount(nGiven)} of ${formatPlural(world, 'rank')}`
    : formatPlural(nGiven, 'rank');
}

/**
 * The sentences at the top of the page.
 * @param {Rank[]} given
 */
export function ranksHeadline(given) {
  const ranks = [...given].sort(byNumber);
  const most = Math.max(...ranks.map(({ peakBytes }) => peakBytes));
  const least = Math.min(...ranks.map(({ peakBytes }) => peakBytes));
  const fullest = ranks.filter(({ peakBytes }) => peakBytes === most);
  const parts = [
    most === least
      ? `${countText(ranks)}, all with a peak of ${formatBytes(most)}.`
      : `${countText(ranks)}: ${someNames(fullest)} ${fullest.length > 1 ? 'are' : 'is'} the fullest with ${formatBytes(most)}, ${formatShare(spreadOf(ranks))} above the lowest peak, ${formatBytes(least)}.`,
  ];
  const out = ranks.filter(({ oom }) => oom !== null);
  if (out.length > 0) parts.push(`${someNames(out)} ran out of memory.`);
  return parts.map((part) => part[0].toUpperCase() + part.slice(1)).join(' ');
}

/**
 * @typedef {object} Heat
 * @property {number[]} steps index of each column
 * @property {number} nRows
 * @property {Float64Array} cells allocated peak by row and column; -1: none
 * @property {number} least of the cells
 * @property {number} most
 */

/**
 * The cells of the heat map. A step that represents several fills all of their columns.
 * @param {Fold[]} folds
 * @returns {Heat}
 */
export function heatOf(folds) {
  const indices = new Set(
    folds.flatMap(({ first }) => first.steps.map(({ index }, i) => stepIndex(index, i))),
  );
  const steps = [...indices].sort((a, b) => a - b);
  const column = new Map(steps.map((index, c) => [index, c]));
  const cells = new Float64Array(folds.length * steps.length).fill(-1);
  let least = Infinity;
  let most = -Infinity;
  for (const [r, { first }] of folds.entries()) {
    for (const [i, step] of first.steps.entries()) {
      const from = column.get(stepIndex(step.index, i)) ?? 0;
      const end = stepIndex(step.index, i) + step.nSteps;
      for (let c = from; c < steps.length && (c === from || steps[c] < end); c++) {
        const at = r * steps.length + c;
        cells[at] = Math.max(cells[at], step.peakBytes);
      }
      if (step.peakBytes < 0) continue;
      least = Math.min(least, step.peakBytes);
      most = Math.max(most, step.peakBytes);
    }
  }
  return { steps, nRows: folds.length, cells, least, most };
}

/**
 * The number of a step; its place where the recording gives it none.
 * @param {number} index
 * @param {number} place
 */
function stepIndex(index, place) {
  return index >= 0 ? index : place;
}

/**
 * The heat map in pixels: each holds the highest of the cells that it covers, so that no peak is lost.
 * @param {Heat} heat
 * @param {number} width
 * @param {number} height
 * @returns {Float64Array} bytes by pixel; -1: none
 */
export function heatPixels({ cells, nRows, steps: { length: nSteps } }, width, height) {
  const rows = new Float64Array(nSteps);
  const pixels = new Float64Array(width * height).fill(-1);
  let held = -1;
  for (let y = 0; y < height && nSteps > 0; y++) {
    const from = Math.floor((y * nRows) / height);
    const end = Math.max(from + 1, Math.floor(((y + 1) * nRows) / height));
    if (end - from === 1 && from === held) {
      pixels.copyWithin(y * width, (y - 1) * width, y * width);
      continue;
    }
    held = end - from === 1 ? from : -1;
    rows.fill(-1);
    for (let r = from; r < end; r++)
      for (let c = 0; c < nSteps; c++) rows[c] = Math.max(rows[c], cells[r * nSteps + c]);
    for (let x = 0; x < width; x++) {
      const first = Math.floor((x * nSteps) / width);
      const last = Math.max(first + 1, Math.floor(((x + 1) * nSteps) / width));
      let most = -1;
      for (let c = first; c < last; c++) most = Math.max(most, rows[c]);
      pixels[y * width + x] = most;
    }
  }
  return pixels;
}

// cividis, ten of its colours: its lightness rises evenly for every kind of vision
const SCALE = [
  '00224e',
  '123570',
  '3b496c',
  '575d6d',
  '707173',
  '8a8678',
  'a59c74',
  'c3b369',
  'e1cc55',
  'fee838',
].map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));

/**
 * @param {number} share 0..1 of the scale
 * @returns {number[]} red, green, blue
 */
export function scaleColour(share) {
  const at = Math.min(1, Math.max(0, share)) * (SCALE.length - 1);
  const low = Math.min(SCALE.length - 2, Math.floor(at));
  return SCALE[low].map((value, i) => Math.round(value + (at - low) * (SCALE[low + 1][i] - value)));
}

/**
 * The place of bytes on the scale of colours: by size, or by order among all cells, which separates small
 * differences apart beside one rank that differs much.
 * @param {Heat} heat
 * @param {boolean} isByOrder
 * @returns {(bytes: number) => number} 0..1
 */
export function scaleOf({ cells, least, most }, isByOrder) {
  if (!(most > least)) return () => 0.5;
  if (!isByOrder) return (bytes) => (bytes - least) / (most - least);
  const values = Float64Array.from(new Set(cells.filter((bytes) => bytes >= 0))).sort();
  return (bytes) => (countUpTo(values, bytes) - 1) / (values.length - 1);
}

/**
 * The common clock of the timelines, or null where no rank has one.
 * @param {Rank[]} ranks
 * @returns {{beginUs: number, endUs: number} | null}
 */
export function clockOf(ranks) {
  const clocked = ranks.filter(({ beginUnixUs, timeNs }) => beginUnixUs >= 0 && timeNs.length > 0);
  if (clocked.length === 0) return null;
  let beginUs = Infinity;
  let endUs = -Infinity;
  for (const { beginUnixUs, timeNs } of clocked) {
    beginUs = Math.min(beginUs, beginUnixUs + timeNs[0] / 1000);
    endUs = Math.max(endUs, beginUnixUs + timeNs[timeNs.length - 1] / 1000);
  }
  return { beginUs, endUs: Math.max(endUs, beginUs + 1) };
}

/**
 * @typedef {{line: string, category: string, scope: string, a: number, b: number}} Difference bytes at the peak
 *   of each
 * @typedef {object} Pair
 * @property {Difference[]} rows that differ, the largest first
 * @property {number} nEqual rows
 * @property {number} equalBytes
 */

/**
 * What differs between two ranks, by line of the program, category and scope.
 * @param {Rank} a
 * @param {Rank} b
 * @returns {Pair}
 */
export function differencesOf(a, b) {
  /** @type {Map<string, Difference>} */
  const found = new Map();
  for (const [side, rank] of /** @type {['a' | 'b', Rank][]} */ ([
    ['a', a],
    ['b', b],
  ]))
    for (const { line, category, scope, bytes } of rank.rows) {
      const key = JSON.stringify([line, category, scope]);
      const row = found.get(key) ?? { line, category, scope, a: 0, b: 0 };
      row[side] += bytes;
      found.set(key, row);
    }
  if (a.rest.nRows > 0 || b.rest.nRows > 0)
    found.set('', {
      line: 'rows that the digests add up',
      category: '',
      scope: '',
      a: a.rest.bytes,
      b: b.rest.bytes,
    });
  const all = [...found.values()];
  const equal = all.filter((row) => row.a === row.b);
  return {
    rows: all
      .filter((row) => row.a !== row.b)
      .sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a) || (x.line < y.line ? -1 : 1)),
    nEqual: equal.length,
    equalBytes: equal.reduce((sum, row) => sum + row.a, 0),
  };
}

/**
 * "+8.00 MiB".
 * @param {number} bytes
 */
export function signedBytes(bytes) {
  return `${bytes > 0 ? '+' : ''}${formatBytes(bytes)}`;
}

/**
 * "+8.00 MiB Block.forward (model.py:40), activations".
 * @param {Difference} row
 */
export function differenceText({ line, category, scope, a, b }) {
  const where = line || scope || 'without a call stack';
  return `${signedBytes(b - a)} ${where}${category === '' ? '' : `, ${categoryText(category)}`}`;
}

/**
 * A word of a shell's command line.
 * @param {string} text
 */
function shellWord(text) {
  return /^[\w./=:@%+-]+$/.test(text) && !text.startsWith('-')
    ? text
    : `'${(text.startsWith('-') ? `./${text}` : text).replaceAll("'", "'\\''")}'`;
}

/**
 * The command that compares two ranks from their files.
 * @param {Rank} a
 * @param {Rank} b
 */
export function compareCommand(a, b) {
  return `tidemark compare ${shellWord(a.file || 'A')} ${shellWord(b.file || 'B')}`;
}

/**
 * The two rows that the page opens with: the one with the highest peak, against the one with most ranks.
 * @param {Fold[]} folds
 * @returns {[Fold, Fold] | null} null: all are equal
 */
export function usualPair(folds) {
  if (folds.length < 2) return null;
  const largest = folds.reduce((best, fold) => (fold.ranks.length > best.ranks.length ? fold : best));
  const others = folds.filter((fold) => fold !== largest);
  const fullest = others.reduce((best, fold) => (fold.first.peakBytes > best.first.peakBytes ? fold : best));
  return [largest, fullest];
}

/**
 * What stands out in a row of ranks, in a few words.
 * @param {Rank} rank
 */
export function noteOf({ oom, explained, nDropped, outcome }) {
  const parts = [];
  const growth = explained?.growth ?? null;
  if (oom !== null) {
    const asked = oom.requestedBytes >= 0 ? ` asking for ${formatBytes(oom.requestedBytes)}` : '';
    const free = oom.freeBytes >= 0 ? ` with ${formatBytes(oom.freeBytes)} free` : '';
    parts.push(`ran out of memory${asked}${free}${oom.line ? ` at ${oom.line}` : ''}`);
  }
  if (growth !== null)
    parts.push(
      `grows by ${formatBytes(growth.bytesPerPass)} on each ${growth.unit}${growth.line ? `, most at ${growth.line}` : ''}`,
    );
  if (nDropped > 0) parts.push(`${formatPlural(nDropped, 'event')} lost`);
  if (outcome !== '' && outcome !== 'completed' && oom === null) parts.push(outcome);
  return parts.join('; ');
}
