import { Counter } from 'prom-client';
import { coinCharges } from '../catalog/coins.ts';
import { channelTime } from '../channels/transport.ts';
import { AGENT_PAY_LIVE, readPaymentCode, signPreorder } from '../channels/wechat/agent-pay.ts';
import { PREORDER_PATH } from '../channels/wechat/signature.ts';
import { refuseMode } from '../credentials/live-guard.ts';
import { readPrivateKey } from '../credentials/pem.ts';
import { createReadProduct } from '../db/queries/catalog.ts';
import { dueCoinCalls, dueConfirmations, dueFulfilments } from '../db/queries/due.ts';
import { createReadOffer } from '../db/queries/skillpay.ts';
import type { Encryption } from '../db/encryption.ts';
import type { Audit } from '../identity/audit.ts';
import { concurrencyOfChannels } from '../jobs/queues.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import { type Mode, type Transport, TransportFailed } from '../payments/channel.ts';
import { closePayment, queryPayment, refreshOrder } from '../payments/orders/order.ts';
import { placePayment } from '../payments/orders/place.ts';
import { openSystemRefund } from '../payments/refunds/refund.ts';
import { settle } from '../payments/settle.ts';
import { keyRoutes } from '../routes/oauth.ts';
import { payerRoutes } from '../routes/payer.ts';
import { agentPayRoutes, skillpayRoutes, skillpayStatsRoutes } from '../routes/skillpay.ts';
import { type RequestCode, type WithAgentCode, weixinAgentScheme, withAgentCode } from '../skillpay/schemes/wechat.ts';
import { type AgentPaySettings, agentPaySettings } from '../skillpay/agent-settings.ts';
import { alipayAgentScheme, alipayAgents } from '../skillpay/schemes/alipay.ts';
import { seedDemo } from '../skillpay/resource.ts';
import { codeScheme, signedCodes } from '../skillpay/schemes/code.ts';
import type { PaymentScheme } from '../skillpay/schemes/scheme.ts';
import { challengeKeys, mppScheme } from '../skillpay/schemes/mpp.ts';
import { didDocument, signedTerms, x402Scheme } from '../skillpay/schemes/x402.ts';
import { type SkillOperations, skillOperations } from '../skillpay/operations.ts';
import type { SkillPayments } from '../skillpay/ports.ts';
import { createSigningKeys } from '../skillpay/signing-keys.ts';
import type { Base, Part } from './base.ts';
import type { ComposedPayments } from './payments.ts';
import type { ServiceFigures } from './service-figures.ts';

interface Needs {
  payments: ComposedPayments;
  encryption: Encryption;
  send: SendOutgoing;
  agentPay: ComposedAgentPay;
}

interface ComposedSkillpay extends Part {
  operations: SkillOperations;
  /** Response headers that a page of another origin may read. */
  exposedHeaders: string[];
  /** Creates the skill `demo` if Debug is on. */
  seed(): Promise<void>;
}

