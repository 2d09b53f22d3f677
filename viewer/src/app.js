/* app.js - the page: loads runs, lays them out, answers mouse and keys.
 */
import { scaleNote, scalesOf } from './compare.js';
import { CATEGORIES } from './colours.js';
import { element } from './dom.js';
import { FormatError, parseSnapshot } from './format.js';
import { scopeSpan } from './lanes.js';
import { bytesOfBase64, textOfBytes } from './load.js';
import { blockFacts, compareCard, legend, peakCard, pinnedCard, scopeFacts, stateFacts, timingCard } from './panels.js';
import { endedEarly, headline, makeRun } from './run.js';
import { Stage } from './stage.js';
import { categoryText, distinctParts, formatBytes, splitSentence } from './text.js';

const ZOOM_PER_KEY = 0.8;
const PAN_PER_KEY = 0.12;
const DRAG_PIXELS = 4; // less is a click
const MIN_PLOT = 220;
const SEVERAL_PLOT = 210;

/** @param {string} id @returns {HTMLElement} */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const page = {
  /** @type {import('./run.js').Run[]} */ runs: [],
  /** @type {Stage[]} */ stages: [],
  /** @type {'event' | 'time'} */ axis: 'time',
  sentence: '', // of the comparison, from the command line
  oneScale: false, // asked for, where runs would have scales of their own
  /** @type {{stage: Stage, block: number} | null} */ pinned: null,
  /** @type {{stage: Stage, x: number, clientX: number, clientY: number} | null} */ pointer: null,
  /** @type {{stage: Stage, clientX: number, moved: boolean} | null} */ drag: null,
  drawAsked: false,
};

/** @returns {import('./draw.js').Theme} */
function theme() {
  const style = getComputedStyle(document.documentElement);
  const value = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    bg: value('bg'), ink: value('ink'), muted: value('muted'), grid: value('grid'), accent: value('accent'), danger: value('danger'),
    lane: value('lane'), laneAlt: value('lane-alt'), measured: value('measured'),
  };
}

/** Draws once before the next frame. */
function askDraw() {
  if (page.drawAsked) return;
  page.drawAsked = true;
  requestAnimationFrame(() => {
    page.drawAsked = false;
    for (const stage of page.stages) stage.draw();
  });
}

/** Sizes the timelines to the window: one fills it, several share it. */
function layOutPage() {
  const colours = theme(), n = page.stages.length;
  fitHeadline();
  if (n === 0) return;
  const own = scalesOf(page.runs), top = Math.max(...own), scales = page.oneScale ? own.map(() => top) : own;
  const button = byId('scale-button'), table = document.querySelector('.scroll');
  button.hidden = own.every((scale) => scale === top);
  button.textContent = `y: ${page.oneScale ? 'one scale' : 'own scales'}`;
  page.stages.forEach((stage, i) => stage.setNote(scaleNote(scales, i)));
  table?.classList.remove('narrow');
  table?.classList.toggle('narrow', table.scrollWidth > table.clientWidth);
  const wide = window.innerWidth > 1100;
  const above = byId('runs').getBoundingClientRect().top + window.scrollY;
  const besides = page.stages.reduce((sum, stage) => sum + stage.element.offsetHeight - stage.frame.offsetHeight + 24 + 23 * stage.run.lanes.length + 10, 0);
  const free = window.innerHeight - above - besides - 34 - 14 * (n - 1);
  const plot = n > 1 ? Math.max(SEVERAL_PLOT, free / n) : wide ? Math.max(MIN_PLOT, free) : Math.max(MIN_PLOT, Math.min(420, window.innerHeight * 0.5));
  page.stages.forEach((stage, i) => stage.resize(Math.floor(plot), scales[i], colours));
  askDraw();
}

/** Of several runs the first sentence stands out; what is too long for the screen is behind a button. @param {string} text @param {boolean} several */
function showHeadline(text, several) {
  const [first, rest] = several ? splitSentence(text) : [text, ''], headline = byId('headline');
  headline.classList.toggle('several', several);
  headline.classList.remove('open');
  headline.replaceChildren(first, ...(rest ? [' ', element('span', { class: 'rest' }, rest)] : []));
}

