import { parentPort } from 'node:worker_threads';
import { makeExplorerFiles } from './explorer-files.ts';

/** The thread in which a checkout makes what a build has brought along. */
parentPort?.postMessage(await makeExplorerFiles());
