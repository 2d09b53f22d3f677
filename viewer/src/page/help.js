/* help.js - the list of keys in the help dialog. */
import { byId, element } from '../elements/dom.js';

/** Each key or mouse action, and its effect. A word in backquotes is a key. */
const HELP_ROWS = [
  ['`W` `S` or wheel', 'zoom at the cursor'],
  ['`A` `D`, `←` `→` or drag', 'pan'],
  ['`Shift` with `W` `S` or wheel', 'zoom the memory scale; `Shift` with `↑` `↓`, or drag, moves it'],
  ['`F`', 'the whole run'],
  ['`0`', 'the step of the peak'],
  ['`T`', 'time or event order'],
  ['`Y`', 'one memory scale for all runs, or own ones'],
  ['`C`', 'lines that flatten the picture: leave them out, or show them'],
  ['`G`', 'allocations, or the segments that the allocator bought from the device'],
  ['`1` … `5`', 'tree, flame graph, memory map, events, differences'],
  ['`/`', 'search; `Enter` goes to the next one'],
  ['`,` `.`', 'one event back, one on'],
  ['`↑` `↓` `Enter`', 'in a timeline: go through its allocations, pin one'],
  ['click', 'pin the allocation and hold the cursor; on a lane, zoom to the scope'],
  ['`Shift` drag', 'choose a range for all panels'],
  ['click, `Alt` click', 'in the legend: hide, show alone'],
  ['`L`', 'light or dark'],
  ['`Esc`', 'clear all choices; close a dialog'],
  ['`?`', 'these keys'],
];

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function withKeys(text) {
  return text.split('`').map((part, i) => (i % 2 === 1 ? element('kbd', {}, part) : part));
}

/** Fills the dialog's list. */
export function fillHelp() {
  byId('help-keys').replaceChildren(
    ...HELP_ROWS.flatMap(([keys, what]) => [
      element('dt', {}, ...withKeys(keys)),
      element('dd', {}, ...withKeys(what)),
    ]),
  );
}
