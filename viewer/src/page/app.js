/* app.js - the page: creates its parts, gives them the runs, and keeps the address up to date. */
import { usualAxis } from '../run/clock.js';
import { compareCard } from '../panels/compare_card.js';
import { makeDifferencesPanel } from '../panels/differences_panel.js';
import { saveFile } from '../elements/clipboard.js';
import { showDeviceRow } from '../panels/device_row.js';
import { Dock } from '../panels/dock.js';
import { byId, element, pushButton } from '../elements/dom.js';
import { makeEventsPanel } from '../panels/events_panel.js';
import { makeFlamePanel } from '../panels/flame_panel.js';
import { beforePicture } from '../elements/frame.js';
import { decodeAddress, encodeAddress } from './hash.js';
import { fillHelp } from './help.js';
import { fitHeadline, showHeadline, subtitleOf } from '../panels/headline.js';
import { clearChoices, listenToKeys } from './keys.js';
import { makeLargestCard } from '../panels/largest_card.js';
import { makeMapPanel } from '../panels/map_panel.js';
import { banner, readEmbedded, readFiles } from './open.js';
import { makeOwnersCard } from '../panels/owners_card.js';
import { Legend } from '../panels/legend.js';
import { pictureOf } from '../timelines/picture.js';
import { pinnedCard } from '../panels/pinned_card.js';
import { Pointer } from '../timelines/pointer.js';
import { RankPage } from '../ranks/rank_page.js';
import { makeRun } from '../run/run.js';
import { SearchBox } from './search_box.js';
import { warningsOf } from '../run/sentences.js';
import { blocksRunOf, segmentRun } from '../run/segment_run.js';
import { hasSegments } from '../run/segments.js';
import { colouringOf, usualColour } from '../draw/stacking.js';
import { initialState, Store } from '../elements/store.js';
import { distinctParts } from '../words/text.js';
import { startTheme } from './theme.js';
import { MOST_STACKED, Timelines } from '../timelines/timelines.js';
import { makeTimingCard } from '../panels/timing_card.js';
import { makeSettingsCard } from '../panels/settings_card.js';
import { makeToolButtons, showSegmentsButton } from './tools.js';
import { makeTreePanel } from '../panels/tree.js';

const ADDRESS_DELAY_MS = 250; // after the last change
const MOST_GAP = 64; // CSS pixels that the column on the right may end below the timelines

/**
 * Groups and colours runs in a task of its own, so that the page stays responsive before it shows them.
 * @param {import('../run/run.js').Run[]} runs
 */
function colourRuns(runs) {
  colouringOf(runs, usualColour(runs));
  return new Promise((resolve) => setTimeout(resolve));
}

/** The page: its parts, and the messages between them. */
class Page {
  constructor() {
    this.store = new Store(beforePicture);
    this.timelines = new Timelines(this.store, () => {
      this.pointer.viewChanged();
      this.askAddress();
    });
    new Legend(this.store);
    this.pointer = new Pointer(this.store, this.timelines);
    this.searchBox = new SearchBox(this.store, (run, state) => this.revealInstant(run, state));
    this.timing = makeTimingCard(this.store);
    this.theme = startTheme(() => this.layOutPage());
    /**
     * How the page opened. The address leaves these choices out.
     * @type {{axis: 'event' | 'time', colourBy: import('../elements/store.js').State['colourBy']}}
     */
    this.usual = { axis: 'time', colourBy: 'category' };
    this.usualDevice = 0; // of one run
    /** @type {{runs: import('../run/run.js').Run[], sentence: string, base: number}} as the files were given */
    this.loaded = { runs: [], sentence: '', base: 0 };
    this.addressTimer = 0;
    /** @type {RankPage | null} null: the page shows runs, or nothing */
    this.rankPage = null;
  }

  /**
   * Scrolls to an instant of a run.
   * @param {number} run
   * @param {number} state
   */
  revealInstant(run, state) {
    this.timelines.stages[run]?.reveal(state);
    this.timelines.follow(this.timelines.stages[run]);
  }

  layOutPage() {
    fitHeadline();
    this.rankPage?.draw();
    const table = document.querySelector('#panels .scroll');
    table?.classList.remove('narrow');
    table?.classList.toggle('narrow', table.scrollWidth > table.clientWidth);
    this.timelines.layOut();
  }

