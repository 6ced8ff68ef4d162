import { parentPort } from 'node:worker_threads';
import { makeExplorerFiles } from './explorer-files.ts';

/** Builds the explorer files in a worker thread. Used when the service runs from source files without a build. */
parentPort?.postMessage(await makeExplorerFiles());
