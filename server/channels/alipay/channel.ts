import {
  type Channel,
  type ChannelInput,
  ChannelMisconfigured,
  type CloseOutcome,
  NOTIFICATION_STATUS,
  type OrderRef,
  type Outcome,
  type PlaceOrder,
  type RefundOutcome,
  type WireAnswer,
} from '../../payments/channel.ts';
import { multipartForm } from '../evidence.ts';
import { readFeeRate } from '../fee-rate.ts';
import { alipayAgents, type AgentSeller } from './agent-pay.ts';
import {
  readCancelled,
  readClosed,
  readCode,
  readCreated,
  readDownloaded,
  readPaidByCode,
  readQueried,
  readRefundLookedUp,
  readRefundQueried,
  readRefunded,
} from './answers.ts';
import { alipayBills } from './bills.ts';
import { type AlipayKeys, type Measure, readKeys } from './settings.ts';
import { alipayComplaints } from './disputes.ts';
import {
  type AlipayCall,
  type AlipayUpload,
  type Caller,
  type Seller,
  cancelCall,
  certificateCall,
  closeCall,
  createTime,
  encodeForm,
  isAlipayScene,
  parametersOf,
  placeCall,
  queryCall,
  refundCall,
  refundQueryCall,
} from './requests.ts';
import { readNotification } from './notification.ts';
import { probe } from './probe.ts';
import { readReply, unknown, unknownFrom, type Reply, type SignedAnswer, type Unknown } from './reply.ts';
import { requestText, signRsa2 } from './signature.ts';

/** The gateway URL of each mode. It is fixed here, so that no configuration can send requests to another host. */
const GATEWAYS = {
  live: 'https://openapi.alipay.com/gateway.do',
  sandbox: 'https://openapi-sandbox.dl.alipaydev.com/gateway.do',
} as const;

interface Context {
  gateway: string;
  caller: Caller;
  keys: AlipayKeys;
  seller: Seller;
  input: ChannelInput;
}

interface About {
  orderNo?: string;
  refundNo?: string;
}

/** Creates the channel of one Alipay account. Throws ChannelMisconfigured, which names the wrong field. */
export function createAlipay(input: ChannelInput): Channel {
  const context = contextOf(input);
  const { caller, keys, seller } = context;
  const { now, mode, download: downloadFile } = input;
  const agentSeller = agentSellerOf(input, caller);
  const rate = readFeeRate(input.fields, { withAmount: false });
  return {
    payWay: 'alipay',
    account: caller.appId,
    place: (order) => place(context, order),
    query: (order) => query(context, order),
    close: (order, again = false) =>
      order.scene === 'code'
        ? cancel(context, order, again)
        : requestAndRead(context, closeCall(order), order, (answer) => readClosed(answer, order)),
    refund: (refund) =>
      requestAndRead(context, refundCall(refund), refund, (answer) => readRefunded(answer, refund, now())),
    queryRefund: (refund) =>
      requestAndRead(context, refundQueryCall(refund), refund, (answer) => readRefundQueried(answer, refund, now())),
    lookUpRefund: (order, refundNo, others = []) => lookUpRefund(context, { ...order, refundNo }, others),
    disputes: alipayComplaints({
      request: (call) => send(context, call, {}, now()),
      upload: (file) => upload(context, file, now()),
      sellerId: caller.sellerId,
    }),
    ...(agentSeller && {
      agents: alipayAgents({
        seller: agentSeller,
        key: keys.appKey,
        request: (call, about) => send(context, call, about, now()),
        now,
      }),
    }),
    ...(downloadFile && {
      bills: alipayBills({
        request: (call) => send(context, call, {}, now()),
        download: downloadFile,
        mode,
        gateway: context.gateway,
        sellerId: caller.sellerId,
        rate,
        now,
      }),
    }),
    readNotification: async (_headers, rawBody) => readNotification({ ...caller, ring: keys.ring }, rawBody, now()),
    ackNotification: (verdict) => ({
      status: NOTIFICATION_STATUS[verdict],
      contentType: 'text/plain; charset=utf-8',
      body: verdict === 'accepted' ? 'success' : 'fail',
    }),
    probe: (request) => probe({ request: (call) => send(context, call, {}, now()), keys, ...seller, now }, request),
  };
}

