import { AsyncLocalStorage } from 'node:async_hooks';

/** What the work in hand is about, as far as it is known: every line of the log carries it. */
export interface Work {
  /** Of the request that it answers. */
  requestId?: string;
  /** The kind of due row that is worked, or the task of the timetable. */
  job?: string;
  clientId?: string;
  payWay?: string;
  orderNo?: string;
  refundNo?: string;
}

const current = new AsyncLocalStorage<Work>();

/** Runs a piece of work of its own, whatever it was set going by. */
export function beginWork<T>(about: Work, work: () => T): T {
  return current.run(about, work);
}

/** Runs a part of the work in hand that is about something more; the rest of it is not. */
export function withinWork<T>(about: Work, part: () => T): T {
  return current.run({ ...current.getStore(), ...about }, part);
}

/** Adds what was found out about the work in hand; what is known already stays. */
export function noteWork(found: Work): void {
  const work = current.getStore();
  if (work) Object.assign(work, { ...found, ...work });
}

/** Notes which order it is about, of several the first. */
export function noteOrder({
  clientId,
  payWay,
  orderNo,
}: Required<Pick<Work, 'clientId' | 'payWay' | 'orderNo'>>): void {
  noteWork({ clientId, payWay, orderNo });
}

/** What is known of the work in hand. */
export function currentWork(): Readonly<Work> {
  return current.getStore() ?? {};
}