function fitHeadline() {
  const headline = byId('headline'), button = byId('more-button'), isOpen = headline.classList.contains('open');
  button.hidden = !isOpen && headline.scrollHeight <= headline.clientHeight + 2;
  button.textContent = isOpen ? 'less' : 'more';
  button.setAttribute('aria-expanded', String(isOpen));
}

/** A sentence above the page. @param {string} text @param {boolean} isError */
function banner(text, isError) {
  byId('banners').append(element('div', { class: isError ? 'banner error' : 'banner' }, text));
}

/** Builds the page anew from page.runs. */
function showRuns() {
  const { runs } = page, several = runs.length > 1;
  byId('empty').hidden = runs.length > 0;
  /** @type {HTMLElement} */ (document.querySelector('main')).hidden = runs.length === 0;
  byId('legend').replaceChildren();
  byId('panels').replaceChildren();
  unpin();
  document.querySelector('main')?.classList.toggle('wide-side', several);
  document.querySelector('main')?.classList.toggle('times-only', !runs.some((run) => run.isRecorded));
  for (const id of ['axis-button', 'home-button', 'whole-button']) byId(id).hidden = !runs.some((run) => run.isRecorded);
  byId('scale-button').hidden = true;
  if (runs.length === 0) {
    page.stages = [];
    byId('runs').replaceChildren();
    showHeadline('', false);
    byId('subtitle').textContent = '';
    layOutPage();
    return;
  }
  page.axis = runs.some((run) => run.isVirtual || run.snapshot.clockSource === 'none') ? 'event' : 'time';
  const given = runs.map((run) => run.given), isNamed = several && new Set(given).size === runs.length && !given.includes('');
  (isNamed ? given : distinctParts(runs.map((run) => run.label))).forEach((short, i) => (runs[i].short = short));
  const whole = runs.find((run) => !endedEarly(run)) ?? null;
  page.stages = runs.map((run) => new Stage(run, !several, page.axis, whole));
  byId('runs').replaceChildren(...page.stages.map((stage) => stage.element));
  for (const stage of page.stages) listen(stage);
  document.title = several ? `${runs.map((run) => run.short).join(' / ')} – tidemark` : `${runs[0].label} – tidemark`;
  byId('subtitle').textContent = several ? `${runs.length} runs compared` : runs[0].title;
  showHeadline(several ? page.sentence || comparisonSentence() : headline(runs[0]), several);
  for (const run of runs) for (const warning of run.warnings) banner(several ? `${run.short}: ${warning}` : warning, false);
  if (several) byId('panels').append(compareCard(runs));
  else if (runs[0].isRecorded) byId('legend').append(legend(runs[0]));
  showRunPanels(0);
  showAxisName();
  layOutPage();
}

/** Used where the command line gave none. */
function comparisonSentence() {
  const [base, ...others] = page.runs;
  return `${base.short} peaks at ${formatBytes(base.peak.bytes)}; ${others.map((run) =>
    `${run.short} at ${formatBytes(run.peak.bytes)}, ${(run.peak.bytes / base.peak.bytes).toFixed(2)} times as much`).join('; ')}.`;
}

/** The cards of one run; with several, a choice of the run above them. @param {number} chosen */
function showRunPanels(chosen) {
  const panels = byId('panels'), run = page.runs[chosen];
  const hadFocus = panels.querySelector('.of-run[role=tablist]')?.contains(document.activeElement);
  panels.querySelectorAll('.of-run').forEach((old) => old.remove());
  const cards = [timingCard(run), ...(run.isRecorded ? [peakCard(run)] : [])];
  if (page.runs.length > 1) {
    const tabs = element('div', { class: 'tabs of-run', role: 'tablist', 'aria-label': 'Run' }, ...page.runs.map((each, i) => {
      const tab = element('button', { type: 'button', role: 'tab', title: each.label, 'aria-selected': String(i === chosen) }, each.short);
      tab.addEventListener('click', () => showRunPanels(i));
      return tab;
    }));
    panels.append(tabs);
    if (hadFocus) /** @type {HTMLElement} */ (tabs.children[chosen]).focus();
  }
  for (const made of cards) {
    made.classList.add('of-run');
    panels.append(made);
  }
}

function showAxisName() {
  byId('axis-button').textContent = `x: ${page.axis === 'time' ? 'time' : 'event order'}`;
}