function contextOf(input: ChannelInput): Context {
  const { appId = '', sellerId = '', appAuthToken = '', qrProductCode = '', miniAppId = '' } = input.fields;
  if (appId === '') throw new ChannelMisconfigured('appId', 'appId is missing.');
  const gateway = gatewayOf(input);
  // `download` is called only after Alipay has sent a response, so `context` is assigned before it is used.
  const keys = readKeys(input, (serial, measure) => download(context, serial, measure));
  const { appCertSerial, rootCertSerial } = keys;
  const caller = { appId, sellerId, appAuthToken, appCertSerial, rootCertSerial };
  // A mini program may have its own app id, which is sent in orders that are paid in the mini program.
  const seller = { sellerId, qrProductCode, miniAppId: miniAppId || appId };
  const context: Context = { gateway, caller, keys, seller, input };
  return context;
}

/**
 * Returns the seller for agent payments; undefined if no service id is configured. A service id requires a seller id.
 */
function agentSellerOf({ fields }: ChannelInput, { appId, sellerId }: Caller): AgentSeller | undefined {
  const { agentServiceId: serviceId = '', agentSellerName: sellerName = '' } = fields;
  if (serviceId === '') return undefined;
  if (sellerId === '') throw new ChannelMisconfigured('sellerId', 'sellerId is missing; agentServiceId requires it.');
  return { appId, sellerId, serviceId, sellerName };
}

function gatewayOf({ mode, simulatorUrl }: ChannelInput): string {
  if (mode !== 'simulator') return GATEWAYS[mode];
  if (!simulatorUrl) throw new ChannelMisconfigured('mode', 'The mode is simulator, but no simulator is configured.');
  return `${simulatorUrl.replace(/\/+$/, '')}/alipay/gateway.do`;
}

/**
 * For each scene (the way in which the payer pays, e.g. `qr`), the function that reads the response to the create call.
 * In a scene that is not listed, this service sends no create call. Instead the payer's app or browser sends a signed
 * request to Alipay.
 */
const READ: Readonly<
  Partial<Record<PlaceOrder['scene'], (answer: SignedAnswer, order: PlaceOrder, now: Date) => Outcome>>
> = {
  qr: readCode,
  jsapi: readCreated,
  mini: readCreated,
  code: readPaidByCode,
};

async function place(context: Context, order: PlaceOrder): Promise<Outcome> {
  const { scene, amount } = order;
  if (!isAlipayScene(scene) || amount.currency !== 'CNY') {
    const reason = `Alipay does not support the scene ${scene} in ${amount.currency}.`;
    return { kind: 'declined', code: 'not_supported', reason, definite: true };
  }
  const { now } = context.input;
  const call = placeCall(order, scene, context.seller);
  const at = createTime(order.sentAt, now());
  const read = READ[scene];
  if (read) return requestAndRead(context, call, order, (answer) => read(answer, order, now()), at);
  const form = encodeForm(await signed(context, call, at));
  if (scene === 'app') return { kind: 'pending', pay: { type: 'app', params: { orderString: form } } };
  return { kind: 'pending', pay: { type: 'redirect', url: `${context.gateway}?${form}` } };
}

function query(context: Context, order: OrderRef): Promise<Outcome> {
  const { caller, input } = context;
  return requestAndRead(context, queryCall(order), order, (answer) =>
    readQueried(answer, order, input.now(), caller.sellerId),
  );
}

/**
 * Alipay finds a refund only together with its payment. So the trade numbers of the order's payments are tried first,
 * then the order number.
 */
