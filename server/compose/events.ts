import type { Config } from '../../config/config.ts';
import type { Sealing } from '../credentials/sealing.ts';
import { claimDueDeliveries, claimDueDelivery } from '../db/queries/deliveries.ts';
import type { Store } from '../db/store.ts';
import { deliverEvent } from '../events/deliver.ts';
import { createEventFeed } from '../events/feed.ts';
import type { EventPorts } from '../events/ports.ts';
import { readEvents } from '../events/read.ts';
import { eventStreams } from '../events/stream.ts';
import { webhookOperations } from '../events/webhooks.ts';
import { readAdminCredential } from '../http/admin-auth.ts';
import type { Identity } from '../identity/identity.ts';
import { createSweep, type Sweep } from '../jobs/sweep.ts';
import type { Worker } from '../jobs/queue.ts';
import { createSender, type SendOutgoing } from '../outgoing/sender.ts';
import { exportOrders } from '../payments/export.ts';
import type { Ports } from '../payments/ports.ts';
import type { RouteGroup } from '../routes/index.ts';
import { eventRoutes } from '../routes/v1/events.ts';
import { orderExportRoutes } from '../routes/v1/order-export.ts';
import { webhookRoutes } from '../routes/v1/webhooks.ts';
import { ownEventRoutes } from '../routes/v2/events.ts';

/** What events are assembled from. */
export interface EventParts {
  config: Config;
  store: Store;
  now: () => Date;
  sealing: Sealing;
  identity: Identity;
  log: Ports['log'];
  checkpoint: Ports['checkpoint'];
  isDraining: () => boolean;
  send?: SendOutgoing | undefined;
}

/** The event log, its streams, and what sends it to merchants. */
export interface Events {
  groups: RouteGroup[];
  /** Sends what is due, apart from the sweep of orders: a receiver that is slow must not hold up money. */
  deliveries: Sweep;
  /** Sends one delivery soon after its commit. */
  wake: Worker;
  close(): Promise<void>;
}

/** At most so many deliveries are sent straight after their commit; the sweep takes the others. */
const AT_ONCE = 16;

/** Assembles events. */
export function composeEvents({
  config,
  store,
  now,
  sealing,
  identity,
  log,
  checkpoint,
  ...parts
}: EventParts): Events {
  const send =
    parts.send ?? createSender({ allowedNetworks: config.webhook.allowedNetworks, httpsOnly: config.production });
  const ports: EventPorts = {
    store,
    now,
    sealing,
    send,
    audit: identity.audit,
    httpsOnly: config.production,
    log,
    checkpoint,
  };
  const deliver = deliverEvent(ports);
  const feed = createEventFeed(ports);
  const webhooks = webhookOperations(ports);
  const events = readEvents(ports);
  const kind = { name: 'delivery', claim: claimDueDeliveries, run: deliver };
  const deliveries = createSweep(store, now, [kind], log);
  const underWay = new Set<Promise<void>>();

  async function wake({ deliveryId = '' }: Record<string, string>): Promise<void> {
    if (underWay.size >= AT_ONCE) return;
    if (!(await store.transaction((tx) => claimDueDelivery(tx, deliveryId, now())))) return;
    const sending = deliver(deliveryId)
      .catch((error: unknown) => log('error', 'a delivery could not be handled', { deliveryId, error }))
      .finally(() => underWay.delete(sending));
    underWay.add(sending);
  }

  return {
    groups: [
      ownEventRoutes(events),
      eventRoutes({
        events,
        openStream: eventStreams(feed, { isDraining: parts.isDraining }),
        resend: webhooks.resend,
        recheck: async ({ headers }) =>
          identity.authenticators.admin(readAdminCredential(headers) ?? { token: '', via: 'bearer' }),
      }),
      webhookRoutes(webhooks),
      orderExportRoutes({ exportOrders: exportOrders({ store }) }),
    ],
    deliveries,
    wake,
    async close() {
      feed.stop();
      await deliveries.stop();
      await Promise.all(underWay);
    },
  };
}
