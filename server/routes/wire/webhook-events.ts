import { z } from 'zod';
import type { EVENT_TYPES } from '../../events/types.ts';
import type { WebhookContract } from '../../http/contract.ts';
import { CoinEntry } from './coins.ts';
import { Dispute } from './disputes.ts';
import { Timestamp } from './fields.ts';
import { OrderEntry, PayWayName, Refund } from './orders.ts';
import { SkillCoinOrder } from './skillpay.ts';

const Offered = z
  .object({
    outTradeNo: z.string(),
    orderNo: z.string(),
    resource: z.string(),
    amountMinor: z.int(),
    currency: z.string(),
    payWay: PayWayName,
    expiresAt: Timestamp,
  })
  .meta({ id: 'SkillOffered' });
const Fulfilled = z
  .object({
    ...Offered.pick({ outTradeNo: true, orderNo: true, resource: true }).shape,
    ...Offered.pick({ amountMinor: true, currency: true, payWay: true }).partial().shape,
    userId: z.string().optional().describe('Whose coins paid, if coins did.'),
    coin: SkillCoinOrder.shape.coin.optional().describe('What coins paid, if coins did.'),
    fulfilledAt: Timestamp,
  })
  .meta({ id: 'SkillFulfilled' });
const CredentialChange = z
  .object({
    clientId: z.string(),
    change: z
      .enum(['created', 'widened', 'enabled', 'secret', 'webhook', 'webhook_secret'])
      .describe(
        'The application was created, got more scopes, addresses, money or trust, was enabled or got a new secret; its webhook got another address or a new secret.',
      ),
    by: z.string().describe('Name of the administrator.'),
  })
  .meta({ id: 'CredentialChange' });
const CoinPosting = CoinEntry.extend({ available: z.int() }).meta({ id: 'CoinPosting' });

/** What merchants are told, when, and the shape of the object of each event. */
export const WEBHOOK_EVENTS: Readonly<Record<(typeof EVENT_TYPES)[number], WebhookContract>> = {
  'order.paid': { when: 'An order was paid.', object: OrderEntry },
  'order.paid_late': { when: 'Money came for an order that had ended; it goes back.', object: OrderEntry },
  'order.closed': { when: 'An order was closed.', object: OrderEntry },
  'order.failed': { when: 'An order failed.', object: OrderEntry },
  'order.payer_action_required': { when: 'The payer has to do something before the money comes.', object: OrderEntry },
  'order.exception': { when: 'A person should look at an order.', object: OrderEntry },
  'refund.approval_requested': { when: 'A refund waits for a second administrator.', object: Refund },
  'refund.succeeded': { when: 'A refund reached the payer.', object: Refund },
  'refund.failed': { when: 'A refund failed; its amount can be refunded again.', object: Refund },
  'refund.abnormal': { when: 'A refund cannot reach the payer; a person has to look.', object: Refund },
  'dispute.opened': { when: 'A payer disputes a payment.', object: Dispute },
  'dispute.updated': { when: 'A dispute changed.', object: Dispute },
  'dispute.closed': { when: 'A dispute was decided.', object: Dispute },
  'skillpay.offered': { when: 'A pay-per-call resource was offered for payment.', object: Offered },
  'skillpay.fulfilled': { when: 'A pay-per-call resource was delivered.', object: Fulfilled },
  'coin.credited': { when: 'Coins came into an account.', object: CoinPosting },
  'coin.debited': { when: 'Coins left an account.', object: CoinPosting },
  'app.credentials_changed': {
    when: 'A credential of an application was given out or widened. Administrators alone are told, in the event log.',
    object: CredentialChange,
  },
};
