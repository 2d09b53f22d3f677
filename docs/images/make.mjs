// Takes the pictures of docs/images from reports: node docs/images/make.mjs REPORTS IMAGES; make.sh calls it.
import { join } from 'node:path';
import { openBrowser, settled } from '../../tests/viewer/support/pages.mjs';

/** Name, report, height of the window, address. */
const PICTURES = [
  ['report', 'fits', 1000, ''],
  ['compare', 'compare', 1250, '#panel=differences'],
  ['one', 'one', 1000, ''],
  ['flame', 'one', 1000, '#panel=flame'],
  ['map', 'one', 1000, '#panel=map'],
  ['events', 'one', 1000, '#panel=events'],
];

const [reports, images] = process.argv.slice(2);
const browser = await openBrowser();
if (browser === null) process.exit(77);
for (const [name, report, height, address] of PICTURES) {
  const page = await browser.newPage({ viewport: { width: 1600, height } });
  await page.goto(`file://${join(reports, `${report}.html`)}${address}`);
  await page.waitForSelector('html[data-ready=yes]', { state: 'attached' });
  await settled(page);
  await page.screenshot({ path: join(images, `${name}.png`) });
  await page.close();
}
await browser.close();
