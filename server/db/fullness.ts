import { Gauge, type Registry } from 'prom-client';
import { NO_ROOM } from '../errors.ts';

/** Whether the database has room, as this process has found by writing. */
export interface Fullness {
  /** Is told of every write that failed. */
  heard(error: unknown): void;
  isFull(): boolean;
}

/** Jobs write all the time: after so long without a refusal there is room again. */
const REMEMBERED_MS = 60_000;

/** Remembers writes that were refused because the database's disk is full, and puts it among the figures. */
export function createFullness(now: () => Date, registry: Registry): Fullness {
  let until = 0;
  const isFull = () => now().getTime() < until;
  const gauge: Gauge = new Gauge({
    name: 'database_full',
    help: '1 while writes fail because the disk of the database is full.',
    aggregator: 'max',
    registers: [registry],
    collect: () => gauge.set(isFull() ? 1 : 0),
  });
  return {
    isFull,
    heard(error) {
      if (isNoRoom(error)) until = now().getTime() + REMEMBERED_MS;
    },
  };
}

function isNoRoom(error: unknown): boolean {
  for (let depth = 0, current = error; depth < 5 && typeof current === 'object' && current !== null; depth += 1) {
    const { code, cause } = current as { code?: unknown; cause?: unknown };
    if (NO_ROOM.test(String(code))) return true;
    current = cause;
  }
  return false;
}
