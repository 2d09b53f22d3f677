/* device_row.js - a row of small pictures, one for each device of a file, to choose from. */
import { deviceChoices, deviceOutlines } from '../run/devices.js';
import { byId, element } from '../elements/dom.js';
import { peakWord } from '../run/peak.js';
import { blocksRunOf } from '../run/segment_run.js';
import { formatBytes } from '../words/text.js';

const WIDTH = 120; // CSS pixels of a picture
const HEIGHT = 28;

/**
 * Draws what is allocated on a device over the order of events, on the scale of all devices.
 * @param {import('../run/devices.js').Outline} outline
 * @param {number} most bytes at the top
 */
function pictureOf({ columns }, most) {
  const canvas = /** @type {HTMLCanvasElement} */ (
    element('canvas', { width: String(WIDTH * 2), height: String(HEIGHT * 2), 'aria-hidden': 'true' })
  );
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const style = getComputedStyle(document.documentElement);
  context.fillStyle = style.getPropertyValue('--accent').trim();
  context.scale((2 * WIDTH) / columns.length, 2);
  columns.forEach((bytes, x) => {
    const height = most > 0 ? (bytes / most) * HEIGHT : 0;
    context.fillRect(x, HEIGHT - height, 1.05, height);
  });
  return canvas;
}

/**
 * Shows the row if the only run has several devices.
 * @param {import('../run/run.js').Run[]} runs
 * @param {(device: number) => void} choose
 */
export function showDeviceRow(runs, choose) {
  const row = byId('device-row');
  const run = runs[0];
  const hadFocus = row.contains(document.activeElement);
  row.hidden = runs.length !== 1 || run.snapshot.devices.length < 2;
  if (row.hidden) return row.replaceChildren();
  const outlines = deviceOutlines(blocksRunOf(run).snapshot, WIDTH);
  const most = Math.max(...outlines.map(({ peakBytes }) => peakBytes));
  const buttons = deviceChoices(run).map(({ device, text, isEmpty }) => {
    const { peakBytes } = outlines[device];
    const peak = isEmpty ? 'nothing recorded' : `${peakWord(run)} ${formatBytes(peakBytes)}`;
    const button = element(
      'button',
      {
        type: 'button',
        class: 'device',
        'aria-pressed': String(device === run.device),
        ...(isEmpty ? { disabled: '' } : {}),
      },
      element('span', { class: 'label', title: text }, text),
      pictureOf(outlines[device], most),
      element('span', { class: 'muted small' }, peak),
    );
    button.addEventListener('click', () => choose(device));
    return button;
  });
  row.replaceChildren(...buttons);
  if (hadFocus) buttons[run.device].focus();
}
