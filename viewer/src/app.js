/* app.js - the page: makes its parts, gives them the runs, and keeps its address.
 */
import { makeDifferencesPanel } from './differences_panel.js';
import { saveFile } from './clipboard.js';
import { Dock } from './dock.js';
import { byId, element, pushButton } from './dom.js';
import { makeEventsPanel } from './events_panel.js';
import { makeFlamePanel } from './flame_panel.js';
import { beforePicture } from './frame.js';
import { decodeAddress, encodeAddress } from './hash.js';
import { fillHelp } from './help.js';
import { comparisonSentence, fitHeadline, showHeadline, subtitleOf } from './headline.js';
import { clearChoices, listenToKeys, switchAxis } from './keys.js';
import { makeLargestCard } from './largest_card.js';
import { makeMapPanel } from './map_panel.js';
import { banner, readEmbedded, readFiles } from './open.js';
import { Legend } from './legend.js';
import { compareCard } from './panels.js';
import { pictureOf } from './picture.js';
import { pinnedCard } from './pinned_card.js';
import { Pointer } from './pointer.js';
import { headline, makeRun } from './run.js';
import { SearchBox } from './search_box.js';
import { colouringOf, usualColour } from './stacking.js';
import { initialState, Store } from './store.js';
import { distinctParts } from './text.js';
import { startTheme } from './theme.js';
import { Timelines } from './timelines.js';
import { makeTimingCard } from './timing_card.js';
import { makeTreePanel } from './tree.js';

const ADDRESS_DELAY_MS = 250; // after the last change

const store = new Store(beforePicture);
const timelines = new Timelines(store, () => {
  pointer.viewChanged();
  askAddress();
});
new Legend(store);
const pointer = new Pointer(store, timelines);
const searchBox = new SearchBox(store, revealInstant);
const timing = makeTimingCard(store);
const theme = startTheme(layOutPage);
/** How the page opened: what its address leaves out. @type {{axis: 'event' | 'time', colourBy: import('./store.js').State['colourBy']}} */
let usual = { axis: 'time', colourBy: 'category' };
let usualDevice = 0; // of one run
let addressTimer = 0;

/** Brings an instant of a run into sight. @param {number} run @param {number} state */
function revealInstant(run, state) {
  timelines.stages[run]?.reveal(state);
  timelines.follow(timelines.stages[run]);
}

function layOutPage() {
  fitHeadline();
  const table = document.querySelector('#panels .scroll');
  table?.classList.remove('narrow');
  table?.classList.toggle('narrow', table.scrollWidth > table.clientWidth);
  timelines.layOut();
}

/** Writes the state of the page into its address, a moment after the last change. */
function askAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    const state = store.get(),
      { runs } = state,
      device = runs.length === 1 && runs[0].device !== usualDevice ? runs[0].device : -1;
    const text = encodeAddress(
      state,
      timelines.firstView(),
      searchBox.text,
      usual.axis,
      usual.colourBy,
      device,
    );
    if (text !== location.hash.replace(/^#/, ''))
      history.replaceState(null, '', text === '' ? `${location.pathname}${location.search}` : `#${text}`);
  }, ADDRESS_DELAY_MS);
}

/** Shows what the address says. */
function applyAddress() {
  const { state, view, find } = decodeAddress(location.hash, store.get().runs);
  store.set(state);
  store.flush();
  if (view !== null) timelines.showView(view);
  if (find !== searchBox.text) searchBox.setText(find);
}