async function lookUpRefund(
  context: Context,
  refund: OrderRef & { refundNo: string },
  others: readonly string[],
): Promise<RefundOutcome> {
  const { now } = context.input;
  let outcome: RefundOutcome = { kind: 'absent' };
  for (const paymentNo of new Set([refund.channelTradeNo, ...others, null])) {
    const call = refundQueryCall({ ...refund, channelTradeNo: paymentNo });
    if (outcome.kind === 'absent')
      outcome = await requestAndRead(context, call, refund, (one) => readRefundLookedUp(one, refund, now()));
  }
  return outcome;
}

/**
 * Cancels a payment by payer's code. If `again` is true, an earlier cancel may have returned the money. The response to
 * a repeated cancel does not report whether money was returned, so the service also queries the order.
 */
async function cancel(context: Context, order: OrderRef, again: boolean): Promise<CloseOutcome> {
  const outcome = await requestAndRead(context, cancelCall(order), order, (one) =>
    readCancelled(one, order, context.input.now()),
  );
  if (!again || outcome.kind !== 'closed' || outcome.returned) return outcome;
  const after = await query(context, order);
  if (after.kind === 'closed' || after.kind === 'absent' || after.kind === 'unknown')
    return after.kind === 'unknown' ? after : outcome;
  const isBack = after.kind === 'paid' && (after.refundedTotal ?? 0n) >= after.amount.minor;
  // Shortly after a cancel, a query may still return the old state. So the money may have been returned, and the result
  // is unknown.
  if (!isBack) return unknown('busy', `The order is cancelled, but the query still returns ${after.kind}.`);
  return { kind: 'closed', returned: { channelNo: after.channelNo, at: after.at } };
}

async function requestAndRead<T>(
  context: Context,
  call: AlipayCall,
  about: About,
  read: (answer: SignedAnswer) => T,
  at = context.input.now(),
): Promise<T | Unknown> {
  const reply = await send(context, call, about, at);
  if (reply.kind === 'answered') return read(reply.answer);
  return unknown(reply.cause, reply.detail);
}

async function send(context: Context, call: AlipayCall, about: About, at: Date): Promise<Reply> {
  try {
    return await readReply(await post(context, call, about, at), call.method, context.keys);
  } catch (error) {
    return unknownFrom(error);
  }
}

/** Uploads like Alipay's own SDKs: the file is in a multipart body, the signed parameters are in the URL. */
async function upload(context: Context, file: AlipayUpload, at: Date): Promise<Reply> {
  try {
    const { contentType, bytes } = multipartForm([file.part]);
    const answer = await context.input.send({
      method: 'POST',
      url: `${context.gateway}?${encodeForm(await signed(context, file, at))}`,
      headers: { 'content-type': contentType, accept: 'application/json' },
      bytes,
      about: { call: file.method },
    });
    return await readReply(answer, file.method, context.keys);
  } catch (error) {
    return unknownFrom(error);
  }
}

async function post(context: Context, call: AlipayCall, { orderNo, refundNo }: About, at: Date): Promise<WireAnswer> {
  // Alipay's own SDKs send `charset` in the URL, because this parameter states the charset of the body. This service
  // does the same.
  const { charset, ...params } = await signed(context, call, at);
  return context.input.send({
    method: 'POST',
    url: `${context.gateway}?charset=${charset}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded;charset=utf-8', accept: 'application/json' },
    body: encodeForm(params),
    about: { call: call.method, orderNo, refundNo },
  });
}

async function download(context: Context, serial: string, measure: Measure): Promise<string> {
  const call = certificateCall(serial);
  const { status, body } = await post(context, call, {}, measure.now);
  if (status !== 200) throw new Error(`HTTP ${status}`);
  return readDownloaded(body, call.method, serial, measure);
}

async function signed(
  { caller, keys }: Context,
  call: AlipayCall | AlipayUpload,
  at: Date,
): Promise<Record<string, string>> {
  const params = parametersOf(call, caller, at);
  return { ...params, sign: await signRsa2(requestText(params), keys.appKey) };
}
