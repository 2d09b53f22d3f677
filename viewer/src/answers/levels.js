/* levels.js - the ways to group blocks: the levels of the tree of amounts. */
import { CATEGORIES } from '../words/colours.js';
import { SCOPE } from '../words/format_names.js';
import { foldedStack, frameText, sitesOf, siteText } from '../run/frames.js';
import { scopeGroup, scopeText } from '../run/lanes.js';
import { oncePer } from '../run/once.js';
import { stackFrames } from '../run/peak.js';
import { categoryText, namePattern } from '../words/text.js';

const LABEL_FRAMES = 3;

/**
 * Scope paths without steps, with or without the numbers of layers: a group per scope, and the paths of the
 * groups.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {boolean} singleLayers
 */
function groupScopes(snapshot, singleLayers) {
  const { scopes } = snapshot;
  const group = new Int32Array(scopes.count);
  const layer = new Int32Array(scopes.count).fill(-1);
  /** @type {{scope: number, children: Map<string, number>}[]} group 0: outside every scope */
  const groups = [{ scope: -1, children: new Map() }];
  for (let s = 0; s < scopes.count; s++) {
    const parent = scopes.parent[s];
    const above = parent < 0 ? 0 : group[parent];
    const isLayer = scopes.kind[s] === SCOPE.LAYER && scopes.index[s] >= 0;
    layer[s] = parent >= 0 && layer[parent] >= 0 ? layer[parent] : isLayer ? scopes.index[s] : -1;
    if (scopes.kind[s] === SCOPE.STEP) {
      group[s] = above;
      continue;
    }
    const key = isLayer && !singleLayers ? '#' : scopeText(snapshot, s);
    let found = groups[above].children.get(key);
    if (found === undefined) {
      found = groups.length;
      groups.push({ scope: s, children: new Map() });
      groups[above].children.set(key, found);
    }
    group[s] = found;
  }
  return { group, layer, scopes: Int32Array.from(groups, ({ scope }) => scope) };
}

const foldedScopes = oncePer((/** @type {import('../run/format.js').Snapshot} */ snapshot) =>
  groupScopes(snapshot, false),
);
const singleScopes = oncePer((/** @type {import('../run/format.js').Snapshot} */ snapshot) =>
  groupScopes(snapshot, true),
);

/**
 * Merges names that differ only in numbers: maps each string to the first such string.
 * @type {(snapshot: import('../run/format.js').Snapshot) => Int32Array}
 */
const patternOf = oncePer((/** @type {import('../run/format.js').Snapshot} */ snapshot) => {
  /** @type {Map<string, number>} */
  const first = new Map();
  return Int32Array.from(snapshot.strings, (text, i) => {
    const pattern = namePattern(text);
    const known = first.get(pattern);
    if (known === undefined) first.set(pattern, i);
    return known ?? i;
  });
});

/**
 * A whole stack as text, which identifies it in other runs.
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} stack
 */
function stackText(snapshot, stack) {
  return (
    stackFrames(snapshot, stack)
      .map((frame) => `${frame.function} (${frame.place})`)
      .join(' < ') || 'no call stack'
  );
}

/**
 * The user's frames of a stack: "linear (ops.c:12) < block (block.c:40)".
 * @param {import('../run/format.js').Snapshot} snapshot
 * @param {number} stack
 */
