import type { Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { AggregatorRegistry } from 'prom-client';
import type { Figures, SupervisorWord, WorkerWord } from './life.ts';

/** The figures of all workers as one. */
export interface GatheredFigures {
  readonly contentType: string;
  /** From now on this worker's figures are among them; what it counted is, too, after its end. */
  watch(worker: Worker): void;
  metrics(): Promise<string>;
}

/** One that is busy for longer counts as it did (ms). */
const PATIENCE_MS = 2_000;

/**
 * Adds the figures of workers up. A sum of counters that went back would be taken for one that began anew, and all that was counted before
 * would be counted once more: so what a worker counted stays when it ends, and one that does not answer counts as it did.
 */
export function gatherFigures(patienceMs = PATIENCE_MS): GatheredFigures {
  const last = new Map<Worker, Figures>();
  const asked = new Map<Worker, PromiseWithResolvers<void>>();
  let departed: Figures = [];
  return { contentType: new AggregatorRegistry().contentType, watch, metrics };

  function watch(worker: Worker): void {
    last.set(worker, []);
    worker.on('message', (word: WorkerWord) => {
      if (word.pay !== 'figures' || !last.has(worker)) return;
      last.set(worker, word.figures);
      answered(worker);
    });
    // Behind the last word that it said.
    worker.once('disconnect', () => {
      const counted = (last.get(worker) ?? []).filter(({ type }) => /^(counter|histogram)$/.test(String(type)));
      last.delete(worker);
      departed = AggregatorRegistry.aggregate([departed, counted]).getMetricsAsArray() as Figures;
      answered(worker);
    });
  }

  async function metrics(): Promise<string> {
    const answers = Promise.all([...last.keys()].map(ask));
    await Promise.race([answers, delay(patienceMs, undefined, { ref: false })]);
    return AggregatorRegistry.aggregate([departed, ...last.values()]).metrics();
  }

  /** Resolves when the worker said its figures, or ended. */
  function ask(worker: Worker): Promise<void> {
    const known = asked.get(worker);
    if (known) return known.promise;
    const answer = Promise.withResolvers<void>();
    asked.set(worker, answer);
    const wish: SupervisorWord = { pay: 'figures' };
    if (worker.isConnected()) worker.send(wish);
    return answer.promise;
  }

  function answered(worker: Worker): void {
    asked.get(worker)?.resolve();
    asked.delete(worker);
  }
}
