import { parentPort } from 'node:worker_threads';
import { SCOPES } from './bounds.ts';
import { explore, type Limits } from './explore.ts';

// A suspended operation must not time out: only explored events may end it.
globalThis.setTimeout = (() => undefined) as never;

parentPort?.on('message', async ({ name, limits }: { name: string; limits: Limits }) => {
  const scope = SCOPES.find((one) => one.name === name);
  if (!scope) throw new Error(`there is no scope ${name}`);
  parentPort?.postMessage(await explore(scope, limits));
});
