import type { Config } from '../../config/config.ts';
import { dueFulfilments } from '../db/queries/skillpay.ts';
import type { DueKind } from '../jobs/sweep.ts';
import { createSender } from '../outgoing/sender.ts';
import { checkRefund } from '../payments/check-refund.ts';
import { digest } from '../payments/idempotency.ts';
import { raiseException } from '../payments/journal.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import { placePayment } from '../payments/place.ts';
import type { Ports } from '../payments/ports.ts';
import { queryPayment, refreshOrder } from '../payments/query.ts';
import { openRefund } from '../payments/refund-intent.ts';
import { statusOf, viewRefund } from '../payments/view.ts';
import type { RouteGroup } from '../routes/index.ts';
import { jwksRoutes } from '../routes/jwks.ts';
import { skillpayStatsRoutes } from '../routes/v1/skillpay-stats.ts';
import { skillpayRoutes } from '../routes/v2/skillpay.ts';
import { exposedHeaders } from '../skillpay/answers.ts';
import { seedDemo } from '../skillpay/demo.ts';
import { skillOperations, type SkillOperations } from '../skillpay/operations.ts';
import { signedCodes } from '../skillpay/payment-code.ts';
import type { SkillPayments } from '../skillpay/ports.ts';
import { createSigningKeys, type KeySealing } from '../skillpay/signing-keys.ts';

/** What pay-per-call is assembled from. */
export interface SkillpayParts {
  config: Config;
  ports: Ports;
  payments: PaymentOperations;
  sealing: KeySealing;
  simulatorUrl: string | null;
}

/** Pay-per-call: its operations, its routes, and what the sweep does for it. */
export interface Skillpay {
  operations: SkillOperations;
  groups: RouteGroup[];
  due: DueKind;
  exposedHeaders: string[];
  seedDemo(): Promise<void>;
  idle(): Promise<void>;
}

/** Assembles pay-per-call over the ports of payments. */
export function composeSkillpay({ config, ports, payments, sealing, simulatorUrl }: SkillpayParts): Skillpay {
  const { store, now } = ports;
  const keys = createSigningKeys({ store, sealing, now });
  const { brand, offerTtlSeconds, devMode } = config.skillpay;
  const operations = skillOperations({
    store,
    now,
    payments: paymentsOf(ports, payments),
    channels: ports.channels,
    recordEvent: ports.recordEvent,
    codes: signedCodes(keys, ports.publicUrl),
    send: createSender({ allowedNetworks: config.webhook.allowedNetworks, httpsOnly: config.production }),
    publicUrl: ports.publicUrl,
    brand,
    offerTtlSeconds,
    unpaidOffersPerApp: config.rateLimit.unpaidOffersPerApp,
    debug: config.debug,
    paySimulated: config.debug && devMode && simulatorUrl !== null ? payer(simulatorUrl) : undefined,
    checkpoint: ports.checkpoint,
    log: ports.log,
  });
  return {
    operations,
    groups: [
      skillpayRoutes(operations),
      skillpayStatsRoutes(operations),
      jwksRoutes({ publicKeys: () => keys.publicKeys() }),
    ],
    due: { name: 'fulfil-resume', claim: dueFulfilments(config.debug), run: operations.resume },
    exposedHeaders: exposedHeaders(brand),
    seedDemo: () => seedDemo(store, config.debug, now()),
    idle: () => operations.idle(),
  };
}

function paymentsOf(ports: Ports, payments: PaymentOperations): SkillPayments {
  const refunds = checkRefund(ports);
  return {
    place: placePayment(ports),
    query: queryPayment(ports),
    refresh: refreshOrder(ports),
    capture: payments.capture,
    refund: payments.refund,
    openRefund: (tx, order, intent) => openRefund(ports, tx, order, intent),
    checkRefund: (refundNo) => refunds(refundNo),
    raise: (tx, order, kind, also) => raiseException(ports, tx, order, kind, also),
    statusOf,
    viewRefund,
    digest,
  };
}

/** DevMode's payer: asks the simulator, and only the simulator, to pay an order. */
function payer(simulatorUrl: string): (orderNo: string) => Promise<void> {
  return async (orderNo) => {
    const answer = await fetch(`${simulatorUrl}/sim/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ orderNo }),
      redirect: 'error',
      signal: AbortSignal.timeout(2_000),
    });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`the simulator answered ${answer.status}`);
  };
}
