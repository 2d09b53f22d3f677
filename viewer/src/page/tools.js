/* tools.js - the buttons at the top of the page. */
import { byId, pushButton } from '../elements/dom.js';
import { switchAxis, switchLines } from './keys.js';
import { hasSegments } from '../run/segments.js';

/**
 * @typedef {object} ToolActions
 * @property {import('../elements/store.js').Store} store
 * @property {import('../timelines/timelines.js').Timelines} timelines
 * @property {() => void} switchSegments
 * @property {() => void} savePicture
 * @property {() => void} switchTheme
 * @property {() => void} chooseFiles
 */

/** @param {ToolActions} actions */
export function makeToolButtons({ store, timelines, switchSegments, savePicture, switchTheme, chooseFiles }) {
  /** @type {[string, string, string, () => void][]} name, text, title, what it does */
  const tools = [
    ['axis', 'x: time', 'Switch between time and event order (T)', () => switchAxis(store)],
    [
      'scale',
      'y: own scales',
      'One memory scale for all runs, or one that suits each (Y)',
      () => timelines.switchScale(),
    ],
    [
      'lines',
      'limits: left out',
      'Lines that flatten the picture, as reserved bytes and capacity: leave them out, or show them (C)',
      () => switchLines(store),
    ],
    [
      'segments',
      'show: allocations',
      'Allocations, or the segments that the allocator bought from the device (G)',
      switchSegments,
    ],
    ['home', 'peak step', 'The step of the peak (0)', () => timelines.showAll('showHome')],
    ['whole', 'whole run', 'The whole run (F)', () => timelines.showAll('showWhole')],
    ['picture', 'PNG', 'Save a picture', savePicture],
    ['theme', 'theme', 'Light or dark (L)', switchTheme],
    ['open', 'open …', 'Open snapshots', chooseFiles],
    ['help', '?', 'Keys (?)', () => /** @type {HTMLDialogElement} */ (byId('help')).showModal()],
  ];
  byId('tools').append(
    ...tools.map(([name, text, title, press]) =>
      pushButton(text, press, {
        id: `${name}-button`,
        title,
        ...(name === 'help' ? { 'aria-label': 'Keys' } : {}),
      }),
    ),
  );
}

/**
 * Offers segments if the page shows one run that has them.
 * @param {import('../run/run.js').Run[]} runs
 */
export function showSegmentsButton(runs) {
  const button = byId('segments-button');
  const [run] = runs;
  button.hidden =
    runs.length !== 1 || run.snapshot.events.count === 0 || !hasSegments(run.snapshot, run.device);
  button.textContent = `show: ${run?.blocksRun ? 'segments' : 'allocations'}`;
  button.setAttribute('aria-pressed', String(run?.blocksRun !== undefined));
}
