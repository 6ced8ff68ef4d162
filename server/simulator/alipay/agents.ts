import { createHmac, timingSafeEqual } from 'node:crypto';
import { verifyRsa2 } from '../../channels/alipay/signature.ts';
import type { FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import { SimulatorRefusal } from '../requests.ts';
import { type Trade, paymentOf } from '../trade.ts';
import type { AlipayAccount } from './account.ts';
import { type Content, refused, success } from './answers.ts';
import { type AlipayRequest, readText, tradeNoOf, yuan } from './requests.ts';

/**
 * The fields of a payment request that a seller signs, in the sequence of the signed text (`aipay-interface-contract`
 * of the repository alipay/ai). Empty fields are not signed.
 */
const SIGNED = [
  'amount',
  'currency',
  'goods_name',
  'out_trade_no',
  'pay_before',
  'resource_id',
  'seller_id',
  'service_id',
] as const;

/**
 * The only service id in Alipay's sandbox. Its payments pass alipay.aipay.agent.payment.verify with any proof
 * (`a2m-sandbox-test`).
 */
const SANDBOX_SERVICE = 'api_mock_service_id';

type Facts = Record<string, string>;
type AccountOf = (appId: string) => AlipayAccount | undefined;

/** `paymentProof` is the value of the `Payment-Proof` header. */
export interface AgentPaid {
  trade: Trade;
  paymentProof: string;
}

/**
 * Pays a pay-per-call request as Alipay's agent does. A request that is already paid is not paid again; the function
 * then returns the same payment proof. The proof is base64url without padding (section 4.3 of Alipay's product
 * document).
 */
export function payBill(core: Core, header: string, accountOf: AccountOf, clientSession?: string): AgentPaid {
  const { trade, account } = payFacts(core, readBill(header), accountOf);
  const session = clientSession ?? sessionOf(trade);
  trade.details['clientSession'] = session;
  core.trades.record(trade, 'updated');
  const proof = {
    protocol: { payment_proof: proofOf(account, trade), trade_no: tradeNoOf(trade) },
    method: { client_session: session },
  };
  return { trade, paymentProof: Buffer.from(JSON.stringify(proof)).toString('base64url') };
}

/**
 * Simulates the cashier of Alipay's sandbox (`POST /openclawpay/agent/v1/pay`), through which an agent pays. The fields
 * of its request are in camel case. The cashier pays immediately, because the sandbox treats every trade as paid. The
 * error codes are from Alipay's guide; codes that the guide does not list are inferred.
 */
export function cashier(core: Core, body: string, accountOf: AccountOf): object {
  try {
    const { protocol, method, signature } = JSON.parse(body) as Partial<Record<string, Facts>>;
    if (!protocol || !method || !signature) throw wrong('The fields protocol, method and signature are required.');
    if (!protocol['sellerSignature']) throw wrong('The field protocol.sellerSignature must not be empty.');
    const buyer = signature['buyerExternalId'] ?? '';
    if (method['buyerUniqueIdKey'] !== 'buyerExternalId' || protocol['buyerUniqueId'] !== buyer || buyer === '')
      throw wrong('protocol.buyerUniqueId must equal signature.buyerExternalId.');
    if (!signature['buyerSignature'] || !/^\d{10,}$/.test(signature['timestamp'] ?? ''))
      throw wrong('signature.buyerSignature or signature.timestamp is missing or invalid.');
    if (method['serviceId'] !== SANDBOX_SERVICE)
      throw wrong("method.serviceId must be api_mock_service_id, the only service id in Alipay's sandbox.");
    const { trade } = payFacts(core, { protocol: snakeCased(protocol), method: snakeCased(method) }, accountOf);
    trade.details['isProven'] = true;
    core.trades.record(trade, 'updated');
    const tradeNo = tradeNoOf(trade);
    return { payScheme: `alipays://platformapi/startapp?tradeNo=${tradeNo}`, protocol: { tradeNo } };
  } catch (error) {
    if (error instanceof SimulatorRefusal) return { errorCode: 'PARAM_INVALID', errorMessage: error.message };
    if (error instanceof SyntaxError) return { errorCode: 'PARAM_INVALID', errorMessage: 'The body is not JSON.' };
    throw error;
  }
}

function snakeCased(facts: Facts): Facts {
  const named = ([name, value]: [string, string]) => [name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`), value];
  return Object.fromEntries(Object.entries(facts).map(named)) as Facts;
}

function payFacts(
  core: Core,
  { protocol, method }: Record<'protocol' | 'method', Facts>,
  accountOf: AccountOf,
): { trade: Trade; account: AlipayAccount } {
  const account = accountOf(method['seller_app_id'] ?? '');
  if (!account) throw wrong('The simulator has no app with this seller_app_id.');
  const facts: Facts = { ...method, ...protocol };
  const text = SIGNED.filter((name) => facts[name]).map((name) => `${name}=${facts[name]}`);
  if (
    protocol['seller_sign_type'] !== 'RSA2' ||
    !verifyRsa2(text.join('&'), facts['seller_signature'] ?? '', account.appPublicKey)
  )
    throw wrong('seller_signature does not match the bill, or seller_sign_type is not RSA2.');
  if (!account.sellers.includes(facts['seller_id'] ?? '') || protocol['seller_unique_id'] !== facts['seller_id'])
    throw wrong('seller_id must be a merchant of the app in seller_app_id, and must equal seller_unique_id.');
  if (!/^[\w-]{1,64}$/.test(facts['service_id'] ?? '')) throw wrong('service_id is missing or invalid.');
  const trade = core.trades.find(facts['out_trade_no'] ?? '', { payWay: 'alipay', account: account.name });
  if (!trade || yuan(trade, trade.minor) !== facts['amount'] || facts['currency'] !== 'CNY')
    throw wrong('The simulator has no order with the out_trade_no, amount and currency of the bill.');
  const isPaid = paymentOf(trade) !== undefined;
  if (!isPaid && !(Date.parse(facts['pay_before'] ?? '') > core.clock.now()))
    throw wrong('pay_before must be a valid time in the future.');
  trade.details['resourceId'] = facts['resource_id'];
  if (!isPaid) core.channelSimulator('alipay').pay(core, trade);
  return { trade, account };
}

/** Returns the agent's session in the format of Alipay's command line tool: base64 of JSON. */
function sessionOf({ id }: Trade): string {
  const session = { externalId: '2088000000000000', signature: `session-${id}`, timestamp: '1893456000000' };
  return Buffer.from(JSON.stringify(session)).toString('base64');
}

/**
 * alipay.aipay.agent.payment.verify: verifies a payment proof. If the request has a `client_session`, it must be the
 * session of the agent that paid.
 */
export function verifyProof(
  core: Core,
  { account, content }: AlipayRequest,
  fault: FaultName | undefined,
): { content: Content } {
  const proof = readText(content['payment_proof'], 'payment_proof', /^[\w.-]{1,512}$/);
  const tradeNo = readText(content['trade_no'], 'trade_no', /^\d{16,64}$/);
  const { client_session: session } = content;
  const trade = [...core.ledger.trades.values()].find(
    (one) => one.payWay === 'alipay' && one.account === account.name && tradeNoOf(one) === tradeNo,
  );
  const isGenuine =
    trade?.details['isProven'] === true ||
    (trade !== undefined &&
      isEqual(proof, proofOf(account, trade)) &&
      (session === undefined || session === trade.details['clientSession']));
  if (!isGenuine)
    throw refused('PAYMENT_PROOF_INVALID', 'payment_proof or client_session does not belong to this trade_no.');
  const payment = paymentOf(trade);
  return {
    content: success({
      active: payment !== undefined && fault !== 'query-lag',
      amount: yuan(trade, (payment?.minor ?? trade.minor) + (fault === 'wrong-amount' ? 1 : 0)),
      out_trade_no: trade.orderNo,
      trade_no: tradeNo,
      resource_id: trade.details['resourceId'],
    }),
  };
}

/** alipay.aipay.agent.fulfillment.confirm: confirms the delivery. A repeated call returns the same response. */
export function confirmDelivery(core: Core, { account, content }: AlipayRequest): { content: Content } {
  const tradeNo = readText(content['trade_no'], 'trade_no', /^\d{16,64}$/);
  const trade = [...core.ledger.trades.values()].find(
    (one) => one.payWay === 'alipay' && one.account === account.name && tradeNoOf(one) === tradeNo,
  );
  if (!trade || paymentOf(trade) === undefined)
    throw refused('TRADE_NOT_EXIST', 'The trade does not exist or is not paid.');
  trade.details['confirmations'] = Number(trade.details['confirmations'] ?? 0) + 1;
  return { content: success({ trade_no: tradeNo }) };
}

function readBill(header: string): Record<'protocol' | 'method', Facts> {
  try {
    const bytes = Buffer.from(header, 'base64url');
    if (bytes.toString('base64url') !== header) throw wrong('The value of Payment-Needed is not base64url.');
    const { protocol, method } = JSON.parse(bytes.toString('utf8')) as Record<string, Facts>;
    if (protocol && method) return { protocol, method };
  } catch (error) {
    if (error instanceof SimulatorRefusal) throw error;
  }
  throw wrong('The value of Payment-Needed is not a bill with protocol and method.');
}

function proofOf({ appId, sellerId }: AlipayAccount, trade: Trade): string {
  return createHmac('sha256', `${appId}.${sellerId}`).update(`proof.${trade.id}`).digest('base64url');
}

function isEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

function wrong(message: string): SimulatorRefusal {
  return new SimulatorRefusal(400, 'agent_bill_refused', message);
}