function stackLabel(snapshot, stack) {
  const frames = foldedStack(snapshot, stack).flatMap((part) => (part.isFolded ? [] : part.frames));
  const shown = frames.slice(0, LABEL_FRAMES);
  return (
    shown.map((frame) => frameText(snapshot, frame)).join(' < ') +
      (shown.length < frames.length ? ' < …' : '') || 'no call stack'
  );
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {boolean} singleLayers
 * @returns {import('./amounts.js').Level}
 */
function scopeLevel(run, singleLayers) {
  const {
    snapshot,
    index: { blocks },
  } = run;
  /** @type {ReturnType<typeof groupScopes> | null} */
  let kept = null;
  // computed when the level is opened
  const groups = () => (kept ??= (singleLayers ? singleScopes : foldedScopes)(snapshot));
  const text = (/** @type {number} */ g) => scopeGroup(snapshot, groups().scopes[g], singleLayers).path;
  return {
    name: 'scope',
    text,
    label: text,
    of: (block) => (blocks.scope[block] < 0 ? 0 : groups().group[blocks.scope[block]]),
    layer: singleLayers
      ? null
      : (block) => (blocks.scope[block] < 0 ? -1 : groups().layer[blocks.scope[block]]),
  };
}

/**
 * @param {import('../run/run.js').Run} run
 * @param {boolean} singleLayers
 * @returns {import('./amounts.js').Level}
 */
function nameLevel(run, singleLayers) {
  const {
    snapshot,
    index: { blocks },
  } = run;
  const pattern = patternOf(snapshot);
  const { strings } = snapshot;
  const text = (/** @type {number} */ g) =>
    g < 0 ? '(no name)' : singleLayers ? strings[g] : namePattern(strings[g]);
  return {
    name: 'name',
    of: (block) =>
      singleLayers || blocks.name[block] < 0 ? blocks.name[block] : pattern[blocks.name[block]],
    text,
    label: text,
    layer: null,
  };
}

/** The ways to split a run's blocks. */
const partsOf = oncePer((/** @type {import('../run/run.js').Run} */ run) => {
  const {
    snapshot,
    index: { blocks },
  } = run;
  const unknown = CATEGORIES.indexOf('unknown');
  return {
    categories: blocks.category.some((c) => c !== unknown),
    scopes: snapshot.scopes.count > 0 && blocks.scope.some((s) => s >= 0),
    names: blocks.name.some((n) => n >= 0),
  };
});

/**
 * The default split of a run: by category if it has any and a history, else by the user's frames.
 * @param {import('../run/run.js').Run} run
 * @returns {import('./amounts.js').Split}
 */
export function usualSplit(run) {
  return partsOf(run).categories && run.snapshot.events.count > 0 ? 'category' : 'site';
}

/**
 * The levels of a tree, without those that put all blocks of the run into one group.
 * @param {import('../run/run.js').Run} run
 * @param {import('./amounts.js').Split} split
 * @param {boolean} singleLayers false: layers, and names that differ only in numbers, are merged
 * @returns {import('./amounts.js').Level[]}
 */
export function levelsOf(run, split, singleLayers) {
  const {
    snapshot,
    index: { blocks },
  } = run;
  const has = partsOf(run);
  /** @type {import('./amounts.js').Level} */
  const category = {
    name: 'category',
    of: (block) => blocks.category[block],
    text: (g) => snapshot.categories[g],
    label: (g) => categoryText(snapshot.categories[g]),
    layer: null,
  };
  /** @type {import('./amounts.js').Level} */
  const site = {
    name: 'call site',
    layer: null,
    text: (g) => siteText(snapshot, g),
    label: (g) => siteText(snapshot, g),
    of: sitesOf(snapshot, blocks),
  };
  /** @type {import('./amounts.js').Level} */
  const stack = {
    name: 'call stack',
    layer: null,
    text: (g) => stackText(snapshot, g),
    label: (g) => stackLabel(snapshot, g),
    of: (block) => blocks.stack[block],
  };
  const scope = has.scopes ? [scopeLevel(run, singleLayers)] : [];
  const name = has.names ? [nameLevel(run, singleLayers)] : [];
  const categories = has.categories ? [category] : [];
  if (split === 'category') return [...categories, ...scope, ...name, stack];
  if (split === 'scope') return [...scope, ...categories, ...name, stack];
  if (split === 'stack') return [stack, ...categories, ...scope, ...name];
  return [site, ...scope, ...categories, ...name, stack];
}
