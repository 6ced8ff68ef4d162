import { once as happens } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { once } from './once.ts';

/**
 * Reads files that are the same for every service. A build has them all in `folder` beside `http/`, so a running service makes none;
 * in a checkout they are made when one is first asked for, by a program of `offline/` in a thread of its own, because that takes a
 * while of computing and would hold up every other request. What neither has is undefined.
 */
export function builtFiles<Name extends string>(
  folder: string,
  thread: string,
): (name: Name) => Promise<Uint8Array | undefined> {
  const built = new URL(`../${folder}/`, import.meta.url);
  const makeInThread = once(async () => {
    const worker = new Worker(new URL(`../offline/${thread}.ts`, import.meta.url));
    const [files] = (await happens(worker, 'message')) as [Partial<Record<Name, Uint8Array>>];
    return files;
  });
  return async (name) => {
    try {
      return await readFile(new URL(name, built));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return (await makeInThread())[name];
    }
  };
}
