/* events_panel.js - all events as a filtered list. Arrow keys go through it and move the cursor everywhere;
 * the chosen event stands beside it in full.
 */
import { allocRow, freeRow } from '../run/blocks.js';
import { copyText, saveFile } from '../elements/clipboard.js';
import { textTable } from '../words/csv.js';
import { element, pushButton } from '../elements/dom.js';
import {
  ACTION_CHOICES,
  actionText,
  blockOfEvent,
  EVENT_COLUMNS,
  eventCsvLine,
  eventsCsvHead,
  eventTexts,
  filterEvents,
} from '../answers/events.js';
import { shownCursor, shownRange } from './instant.js';
import { compileQuery } from '../answers/search.js';
import { stackFrames } from '../run/peak.js';
import { stackView } from '../elements/stack_view.js';
import { subjectOf } from '../run/subjects.js';
import { formatCount, formatExactBytes, formatPlural } from '../words/text.js';
import { VirtualList } from '../elements/virtual_list.js';

const EVENT_ROW = 24; // CSS pixels
const MOST_COPIED = 20_000; // rows; more than these are saved as a file instead
const SAVED_AT_ONCE = 20_000; // lines of CSV between two frames
const RIGHT_COLUMNS = new Set(['event', 'time', 'requested', 'block']);

/** The panel. */
class EventsPanel {
  /**
   * @param {import('../elements/store.js').Store} store
   * @param {(run: number, state: number) => void} reveal scrolls to an instant
   */
  constructor(store, reveal) {
    this.store = store;
    this.reveal = reveal;
    /** @type {import('../run/run.js').Run | null} */
    this.run = null;
    /** @type {import('../answers/events.js').EventRows} */
    this.rows = { count: 0, eventAt: () => -1, rowOf: () => 0 };
    this.selected = -1; // event
    this.isSaving = false;
    this.actions = /** @type {HTMLSelectElement} */ (
      element(
        'select',
        { 'aria-label': 'Actions' },
        ...ACTION_CHOICES.map(({ text }, i) => element('option', { value: String(i) }, text)),
      )
    );
    this.query = /** @type {HTMLInputElement} */ (
      element('input', {
        type: 'search',
        'aria-label': 'Filter events',
        placeholder: 'name, scope, stack, 0x…',
        spellcheck: 'false',
        autocomplete: 'off',
      })
    );
    this.summary = element('span', { class: 'muted', role: 'status' });
    this.list = new VirtualList({
      rowHeight: EVENT_ROW,
      head: this.makeHead(),
      headHeight: EVENT_ROW,
      makeRow: () => this.makeRow(),
      fillRow: (row, i) => this.fillRow(row, i),
    });
    this.list.element.setAttribute('role', 'grid');
    this.list.element.setAttribute('aria-label', 'Events');
    this.list.element.tabIndex = 0;
    this.details = element('div', {
      class: 'event-details',
      role: 'region',
      'aria-label': 'The chosen event',
    });
    this.element = element(
      'div',
      { class: 'events-panel' },
      this.makeBar(),
      element('div', { class: 'events-main' }, this.list.element, this.details),
    );
    this.listen();
    store.on(['runs', 'shown', 'range'], () => this.filter());
    store.on(['cursor'], () => this.follow());
  }

  makeBar() {
    const copy = pushButton('copy', () => this.copy(), {
      title: `Copy the filtered rows as text, up to ${formatCount(MOST_COPIED)}`,
    });
    const save = pushButton('CSV', () => this.save(), {
      title: 'Save the filtered rows with exact numbers and call stacks',
    });
    return element(
      'div',
      { class: 'panel-bar' },
      this.actions,
      this.query,
      this.summary,
      element('span', { class: 'spring' }),
      copy,
      save,
    );
  }

  makeHead() {
    return element(
      'div',
      { role: 'rowgroup', class: 'virtual-head' },
      element(
        'div',
        { role: 'row', class: 'event-row event-head', 'aria-rowindex': '1' },
        ...EVENT_COLUMNS.map((name) =>
          element('span', { role: 'columnheader', class: RIGHT_COLUMNS.has(name) ? 'number' : '' }, name),
        ),
      ),
    );
  }

  makeRow() {
    return element(
      'div',
      { role: 'row', class: 'event-row' },
      ...EVENT_COLUMNS.map((name) =>
        element('span', { role: 'gridcell', class: RIGHT_COLUMNS.has(name) ? 'number' : '' }),
      ),
    );
  }

