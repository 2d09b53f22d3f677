/* main.js - where the script begins. The page and its workers run the same script. */
import { startPage } from './app.js';
import { serveLoading } from './worker.js';

if (typeof document === 'undefined') serveLoading(globalThis);
else startPage();