/** Gives every other run the same part of its own axis. @param {Stage} leader */
function follow(leader) {
  const relative = leader.relativeView();
  for (const stage of page.stages) if (stage !== leader) stage.showRelative(relative);
  askDraw();
}

function switchAxis() {
  page.axis = page.axis === 'time' ? 'event' : 'time';
  for (const stage of page.stages) stage.setAxis(page.axis);
  showAxisName();
  askDraw();
}

function switchScale() {
  if (byId('scale-button').hidden) return;
  page.oneScale = !page.oneScale;
  layOutPage();
}

function unpin() {
  page.pinned = null;
  byId('pinned').replaceChildren();
  for (const stage of page.stages) stage.pin(-1);
}

/** @param {Stage} stage @param {number} block */
function pin(stage, block) {
  unpin();
  page.pinned = { stage, block };
  stage.pin(block);
  byId('pinned').replaceChildren(pinnedCard(stage.run, block, unpin));
}

function hideTooltip() {
  byId('tooltip').hidden = true;
  for (const stage of page.stages) {
    stage.marks = { ...stage.marks, x: null, block: -1, scope: -1 };
    stage.drawMarks();
  }
}

/** The keyboard points at nothing any more. @param {Stage} stage */
function leave(stage) {
  stage.cursor = null;
  page.pointer = null;
  hideTooltip();
}

/** Shows what lies under the pointer. @param {Stage} stage @param {number} clientX @param {number} clientY */
function point(stage, clientX, clientY) {
  const target = stage.target(clientX, clientY), tooltip = byId('tooltip');
  for (const other of page.stages) if (other !== stage && other.marks.x !== null) {
    other.marks = { ...other.marks, x: null, block: -1, scope: -1 };
    other.drawMarks();
  }
  const inside = target.state >= 0 || target.scope >= 0;
  const spans = target.block === stage.marks.block && stage.marks.spans.length > 0 ? stage.marks.spans : stage.spansOf(target.block);
  stage.marks = { ...stage.marks, x: inside ? target.x : null, block: target.block, spans, scope: target.scope };
  stage.drawMarks();
  tooltip.hidden = !inside;
  if (!inside) return;
  const { run } = stage;
  tooltip.replaceChildren(...(target.block >= 0 ? blockFacts(run, target.block, 5) : target.scope >= 0 ? scopeFacts(run, target.scope) : stateFacts(run, target.state)));
  const box = tooltip.getBoundingClientRect(), gap = 16;
  const left = clientX + gap + box.width > window.innerWidth - 4 ? Math.max(4, clientX - gap - box.width) : clientX + gap;
  const top = Math.max(4, Math.min(window.innerHeight - box.height - 4, clientY + gap));
  tooltip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  if (target.block >= 0) {
    const { blocks } = run.index, name = run.snapshot.strings[blocks.name[target.block]] ?? 'no name';
    byId('live').textContent = `${name}, ${categoryText(CATEGORIES[blocks.category[target.block]])}, ${formatBytes(blocks.requestedBytes[target.block])}`;
  }
}

/** Shows what the keyboard's cursor is on, once the picture is drawn. @param {Stage} stage */
function pointByKey(stage) {
  requestAnimationFrame(() => {
    if (stage.cursor === null) return;
    const box = stage.frame.getBoundingClientRect();
    page.pointer = { stage, x: stage.cursor.x, clientX: box.left + stage.cursor.x, clientY: box.top + stage.cursor.y };
    point(stage, page.pointer.clientX, page.pointer.clientY);
  });
}

/** @param {Stage} stage */
function pinByKey(stage) {
  if (stage.cursor === null) stage.moveCursor(0);
  if (stage.cursor === null) return;
  const box = stage.frame.getBoundingClientRect();
  click(stage, { clientX: box.left + stage.cursor.x, clientY: box.top + stage.cursor.y });
}

/** @param {Stage} stage @param {{clientX: number, clientY: number}} event */
function click(stage, event) {
  const target = stage.target(event.clientX, event.clientY);
  if (target.block >= 0) {
    if (page.pinned?.stage === stage && page.pinned.block === target.block) unpin();
    else pin(stage, target.block);
  } else if (target.scope >= 0) {
    const [x0, x1] = scopeSpan(stage.run.snapshot, stage.run.extents, stage.axis, target.scope), margin = (x1 - x0) * 0.02;
    stage.show(x0 - margin, Math.max(x1 + margin, x0 + stage.axis.minSpan));
    follow(stage);
  }
}