  listen() {
    this.actions.addEventListener('change', () => this.filter());
    this.query.addEventListener('input', () => this.filter());
    const { element: grid } = this.list;
    grid.addEventListener('keydown', (event) => this.onKey(event));
    grid.addEventListener('click', (event) => {
      const row = /** @type {Element} */ (event.target).closest('.event-row[data-row]');
      if (row instanceof HTMLElement) this.choose(Number(row.dataset.row));
    });
  }

  show() {
    this.filter();
  }

  /** Recomputes the rows and stays at the cursor. */
  filter() {
    if (this.element.hidden) return;
    const state = this.store.get();
    const run = state.runs[state.shown];
    const range = shownRange(state);
    const text = this.query.value.trim();
    this.run = run?.isRecorded ? run : null;
    if (this.run === null) return;
    const query = text === '' ? null : compileQuery(text);
    this.rows = filterEvents(this.run, {
      actions: ACTION_CHOICES[Number(this.actions.value)].actions,
      query,
      first: range?.first ?? 0,
      last: range?.last ?? this.run.index.nStates,
    });
    const all = this.run.snapshot.events.count;
    this.summary.textContent =
      query !== null && query.problem !== ''
        ? query.problem
        : `${this.rows.count === all ? '' : `${formatCount(this.rows.count)} of `}${formatPlural(all, 'event')}${range ? ' of the range' : ''}`;
    this.list.element.setAttribute('aria-rowcount', String(this.rows.count + 1));
    this.list.setCount(this.rows.count);
    this.select(this.cursorEvent());
  }

  /** The event before the cursor's state, or before the peak; -1: none. */
  cursorEvent() {
    const cursor = shownCursor(this.store.get());
    return (cursor >= 0 ? cursor : (this.run?.peakState ?? 0)) - 1;
  }

  /** Follows a cursor that moved here or elsewhere. */
  follow() {
    if (this.element.hidden || this.run === null) return;
    const event = this.cursorEvent();
    if (event !== this.selected) this.select(event);
  }

  /** @param {number} event */
  select(event) {
    const { rows, list } = this;
    const row = rows.rowOf(event);
    this.selected = event;
    if (rows.count > 0) list.reveal(row);
    else list.draw();
    const shownRow = list.rows.find((each) => !each.hidden && Number(each.dataset.row) === row);
    if (shownRow && rows.eventAt(row) === event)
      list.element.setAttribute('aria-activedescendant', shownRow.id);
    else list.element.removeAttribute('aria-activedescendant');
    this.fillDetails();
  }

  /**
   * Holds the cursor at a row.
   * @param {number} row
   */
  choose(row) {
    const { rows } = this;
    const { shown } = this.store.get();
    if (rows.count === 0) return;
    const event = rows.eventAt(Math.max(0, Math.min(rows.count - 1, row)));
    this.goTo(event);
    this.reveal(shown, event + 1);
  }

  /** @param {number} event */
  goTo(event) {
    this.select(event);
    this.store.set({ cursor: { run: this.store.get().shown, state: event + 1, held: true } });
  }

  /**
   * @param {HTMLElement} row
   * @param {number} i
   */
  fillRow(row, i) {
    const run = /** @type {import('../run/run.js').Run} */ (this.run);
    const event = this.rows.eventAt(i);
    const cells = row.children;
    if (row.id === '') row.id = `event-row-${this.list.rows.indexOf(row)}`;
    row.dataset.row = String(i);
    row.setAttribute('aria-rowindex', String(i + 2));
    row.setAttribute('aria-selected', String(event === this.selected));
    eventTexts(run, event).forEach((text, c) => {
      if (cells[c].textContent !== text) cells[c].textContent = text;
    });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.rows.rowOf(this.selected);
    const page = this.list.pageRows;
    const isOn = this.rows.eventAt(at) === this.selected;
    /** @type {Record<string, number>} */
    const targets = {
      ArrowDown: this.rows.eventAt(at) > this.selected ? at : at + 1,
      ArrowUp: isOn ? at - 1 : at,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: this.rows.count - 1,
    };
    if (event.key in targets) {
      event.preventDefault();
      this.choose(targets[event.key]);
    } else if (event.key === 'Enter' && this.run !== null && this.selected >= 0) {
      const block = blockOfEvent(this.run, this.selected);
      if (block >= 0) this.store.set({ pinned: { run: this.store.get().shown, block } });
    }
  }

