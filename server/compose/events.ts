import { type DueRows, dueDeliveries, lookForDue } from '../db/queries/due.ts';
import { FOLLOWED } from '../db/queries/figures.ts';
import { Forbidden } from '../errors.ts';
import { deliverEvent } from '../events/deliver.ts';
import { createEventFeed } from '../events/feed.ts';
import type { EventPorts, SecretEncryption } from '../events/ports.ts';
import { readEvents } from '../events/view.ts';
import { recordEvents, emitCredentialChange } from '../events/record.ts';
import { eventStreams } from '../events/stream.ts';
import { webhookOperations } from '../events/webhooks.ts';
import { readAdminCredential } from '../http/authenticate.ts';
import type { AdminCaller, RequestFacts } from '../http/contract.ts';
import { consoleAppRow } from '../identity/api-app-rows.ts';
import type { Identity } from '../identity/identity.ts';
import { concurrencyOfReceivers } from '../jobs/queues.ts';
import type { Scheduler, SchedulerParts } from '../jobs/scheduler.ts';
import { createBoard, liveStreams } from '../live/board.ts';
import { createCallMeter, createReporter } from '../live/process.ts';
import type { LivePorts } from '../live/ports.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import { PAY_WAYS } from '../payments/channel.ts';
import type { Ports } from '../payments/ports.ts';
import { eventRoutes, ownEventRoutes, ownWebhookRoutes, webhookRoutes } from '../routes/events.ts';
import { liveRoutes } from '../routes/live.ts';
import type { Base, Part } from './base.ts';
import { createProcessGauge, describeProcess } from './service-figures.ts';

/**
 * Returns a check that is repeated while an administrator's event stream is open. It throws if the administrator's
 * access has ended or the administrator's role has changed.
 */
function composeRecheck({ config }: Pick<Base, 'config'>, { authenticators }: Pick<Identity, 'authenticators'>) {
  const isSecure = config.server.publicUrl.startsWith('https:');
  return async ({ headers }: Pick<RequestFacts, 'headers'>, { role }: Pick<AdminCaller, 'role'>): Promise<void> => {
    const credential = readAdminCredential(headers, isSecure, true) ?? { token: '', via: 'bearer', safe: true };
    if ((await authenticators.admin(credential)).role !== role)
      throw new Forbidden('role_insufficient', 'Your role was changed. Open the event stream again.');
  };
}

interface Needs {
  identity: Pick<Identity, 'audit' | 'authenticators'>;
  encryption: SecretEncryption;
  send: SendOutgoing;
  urlFault: UrlRule;
  /** Whether the service is about to stop. If so, open streams end. */
  isDraining: () => boolean;
}

interface ComposedEvents extends Part {
  record: Ports['recordEvent'];
  close(): void;
}

/** Builds the part of the service for the event log, its streams and the webhook deliveries. */
export function composeEvents(base: Base, { identity, encryption, send, urlFault, isDraining }: Needs): ComposedEvents {
  const { store, now, log, checkpoint } = base;
  const { audit } = identity;
  const tried = base.figures.webhookTried;
  const emitChange = emitCredentialChange(now, consoleAppRow);
  const ports: EventPorts = {
    store,
    now,
    encryption,
    send,
    audit,
    urlFault,
    log,
    checkpoint,
    tried,
    emitCredentialChange: emitChange,
  };
  const feed = createEventFeed(ports);
  const webhooks = webhookOperations(ports);
  const events = readEvents(ports);

  return {
    record: recordEvents(now),
    groups: [
      ownEventRoutes({ events, resend: webhooks.resend }),
      eventRoutes({
        events,
        openStream: eventStreams(feed, { isDraining }),
        resend: webhooks.resend,
        recheck: composeRecheck(base, identity),
      }),
      webhookRoutes(webhooks),
      ownWebhookRoutes(webhooks),
    ],
    kinds: [
      {
        name: 'delivery',
        wokenBy: 'deliver-event',
        rows: dueDeliveries(),
        run: deliverEvent(ports),
        ...concurrencyOfReceivers(base.config.jobs.perReceiver),
      },
    ],
    close: () => feed.stop(),
  };
}

interface LiveNeeds {
  identity: Pick<Identity, 'authenticators'>;
  isDraining: () => boolean;
}

/** The live feed, and the functions by which other parts of the service report data to it. */
export interface ComposedLive extends Part {
  onChannelCall: NonNullable<Ports['onChannelCall']>;
  /**
   * Wraps the function `count`, which increments the service's counters. The wrapper also records in the live feed that
   * a channel sent a genuine notification.
   */
  counting(count: Ports['count']): Ports['count'];
  /**
   * Finds the rows that are due for a job. The same SQL statement also returns whether the live feed has subscribers,
   * which saves another query.
   */
  lookForDue: SchedulerParts['lookForDue'];
  looked(lags: Record<string, number>): void;
  observe(scheduler: Pick<Scheduler, 'kinds' | 'busy'>): void;
  close(): Promise<void>;
}

/** Results of notifications that are not proven to come from the channel. */
const NOT_FROM_CHANNEL: ReadonlySet<string> = new Set(['not_genuine', 'not_configured']);

/** Builds the live feed, which sends current metrics and events to the pages of the console. */
export function composeLive(base: Base, { identity, isDraining }: LiveNeeds): ComposedLive {
  const { config, store, now, log, worker, liveTimes } = base;
  const meter = createCallMeter(now);
  const gauge = createProcessGauge();
  let scheduler: Pick<Scheduler, 'kinds' | 'busy'> = { kinds: [], busy: () => ({}) };
  let lags: { at: Date; seconds: Record<string, number> } = { at: now(), seconds: {} };
  const ports: LivePorts = {
    store,
    now,
    log,
    process: describeProcess(worker),
    measure: () => ({ ...gauge(), ...meter.read(), underWay: scheduler.busy() }),
    due: () => ({
      tables: scheduler.kinds.map(({ name, rows: { dueCount } }) => ({ name, dueCount })),
      lags: () => lags,
    }),
    simulated: config.simulated,
  };
  const reporter = createReporter(ports, liveTimes.figuresMs);
  const board = createBoard(ports, reporter, liveTimes);
  const openLive = liveStreams(board, now, { isDraining });
  let lookedAt = now();
  return {
    groups: [liveRoutes({ openLive, recheck: composeRecheck(base, identity) })],
    onChannelCall: meter.onChannelCall,
    counting:
      (count) =>
      (name, labels = {}) => {
        count(name, labels);
        const payWay = PAY_WAYS.find((one) => one === labels['payWay']);
        if (name === 'notification' && payWay && !NOT_FROM_CHANNEL.has(labels['result'] ?? '')) meter.noticed(payWay);
      },
    async lookForDue(tx, rows, at) {
      const [followed, ...due] = await lookForDue(tx, [followedRows, ...rows], at);
      lookedAt = at;
      if (followed !== undefined) void reporter.report();
      return due;
    },
    looked(seconds) {
      lags = { at: lookedAt, seconds };
    },
    observe(one) {
      scheduler = one;
    },
    async close() {
      board.feed.stop();
      await reporter.leave();
    },
  };
}

const followedRows: Pick<DueRows, 'oldestLag'> = { oldestLag: () => FOLLOWED };
