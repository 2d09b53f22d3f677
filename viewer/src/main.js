/* main.js - where the script begins. The page and its workers run the same script. */
import { startPage } from './page/app.js';
import { serveLoading } from './engine/worker.js';

if (typeof document === 'undefined') serveLoading(globalThis);
else startPage();
