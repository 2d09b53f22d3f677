/* draw_lanes.js - draws steps, phases, layers and operators as rows below the stack. */
import { SCOPE } from '../words/format_names.js';
import { laneItems, scopeText } from '../run/lanes.js';
import { fitText, FONT, FONT_STRONG, toPixel } from './scene.js';

const LETTER = 7; // CSS pixels, the rough width of a letter; fewer than three letters do not help

/**
 * True for scopes of the highlighted phase.
 * @param {import('./scene.js').Scene} scene
 * @param {number} scope
 */
function isOfPhase(
  {
    run: {
      snapshot: { scopes, strings },
    },
    phase,
  },
  scope,
) {
  return phase !== null && scopes.kind[scope] === SCOPE.PHASE && strings[scopes.name[scope]] === phase;
}

/** @param {import('./scene.js').Scene} scene */
export function drawLanes(scene) {
  const { context, geometry, run, axis, view, theme } = scene;
  const { plot } = geometry;
  const perPixel = (view.x1 - view.x0) / plot.w;
  context.textBaseline = 'middle';
  for (const { lane, y, h } of geometry.lanes) {
    context.font = FONT;
    context.textAlign = 'right';
    context.fillStyle = theme.muted;
    context.fillText(lane.title, plot.x - 8, y + h / 2);
    context.save();
    context.beginPath();
    context.rect(plot.x, y, plot.w, h);
    context.clip();
    const items = laneItems(run.snapshot, run.extents, axis, lane, view.x0, view.x1, perPixel);
    const isShort = items.some(
      (item) =>
        run.snapshot.scopes.index[item.scope] >= 0 &&
        item.x0 >= view.x0 &&
        item.x1 <= view.x1 &&
        context.measureText(scopeText(run.snapshot, item.scope)).width > (item.x1 - item.x0) / perPixel - 3,
    );
    for (const item of items) drawLaneItem(scene, item, y, h);
    // Scopes may overlap, such as modules whose extent is known by their allocations alone: a name is left
    // out where a later scope covers it.
    let coveredFrom = Infinity;
    for (const item of [...items].reverse()) {
      labelLaneItem(scene, item, y, h, isShort, coveredFrom);
      coveredFrom = Math.min(coveredFrom, toPixel(scene, item.x0));
    }
    context.restore();
  }
}

/**
 * @param {import('./scene.js').Scene} scene
 * @param {import('../run/lanes.js').LaneItem} item
 * @param {number} y
 * @param {number} h
 */
function drawLaneItem(scene, item, y, h) {
  const { context, run, theme } = scene;
  const { scopes } = run.snapshot;
  const x0 = toPixel(scene, item.x0);
  const x1 = toPixel(scene, item.x1);
  const gap = x1 - x0 > 3 ? 1 : 0;
  const alternate = scopes.index[item.scope] >= 0 ? scopes.index[item.scope] & 1 : item.scope & 1;
  const isHome = item.scope === run.homeScope;
  const isPointedAt = isOfPhase(scene, item.scope);
  context.fillStyle = isPointedAt
    ? theme.accent
    : isHome
      ? theme.measured
      : alternate
        ? theme.laneAlt
        : theme.lane;
  context.fillRect(x0, y, Math.max(0.75, x1 - x0 - gap), h);
  if (theme.lane === theme.laneAlt && x1 - x0 > 3) {
    // with forced colours, lines separate the scopes
    context.strokeStyle = theme.muted;
    context.lineWidth = 1;
    context.strokeRect(x0 + 0.5, y + 0.5, x1 - x0 - gap - 1, h - 1);
  }
}

/**
 * @param {import('./scene.js').Scene} scene
 * @param {import('../run/lanes.js').LaneItem} item
 * @param {number} y
 * @param {number} h
 * @param {boolean} isShort only the number, if there is one
 * @param {number} coveredFrom x from which on later scopes may lie over this one
 */
function labelLaneItem(scene, item, y, h, isShort, coveredFrom) {
  const {
    context,
    geometry: { plot },
    run,
    theme,
  } = scene;
  const { scopes } = run.snapshot;
  const isHome = item.scope === run.homeScope;
  const isPointedAt = isOfPhase(scene, item.scope);
  const left = Math.max(toPixel(scene, item.x0), plot.x);
  const right = Math.min(toPixel(scene, item.x1), coveredFrom, plot.x + plot.w);
  const room = right - left - 3;
  if (room < 9 || h < 14) return;
  const hasNumber = scopes.index[item.scope] >= 0;
  const whole = scopeText(run.snapshot, item.scope);
  context.font = isPointedAt ? FONT_STRONG : FONT;
  const text =
    isShort && hasNumber
      ? String(scopes.index[item.scope])
      : room < 3 * LETTER
        ? whole
        : fitText(context, whole, room);
  if (text === '' || context.measureText(text).width > room) return;
  context.fillStyle = isHome || isPointedAt ? theme.bg : theme.ink;
  context.textAlign = 'center';
  context.fillText(text, (left + right) / 2, y + h / 2 + 0.5);
}

/**
 * Marks the spans of the highlighted phase over the stack.
 * @param {import('./scene.js').Scene} scene
 */
export function drawPhaseSpans(scene) {
  const {
    context,
    geometry: { plot, lanes },
    run,
    axis,
    view,
    theme,
  } = scene;
  const row = lanes.find(({ lane }) => lane.kind === SCOPE.PHASE && !lane.isDevice);
  if (scene.phase === null || row === undefined) return;
  for (const item of laneItems(run.snapshot, run.extents, axis, row.lane, view.x0, view.x1, 0)) {
    if (!isOfPhase(scene, item.scope)) continue;
    const left = Math.max(plot.x, toPixel(scene, item.x0));
    const right = Math.min(plot.x + plot.w, toPixel(scene, item.x1));
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.12;
    context.fillRect(left, plot.y, Math.max(1, right - left), plot.h);
    context.globalAlpha = 1;
    context.fillRect(left, plot.y, Math.max(1, right - left), 3);
  }
}
