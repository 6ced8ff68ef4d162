import { setTimeout as pause } from 'node:timers/promises';
import type { Chance } from '../chance.ts';
import type { Facts } from './event.ts';
import type { Journal } from './journal.ts';
import type { Stage } from './stage.ts';

/** The weight of each fault. */
const FAULTS = { kill: 2, postgres: 1, cut: 3, stall: 2, statement: 6, channel: 10 } as const;

export type FaultKind = keyof typeof FAULTS;

const CHANNEL_FAULTS = [
  { fault: 'commit-then-timeout', call: '*' },
  { fault: 'commit-then-timeout', call: 'refund' },
  { fault: 'commit-then-timeout', call: 'create' },
  { fault: 'timeout', call: '*' },
  { fault: 'timeout-then-commit', call: '*', delayMs: 3_000 },
  { fault: '500-after-commit', call: '*' },
  { fault: 'html', call: '*' },
  { fault: 'half-body', call: '*' },
  { fault: 'delay', call: '*', delayMs: 1_500 },
  { fault: 'query-lag', call: 'query' },
  { fault: 'drop-notify', call: 'notice' },
  { fault: 'duplicate-notify', call: 'notice' },
  { fault: 'bad-notify-signature', call: 'notice' },
] as const;

const STATEMENT_FAULTS = ['cut-before', 'cut-after', 'reset', 'late-statement', 'late-answer'] as const;
/** Commits are the most sensitive statements, so they are chosen most often. */
const STATEMENTS = [/^commit/i, /^commit/i, /orders/i, /refunds/i, /idempotency_keys/i, /events/i, /revoked_tokens/i];

/** The fault injector. */
export interface Nemesis {
  /** Injects random faults, one after the other, and repairs each. */
  act(): Promise<void>;
  /** How often each kind struck. */
  readonly counts: Readonly<Partial<Record<string, number>>>;
  /** Repairs all remaining faults. */
  mendAll(): Promise<void>;
}

/** Creates the fault injector of the stage; `longestMs` bounds each fault. */
export function createNemesis(stage: Stage, journal: Journal, chance: Chance, longestMs: number): Nemesis {
  const { stands, postgres, sim } = stage;
  const counts: Record<string, number> = {};
  /** Each part has one fault at a time; different parts may be broken together. */
  const broken = new Set<unknown>();
  const note = (f: string, value: Facts) => journal.note('info', 'nemesis', f, value);
  const during = async (thing: unknown, work: () => Promise<void>): Promise<void> => {
    if (broken.has(thing)) return;
    broken.add(thing);
    await work().finally(() => broken.delete(thing));
  };
  const struck = (kind: string, about: Facts): void => {
    counts[kind] = (counts[kind] ?? 0) + 1;
    note(kind, about);
  };
  const aWhile = () => pause(chance.whole(50, longestMs));
  const anyStand = () => chance.whole(0, stands.length - 1);
  const actions: Record<FaultKind, () => Promise<void>> = {
    async kill() {
      const replica = anyStand();
      const stand = stands[replica]!;
      // One replica at a time: without any, no request would be answered.
      await during('replicas', async () => {
        struck('kill', { replica });
        await stand.kill();
        await pause(chance.whole(0, longestMs));
        while (broken.has(postgres) || broken.has(stand.cable)) await pause(50);
        await stand.start();
        note('restarted', { replica });
      });
    },
    postgres: () =>
      during(postgres, async () => {
        struck('postgres', {});
        await postgres.die();
        await aWhile();
        await postgres.start();
        note('postgres-back', {});
      }),
    cut: () => breakCable('cut'),
    stall: () => breakCable('swallow'),
    async statement() {
      const replica = anyStand();
      const { statements } = stands[replica]!;
      await during(statements, async () => {
        const [words, fault] = [chance.pick(STATEMENTS), chance.pick(STATEMENT_FAULTS)];
        statements.count();
        statements.strikeNext(words, fault);
        await aWhile();
        if (statements.struck) struck(`statement ${fault}`, { replica, statement: statements.struck.slice(0, 60) });
        statements.mend();
        statements.bury();
      });
    },
    async channel() {
      const payWay = chance.pick(['alipay', 'wechat', 'paypal'] as const);
      const fault = chance.pick(CHANNEL_FAULTS);
      struck(`channel ${fault.fault}`, { payWay, ...fault });
      await sim('/sim/faults', { payWay, ...fault, times: chance.whole(1, 5) });
    },
  };

  async function breakCable(how: 'cut' | 'swallow'): Promise<void> {
    const replica = anyStand();
    const { cable, isPooled } = stands[replica]!;
    await during(cable, async () => {
      struck(how === 'cut' ? 'cut' : 'stall', { replica, pooled: isPooled });
      cable[how]();
      await aWhile();
      cable.mend();
      note('mended', { replica });
    });
  }

  return {
    counts,
    act: () => actions[chance.weighted(FAULTS)](),
    async mendAll() {
      await sim('/sim/reset-faults', {});
      for (const { statements, cable } of stands) {
        statements.mend();
        statements.bury();
        cable.mend();
      }
      note('mended-all', {});
    },
  };
}
