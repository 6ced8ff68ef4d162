import { noteHealth, type HealthNote } from '../db/queries/credentials.ts';
import type { Store } from '../db/store.ts';
import type { Channel, UnknownCause } from '../payments/channel.ts';

/** At most one note per channel and kind in this time. */
const NOTE_EVERY_MS = 5000;

/** Causes that speak of the order or of our own timing, not of the channel's health. */
const HARMLESS: ReadonlySet<UnknownCause> = new Set(['mismatch', 'busy', 'in_progress']);

/** What a health note needs. */
export interface HealthPorts {
  store: Store;
  now: () => Date;
  log: (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;
}

/** Notes the health of channels. */
export interface Health {
  note(version: Pick<HealthNote, 'project' | 'payWay' | 'version'>, failure: UnknownCause | null): void;
  /** Resolves when every note so far is written. */
  idle(): Promise<void>;
}

/** Writes notes beside the work, seldom, and never lets one fail the work. */
export function createHealth({ store, now, log }: HealthPorts): Health {
  const noted = new Map<string, number>();
  const writing = new Set<Promise<void>>();
  return {
    note(of, failure) {
      const at = now();
      const key = `${of.project} ${of.payWay} ${of.version} ${failure === null}`;
      if (at.getTime() - (noted.get(key) ?? Number.NEGATIVE_INFINITY) < NOTE_EVERY_MS) return;
      noted.set(key, at.getTime());
      const write = store
        .transaction((tx) => noteHealth(tx, { ...of, at, failure }))
        .catch((error: unknown) => log('warn', 'the health of a channel could not be stored', { ...of, error }))
        .finally(() => writing.delete(write));
      writing.add(write);
    },
    async idle() {
      await Promise.all(writing);
    },
  };
}

/** The same channel; `tell` hears whether each call got an answer that can be used. */
export function watched(channel: Channel, tell: (failure: UnknownCause | null) => void): Channel {
  const watch =
    <Asked, Said extends { kind: string; cause?: UnknownCause }>(call: (asked: Asked) => Promise<Said>) =>
    async (asked: Asked): Promise<Said> => {
      const said = await call(asked);
      if (said.kind !== 'unknown') tell(null);
      else if (said.cause !== undefined && !HARMLESS.has(said.cause)) tell(said.cause);
      return said;
    };
  const { capture, retryAbnormalRefund } = channel;
  return {
    payWay: channel.payWay,
    account: channel.account,
    place: watch((order) => channel.place(order)),
    query: watch((order) => channel.query(order)),
    close: watch((order) => channel.close(order)),
    ...(capture && { capture: watch((order: Parameters<typeof capture>[0]) => capture.call(channel, order)) }),
    refund: watch((refund) => channel.refund(refund)),
    queryRefund: watch((refund) => channel.queryRefund(refund)),
    lookUpRefund: (order, number) => watch(() => channel.lookUpRefund(order, number))(order),
    ...(retryAbnormalRefund && {
      retryAbnormalRefund: watch((refund: Parameters<typeof retryAbnormalRefund>[0]) =>
        retryAbnormalRefund.call(channel, refund),
      ),
    }),
    readNotice: (...notice) => channel.readNotice(...notice),
    ackNotice: (verdict) => channel.ackNotice(verdict),
    probe: () => channel.probe(),
  };
}
