import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { makeGuideFiles } from './guide-files.ts';

/** The thread in which a checkout makes what a build has brought along. */
parentPort?.postMessage(await makeGuideFiles(join(import.meta.dirname, '../pages/guides')));
