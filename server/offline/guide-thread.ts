import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { makeGuideFiles } from './guide-files.ts';

/** Builds the guide files in a worker thread. Used when the service runs from source files without a build. */
parentPort?.postMessage(await makeGuideFiles(join(import.meta.dirname, '../pages/guides')));
