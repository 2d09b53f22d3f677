// The browser, the folder and the runner of tests that open whole pages; without a browser they are skipped.
import { after } from 'node:test';
import { openBrowser, openPage, reportHtml, temporaryFolder } from './pages.mjs';
import { trainingRun } from './synthetic.mjs';

export const browser = await openBrowser();
if (browser === null) process.exit(77);
after(() => browser.close());

export const folder = temporaryFolder();
export const TRAINING = trainingRun({ warmup: 2, steps: 4 });
export const RUN = {
  label: 'small-train-fp32',
  document: { ...TRAINING, run: { ...TRAINING.run, implementation: 'tidemark' } },
};

/** A page of these runs, opened from disk. */
export async function opened(runs, comparison = null, options = {}) {
  return openPage(browser, folder, reportHtml(runs, comparison), options);
}