/** Builds the part of the service for pay-per-call (HTTP resources that are paid per call, with HTTP 402). */
export function composeSkillpay(base: Base, { payments, encryption, send, agentPay }: Needs): ComposedSkillpay {
  const { config, store, reports, now, simulatorUrl } = base;
  const { channels, recordEvent, publicUrl, patience, checkpoint, log } = payments.ports;
  const { brand, offerTtlSeconds, devMode } = config.skillpay;
  const keys = createSigningKeys({ store, encryption, now, simulated: config.simulated });
  // The payment scheme MPP (HTTP scheme `Payment`) requires https. With the setting Debug, plain http is allowed.
  const speaksMpp = config.debug || publicUrl.startsWith('https:');
  const paymentsHere = paymentsOf(payments);
  const agents = alipayAgents({ store, now, log, checkpoint, channels, payments: paymentsHere });
  const schemes: readonly PaymentScheme[] = [
    codeScheme(brand),
    weixinAgentScheme(agentPay.withAgentCode, now),
    alipayAgentScheme(agents),
    ...(speaksMpp ? [mppScheme(publicUrl, challengeKeys(config.security.masterKeys))] : []),
    x402Scheme(publicUrl),
  ];
  const operations = skillOperations({
    store,
    reports,
    now,
    payments: paymentsHere,
    confirmDelivery: (orderNo) => agents.confirm(orderNo),
    channels,
    recordEvent,
    readOffer: createReadOffer(store),
    readProduct: createReadProduct(store),
    charges: coinCharges({ now, recordEvent }),
    codes: signedCodes(keys, publicUrl),
    terms: signedTerms(keys, publicUrl),
    send,
    publicUrl,
    schemes,
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
    kinds: [
      {
        name: 'confirmation',
        about: 'orderNo',
        rows: dueConfirmations(config.simulated),
        run: operations.confirmDelivery,
        ...concurrencyOfChannels(config.jobs).asksLittle,
      },
      // This job delivers paid skills. The deliveries of one project share the project's handlers, coins and
      // stock. So each project has its own queue, which limits how many of the project's deliveries run at once.
      {
        name: 'fulfilment',
        about: 'orderNo',
        rows: dueFulfilments(config.simulated),
        run: operations.resume,
        concurrency: 32,
        queueConcurrency: 4,
      },
      {
        name: 'coin-call',
        about: 'orderNo',
        rows: dueCoinCalls(),
        run: operations.resumeCoinCall,
        concurrency: 32,
        queueConcurrency: 4,
      },
    ],
    exposedHeaders: schemes.flatMap(({ exposes }) => exposes),
    seed: () => seedDemo(store, config.debug, now()),
  };
}

function paymentsOf({ ports, operations, raise, checkRefund }: ComposedPayments): SkillPayments {
  return {
    place: placePayment(ports),
    settleProven: (order, outcome) =>
      settle(
        ports,
        order.orderNo,
        { outcome, isFirstResponse: false },
        { cause: 'agent', actor: `app:${order.clientId}` },
      ),
    query: queryPayment(ports),
    refresh: refreshOrder(ports),
    close: closePayment(ports),
    capture: operations.capture,
    refund: operations.refund,
    openRefund: (tx, order, intent) => openSystemRefund(ports, tx, order, intent),
    checkRefund,
    raise,
  };
}

/**
 * The returned function pays an order at the simulator, never at a real channel. It is used with the setting
 * Skillpay.DevMode.
 */
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
    if (!answer.ok) throw new Error(`the simulator returned ${answer.status}`);
  };
}

interface AgentPayNeeds {
  encryption: Encryption;
  audit: Audit;
  send: Transport;
}

interface ComposedAgentPay {
  settings: AgentPaySettings;
  withAgentCode: WithAgentCode;
}

/** Builds WeChat agent pay. In simulator mode the payment codes come from the simulator, otherwise from WeChat. */
export function composeAgentPay(base: Base, { encryption, audit, send }: AgentPayNeeds): ComposedAgentPay {
  const { config, store, now, log, metrics, simulatorUrl, figures } = base;
  const answers = new Counter({
    name: 'skillpay_agent_codes_total',
    help: 'Requests for payment codes of WeChat Pay for AI agents, by result.',
    labelNames: ['result'],
    registers: [metrics.registry],
  });
  const requestCode = counted(requestAtWechat(send, simulatorUrl), figures);
  const modes = { simulated: config.simulated, requireMode: (mode: Mode) => refuseMode(config, mode) };
  const readKey = (pem: string) => readPrivateKey(pem, undefined);
  return {
    settings: agentPaySettings({ store, now, ...modes, encryption, audit, readKey, requestCode }),
    withAgentCode: withAgentCode({
      store,
      now,
      log,
      open: encryption.open,
      readKey,
      requestCode,
      count: (result) => answers.inc({ result }),
      patience: base.patience,
    }),
  };
}

function counted(requestCode: RequestCode, { channelCalled }: Pick<ServiceFigures, 'channelCalled'>): RequestCode {
  return async (...request) => {
    const began = performance.now();
    const result = await requestCode(...request);
    const outcome = 'code' in result ? 'done' : 'refused';
    const seconds = (performance.now() - began) / 1000;
    channelCalled({ payWay: 'wechat', call: 'agent_preorder', outcome, seconds });
    return result;
  };
}

function requestAtWechat(send: Transport, simulatorUrl: string | null): RequestCode {
  return async (agent, { orderNo, mode, ...request }) => {
    const host = mode === 'simulator' ? simulatorUrl && `${simulatorUrl}/wechat` : AGENT_PAY_LIVE;
    if (!host) return { fault: 'There is no simulator.' };
    const body = JSON.stringify(await signPreorder(agent, request, channelTime()));
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const about = { call: 'agent-preorder', ...(orderNo && { orderNo }) };
    try {
      const answer = await send({ method: 'POST', url: host + PREORDER_PATH, headers, body, about });
      const code = answer.status === 200 ? readPaymentCode(answer.body) : undefined;
      if (code !== undefined) return { code };
      return { fault: `${answer.status} ${answer.body.toString('utf8').slice(0, 200)}` };
    } catch (error) {
      if (error instanceof TransportFailed) return { fault: `${error.why}: ${error.message}` };
      throw error;
    }
  };
}