  /** Writes the state of the page into the address, a moment after the last change. */
  askAddress() {
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => {
      const state = this.store.get();
      const { runs } = state;
      const device = runs.length === 1 && runs[0].device !== this.usualDevice ? runs[0].device : -1;
      const shown = encodeAddress(
        state,
        this.timelines.firstView(),
        this.searchBox.text,
        this.usual.axis,
        this.usual.colourBy,
        device,
      );
      const { base } = this.loaded;
      const text = [
        base > 0 ? `base=${base}` : '',
        runs.length === 1 && runs[0].blocksRun ? 'show=segments' : '',
        shown,
      ]
        .filter((part) => part !== '')
        .join('&');
      if (text !== location.hash.replace(/^#/, ''))
        history.replaceState(null, '', text === '' ? `${location.pathname}${location.search}` : `#${text}`);
    }, ADDRESS_DELAY_MS);
  }

  /** Restores the state that the address holds. */
  applyAddress() {
    const { state, view, find } = decodeAddress(location.hash, this.store.get().runs);
    this.store.set(state);
    this.store.flush();
    if (view !== null) this.timelines.showView(view);
    if (find !== this.searchBox.text) this.searchBox.setText(find);
  }

  /**
   * Replaces the runs of the page.
   * @param {import('../run/run.js').Run[]} runs
   * @param {string} sentence the comparison from the command line; "": none
   */
  showRuns(runs, sentence) {
    this.rankPage = null;
    byId('ranks').hidden = true;
    const several = runs.length > 1;
    const hasTimelines = runs.some((run) => run.isRecorded);
    const hasHistory = runs.some((run) => run.snapshot.events.count > 0);
    byId('empty').hidden = runs.length > 0;
    const main = byId('page');
    main.hidden = runs.length === 0;
    main.classList.toggle('wide-side', several);
    main.classList.toggle('wider-side', runs.length > 3);
    main.classList.toggle('multiples', runs.length > MOST_STACKED);
    main.classList.toggle('times-only', !hasTimelines);
    main.classList.toggle('no-history', hasTimelines && !hasHistory);
    for (const id of ['axis-button', 'home-button', 'whole-button', 'picture-button', 'search'])
      byId(id).hidden = !hasTimelines || (id !== 'search' && !hasHistory);
    byId('scale-button').hidden = true;
    byId('lines-button').hidden = true;
    const given = runs.map((run) => run.given);
    const isNamed = several && new Set(given).size === runs.length && !given.includes('');
    (isNamed ? given : distinctParts(runs.map((run) => run.label))).forEach((short, i, all) => {
      const before = all.slice(0, i).filter((other) => other === short).length;
      runs[i].short = before > 0 ? `${short} (${before + 1})` : short;
    });
    this.usual = {
      axis: usualAxis(runs),
      colourBy: usualColour(runs),
    };
    this.store.set({ ...initialState(), ...this.usual, runs });
    this.store.flush();
    this.timelines.show(runs);
    for (const stage of this.timelines.stages) this.pointer.listen(stage);
    document.title =
      runs.length === 0
        ? 'tidemark'
        : `${runs.map((run) => (several ? run.short : run.label)).join(' / ')} – tidemark`;
    byId('subtitle').textContent = subtitleOf(runs);
    showHeadline(runs, sentence);
    for (const run of runs)
      for (const warning of warningsOf(run, several))
        banner(several ? `${run.short}: ${warning}` : warning, false);
    byId('panels').replaceChildren(...(several ? [compareCard(runs, (run) => this.chooseBase(run))] : []));
    showDeviceRow(runs, (device) => this.showOne(runs[0], device, runs[0].blocksRun !== undefined));
    showSegmentsButton(runs);
    this.showRunPanels(0);
    this.layOutPage();
    this.applyAddress();
  }

  /**
   * Shows the runs that were read, and closes the files of others.
   * @param {import('../run/run.js').Run[]} runs
   * @param {string} sentence
   */
  showLoaded(runs, sentence) {
    for (const { layouts } of this.loaded.runs)
      if (!runs.some((run) => blocksRunOf(run).layouts === layouts)) layouts?.close();
    this.usualDevice = runs[0]?.device ?? 0;
    this.loaded = { runs, sentence, base: 0 };
    this.showRuns(runs, sentence);
  }

  /**
   * Compares the other runs with this one.
   * @param {import('../run/run.js').Run} run
   */
  chooseBase(run) {
    const base = this.loaded.runs.indexOf(run);
    clearTimeout(this.addressTimer);
    history.replaceState(null, '', base > 0 ? `#base=${base}` : `${location.pathname}${location.search}`);
    this.showBase(base);
    byId('base-select').focus();
  }

  /**
   * Puts the run with this number first.
   * @param {number} base
   */
  showBase(base) {
    const { runs, sentence } = this.loaded;
    this.loaded.base = base;
    byId('banners').replaceChildren();
    this.showRuns([runs[base], ...runs.filter((_, i) => i !== base)], base === 0 ? sentence : '');
  }

  /** Shows the base that the address names. */
  applyBase() {
    const { base } = decodeAddress(location.hash, []);
    if (base !== this.loaded.base && base < this.loaded.runs.length) this.showBase(base);
  }

  /**
   * Shows ranks in place of runs.
   * @param {import('../engine/rank_digests.js').Rank[]} ranks at least one
   */
  showRanks(ranks) {
    this.showLoaded([], '');
    byId('empty').hidden = true;
    this.rankPage = new RankPage(ranks);
    this.layOutPage();
  }

  /**
   * Shows another device of the one run, or its segments in place of its allocations.
   * @param {import('../run/run.js').Run} run
   * @param {number} device
   * @param {boolean} isBySegment
   */
  showOne(run, device, isBySegment) {
    const plain = blocksRunOf(run);
    const other = device === plain.device ? plain : makeRun(plain.snapshot, plain.label, device);
    other.given = plain.given;
    other.layouts = plain.layouts;
    byId('banners').replaceChildren();
    this.showRuns([isBySegment && hasSegments(other.snapshot, device) ? segmentRun(other) : other], '');
  }

  /** Switches between allocations and segments. The choices made in one mean nothing in the other. */
  switchSegments() {
    const [run] = this.store.get().runs;
    if (byId('segments-button').hidden) return;
    const isBySegment = run.blocksRun === undefined;
    clearTimeout(this.addressTimer);
    history.replaceState(null, '', `#${isBySegment ? 'show=segments&' : ''}device=${run.device}`);
    this.showOne(run, run.device, isBySegment);
    this.askAddress();
  }

  /** Shows the device that the address names. */
  applyDevice() {
    const { runs } = this.store.get();
    const { device, isBySegment } = decodeAddress(location.hash, runs);
    const wanted = device < 0 ? this.usualDevice : device;
    if (runs.length !== 1 || !runs[0].devices.includes(wanted)) return;
    const isOther = (runs[0].blocksRun !== undefined) !== isBySegment;
    if (runs[0].device !== wanted || (isOther && !byId('segments-button').hidden))
      this.showOne(runs[0], wanted, isBySegment);
  }

  /**
   * Shows the cards of one run, below tabs to choose the run if there are several.
   * @param {number} chosen
   */
  showRunPanels(chosen) {
    const panels = byId('panels');
    const { runs } = this.store.get();
    const run = runs[chosen];
    if (run === undefined) return;
    const hadFocus = panels.querySelector('.of-run[role=tablist]')?.contains(document.activeElement);
    panels.querySelectorAll('.of-run').forEach((old) => old.remove());
    if (runs.length > 1) {
      const tabs = element(
        'div',
        { class: 'tabs of-run', role: 'tablist', 'aria-label': 'Run' },
        ...runs.map((each, i) =>
          pushButton(each.short, () => this.store.set({ shown: i }), {
            role: 'tab',
            title: each.label,
            'aria-selected': String(i === chosen),
          }),
        ),
      );
      panels.append(tabs);
      if (hadFocus) /** @type {HTMLElement} */ (tabs.children[chosen]).focus();
    }
    panels.append(this.timing);
  }

  /**
   * @param {File[]} files
   * @param {boolean} add to the runs that are there
   */
  async openFiles(files, add) {
    byId('banners').replaceChildren();
    const { runs: loaded, ranks } = await readFiles(files);
    if (ranks.length > 0)
      return this.showRanks(add && this.rankPage ? [...this.rankPage.ranks, ...ranks] : ranks);
    if (loaded.length === 0) return;
    if (!add) await colourRuns(loaded);
    history.replaceState(null, '', `${location.pathname}${location.search}`);
    this.showLoaded(add ? [...this.store.get().runs, ...loaded] : loaded, '');
  }

  listenToStore() {
    this.store.on(
      ['axis'],
      ({ axis }) => (byId('axis-button').textContent = `x: ${axis === 'time' ? 'time' : 'event order'}`),
    );
    this.store.on(['pinned', 'runs'], ({ pinned, runs }) => {
      const run = pinned === null ? undefined : runs[pinned.run];
      byId('pinned').replaceChildren(
        ...(run && pinned
          ? [
              pinnedCard(run, pinned.block, {
                close: () => this.store.set({ pinned: null }),
                goTo: (event) => {
                  this.store.set({
                    cursor: { run: pinned.run, state: event + 1, held: true },
                    shown: pinned.run,
                  });
                  this.revealInstant(pinned.run, event + 1);
                },
              }),
            ]
          : []),
      );
    });
    this.store.on(['shown'], ({ shown }) => this.showRunPanels(shown));
    this.store.on(['pick'], ({ pick }) => {
      byId('pick').hidden = pick === null;
      byId('pick-label').textContent = pick?.label ?? '';
    });
    this.store.on(
      [
        'axis',
        'colourBy',
        'hidden',
        'cursor',
        'range',
        'pinned',
        'dock',
        'instant',
        'shown',
        'pick',
        'hasAllLines',
      ],
      () => this.askAddress(),
    );
  }

  /** Saves the timelines as a picture. */
  savePicture() {
    const canvas = pictureOf(this.timelines.stages, byId('headline').textContent ?? '');
    canvas?.toBlob((blob) => {
      if (blob !== null)
        saveFile(
          `${document.title.replace(/ – tidemark$/, '').replace(/[^\w.-]+/g, '_') || 'timeline'}.png`,
          [blob],
          'image/png',
        );
    });
  }

  /** Creates the buttons at the top and connects the others. */
  makeTools() {
    const input = /** @type {HTMLInputElement} */ (byId('file-input'));
    makeToolButtons({
      store: this.store,
      timelines: this.timelines,
      switchSegments: () => this.switchSegments(),
      savePicture: () => this.savePicture(),
      switchTheme: () => this.theme.toggle(),
      chooseFiles: () => input.click(),
    });
    byId('choose-button').addEventListener('click', () => input.click());
    byId('help-close').addEventListener('click', () =>
      /** @type {HTMLDialogElement} */ (byId('help')).close(),
    );
    byId('pick-clear').addEventListener('click', () => {
      this.searchBox.clear();
      this.store.set({ pick: null });
    });
    byId('more-button').addEventListener('click', () => {
      byId('headline').classList.toggle('open');
      this.layOutPage();
    });
    input.addEventListener('change', () =>
      this.openFiles([...(input.files ?? [])], false).then(() => (input.value = '')),
    );
  }

  /** The panels below take the whole width where the column beside the timelines ends with them. */
  fitDock() {
    const [runs, side] = [byId('runs'), byId('side')];
    const fit = () =>
      byId('page').classList.toggle('wide-dock', side.offsetHeight <= runs.offsetHeight + MOST_GAP);
    const sizes = new ResizeObserver(fit);
    for (const part of [runs, side]) sizes.observe(part);
  }

  listenToPage() {
    this.fitDock();
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
      this.openFiles([...(event.dataTransfer?.files ?? [])], event.shiftKey);
    });
    window.addEventListener('resize', () => this.layOutPage());
    window.addEventListener('hashchange', () => {
      clearChoices(this.store);
      this.applyDevice();
      this.applyBase();
      this.applyAddress();
    });
    const { store, timelines, pointer, searchBox } = this;
    listenToKeys({
      ...{ store, timelines, pointer, searchBox },
      switchTheme: () => this.theme.toggle(),
      switchSegments: () => this.switchSegments(),
    });
  }

  /** Starts the page. */
  async start() {
    this.makeTools();
    this.listenToStore();
    this.listenToPage();
    fillHelp();
    byId('largest').append(makeLargestCard(this.store));
    byId('owners').append(makeOwnersCard(this.store));
    makeSettingsCard(this.store);
    new Dock(this.store, {
      tree: makeTreePanel(this.store),
      flame: makeFlamePanel(this.store),
      map: makeMapPanel(this.store),
      events: makeEventsPanel(this.store, (run, state) => this.revealInstant(run, state)),
      differences: makeDifferencesPanel(this.store),
    });
    // The script runs while the browser still reads the data at the end of the page.
    if (document.readyState === 'loading')
      await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve));
    const { runs, ranks, sentence } = await readEmbedded();
    await colourRuns(runs);
    if (ranks.length > 0) this.showRanks(ranks);
    else this.showLoaded(runs, sentence);
    this.applyDevice();
    this.applyBase();
    document.documentElement.dataset.ready = 'yes';
  }
}

/** Builds the page and shows the runs that are embedded in it. */
export function startPage() {
  return new Page().start();
}