/** Mouse, wheel and touch on one timeline. @param {Stage} stage */
function listen(stage) {
  const { frame } = stage;
  frame.addEventListener('wheel', (event) => {
    event.preventDefault();
    const x = event.clientX - frame.getBoundingClientRect().left;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) stage.pan((event.deltaX || event.deltaY) / 800);
    else stage.zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY * 0.0022))), x);
    follow(stage);
  }, { passive: false });
  frame.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    page.drag = { stage, clientX: event.clientX, moved: false };
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener('pointermove', (event) => {
    page.pointer = { stage, x: event.clientX - frame.getBoundingClientRect().left, clientX: event.clientX, clientY: event.clientY };
    stage.cursor = null;
    const { drag } = page;
    if (drag === null) return point(stage, event.clientX, event.clientY);
    const distance = event.clientX - drag.clientX;
    if (!drag.moved && Math.abs(distance) < DRAG_PIXELS) return undefined;
    drag.moved = true;
    drag.clientX = event.clientX;
    frame.classList.add('dragging');
    hideTooltip();
    stage.pan(-distance / (stage.scene?.geometry.plot.w ?? 1));
    return follow(stage);
  });
  frame.addEventListener('pointerup', (event) => {
    if (page.drag !== null && !page.drag.moved) click(stage, event);
    page.drag = null;
    frame.classList.remove('dragging');
  });
  frame.addEventListener('pointercancel', () => {
    page.drag = null;
    frame.classList.remove('dragging');
  });
  frame.addEventListener('pointerleave', () => {
    page.pointer = null;
    hideTooltip();
  });
  frame.addEventListener('focus', () => {
    if (page.pointer?.stage !== stage) page.pointer = null;
  });
  frame.addEventListener('blur', () => {
    if (stage.cursor !== null) leave(stage);
  });
  frame.addEventListener('dblclick', () => {
    for (const each of page.stages) each.showWhole();
    askDraw();
  });
}

/** The timeline that keys act on: under the pointer, focused, or the first. */
function activeStage() {
  return page.pointer?.stage ?? page.stages.find((stage) => stage.frame === document.activeElement) ?? page.stages[0];
}

/** What each key does, by its place on the keyboard. @type {Record<string, (stage: Stage) => void>} */
const KEYS = {
  KeyW: (stage) => stage.zoom(ZOOM_PER_KEY, page.pointer?.x ?? null),
  KeyS: (stage) => stage.zoom(1 / ZOOM_PER_KEY, page.pointer?.x ?? null),
  KeyA: (stage) => stage.pan(-PAN_PER_KEY),
  KeyD: (stage) => stage.pan(PAN_PER_KEY),
  ArrowLeft: (stage) => stage.pan(-PAN_PER_KEY),
  ArrowRight: (stage) => stage.pan(PAN_PER_KEY),
};

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const help = /** @type {HTMLDialogElement} */ (byId('help'));
  if (event.key === '?' && !help.open) return help.showModal();
  const target = /** @type {HTMLElement} */ (event.target), focused = page.stages.find((each) => each.frame === target);
  if (event.key === 'Escape') {
    unpin();
    return focused ? leave(focused) : hideTooltip();
  }
  const stage = activeStage();
  if (stage === undefined || help.open) return;
  const tab = target.closest?.('[role=tab]'), arrow = { ArrowLeft: 'previous', ArrowRight: 'next' }[event.key];
  if (tab && arrow) {
    const next = /** @type {HTMLElement | null} */ (tab[`${arrow}ElementSibling`]);
    next?.focus();
    next?.click();
  } else if (focused && ['ArrowUp', 'ArrowDown'].includes(event.key)) {
    event.preventDefault();
    focused.moveCursor(event.key === 'ArrowUp' ? 1 : -1);
    pointByKey(focused);
  } else if (focused && event.key === 'Enter') {
    pinByKey(focused);
  } else if (event.code in KEYS && !(event.key.startsWith('Arrow') && target.closest?.('aside, .scroll'))) {
    KEYS[event.code](stage);
    event.preventDefault();
    follow(stage);
    pointByKey(stage);
  } else if (event.code === 'KeyY') {
    switchScale();
  } else if (event.code === 'KeyF') {
    for (const each of page.stages) each.showWhole();
    askDraw();
  } else if (event.code === 'Digit0' || event.code === 'Home') {
    for (const each of page.stages) each.showHome();
    askDraw();
  } else if (event.code === 'KeyT') {
    switchAxis();
  }
}

