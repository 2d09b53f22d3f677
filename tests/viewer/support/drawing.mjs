// Draws a timeline onto a context that keeps the texts, for tests of its labels.
import { groupPixels } from '../../../viewer/src/words/colours.js';
import { drawScene } from '../../../viewer/src/draw/draw.js';
import { failuresOf } from '../../../viewer/src/run/failures.js';
import { createRaster, renderRaster } from '../../../viewer/src/draw/raster.js';
import { homeView } from '../../../viewer/src/run/run.js';
import { commonScale, drawnOf, leftOutText } from '../../../viewer/src/draw/scale.js';
import { layOut } from '../../../viewer/src/draw/scene.js';
import { buildColouring, buildStacking } from '../../../viewer/src/draw/stacking.js';

const LETTER = 6.6; // CSS pixels

/**
 * The labels inside and above the plot of a run in event order, the drawings in the lanes below it, in order,
 * and the geometry. A box of a lane has no text.
 * @returns {{labels: {text: string, x: number, y: number, w: number}[], inLanes: object[], geometry: object}}
 */
export function drawnLabels(run, width, { view = homeView(run, run.axes.event), height = 336 } = {}) {
  const axis = run.axes.event;
  const [x0, x1] = view;
  const stacking = buildStacking(buildColouring([run], 'category'), 0, new Set());
  const maxBytes = commonScale([drawnOf(stacking)]);
  const geometry = layOut(width, height, run.lanes, failuresOf(run).length > 0);
  const raster = createRaster(Math.round(geometry.plot.w), Math.round(geometry.plot.h));
  const labels = [];
  const inLanes = [];
  const bottom = geometry.plot.y + geometry.plot.h;
  const note = (state, text, x, y) => {
    const w = text.length * LETTER;
    if (state.textAlign === 'left' && y < bottom) labels.push({ text, x, y, w });
    if (state.textAlign === 'center' && y > bottom) inLanes.push({ text, x: x - w / 2, y, w });
  };
  const context = new Proxy(
    {},
    {
      get: (state, key) =>
        key === 'measureText'
          ? (text) => ({ width: text.length * LETTER })
          : key === 'fillText'
            ? (text, x, y) => note(state, text, x, y)
            : key === 'fillRect'
              ? (x, y, w) => y > bottom && inLanes.push({ x, y, w })
              : (state[key] ?? (() => {})),
      set: (state, key, value) => Reflect.set(state, key, value),
    },
  );
  renderRaster(raster, axis, {
    x0,
    perColumn: (x1 - x0) / raster.width,
    minBytes: 0,
    maxBytes,
    bands: false,
    kind: 'event',
    stacking,
    picking: null,
    colours: groupPixels(stacking.colouring.groups, '#ffffff'),
  });
  drawScene(
    {
      context,
      geometry,
      run,
      stacking,
      axis,
      view: { x0, x1 },
      minBytes: 0,
      maxBytes,
      leftOut: leftOutText(run, maxBytes),
      raster,
      theme: {},
      pixelRatio: 1,
      phase: null,
    },
    {},
  );
  return { labels, inLanes, geometry };
}
