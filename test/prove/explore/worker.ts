import { parentPort } from 'node:worker_threads';
import { SCOPES } from './bounds.ts';
import { explore, type Limits } from './explore.ts';

// An operation that is left standing has its patience left as well: nobody waits here for anything but what is explored.
globalThis.setTimeout = (() => undefined) as never;

parentPort?.on('message', async ({ name, limits }: { name: string; limits: Limits }) => {
  const scope = SCOPES.find((one) => one.name === name);
  if (!scope) throw new Error(`there is no scope ${name}`);
  parentPort?.postMessage(await explore(scope, limits));
});
