import { coinCharges } from '../catalog/charge.ts';
import type { Sealing } from '../credentials/sealing.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import { closePayment } from '../payments/orders/close.ts';
import { placePayment } from '../payments/orders/place.ts';
import { queryPayment, refreshOrder } from '../payments/orders/query.ts';
import { settle } from '../payments/settle.ts';
import { openOwedRefund } from '../payments/refunds/refund.ts';
import type { RouteGroup } from '../http/router.ts';
import { keyRoutes } from '../routes/oauth.ts';
import { payerRoutes } from '../routes/payer.ts';
import { agentPayRoutes, skillpayRoutes, skillpayStatsRoutes } from '../routes/skillpay.ts';
import { seedDemo } from '../skillpay/demo.ts';
import { alipayAgents } from '../skillpay/alipay-agents.ts';
import { alipayAgentDialect } from '../skillpay/dialects/alipay-agent.ts';
import { codeDialect } from '../skillpay/dialects/code.ts';
import type { Dialect } from '../skillpay/dialects/dialect.ts';
import { mppDialect } from '../skillpay/dialects/mpp.ts';
import { challengeKeys } from '../skillpay/dialects/mpp-challenge.ts';
import { didDocument, signedTerms } from '../skillpay/dialects/offer-receipt.ts';
import { weixinAgentDialect } from '../skillpay/dialects/weixin-agent.ts';
import { x402Dialect } from '../skillpay/dialects/x402.ts';
import { skillOperations, type SkillOperations } from '../skillpay/operations.ts';
import { signedCodes } from '../skillpay/payment-code.ts';
import type { SkillPayments } from '../skillpay/ports.ts';
import { createSigningKeys } from '../skillpay/signing-keys.ts';
import type { ComposedAgentPay } from './agent-pay.ts';
import type { Base } from './base.ts';
import type { ComposedPayments } from './payments.ts';

/** What pay-per-call needs of other parts. */
interface Needs {
  payments: ComposedPayments;
  sealing: Sealing;
  send: SendOutgoing;
  agentPay: ComposedAgentPay;
}

/** Pay-per-call: its operations and its routes. */
export interface ComposedSkillpay {
  operations: SkillOperations;
  groups: RouteGroup[];
  /** Answer headers that a page of another origin may read. */
  exposedHeaders: string[];
  /** With Debug, the skill `demo`; without, none. */
  seed(): Promise<void>;
}

/** Assembles pay-per-call over payments. */
export function composeSkillpay(base: Base, { payments, sealing, send, agentPay }: Needs): ComposedSkillpay {
  const { config, store, reports, now, simulatorUrl } = base;
  const { channels, recordEvent, publicUrl, patience, checkpoint, log } = payments.ports;
  const { brand, offerTtlSeconds, devMode } = config.skillpay;
  const keys = createSigningKeys({ store, sealing, now, simulated: config.simulated });
  // Its challenges must not travel unencrypted; Debug is for one machine.
  const speaksMpp = config.debug || publicUrl.startsWith('https:');
  const paymentsHere = paymentsOf(payments);
  const agents = alipayAgents({ store, now, log, checkpoint, channels, payments: paymentsHere });
  const dialects: readonly Dialect[] = [
    codeDialect(brand),
    weixinAgentDialect(agentPay.withAgentCode, now),
    alipayAgentDialect(agents),
    ...(speaksMpp ? [mppDialect(publicUrl, challengeKeys(config.security.masterKeys))] : []),
    x402Dialect(publicUrl),
  ];
  const operations = skillOperations({
    store,
    reports,
    now,
    payments: paymentsHere,
    confirmDelivery: (orderNo) => agents.confirm(orderNo),
    channels,
    recordEvent,
    charges: coinCharges({ now, recordEvent }),
    codes: signedCodes(keys, publicUrl),
    terms: signedTerms(keys, publicUrl),
    send,
    publicUrl,
    dialects,
    offerTtlSeconds,
    unpaidOffersPerApp: config.rateLimit.unpaidOffersPerApp,
    debug: config.debug,
    paySimulated: config.debug && devMode && simulatorUrl !== null ? payer(simulatorUrl) : undefined,
    simulated: config.simulated,
    patience,
    checkpoint,
    log,
  });
  return {
    operations,
    groups: [
      skillpayRoutes(operations),
      payerRoutes(payments.payerOrders, operations.choice),
      skillpayStatsRoutes(operations),
      agentPayRoutes(agentPay.settings),
      keyRoutes({
        publicKeys: () => keys.publicKeys(),
        didDocument: async () => didDocument(publicUrl, await keys.publicKeys()),
      }),
    ],
    exposedHeaders: dialects.flatMap(({ exposes }) => exposes),
    seed: () => seedDemo(store, config.debug, now()),
  };
}

function paymentsOf({ ports, operations, raise, checkRefund }: ComposedPayments): SkillPayments {
  return {
    place: placePayment(ports),
    settleProven: (order, outcome) =>
      settle(ports, order.orderNo, { outcome, firstWord: false }, { cause: 'agent', actor: `app:${order.clientId}` }),
    query: queryPayment(ports),
    refresh: refreshOrder(ports),
    close: closePayment(ports),
    capture: operations.capture,
    refund: operations.refund,
    openRefund: (tx, order, intent) => openOwedRefund(ports, tx, order, intent),
    checkRefund,
    raise,
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
