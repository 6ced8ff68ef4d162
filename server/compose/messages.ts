import { createDownload } from '../channels/download.ts';
import { channelTime, createTransport, redactText } from '../channels/transport.ts';
import { Counter } from 'prom-client';
import { createMessageLog, type MessageLog } from '../db/message-log.ts';
import { writeMessages } from '../db/queries/messages.ts';
import type { Download, PayWay, Transport } from '../payments/channel.ts';
import type { Ports } from '../payments/ports.ts';
import { noteChannelCall } from '../jobs/pace.ts';
import { beginWork } from '../work.ts';
import type { Base } from './base.ts';

/** The way to the channels and back; what is said on it about an order is kept for the order's timeline. */
export interface Messages {
  log: MessageLog;
  /** Sends to one channel. */
  transportTo(payWay: PayWay): Transport;
  /** Fetches the files that channels hand out. */
  download: Download;
  heard: Ports['heard'];
}

/** The Date of an answer is in whole seconds, and is half a second old. */
const HALF_SECOND_MS = 500;
/** Longest text of a notice that is kept, in characters. */
const MAX_NOTICE = 16_384;

/** Assembles the transports and the log of their messages. */
export function composeMessages({ config, store, now, log: report, metrics, figures }: Base): Messages {
  const lost = new Counter({
    name: 'channel_messages_dropped_total',
    help: 'Channel messages that were not kept for the timeline, because the database was too slow or failed.',
    registers: [metrics.registry],
  });
  const log = createMessageLog({
    write: (batch) => store.autocommit((tx) => writeMessages(tx, batch)),
    // They are of many orders, whoever set the writing going.
    failed: (error) => beginWork({}, () => report('warn', 'channel messages could not be stored', { error })),
    dropped: (count) => lost.inc(count),
  });
  const { timeoutMs } = config.channels;
  return {
    log,
    transportTo(payWay) {
      const theirTime = (time: Date) => {
        const ahead = (channelTime().getTime() - time.getTime() - HALF_SECOND_MS) / 1000;
        if (Number.isFinite(ahead)) figures.clockAhead(payWay, ahead);
      };
      const send = createTransport({ timeoutMs, recording: { payWay, now, record: log.record, theirTime } });
      if (config.jobs.callsPerSecond === 0) return send;
      return (request) => {
        noteChannelCall();
        return send(request);
      };
    },
    download: createDownload({ stallMs: timeoutMs }),
    heard: ({ request, ...message }) =>
      log.record({
        ...message,
        request: redactText(request).slice(0, MAX_NOTICE),
        direction: 'in',
        durationMs: null,
        at: now(),
      }),
  };
}