  /** Shows the chosen event in full. */
  fillDetails() {
    const { run, selected } = this;
    if (run === null || selected < 0 || selected >= run.snapshot.events.count) {
      this.details.replaceChildren(element('p', { class: 'muted' }, 'Before the first event.'));
      return;
    }
    const { snapshot } = run;
    const { events } = snapshot;
    const texts = eventTexts(run, selected);
    const block = blockOfEvent(run, selected);
    const { shown } = this.store.get();
    const fact = (/** @type {string} */ key, /** @type {string} */ value) =>
      value === '' ? [] : [element('dt', {}, key), element('dd', {}, value)];
    const of = (/** @type {string} */ column) => texts[EVENT_COLUMNS.indexOf(column)];
    const subject = subjectOf(events.act[selected]);
    const requested = snapshot.subjects.requestedBytes[subject];
    const whole = snapshot.subjects.bytes[subject];
    const links = [];
    if (block >= 0) {
      const { blocks } = run.index;
      const born = allocRow(blocks, block);
      const other = born === selected ? freeRow(blocks, block) : born;
      links.push(pushButton('pin the allocation', () => this.store.set({ pinned: { run: shown, block } })));
      if (other >= 0)
        links.push(
          pushButton(`${born === selected ? 'freed' : 'allocated'} by event ${formatCount(other)}`, () => {
            this.goTo(other);
            this.reveal(shown, other + 1);
          }),
        );
    }
    this.details.replaceChildren(
      element(
        'p',
        { class: 'block-name' },
        `${formatCount(selected)}: ${actionText(events.action[selected])}${of('name') ? ` ${of('name')}` : ''}`,
      ),
      element(
        'dl',
        {},
        ...fact('time', of('time')),
        ...fact('category', of('category')),
        ...fact('requested', of('requested') && formatExactBytes(requested)),
        ...fact('block', of('block') && whole !== requested ? formatExactBytes(whole) : ''),
        ...fact('address', of('address')),
        ...fact('stream', of('stream')),
        ...fact('scope', of('scope')),
      ),
      element('div', { class: 'links' }, ...links),
      stackView(snapshot, events.stack[selected]),
    );
  }

  async copy() {
    const { run, rows } = this;
    if (run === null) return;
    if (rows.count > MOST_COPIED) {
      this.summary.textContent = `${formatCount(rows.count)} rows are too many for the clipboard: filter them, or save CSV`;
      return;
    }
    const table = textTable([
      [...EVENT_COLUMNS],
      ...Array.from({ length: rows.count }, (_, i) => eventTexts(run, rows.eventAt(i))),
    ]);
    this.summary.textContent = (await copyText(`${table}\n`))
      ? `${formatPlural(rows.count, 'row')} copied`
      : 'the browser did not allow it';
  }

  /** Writes the rows to a file, a batch at a time so that the page stays responsive. */
  async save() {
    const { run, rows } = this;
    if (run === null || this.isSaving) return;
    this.isSaving = true;
    /** @type {Map<number, string>} */
    const known = new Map();
    const stackText = (/** @type {number} */ stack) => {
      let text = known.get(stack);
      if (text === undefined)
        known.set(
          stack,
          (text = stackFrames(run.snapshot, stack)
            .map((frame) => `${frame.function} (${frame.place})`)
            .join(' < ')),
        );
      return text;
    };
    const parts = [new Blob([eventsCsvHead()])];
    for (let from = 0; from < rows.count; from += SAVED_AT_ONCE) {
      const lines = [];
      for (let i = from; i < Math.min(rows.count, from + SAVED_AT_ONCE); i++)
        lines.push(eventCsvLine(run, rows.eventAt(i), stackText));
      parts.push(new Blob(lines));
      this.summary.textContent = `writing row ${formatCount(from + lines.length)} of ${formatCount(rows.count)}`;
      await new Promise((resolve) => setTimeout(resolve));
    }
    saveFile(`${run.short}-events.csv`, parts);
    this.summary.textContent = `${formatPlural(rows.count, 'row')} saved`;
    this.isSaving = false;
  }
}

/**
 * @param {import('../elements/store.js').Store} store
 * @param {(run: number, state: number) => void} reveal scrolls to an instant
 * @returns {import('./dock.js').DockPanel}
 */
export function makeEventsPanel(store, reveal) {
  const panel = new EventsPanel(store, reveal);
  return { element: panel.element, show: () => panel.show() };
}
