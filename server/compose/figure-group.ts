import { Gauge, type GaugeConfiguration, type Registry } from 'prom-client';
import type { ReadTx, Store } from '../db/store.ts';

/** Figures that are read from the database together, in one statement. */
export interface FigureGroup {
  /** A figure of the group; every replica and every worker tells the same. */
  gauge<Label extends string>(configuration: Figure<Label>): Gauge<Label>;
  /** Resolves when the figures are as fresh as they will be for whoever asks now. */
  collect(): Promise<void>;
}

/** One without labels cannot be absent. */
type Figure<Label extends string> = Required<Pick<GaugeConfiguration<Label>, 'name' | 'help' | 'labelNames'>>;

/** What a group is read with. */
export interface FigurePorts<Found> {
  store: Pick<Store, 'read'>;
  registry: Registry;
  read: (tx: ReadTx) => Promise<Found>;
  /** Sets the gauges, which are empty. */
  show: (found: Found) => void;
  /** Whether the last reading succeeded. */
  heard?: (isAnswered: boolean) => void;
  /** What was read so shortly before is told again (ms): several may ask, and each scrape in several processes. */
  everyMs?: number;
  /** Whoever asks waits no longer; then the figures are absent (ms). */
  patienceMs?: number;
}

/** Groups of a registry are read one after the other, on one connection: what they tell of must not come from them. */
const turns = new WeakMap<Registry, Promise<void>>();

/**
 * Makes a group of figures that are read when somebody asks for them, but not more often than `everyMs`. While the database does not answer
 * they are absent, and the others are not held up.
 */
export function figureGroup<Found>({
  store,
  registry,
  read,
  show,
  heard = () => {},
  everyMs = 10_000,
  patienceMs = 1_500,
}: FigurePorts<Found>): FigureGroup {
  const gauges: Gauge[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  return {
    gauge(configuration) {
      const gauge = new Gauge({ ...configuration, registers: [registry], aggregator: 'max', collect });
      gauges.push(gauge);
      return gauge;
    },
    collect,
  };

  /** All gauges of a group are collected at the same time. */
  async function collect(): Promise<void> {
    if (performance.now() - readAt < everyMs) return;
    if (!reading) {
      const before = turns.get(registry);
      reading = (before ? before.then(readNow) : readNow()).finally(() => (reading = undefined));
      turns.set(registry, reading);
    }
    const late = Promise.withResolvers<true>();
    const timer = setTimeout(late.resolve, patienceMs, true);
    const isLate = await Promise.race([reading, late.promise]);
    clearTimeout(timer);
    if (isLate) fail();
  }

  async function readNow(): Promise<void> {
    try {
      const found = await store.read(read);
      empty();
      show(found);
      readAt = performance.now();
      heard(true);
    } catch {
      fail();
    }
  }

  function fail(): void {
    readAt = Number.NEGATIVE_INFINITY;
    empty();
    heard(false);
  }

  function empty(): void {
    for (const gauge of gauges) gauge.reset();
  }
}
