import { noteNotice, noteRefusedNotices } from '../db/queries/credentials.ts';
import { SIGNED, type NoticeRefusal } from '../payments/notice-refusal.ts';
import type { PayWay } from '../payments/channel.ts';
import type { HealthPorts } from './channels.ts';

/** The channel of one project. */
export interface NoticedChannel {
  project: string;
  payWay: PayWay;
}

/** Keeps of each channel when the last notification came, and why the last ones were refused. */
export interface Noticed {
  /** `refusal` null: the notification was genuine. */
  note(of: NoticedChannel, refusal: NoticeRefusal | null): void;
  /** Resolves when every note so far is written. */
  idle(): Promise<void>;
}

/** Anybody can post to the address, so of each channel and word one note in this time is written, with how many it stands for. */
const NOTE_EVERY_MS = 5_000;
/** That one came is only worth a note a minute. */
const GENUINE_EVERY_MS = 60_000;

interface Waiting {
  writtenAt: number;
  count: number;
}

/** Writes notes beside the work, seldom, and never lets one fail the work. */
export function createNoticed({ store, now, log }: HealthPorts): Noticed {
  const known = new Map<string, Waiting>();
  const writing = new Set<Promise<unknown>>();
  return {
    note(of, refusal) {
      const key = `${of.project} ${of.payWay} ${refusal?.why ?? ''}`;
      const at = now();
      const { writtenAt, count } = known.get(key) ?? { writtenAt: Number.NEGATIVE_INFINITY, count: 0 };
      const isSoon = at.getTime() - writtenAt < (refusal ? NOTE_EVERY_MS : GENUINE_EVERY_MS);
      known.set(key, isSoon ? { writtenAt, count: count + 1 } : { writtenAt: at.getTime(), count: 0 });
      if (isSoon) return;
      // The first genuine one after a refusal is news.
      if (refusal) known.delete(`${of.project} ${of.payWay} `);
      const write = store
        .autocommit((tx) =>
          refusal
            ? noteRefusedNotices(tx, { ...of, ...refusal, at, count: count + 1, signed: SIGNED })
            : noteNotice(tx, { ...of, at }),
        )
        .catch((error: unknown) => log('warn', 'what became of a notification could not be noted', { ...of, error }))
        .finally(() => writing.delete(write));
      writing.add(write);
    },
    async idle() {
      await Promise.all(writing);
    },
  };
}
