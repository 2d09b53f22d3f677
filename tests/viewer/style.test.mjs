// Style rules for the viewer's scripts that the formatter does not check.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';

const MOST_FILE_LINES = 500;
const MOST_FUNCTION_LINES = 60; // of the viewer; a test may be longer
const MOST_COLUMNS = 110; // of a comment; the formatter breaks code

const ts = await import('typescript').then(
  (module) => module.default,
  () => null,
);
if (ts === null) {
  console.log('skipped: typescript is not installed (npm ci in tests/viewer)');
  process.exit(77);
}

const SOURCES = '../../viewer/src/';
const FOLDERS = ['../../viewer/', './', '../../docs/images/'];
const scripts = FOLDERS.flatMap((folder) => {
  const names = readdirSync(new URL(folder, import.meta.url), { recursive: true }).filter(
    (name) => /\.m?js$/.test(name) && !name.includes('node_modules'),
  );
  return names.map((name) => readScript(new URL(folder + name, import.meta.url), folder + name));
});
const modules = scripts.filter(({ name }) => name.startsWith(SOURCES));

function readScript(url, name) {
  const text = readFileSync(url, 'utf8');
  const tree = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  return { name, text, tree };
}

/** Visits every node of a script. */
function eachNode(node, visit) {
  visit(node);
  ts.forEachChild(node, (child) => eachNode(child, visit));
}

const lineOf = (tree, position) => tree.getLineAndCharacterOfPosition(position).line + 1;

/** The comments of a script, each with its first line. */
function commentsOf({ text, tree }) {
  const found = new Map();
  eachNode(tree, (node) => {
    for (const ranges of [
      ts.getLeadingCommentRanges(text, node.pos),
      ts.getTrailingCommentRanges(text, node.end),
    ])
      for (const { pos, end } of ranges ?? []) found.set(pos, text.slice(pos, end));
  });
  return [...found].map(([pos, comment]) => ({ line: lineOf(tree, pos), comment }));
}

test('there are scripts to look at', () => assert.ok(scripts.length > 100));

test('a statement declares one name', () => {
  const chained = [];
  for (const { name, tree } of scripts)
    eachNode(tree, (node) => {
      if (ts.isVariableStatement(node) && node.declarationList.declarations.length > 1)
        chained.push(`${name}:${lineOf(tree, node.getStart(tree))}`);
    });
  assert.deepEqual(chained, []);
});

test('files and functions are short', () => {
  const long = [];
  for (const { name, text, tree } of scripts) {
    const nLines = text.split('\n').length - 1;
    if (nLines > MOST_FILE_LINES) long.push(`${name}: ${nLines} lines`);
    eachNode(tree, (node) => {
      if (!ts.isFunctionLike(node) || node.body === undefined) return;
      const first = lineOf(tree, node.getStart(tree));
      const n = lineOf(tree, node.end) - first + 1;
      if (n > MOST_FUNCTION_LINES && name.startsWith('../../viewer/'))
        long.push(`${name}:${first}: a function of ${n} lines`);
    });
  }
  assert.deepEqual(long, []);
});

test('a tag of JSDoc begins its line, and comments keep within the columns', () => {
  const wrong = [];
  for (const script of scripts) {
    const lines = script.text.split('\n');
    for (const { line, comment } of commentsOf(script)) {
      if (
        /^\/\*\*[^]*?(?<!^\/\*\* )(?<!\n *\* )(?<![\w{`'])@(param|returns|typedef|property|throws)\b/.test(
          comment,
        )
      )
        wrong.push(`${script.name}:${line}: a tag within a line`);
      comment.split('\n').forEach((_, i) => {
        const { length } = lines[line - 1 + i];
        if (length > MOST_COLUMNS && !/@\w+ \{|^\s*\* +\S+$/.test(lines[line - 1 + i]))
          wrong.push(`${script.name}:${line + i}: ${length} columns`);
      });
    }
  }
  assert.deepEqual(wrong, []);
});

/** The modules that a module names, as paths below viewer/src: its imports, and those of its types. */
function importsOf({ name, text }) {
  const names = [...text.matchAll(/(?:from |import |import\()'(\.[^']+)'/g)].map(([, path]) => path);
  return names.map((path) => posix.join(posix.dirname(name), path).slice(SOURCES.length));
}

test('every module is imported', () => {
  const imported = new Set(['main.js', ...modules.flatMap(importsOf)]);
  assert.deepEqual(
    modules.map(({ name }) => name.slice(SOURCES.length)).filter((name) => !imported.has(name)),
    [],
  );
});

/** The rooms of viewer/src, each with the rooms that it may import: rooms above it, and so no circle. */
const ROOMS = {
  words: [],
  run: ['words'],
  engine: ['words', 'run'],
  answers: ['words', 'run'],
  draw: ['words', 'run'],
  elements: ['words', 'run', 'answers'],
  ranks: ['words', 'run', 'engine', 'elements'],
  timelines: ['words', 'run', 'answers', 'draw', 'elements'],
  panels: ['words', 'run', 'answers', 'draw', 'elements', 'timelines'],
  page: ['words', 'run', 'engine', 'answers', 'draw', 'elements', 'ranks', 'timelines', 'panels'],
  'main.js': ['engine', 'page'],
};

/** The imports of `modules` that the table of rooms does not allow. */
function strayImports(modules) {
  const stray = [];
  for (const module of modules) {
    const room = module.name.slice(SOURCES.length).split('/')[0];
    for (const path of importsOf(module)) {
      const [to] = path.split('/');
      if (to !== room && !ROOMS[room]?.includes(to))
        stray.push(`${module.name.slice(SOURCES.length)} imports ${path}`);
    }
  }
  return stray;
}

test('a room imports only the rooms of its row', () => {
  assert.deepEqual(strayImports(modules), []);
  const names = modules.map(({ name }) => name.slice(SOURCES.length).split('/')[0]);
  assert.deepEqual([...new Set(names)].sort(), Object.keys(ROOMS).sort());
  const planted = [
    { name: `${SOURCES}run/planted.js`, text: "import { x } from '../page/app.js';" },
    { name: `${SOURCES}draw/planted.js`, text: "/** @type {import('../timelines/stage.js').Stage} */" },
    { name: `${SOURCES}cellar/planted.js`, text: "import '../words/text.js';" },
  ];
  assert.equal(strayImports(planted).length, planted.length);
});

test('the table of rooms has no circle, and every permission is used', () => {
  const above = [];
  for (const [room, known] of Object.entries(ROOMS)) {
    assert.deepEqual(
      known.filter((name) => !above.includes(name)),
      [],
      `${room} knows a room below it`,
    );
    above.push(room);
  }
  const used = new Set();
  for (const module of modules)
    for (const path of importsOf(module))
      used.add(`${module.name.slice(SOURCES.length).split('/')[0]} ${path.split('/')[0]}`);
  const unused = Object.entries(ROOMS).flatMap(([room, known]) =>
    known.map((name) => `${room} ${name}`).filter((pair) => !used.has(pair)),
  );
  assert.deepEqual(unused, []);
});
