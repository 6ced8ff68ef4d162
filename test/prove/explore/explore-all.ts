import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Scope } from './bounds.ts';
import type { Explored, Limits } from './explore.ts';

/** Explores scopes in their own threads, several at once, and reports each as soon as it is done. */
export async function exploreAll(
  scopes: readonly Scope[],
  limits: Limits,
  atOnce: number,
  emit: (explored: Explored) => void,
): Promise<Explored[]> {
  const waiting = [...scopes];
  const all: Explored[] = [];
  const lane = async () => {
    for (let scope = waiting.shift(); scope; scope = waiting.shift()) {
      // The memory of a scope is freed with its thread.
      const worker = new Worker(new URL('./worker.ts', import.meta.url));
      worker.postMessage({ name: scope.name, limits });
      const [explored] = (await once(worker, 'message')) as [Explored];
      await worker.terminate();
      all.push(explored);
      emit(explored);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, scopes.length) }, lane));
  return all;
}