/** Gives the page other runs. @param {import('./run.js').Run[]} runs @param {string} sentence of the comparison, from the command line; "": none */
function showRuns(runs, sentence) {
  const several = runs.length > 1,
    hasTimelines = runs.some((run) => run.isRecorded);
  byId('empty').hidden = runs.length > 0;
  const main = byId('page');
  main.hidden = runs.length === 0;
  main.classList.toggle('wide-side', several);
  main.classList.toggle('wider-side', runs.length > 3);
  main.classList.toggle('times-only', !hasTimelines);
  for (const id of ['axis-button', 'home-button', 'whole-button', 'picture-button', 'search'])
    byId(id).hidden = !hasTimelines;
  byId('scale-button').hidden = true;
  const given = runs.map((run) => run.given),
    isNamed = several && new Set(given).size === runs.length && !given.includes('');
  (isNamed ? given : distinctParts(runs.map((run) => run.label))).forEach((short, i, all) => {
    const before = all.slice(0, i).filter((other) => other === short).length;
    runs[i].short = before > 0 ? `${short} (${before + 1})` : short;
  });
  usual = {
    axis: runs.some((run) => run.isVirtual || run.snapshot.clockSource === 'none') ? 'event' : 'time',
    colourBy: usualColour(runs),
  };
  store.set({ ...initialState(), ...usual, runs });
  store.flush();
  timelines.show(runs);
  for (const stage of timelines.stages) pointer.listen(stage);
  document.title =
    runs.length === 0
      ? 'tidemark'
      : `${runs.map((run) => (several ? run.short : run.label)).join(' / ')} – tidemark`;
  byId('subtitle').textContent = subtitleOf(runs);
  showHeadline(
    several ? sentence || comparisonSentence(runs) : runs.length > 0 ? headline(runs[0]) : '',
    several,
  );
  for (const run of runs)
    for (const warning of run.warnings) banner(several ? `${run.short}: ${warning}` : warning, false);
  byId('panels').replaceChildren(...(several ? [compareCard(runs)] : []));
  showDevices(runs);
  showRunPanels(0);
  layOutPage();
  applyAddress();
}

/** Gives the page what was read. @param {import('./run.js').Run[]} runs @param {string} sentence */
function showLoaded(runs, sentence) {
  usualDevice = runs[0]?.device ?? 0;
  showRuns(runs, sentence);
}

/** A choice of the device where the file of one run has several. @param {import('./run.js').Run[]} runs */
function showDevices(runs) {
  const select = /** @type {HTMLSelectElement} */ (byId('device-select')),
    run = runs[0];
  select.hidden = runs.length !== 1 || run.devices.length < 2;
  if (select.hidden) return;
  select.replaceChildren(
    ...run.devices.map((device) => {
      const { kind, name } = run.snapshot.devices[device] ?? { kind: 'device', name: '' };
      return element(
        'option',
        { value: String(device), ...(device === run.device ? { selected: '' } : {}) },
        `${kind}:${device}${name !== '' && name !== kind ? ` ${name}` : ''}`,
      );
    }),
  );
  select.onchange = () => {
    showDevice(run, Number(select.value));
    select.focus();
  };
}

/** Shows another device of the one run. @param {import('./run.js').Run} run @param {number} device */
function showDevice(run, device) {
  const other = makeRun(run.snapshot, run.label, device);
  other.given = run.given;
  byId('banners').replaceChildren();
  showRuns([other], '');
}

/** Shows the device that the address names. */
function applyDevice() {
  const { runs } = store.get(),
    { device } = decodeAddress(location.hash, runs),
    wanted = device < 0 ? usualDevice : device;
  if (runs.length === 1 && runs[0].device !== wanted && runs[0].devices.includes(wanted))
    showDevice(runs[0], wanted);
}

/** The cards of one run; with several, a choice of the run above them. @param {number} chosen */
function showRunPanels(chosen) {
  const panels = byId('panels'),
    { runs } = store.get(),
    run = runs[chosen];
  if (run === undefined) return;
  const hadFocus = panels.querySelector('.of-run[role=tablist]')?.contains(document.activeElement);
  panels.querySelectorAll('.of-run').forEach((old) => old.remove());
  if (runs.length > 1) {
    const tabs = element(
      'div',
      { class: 'tabs of-run', role: 'tablist', 'aria-label': 'Run' },
      ...runs.map((each, i) =>
        pushButton(each.short, () => store.set({ shown: i }), {
          role: 'tab',
          title: each.label,
          'aria-selected': String(i === chosen),
        }),
      ),
    );
    panels.append(tabs);
    if (hadFocus) /** @type {HTMLElement} */ (tabs.children[chosen]).focus();
  }
  panels.append(timing);
}

/** Colours runs in a task of its own: the page answers before it shows them. @param {import('./run.js').Run[]} runs */
function colourRuns(runs) {
  colouringOf(runs, usualColour(runs));
  return new Promise((resolve) => setTimeout(resolve));
}

/** @param {File[]} files @param {boolean} add to the runs that are there */
async function openFiles(files, add) {
  byId('banners').replaceChildren();
  const loaded = await readFiles(files);
  if (loaded.length === 0) return;
  if (!add) await colourRuns(loaded);
  history.replaceState(null, '', `${location.pathname}${location.search}`);
  showLoaded(add ? [...store.get().runs, ...loaded] : loaded, '');
}

