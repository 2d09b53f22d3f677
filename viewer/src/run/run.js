/* run.js - one run with the values that are derived from its snapshot once. */
import { hasClock, isSimulated } from './clock.js';
import { eventAxis, timeAxis } from './axis.js';
import { buildBlocks, buildReserved, devicesUsed } from './blocks.js';
import { limitsOf } from './failures.js';
import { NO_INTERVAL, SCOPE } from '../words/format_names.js';
import { sitesOf, siteText } from './frames.js';
import { aliveAt, buildIndex, largestState } from './index.js';
import { buildLanes, enclosing, scopeExtents, scopeSpan, scopeText } from './lanes.js';
import { breakdownAt } from './peak.js';
import { formatCount, formatPlural } from '../words/text.js';

/**
 * @typedef {object} Statistics
 * @property {number[]} samples ms
 * @property {number} mean
 * @property {number} std of the sample, divided by n - 1; -1: a single sample
 * @property {number} median
 * @property {number} min
 * @property {number} max
 *
 * @typedef {{name: string, clock: 'host' | 'device', statistics: Statistics}} PhaseTiming
 *
 * @typedef {object} Run
 * @property {string} label name of the file
 * @property {string} given the name from the command line, or ""
 * @property {string} short the parts of its name that differ from the other runs
 * @property {boolean} isRecorded false: only times, no allocations
 * @property {string} title the workload
 * @property {import('./format.js').Snapshot} snapshot
 * @property {number} device the one shown
 * @property {number[]} devices those on which anything was allocated
 * @property {import('./index.js').MemoryIndex} index
 * @property {import('./blocks.js').Reserved} reserved
 * @property {import('./lanes.js').Extents} extents
 * @property {import('./lanes.js').Lane[]} lanes
 * @property {{event: import('./axis.js').Axis, time: import('./axis.js').Axis}} axes
 * @property {number} peakState the peak shown, inside a measured step if one reaches it
 * @property {number} homeScope the step of that state, or in which the run ended; -1: none
 * @property {import('./peak.js').Breakdown} peak
 * @property {import('./failures.js').Limit[]} limits of its reserved bytes, the lowest first
 * @property {number} capacityBytes the lowest of them; -1: none
 * @property {PhaseTiming[]} timing empty: nothing was computed
 * @property {boolean} isVirtual nothing was computed
 * @property {boolean} hasClock times of events mean something: they were measured, or forecast
 * @property {string[]} warnings of the page; those of the recording are sentences
 * @property {import('./layouts.js').Layouts} [layouts] of its file; absent: it comes from no file
 * @property {Run} [blocksRun] the run whose segments this one shows as its blocks; absent: it shows blocks
 * @property {Int32Array} [firstRow] with blocksRun: for each event of it the first event of this run, and the
 *   number of these
 *
 * @typedef {object} Derived the expensive values of one device, computed once
 * @property {import('./index.js').MemoryIndex} index
 * @property {import('./blocks.js').Reserved} reserved
 * @property {import('./lanes.js').Extents} extents
 * @property {import('./lanes.js').Lane[]} lanes
 * @property {number[]} devices
 */

/**
 * @param {number[]} samples
 * @returns {Statistics}
 */
export function statisticsOf(samples) {
  const n = samples.length;
  const sorted = [...samples].sort((a, b) => a - b);
  const mean = sorted.reduce((a, b) => a + b, 0) / n;
  const std = n > 1 ? Math.sqrt(sorted.reduce((a, x) => a + (x - mean) ** 2, 0) / (n - 1)) : -1;
  const median = n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  return { samples, mean, std, median, min: sorted[0], max: sorted[n - 1] };
}

/**
 * Times between device events if there are any, else host times. The cpu device's events use the host's
 * clock.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {import('./format.js').Device | undefined} device
 * @returns {PhaseTiming[]}
 */
function buildTiming(snapshot, device) {
  return snapshot.timing.phases
    .filter((phase) => phase.hostMs.length + phase.deviceMs.length > 0)
    .map((phase) => {
      const hasEvents = phase.deviceMs.length > 0;
      const clock = hasEvents && device?.kind === 'cuda' ? 'device' : 'host';
      return { name: phase.name, clock, statistics: statisticsOf(hasEvents ? phase.deviceMs : phase.hostMs) };
    });
}

/**
 * The peak to show: the first state inside a measured step that reaches the run's peak, if any does; else the
 * run's peak.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {import('./index.js').MemoryIndex} index
 * @param {import('./lanes.js').Extents} extents
 */
function choosePeak(snapshot, index, extents) {
  const { scopes, strings, oom } = snapshot;
  const peakBytes = index.totals[index.peakState];
  const last = oom[oom.length - 1]; // a run that ended early opens at its end
  if (snapshot.run.outcome === 'oom' && last) {
    return {
      peakState: index.peakState,
      homeScope: enclosing(scopes, snapshot.events.scope[last.event], SCOPE.STEP),
    };
  }
  for (let s = 0; s < scopes.count; s++) {
    if (scopes.kind[s] !== SCOPE.STEP || extents.first[s] < 0 || strings[scopes.name[s]] === 'warmup')
      continue;
    const state = largestState(index, extents.first[s] + 1, extents.last[s] + 2);
    if (index.totals[state] === peakBytes) return { peakState: state, homeScope: s };
  }
  const scope = index.peakState > 0 ? snapshot.events.scope[index.peakState - 1] : -1;
  return { peakState: index.peakState, homeScope: enclosing(scopes, scope, SCOPE.STEP) };
}

