import { deliverEvent } from '../events/deliver.ts';
import { createEventFeed } from '../events/feed.ts';
import type { EventPorts, SecretSealing } from '../events/ports.ts';
import { readEvents } from '../events/read.ts';
import { recordEvents, tellCredentialChange } from '../events/record.ts';
import { eventStreams } from '../events/stream.ts';
import { webhookOperations } from '../events/webhooks.ts';
import { consoleAppRow } from '../identity/api-app-row.ts';
import type { Identity } from '../identity/identity.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { Ports } from '../payments/ports.ts';
import type { RouteGroup } from '../http/router.ts';
import { eventRoutes, ownEventRoutes, webhookRoutes } from '../routes/events.ts';
import type { Base } from './base.ts';
import { composeRecheck } from './recheck.ts';

/** What events need of other parts. */
interface Needs {
  identity: Pick<Identity, 'audit' | 'authenticators'>;
  sealing: SecretSealing;
  send: SendOutgoing;
  urlFault: UrlRule;
  /** The service is about to stop: streams end. */
  isDraining: () => boolean;
}

/** The event log, its streams, and what sends it to merchants. */
export interface ComposedEvents {
  record: Ports['recordEvent'];
  groups: RouteGroup[];
  /** Sends one claimed delivery. */
  deliver: (deliveryId: string) => Promise<void>;
  /** Ends the streams. */
  close(): void;
}

/** Assembles events. */
export function composeEvents(base: Base, { identity, sealing, send, urlFault, isDraining }: Needs): ComposedEvents {
  const { store, now, log, checkpoint } = base;
  const { audit } = identity;
  const tried = base.figures.webhookTried;
  const tell = tellCredentialChange(now, consoleAppRow);
  const ports: EventPorts = {
    store,
    now,
    sealing,
    send,
    audit,
    urlFault,
    log,
    checkpoint,
    tried,
    tellCredentialChange: tell,
  };
  const feed = createEventFeed(ports);
  const webhooks = webhookOperations(ports);
  const events = readEvents(ports);

  return {
    record: recordEvents(now),
    groups: [
      ownEventRoutes(events),
      eventRoutes({
        events,
        openStream: eventStreams(feed, { isDraining }),
        resend: webhooks.resend,
        recheck: composeRecheck(base, identity),
      }),
      webhookRoutes(webhooks),
    ],
    deliver: deliverEvent(ports),
    close: () => feed.stop(),
  };
}
