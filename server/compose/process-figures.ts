import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { VERSION } from '../http/version.ts';
import type { ThisProcess } from '../live/ports.ts';
import type { ProcessFigures } from '../live/process-figures.ts';

/** This process, under an id of its own life. */
export function describeProcess(worker: number | null): ThisProcess {
  const startedAt = new Date(performance.timeOrigin);
  return { id: randomUUID(), host: hostname(), pid: process.pid, worker, version: VERSION, startedAt };
}

/** How busy the process is, since it was last asked; nothing is measured before the first time. */
export function createProcessGauge(): () => Pick<ProcessFigures, 'loopDelayMs' | 'cpu' | 'memoryBytes'> {
  let loop: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let since = { at: performance.timeOrigin, usage: { user: 0, system: 0 } };
  return () => {
    const before = since;
    since = { at: performance.timeOrigin + performance.now(), usage: process.cpuUsage() };
    const used = since.usage.user + since.usage.system - before.usage.user - before.usage.system;
    const loopDelayMs =
      loop && loop.count > 0 ? { p99: inMs(loop.percentile(99)), max: inMs(loop.max) } : { p99: 0, max: 0 };
    loop ??= monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    loop.enable();
    loop.reset();
    return {
      loopDelayMs,
      cpu: Number((used / 1000 / Math.max(1, since.at - before.at)).toFixed(3)),
      memoryBytes: process.memoryUsage.rss(),
    };
  };
}

const RESOLUTION_MS = 20;

/** What the timer itself waits for is no delay. */
function inMs(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1e5) / 10 - RESOLUTION_MS);
}