/**
 * The program whose memory a run shows; "" if the file does not say.
 * @param {unknown} implementation
 */
export function implementationText(implementation) {
  if (implementation === 'tidemark') return "tidemark's own model in C";
  const text = typeof implementation === 'string' ? implementation : '';
  if (text === 'pytorch') return 'PyTorch';
  return text.startsWith('pytorch-eager-') ? 'PyTorch, eager' : text;
}

/**
 * The versions of what ran: "PyTorch 2.14.1, CUDA 13.0".
 * @param {import('./format.js').Snapshot} snapshot
 */
function softwareText({ software }) {
  /** @type {Record<string, string>} */
  const known = { python: 'Python', torch: 'PyTorch', cuda: 'CUDA' };
  return software.map(({ name, version }) => `${known[name] ?? name} ${version}`).join(', ');
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {import('./format.js').Device | undefined} device
 */
function buildTitle(snapshot, device) {
  const { run } = snapshot;
  const parts = [];
  const implementation = implementationText(run.implementation);
  if (snapshot.software.length > 0) parts.push(softwareText(snapshot));
  else if (implementation !== '') parts.push(implementation);
  if (typeof run.model?.size === 'string') parts.push(run.model.size);
  for (const key of ['mode', 'precision']) if (run[key]) parts.push(String(run[key]));
  if (run.context_length > 0) parts.push(`context ${run.context_length}`);
  if (run.batch_size > 0) parts.push(`batch ${run.batch_size}`);
  if (run.attention) parts.push(`${run.attention} attention`);
  if (run.recompute && run.recompute !== 'none') parts.push(`recompute ${run.recompute}`);
  if (device)
    parts.push(device.name && device.name !== device.kind ? `${device.kind}: ${device.name}` : device.kind);
  return parts.join(' · ');
}

/**
 * What the page adds to the warnings of the engine: about names of the file, and about what is shown.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {Derived} derived
 */
function buildWarnings({ odd, frames, strings, devices: all }, { index, devices }) {
  const warnings = [];
  if (odd !== null) {
    warnings.push(
      `${formatCount(odd.count)} ${odd.count === 1 ? 'value is' : 'values are'} not what the format says and count as unknown, the first at ${odd.first}.`,
    );
  }
  if (
    frames.function.length > 0 &&
    frames.function.every((/** @type {number} */ name) => name < 0 || strings[name] === '')
  ) {
    warnings.push('The call stacks have no names: the program had no symbols when the file was written.');
  }
  const cards = devices.filter((each) => all[each]?.kind !== 'pinned');
  if (cards.length > 1) {
    warnings.push(
      `The run used ${formatPlural(cards.length, 'device')}; what follows is of device ${index.blocks.device} alone.`,
    );
  }
  return warnings;
}

/**
 * The end of the last event or scope.
 * @param {import('./format.js').Snapshot} snapshot
 */
function endNs(snapshot) {
  const { events, scopes } = snapshot;
  let end = events.count > 0 ? events.timeNs[events.count - 1] : 0;
  for (let s = 0; s < scopes.count; s++)
    end = Math.max(end, scopes.beginNs[s] + Math.max(0, scopes.durationNs[s]));
  return end;
}

/**
 * The values of one device, by default the one with the highest peak, the first on ties. It runs in a worker,
 * without a page.
 * @param {import('./format.js').Snapshot} snapshot
 * @param {number} [device]
 * @returns {Derived}
 */
export function deriveRun(snapshot, device) {
  const devices = devicesUsed(snapshot);
  const cards = devices.filter((each) => snapshot.devices[each]?.kind !== 'pinned');
  let best = null;
  for (const each of device !== undefined ? [device] : cards.length > 0 ? cards : devices) {
    const index = buildIndex(buildBlocks(snapshot, each));
    if (best === null || index.totals[index.peakState] > best.totals[best.peakState]) best = index;
  }
  const index = best ?? buildIndex(buildBlocks(snapshot, 0));
  return {
    index,
    reserved: buildReserved(snapshot, index.blocks.device),
    extents: scopeExtents(snapshot),
    lanes: buildLanes(snapshot),
    devices,
  };
}

/**
 * @param {import('./format.js').Snapshot} snapshot
 * @param {string} label
 * @param {number} [chosen] device; by default the one with the highest peak
 * @param {Derived} [derived] if it is computed already
 * @returns {Run}
 */
export function makeRun(snapshot, label, chosen, derived = deriveRun(snapshot, chosen)) {
  const { index, reserved, extents, lanes, devices } = derived;
  const { blocks } = index;
  const { peakState, homeScope } = choosePeak(snapshot, index, extents);
  const device = snapshot.devices[blocks.device];
  const limits = limitsOf(snapshot, device);
  return {
    label,
    given: '',
    short: label,
    isRecorded: snapshot.events.count + blocks.count > 0,
    title: buildTitle(snapshot, device),
    snapshot,
    device: blocks.device,
    devices,
    index,
    reserved,
    extents,
    lanes,
    axes: {
      event: eventAxis(snapshot.events.count),
      time: timeAxis(snapshot.events.timeNs, endNs(snapshot)),
    },
    peakState,
    homeScope,
    peak: breakdownAt(index, snapshot.categories, peakState),
    limits,
    capacityBytes: limits[0]?.bytes ?? -1,
    timing: buildTiming(snapshot, device),
    isVirtual: isSimulated(snapshot, device),
    hasClock: hasClock(snapshot, isSimulated(snapshot, device)),
    warnings: buildWarnings(snapshot, derived),
  };
}

/**
 * True if the run ended because the device ran out of memory.
 * @param {Run} run
 */
export function endedEarly(run) {
  return run.snapshot.run.outcome === 'oom' && run.snapshot.oom.length > 0;
}

/**
 * The progress of a run that ended early in its last step, as a share of the same step of a complete run.
 * @param {Run} run
 * @param {Run} whole
 * @param {'event' | 'time'} kind of the axis
 */
export function reachedShare(run, whole, kind) {
  const { scopes: ours, events, oom } = run.snapshot;
  const { scopes: theirs, strings } = whole.snapshot;
  if (run.homeScope < 0 || whole.homeScope < 0) return 1;
  const at = events.scope[oom[oom.length - 1].event];
  const phase = enclosing(ours, at, SCOPE.PHASE);
  const layer = enclosing(ours, at, SCOPE.LAYER);
  const alike = (/** @type {number} */ a, /** @type {number} */ b) =>
    run.snapshot.strings[ours.name[a]] === strings[theirs.name[b]] && ours.index[a] === theirs.index[b];
  const [x0, x1] = scopeSpan(whole.snapshot, whole.extents, whole.axes[kind], whole.homeScope);
  let end = x0;
  for (let s = whole.homeScope + 1; s < theirs.count; s++) {
    const inPhase = enclosing(theirs, s, SCOPE.PHASE);
    if (
      enclosing(theirs, s, SCOPE.STEP) !== whole.homeScope ||
      phase < 0 ||
      inPhase < 0 ||
      !alike(phase, inPhase)
    )
      continue;
    const reached = layer < 0 ? s === inPhase : theirs.kind[s] === SCOPE.LAYER && alike(layer, s);
    if (reached) end = Math.max(end, scopeSpan(whole.snapshot, whole.extents, whole.axes[kind], s)[1]);
  }
  return end > x0 && x1 > x0 ? Math.min(1, (end - x0) / (x1 - x0)) : 1;
}

/**
 * The default view: the step of the peak, else the whole run. A step that ended early is as wide as if it had
 * completed like that of `whole`.
 * @param {Run} run
 * @param {import('./axis.js').Axis} axis
 * @param {Run | null} [whole]
 * @returns {[number, number]}
 */
export function homeView(run, axis, whole = null) {
  const isNowhere = axis.kind === 'time' && run.snapshot.scopes.durationNs[run.homeScope] === NO_INTERVAL;
  if (run.homeScope < 0 || isNowhere) return [axis.lo, axis.hi];
  const [x0, end] = scopeSpan(run.snapshot, run.extents, axis, run.homeScope);
  const x1 = whole !== null && endedEarly(run) ? x0 + (end - x0) / reachedShare(run, whole, axis.kind) : end;
  const x1Shown = Math.max(x1, x0 + axis.minSpan);
  const margin = (x1Shown - x0) * 0.01;
  return [x0 - margin, x1Shown + margin];
}

/**
 * Names a place such as "step 1, optimizer"; "" without scopes.
 * @param {Run} run
 * @param {number} state
 */
export function placeOfState(run, state) {
  const { snapshot } = run;
  const scope = state > 0 ? snapshot.events.scope[state - 1] : -1;
  return [SCOPE.STEP, SCOPE.PHASE]
    .map((kind) => enclosing(snapshot.scopes, scope, kind))
    .filter((s) => s >= 0)
    .map((s) => scopeText(snapshot, s))
    .join(', ');
}

/**
 * Bytes at the peak by the frame that represents each stack, largest first.
 * @param {Run} run
 * @returns {{label: string, bytes: number}[]}
 */
export function sitesAtPeak({ snapshot, index, peakState }) {
  const { blocks } = index;
  const siteOf = sitesOf(snapshot, blocks);
  /** @type {Map<number, number>} by site */
  const bytes = new Map();
  for (const b of aliveAt(index, peakState)) {
    const site = siteOf(b);
    bytes.set(site, (bytes.get(site) ?? 0) + blocks.bytes[b]);
  }
  return [...bytes]
    .map(([site, sum]) => ({ label: siteText(snapshot, site), bytes: sum }))
    .sort((a, b) => b.bytes - a.bytes);
}
