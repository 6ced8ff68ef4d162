import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import type { Clockwork } from './clockwork.ts';
import type { Task } from './world.ts';

/** The clock of the running world; undefined while the process runs none. */
let clockwork: Clockwork | undefined;
/** The running task when a timer is set; undefined = the timer is a channel's. */
let taskOfNow: () => Task | undefined = () => undefined;

const RealDate = Date;

/** Replaces the time and timers of this process by those of a world. For a process of its own: nothing else may wait in it. */
export function takeOverTime(of: Clockwork, task: () => Task | undefined): void {
  clockwork = of;
  taskOfNow = task;
  if (globalThis.Date !== RealDate) return;
  globalThis.Date = VirtualDate as unknown as DateConstructor;
  globalThis.setTimeout = setVirtualTimeout as unknown as typeof setTimeout;
  globalThis.clearTimeout = clearVirtualTimeout as unknown as typeof clearTimeout;
  timers.setTimeout = <T>(delayMs?: number, value?: T) =>
    new Promise<T>((resolve) => void setVirtualTimeout(() => resolve(value!), delayMs));
  syncBuiltinESMExports();
}

function now(): number {
  return clockwork?.now ?? RealDate.now();
}

/** Both date classes share one prototype, so that `instanceof` works for either. */
function VirtualDate(this: unknown, ...words: unknown[]): unknown {
  if (new.target === undefined) return new RealDate(now()).toString();
  return words.length === 0 ? new RealDate(now()) : new RealDate(...(words as [string]));
}
VirtualDate.prototype = RealDate.prototype;
VirtualDate.now = now;
VirtualDate.parse = RealDate.parse;
VirtualDate.UTC = RealDate.UTC;

interface VirtualTimer {
  takeBack: () => void;
  unref(): VirtualTimer;
  ref(): VirtualTimer;
  hasRef(): boolean;
}

function setVirtualTimeout(run: (...words: unknown[]) => unknown, delayMs = 0, ...words: unknown[]): VirtualTimer {
  const task = taskOfNow();
  const label = task ? `${task.name} has waited for ${delayMs} ms` : 'something of a channel is due';
  const takeBack = clockwork!.at(now() + Number(delayMs), label, () => void run(...words), task?.life);
  const timer: VirtualTimer = { takeBack, unref: () => timer, ref: () => timer, hasRef: () => true };
  return timer;
}

function clearVirtualTimeout(timer: VirtualTimer | undefined): void {
  timer?.takeBack();
}
