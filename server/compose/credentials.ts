import { Counter } from 'prom-client';
import { channelTime, createDownload, createTransport, redactText } from '../channels/transport.ts';
import { CHANNEL_KINDS, channelSerial } from '../channels/registry.ts';
import { type Credentials, createCredentials } from '../credentials/credentials.ts';
import { type MessageLog, createMessageLog } from '../db/message-log.ts';
import { writeMessages } from '../db/queries/messages.ts';
import type { Audit } from '../identity/audit.ts';
import { noteChannelCall } from '../jobs/call-rate.ts';
import type { Download, PayWay, Transport } from '../payments/channel.ts';
import type { Ports } from '../payments/ports.ts';
import { certRoutes, ownCertRoutes } from '../routes/certs.ts';
import { channelConfigRoutes, ownChannelConfigRoutes, paymentChannelRoutes } from '../routes/channels.ts';
import { beginWork } from '../work.ts';
import type { Base, Part } from './base.ts';

type ComposedCredentials = Part &
  Pick<Credentials, 'channels' | 'noticed' | 'encryption' | 'seedSimulator' | 'leaveModes' | 'undecryptableChannels'>;

/**
 * Builds the part of the service for channel configurations and certificates. Messages to channels carry the real time
 * (`channelTime`) instead of `now`, because tests may advance `now`.
 */
export function composeCredentials(
  { config, store, now, log, simulatorUrl, figures }: Base,
  { audit, transportTo, download }: { audit: Audit } & Pick<Messages, 'transportTo' | 'download'>,
): ComposedCredentials {
  const credentials = createCredentials({
    store,
    kinds: CHANNEL_KINDS,
    audit,
    serialOf: channelSerial,
    transportTo,
    download,
    now: channelTime,
    written: now,
    simulatorUrl,
    publicUrl: config.server.publicUrl,
    simulated: config.simulated,
    purpose: config,
    masterKeys: config.security.masterKeys,
    log,
    called: figures.channelCalled,
  });
  const { configs, certs } = credentials;
  return {
    ...credentials,
    groups: [
      paymentChannelRoutes(credentials),
      channelConfigRoutes({ configs, now }),
      ownChannelConfigRoutes({ configs, now }),
      certRoutes({ certs, now }),
      ownCertRoutes({ certs, now }),
    ],
    tasks: [{ name: 'certificate-expiry', everySeconds: 86_400, run: credentials.watchExpiry }],
  };
}

/** The functions that send requests to channels. Messages about an order are stored for the timeline of the order. */
interface Messages {
  log: MessageLog;
  transportTo(payWay: PayWay): Transport;
  download: Download;
  onReceived: Ports['onReceived'];
}

/** The Date header of a response has only whole seconds, so its time is half a second old on average. */
const HALF_SECOND_MS = 500;
/** Longest stored text of a notification, in characters. */
const MAX_NOTIFICATION = 16_384;

/** Builds the functions that send requests to channels, and the log that stores the messages. */
export function composeMessages({ config, store, now, log: report, metrics, figures }: Base): Messages {
  const lost = new Counter({
    name: 'channel_messages_dropped_total',
    help: 'Channel messages that were not stored for the timeline of the order, because the database was too slow or failed.',
    registers: [metrics.registry],
  });
  const log = createMessageLog({
    write: (batch) => store.autocommit((tx) => writeMessages(tx, batch)),
    // A batch contains messages of many orders, so the log line names no order.
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
    onReceived: ({ request, ...message }) =>
      log.record({
        ...message,
        request: redactText(request).slice(0, MAX_NOTIFICATION),
        direction: 'in',
        durationMs: null,
        at: now(),
      }),
  };
}
