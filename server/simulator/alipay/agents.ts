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
 * The fields that a seller signs, sorted (`aipay-interface-contract` of the repository alipay/ai); empty fields are
 * dropped.
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

/** The only service in Alipay's sandbox; its payments are verified without a proof (`a2m-sandbox-test`). */
const SANDBOX_SERVICE = 'api_mock_service_id';

type Facts = Record<string, string>;
type AccountOf = (appId: string) => AlipayAccount | undefined;

/** The result of an agent's payment: the value of `Payment-Proof`. */
export interface AgentPaid {
  trade: Trade;
  paymentProof: string;
}

/**
 * Pays as Alipay's agent does: reads `Payment-Needed`, verifies its seller and signature, and pays. A paid bill is not paid again and gives the
 * same proof. The proof is base64url without padding (section 4.3 of Alipay's product document).
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
 * The cashier of Alipay's sandbox, which accepts a bill in camel case: `POST /openclawpay/agent/v1/pay`. It pays at once, because every trade of
 * the sandbox cashier counts as paid; its error codes are those of Alipay's guide, or inferred.
 */
export function cashier(core: Core, body: string, accountOf: AccountOf): object {
  try {
    const { protocol, method, signature } = JSON.parse(body) as Partial<Record<string, Facts>>;
    if (!protocol || !method || !signature) throw wrong('protocol, method and signature are needed.');
    if (!protocol['sellerSignature']) throw wrong('protocol.sellerSignature must not be empty.');
    const buyer = signature['buyerExternalId'] ?? '';
    if (method['buyerUniqueIdKey'] !== 'buyerExternalId' || protocol['buyerUniqueId'] !== buyer || buyer === '')
      throw wrong('protocol.buyerUniqueId does not match the buyer.');
    if (!signature['buyerSignature'] || !/^\d{10,}$/.test(signature['timestamp'] ?? ''))
      throw wrong('signature is not complete.');
    if (method['serviceId'] !== SANDBOX_SERVICE) throw wrong("method.serviceId is not the sandbox's.");
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
  if (!account) throw wrong('seller_app_id is unknown.');
  const facts: Facts = { ...method, ...protocol };
  const text = SIGNED.filter((name) => facts[name]).map((name) => `${name}=${facts[name]}`);
  if (
    protocol['seller_sign_type'] !== 'RSA2' ||
    !verifyRsa2(text.join('&'), facts['seller_signature'] ?? '', account.appPublicKey)
  )
    throw wrong('seller_signature does not match.');
  if (!account.sellers.includes(facts['seller_id'] ?? '') || protocol['seller_unique_id'] !== facts['seller_id'])
    throw wrong('seller_id does not belong to the app.');
  if (!/^[\w-]{1,64}$/.test(facts['service_id'] ?? '')) throw wrong('service_id is missing.');
  const trade = core.trades.find(facts['out_trade_no'] ?? '', { payWay: 'alipay', account: account.name });
  if (!trade || yuan(trade, trade.minor) !== facts['amount'] || facts['currency'] !== 'CNY')
    throw wrong('The bill is unknown.');
  const isPaid = paymentOf(trade) !== undefined;
  if (!isPaid && !(Date.parse(facts['pay_before'] ?? '') > core.clock.now())) throw wrong('pay_before has passed.');
  trade.details['resourceId'] = facts['resource_id'];
  if (!isPaid) core.channelSimulator('alipay').pay(core, trade);
  return { trade, account };
}

/** The session in the format of Alipay's command line: base64 of JSON. */
function sessionOf({ id }: Trade): string {
  const session = { externalId: '2088000000000000', signature: `session-${id}`, timestamp: '1893456000000' };
  return Buffer.from(JSON.stringify(session)).toString('base64');
}

/** alipay.aipay.agent.payment.verify: verifies a proof. A session in the request must be the agent's. */
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
  if (!isGenuine) throw refused('PAYMENT_PROOF_INVALID', 'The proof is invalid.');
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

/** alipay.aipay.agent.fulfillment.confirm: confirms the delivery; a repeat returns the same answer. */
export function confirmDelivery(core: Core, { account, content }: AlipayRequest): { content: Content } {
  const tradeNo = readText(content['trade_no'], 'trade_no', /^\d{16,64}$/);
  const trade = [...core.ledger.trades.values()].find(
    (one) => one.payWay === 'alipay' && one.account === account.name && tradeNoOf(one) === tradeNo,
  );
  if (!trade || paymentOf(trade) === undefined) throw refused('TRADE_NOT_EXIST', 'The trade does not exist.');
  trade.details['confirmations'] = Number(trade.details['confirmations'] ?? 0) + 1;
  return { content: success({ trade_no: tradeNo }) };
}

function readBill(header: string): Record<'protocol' | 'method', Facts> {
  try {
    const bytes = Buffer.from(header, 'base64url');
    if (bytes.toString('base64url') !== header) throw wrong('Payment-Needed is not base64url.');
    const { protocol, method } = JSON.parse(bytes.toString('utf8')) as Record<string, Facts>;
    if (protocol && method) return { protocol, method };
  } catch (error) {
    if (error instanceof SimulatorRefusal) throw error;
  }
  throw wrong('Payment-Needed is not a bill.');
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
