// The modules of the viewer become one script: what that asks of them.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const SOURCE = new URL('../../viewer/src/', import.meta.url);
const modules = readdirSync(SOURCE).filter((name) => name.endsWith('.js'));
const textOf = (name) => readFileSync(new URL(name, SOURCE), 'utf8');

test('no two modules have the same name at their top level', () => {
  const owners = new Map();
  for (const module of modules) {
    for (const [, name] of textOf(module).matchAll(
      /^(?:export )?(?:async )?(?:const|let|function\*?|class) (\w+)/gm,
    )) {
      assert.equal(owners.get(name), undefined, `${name} is in ${owners.get(name)} and ${module}`);
      owners.set(name, module);
    }
  }
  assert.ok(owners.size > 100);
});

test('every module is joined, after those that it imports', () => {
  const list = /set\(TIDE_VIEWER_MODULES\s+([^)]*)\)/
    .exec(readFileSync(new URL('../CMakeLists.txt', SOURCE), 'utf8'))[1]
    .trim()
    .split(/\s+/);
  assert.deepEqual([...list].sort(), [...modules].sort());
  for (const module of modules) {
    for (const [, imported] of textOf(module).matchAll(/from '\.\/([\w.]+)'/g)) {
      assert.ok(list.indexOf(imported) < list.indexOf(module), `${module} imports ${imported}`);
    }
  }
});

test('properties whose names the build shortens are made and read by the viewer alone, and never named by a text', () => {
  const kept = new Set(readFileSync(new URL('../cmake/kept_names.txt', SOURCE), 'utf8').trim().split('\n'));
  const code = modules
    .map((module) => textOf(module).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''))
    .join('\n');
  const isShortened = (name) => /^[a-z]+[A-Z]/.test(name) && !kept.has(name);
  const found = (pattern) => new Set([...code.matchAll(pattern)].map(([, name]) => name).filter(isShortened));
  const read = found(/(?<!\.)\.(\w+)/g),
    written = found(/[{,]\s*(\w+):/g);
  assert.ok(read.size > 100 && written.size > 50);
  for (const name of read)
    assert.match(
      code,
      new RegExp(`[{,(\\s]${name}[:,}(]|[{,] ${name} |this\\.${name} =|get ${name}\\(`),
      `${name} is made nowhere: is it the browser's?`,
    );
  for (const name of written)
    assert.match(
      code,
      new RegExp(`\\.${name}\\b|[{,] ${name}( [}=]|,)`),
      `${name} is read nowhere: is it the browser's?`,
    );
  for (const name of found(/['`](\w+)['`]/g))
    assert.fail(`'${name}' names a property that the build calls otherwise`);
  for (const name of kept) assert.match(code, new RegExp(`\\b${name}\\b`), `${name} is used nowhere`);
});