/** @param {string} label @param {Uint8Array<ArrayBuffer>} bytes */
async function readRun(label, bytes) {
  try {
    return makeRun(parseSnapshot(await textOfBytes(bytes)), label);
  } catch (problem) {
    const why = problem instanceof FormatError ? problem.message : `it cannot be shown (${/** @type {Error} */ (problem).message})`;
    banner(`${label}: ${why}.`, true);
    return null;
  }
}

/** A file's name without what all of them end in. @param {string} name */
function labelOf(name) {
  return name.replace(/^.*\//, '').replace(/\.json(\.gz)?$/, '');
}

/** @param {File[]} files @param {boolean} add to the runs that are there */
async function openFiles(files, add) {
  byId('banners').replaceChildren();
  const loaded = [];
  for (const file of files) {
    const run = await readRun(labelOf(file.name), new Uint8Array(await file.arrayBuffer()));
    if (run !== null) loaded.push(run);
  }
  if (loaded.length === 0) return;
  page.sentence = '';
  page.runs = add ? [...page.runs, ...loaded] : loaded;
  showRuns();
}

/** Reads what the command line put into the page, and takes it out of the document. */
async function openEmbedded() {
  /** @type {string[]} */
  let names = [];
  for (const node of document.querySelectorAll('script.tidemark-comparison')) {
    try {
      const comparison = JSON.parse(new TextDecoder().decode(bytesOfBase64((node.textContent ?? '').trim())));
      if (typeof comparison?.sentence === 'string') page.sentence = comparison.sentence;
      if (Array.isArray(comparison?.names)) names = comparison.names.map(String);
    } catch {
      banner('The comparison in this page is damaged; the table is computed from the snapshots.', true);
    }
    node.remove();
  }
  for (const [i, node] of document.querySelectorAll('script.tidemark-snapshot').entries()) {
    const label = labelOf(node.getAttribute('data-label') ?? 'snapshot');
    try {
      const run = await readRun(label, bytesOfBase64((node.textContent ?? '').trim()));
      if (run !== null) {
        const name = labelOf(names[i] ?? '');
        run.given = name === label ? '' : name;
        page.runs.push(run);
      }
    } catch {
      banner(`${label}: the data in this page is damaged.`, true);
    }
    node.remove();
  }
}

function listenToPage() {
  const input = /** @type {HTMLInputElement} */ (byId('file-input')), help = /** @type {HTMLDialogElement} */ (byId('help'));
  const choose = () => input.click();
  byId('open-button').addEventListener('click', choose);
  byId('choose-button').addEventListener('click', choose);
  byId('axis-button').addEventListener('click', switchAxis);
  byId('scale-button').addEventListener('click', switchScale);
  byId('more-button').addEventListener('click', () => {
    byId('headline').classList.toggle('open');
    layOutPage();
  });
  byId('help-button').addEventListener('click', () => help.showModal());
  byId('help-close').addEventListener('click', () => help.close());
  for (const [id, show] of /** @type {[string, 'showHome' | 'showWhole'][]} */ ([['home-button', 'showHome'], ['whole-button', 'showWhole']])) {
    byId(id).addEventListener('click', () => {
      for (const stage of page.stages) stage[show]();
      askDraw();
    });
  }
  input.addEventListener('change', () => openFiles([...(input.files ?? [])], false));
  document.addEventListener('keydown', onKey);
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
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', layOutPage);
}

/** Starts the page. */
async function start() {
  listenToPage();
  // The script runs while the browser still reads the data, which stand last in the page.
  if (document.readyState === 'loading') await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve));
  await openEmbedded();
  showRuns();
  document.documentElement.dataset.ready = 'yes';
}

start();