function listenToStore() {
  store.on(
    ['axis'],
    ({ axis }) => (byId('axis-button').textContent = `x: ${axis === 'time' ? 'time' : 'event order'}`),
  );
  store.on(['pinned', 'runs'], ({ pinned, runs }) => {
    const run = pinned === null ? undefined : runs[pinned.run];
    byId('pinned').replaceChildren(
      ...(run && pinned
        ? [
            pinnedCard(run, pinned.block, {
              close: () => store.set({ pinned: null }),
              goTo: (event) => {
                store.set({ cursor: { run: pinned.run, state: event + 1, held: true }, shown: pinned.run });
                revealInstant(pinned.run, event + 1);
              },
            }),
          ]
        : []),
    );
  });
  store.on(['shown'], ({ shown }) => showRunPanels(shown));
  store.on(['pick'], ({ pick }) => {
    byId('pick').hidden = pick === null;
    byId('pick-label').textContent = pick?.label ?? '';
  });
  store.on(
    ['axis', 'colourBy', 'hidden', 'cursor', 'range', 'pinned', 'dock', 'instant', 'shown', 'pick'],
    askAddress,
  );
}

/** What the timelines show, as a file. */
function savePicture() {
  const canvas = pictureOf(timelines.stages, byId('headline').textContent ?? '');
  canvas?.toBlob((blob) => {
    if (blob !== null)
      saveFile(
        `${document.title.replace(/ – tidemark$/, '').replace(/[^\w.-]+/g, '_') || 'timeline'}.png`,
        [blob],
        'image/png',
      );
  });
}

/** The buttons at the top, and what others do. */
function makeTools() {
  const input = /** @type {HTMLInputElement} */ (byId('file-input')),
    help = /** @type {HTMLDialogElement} */ (byId('help')),
    choose = () => input.click();
  /** @type {[string, string, string, () => void][]} name, text, title, what it does */
  const tools = [
    ['axis', 'x: time', 'Switch between time and event order (T)', () => switchAxis(store)],
    [
      'scale',
      'y: own scales',
      'One memory scale for all runs, or one that suits each (Y)',
      () => timelines.switchScale(),
    ],
    ['home', 'peak step', 'The step of the peak (0)', () => timelines.showAll('showHome')],
    ['whole', 'whole run', 'The whole run (F)', () => timelines.showAll('showWhole')],
    ['picture', 'PNG', 'Save a picture', savePicture],
    ['theme', 'theme', 'Light or dark (L)', () => theme.toggle()],
    ['open', 'open …', 'Open snapshots', choose],
    ['help', '?', 'Keys (?)', () => help.showModal()],
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
  byId('choose-button').addEventListener('click', choose);
  byId('help-close').addEventListener('click', () => help.close());
  byId('pick-clear').addEventListener('click', () => {
    searchBox.clear();
    store.set({ pick: null });
  });
  byId('more-button').addEventListener('click', () => {
    byId('headline').classList.toggle('open');
    layOutPage();
  });
  input.addEventListener('change', () =>
    openFiles([...(input.files ?? [])], false).then(() => (input.value = '')),
  );
}

function listenToPage() {
  document.addEventListener('dragover', (event) => {
    event.preventDefault();
    document.body.classList.add('dropping');
  });
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) document.body.classList.remove('dropping');
  });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    document.body.classList.remove('dropping');
    openFiles([...(event.dataTransfer?.files ?? [])], event.shiftKey);
  });
  window.addEventListener('resize', layOutPage);
  window.addEventListener('hashchange', () => {
    clearChoices(store);
    applyDevice();
    applyAddress();
  });
  listenToKeys({ store, timelines, pointer, searchBox, switchTheme: () => theme.toggle() });
}

/** Starts the page. */
async function start() {
  makeTools();
  listenToStore();
  listenToPage();
  fillHelp();
  byId('largest').append(makeLargestCard(store));
  new Dock(store, {
    tree: makeTreePanel(store),
    flame: makeFlamePanel(store),
    map: makeMapPanel(store),
    events: makeEventsPanel(store, revealInstant),
    differences: makeDifferencesPanel(store),
  });
  // The script runs while the browser still reads the data, which stand last in the page.
  if (document.readyState === 'loading')
    await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve));
  const { runs, sentence } = await readEmbedded();
  await colourRuns(runs);
  showLoaded(runs, sentence);
  applyDevice();
  document.documentElement.dataset.ready = 'yes';
}

start();
