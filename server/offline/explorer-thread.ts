import { parentPort } from 'node:worker_threads';
import { makeExplorerFiles } from './explorer-files.ts';

/** Builds the explorer files in a thread, for a checkout without a build. */
parentPort?.postMessage(await makeExplorerFiles());
