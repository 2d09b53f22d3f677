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
    for (const [, name] of textOf(module).matchAll(/^(?:export )?(?:async )?(?:const|let|function\*?|class) (\w+)/gm)) {
      assert.equal(owners.get(name), undefined, `${name} is in ${owners.get(name)} and ${module}`);
      owners.set(name, module);
    }
  }
  assert.ok(owners.size > 100);
});

test('every module is joined, after those that it imports', () => {
  const list = /set\(TIDE_VIEWER_MODULES\s+([^)]*)\)/.exec(readFileSync(new URL('../CMakeLists.txt', SOURCE), 'utf8'))[1].trim().split(/\s+/);
  assert.deepEqual([...list].sort(), [...modules].sort());
  for (const module of modules) {
    for (const [, imported] of textOf(module).matchAll(/from '\.\/([\w.]+)'/g)) {
      assert.ok(list.indexOf(imported) < list.indexOf(module), `${module} imports ${imported}`);
    }
  }
});

test('properties whose names the build shortens are the own ones of the viewer, and never named by a text', () => {
  const join = readFileSync(new URL('../cmake/JoinViewer.cmake', SOURCE), 'utf8');
  const [, shortened, kept] = /--mangle-props=([^"]+)" "--reserve-props=([^"]+)"/.exec(join).map((pattern) => new RegExp(pattern));
  const code = modules.map((module) => textOf(module).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')).join('\n');
  const isShortened = (name) => shortened.test(name) && !kept.test(name);
  const used = new Set([...code.matchAll(/\.(\w+)/g)].map(([, name]) => name).filter(isShortened));
  assert.ok(used.size > 20);
  for (const name of used) assert.match(code, new RegExp(`[{,(\\s]${name}[:,}(]|this\\.${name} =|get ${name}\\(`), `${name} is made nowhere: is it the browser's?`);
  for (const [, text] of code.matchAll(/'(\w+)'/g)) assert.ok(!isShortened(text), `'${text}' names a property that the build calls otherwise`);
});
