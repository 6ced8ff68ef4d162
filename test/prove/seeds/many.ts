import { Worker } from 'node:worker_threads';
import type { SeedResult, WorkOrder } from './work-order.ts';

/** Runs seeds in their own threads, several at once, and reports the results in order. */
export async function runMany(
  { seeds, ...order }: WorkOrder,
  threads: number,
  emit: (result: SeedResult) => void,
): Promise<void> {
  const results = new Map<number, SeedResult>();
  let told = 0;
  const hear = (result: SeedResult) => {
    results.set(result.seed, result);
    for (let next = results.get(seeds[told]!); next; next = results.get(seeds[told]!)) {
      results.delete(seeds[told]!);
      told += 1;
      emit(next);
    }
  };
  const lanes = Array.from({ length: Math.min(threads, seeds.length) }, (_, lane) =>
    runIn({ ...order, seeds: seeds.filter((_seed, at) => at % threads === lane) }, hear),
  );
  await Promise.all(lanes);
}

function runIn(order: WorkOrder, hear: (result: SeedResult) => void): Promise<void> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url));
  worker.postMessage(order);
  return new Promise((resolve, reject) => {
    worker.on('error', reject);
    worker.on('message', hear);
    // The thread ends by itself after its messages: a terminated one could not record its coverage (npm test -- --record).
    worker.on('exit', () => resolve());
  });
}
