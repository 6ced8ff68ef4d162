import type Router from '@koa/router';
import type { Context } from 'koa';
import { ALIPAY_BILL_RULES } from './bill-rules.ts';
import { write } from '../exchange.ts';
import type { Call, FaultName } from '../faults.ts';
import type { Core, ChannelSimulator } from '../channel-simulator.ts';
import { rawBodyOf, readParts, SimulatorRefusal } from '../requests.ts';
import type { Trade } from '../trade.ts';
import { type AlipayAccount, configFor, createKeyring, newSecrets, PRODUCTS, rotate } from './account.ts';
import { type AgentPaid, cashier, confirmDelivery, payBill, verifyProof } from './agents.ts';
import { AlipayRefusal, contentText, refused, signAnswer, success, unsignedAnswer } from './answers.ts';
import { BILL_PATH, queryBill, serveBill } from './bills.ts';
import { actOnComplaint, COMPLAINT_METHODS } from './disputes.ts';
import { signNotification, sendNotification, notifyBank } from './notifications.ts';
import { refund, refundQuery } from './refunds.ts';
import {
  type AlipayRequest,
  checkRequest,
  newTradeNo,
  orderNoIn,
  type RawRequest,
  readRequest,
  readText,
  tradeNoOf,
} from './requests.ts';
import {
  cancel,
  close,
  createForMiniProgram,
  openPage,
  payByCode,
  precreate,
  query,
  type CallResult,
} from './trades.ts';

type Act = (core: Core, request: AlipayRequest, fault: FaultName | undefined) => CallResult;

/** The methods of the gateway. `call` is the name by which a fault (a deliberate error) is set for a method. */
const METHODS: Readonly<Record<string, { call: Call; act: Act }>> = {
  'alipay.trade.precreate': { call: 'create', act: precreate },
  'alipay.trade.create': { call: 'create', act: createForMiniProgram },
  'alipay.trade.pay': { call: 'create', act: payByCode },
  'alipay.trade.cancel': { call: 'close', act: cancel },
  'alipay.trade.query': { call: 'query', act: query },
  'alipay.trade.close': { call: 'close', act: close },
  'alipay.trade.refund': { call: 'refund', act: refund },
  'alipay.trade.fastpay.refund.query': { call: 'refund-query', act: refundQuery },
  'alipay.open.app.alipaycert.download': { call: 'certificate', act: downloadCertificate },
  'alipay.data.dataservice.bill.downloadurl.query': { call: 'bill', act: queryBill },
  'alipay.aipay.agent.payment.verify': { call: 'agent-verify', act: verifyProof },
  'alipay.aipay.agent.fulfillment.confirm': { call: 'agent-confirm', act: confirmDelivery },
  ...COMPLAINT_METHODS,
};

const GATEWAY = '/alipay/gateway.do';
/** The path at which an AI agent pays. At Alipay this path is on another host than the gateway. */
const CASHIER = '/openclawpay/agent/v1/pay';
const JSON_METHODS: ReadonlySet<string> = new Set(Object.keys(METHODS));
const PAGE_METHODS: ReadonlySet<string> = new Set(Object.keys(PRODUCTS));
/** Seconds between deliveries of a notification: 4 min, 10 min twice, 1 h, 2 h, 6 h, 15 h. */
const SCHEDULE = [4, 10, 10, 60, 120, 360, 900].map((minutes) => minutes * 60);

const keyrings = new WeakMap<Core, ReturnType<typeof createKeyring>>();

/** Simulates Alipay's open API v2, as its gateway behaves. */
export const alipaySimulator: ChannelSimulator = {
  payWay: 'alipay',
  billRules: ALIPAY_BILL_RULES,
  hosts: ['openapi.alipay.com', 'openapi-sandbox.dl.alipaydev.com', 'openapi.alipaydev.com'],
  notificationSchedule: SCHEDULE,
  newSecrets,
  configFor,
  rotate,
  newRefundNumber: newTradeNo,
  mount(router: Router, core: Core) {
    // GET is also accepted, because python-alipay-sdk sends all parameters in the URL.
    for (const verb of ['get', 'post'] as const) router[verb](GATEWAY, (ctx) => serve(core, ctx));
    router.post(CASHIER, (ctx) => {
      ctx.body = cashier(core, rawBodyOf(ctx).toString(), keysOf(core).byAppId);
    });
    router.get(BILL_PATH, (ctx) => serveBill(core, ctx));
  },
  pay(core, trade) {
    core.trades.scan(trade);
    core.trades.pay(trade, { number: tradeNoOf(trade) });
    sendNotification(core, trade, keysOf(core).byName(trade.account));
  },
  detailsOfAnother: (core, { details }) => ({ ...details, tradeNo: newTradeNo(core) }),
  decline(core, trade) {
    core.trades.scan(trade);
    core.trades.decline(trade);
  },
  open: (core, payUrl) => openSigned(core, payUrl),
  notifyRefund(core, trade, refund) {
    if (refund.state === 'succeeded') sendNotification(core, trade, keysOf(core).byName(trade.account), refund);
  },
  notifyBank: (core, trade, refund) => notifyBank(core, trade, keysOf(core).byName(trade.account), refund),
  dispute: actOnComplaint,
  signNotification: (core, notification, fault) =>
    signNotification(core, keysOf(core).byName(notification.account), notification, fault),
  acknowledged: (status, body) => status === 200 && body === 'success',
};

async function serve(core: Core, ctx: Context): Promise<void> {
  const body = rawBodyOf(ctx);
  const parts = readParts(ctx.get('content-type'), body);
  const raw = readRequest(ctx.querystring, parts ?? body.toString('latin1'));
  if (PAGE_METHODS.has(raw.method)) return servePage(core, ctx, raw);
  const request = await checked(core, ctx, raw);
  if (request === undefined) return;
  const { account, certificateMode, charset } = request;
  const member = memberOf(raw.method);
  await core.answer(ctx, {
    payWay: 'alipay',
    account: account.name,
    call: METHODS[raw.method]!.call,
    orderNo: orderNoIn(core, request),
    act: (fault, word) => {
      const result = perform(core, request, fault, word);
      return { status: 200, body: contentText(result.content), silent: result.silent };
    },
    sign: ({ body: text }, fault) => signAnswer(core, account, { member, text, certificateMode, charset }, fault),
  });
}

/** Performs a checked request. A business refusal is returned as an ordinary response. */
function perform(core: Core, request: AlipayRequest, fault: FaultName | undefined, word?: string): CallResult {
  try {
    if (fault === 'refused' && word !== undefined)
      throw refused(word, 'The simulator refuses the call because of a fault that was set.');
    if (fault === 'refused-in-gbk' && word !== undefined) throw refused(word, '交易失败：余额不足，请充值。');
    if (fault === 'clock-skew')
      throw new AlipayRefusal('40002', 'isv.invalid-timestamp', 'The timestamp is too far from the current time.');
    if (fault === 'same-id-concurrent-refusal') throw refused('SYSTEM_ERROR', 'The same request is being processed.');
    return METHODS[request.method]!.act(core, request, fault);
  } catch (error) {
    if (error instanceof AlipayRefusal) return { content: error.content };
    throw error;
  }
}

/** Alipay's code for an unknown serial number is not documented. */
function downloadCertificate(_core: Core, { account, content }: AlipayRequest): CallResult {
  const pem = account.alipayCerts.get(readText(content['alipay_cert_sn'], 'alipay_cert_sn', /^[0-9a-f]{32}$/));
  if (pem === undefined) throw refused('INVALID_PARAMETER', 'This app has no certificate with this alipay_cert_sn.');
  return { content: success({ alipay_cert_content: Buffer.from(pem).toString('base64') }) };
}

/** Returns undefined if the request was invalid; the refusal has then been sent. */
async function checked(core: Core, ctx: Context, raw: RawRequest): Promise<AlipayRequest | undefined> {
  const keys = keysOf(core);
  try {
    return checkRequest(raw, keys.byAppId, JSON_METHODS, { checkTime: true });
  } catch (error) {
    if (!(error instanceof AlipayRefusal)) throw error;
    const member = JSON_METHODS.has(raw.method) ? memberOf(raw.method) : 'error_response';
    const text = contentText(error.content);
    const account = signerOf(keys.byAppId, raw);
    if (account === undefined || !error.signed) write(ctx, unsignedAnswer(member, text));
    else
      write(
        ctx,
        await signAnswer(
          core,
          account,
          { member, text, certificateMode: raw.form.values.has('app_cert_sn'), charset: 'utf-8' },
          undefined,
        ),
      );
    return undefined;
  }
}

function servePage(core: Core, ctx: Context, raw: RawRequest): void {
  try {
    ctx.redirect(core.payUrl(openChecked(core, raw)));
  } catch (error) {
    if (!(error instanceof AlipayRefusal)) throw error;
    ctx.status = 400;
    ctx.type = 'text/plain; charset=utf-8';
    ctx.body = `${error.content.code} ${String(error.content['sub_code'])}: ${error.message}\n`;
  }
}

function openSigned(core: Core, payUrl: string): Trade | undefined {
  const raw = readRequest(payUrl.slice(payUrl.indexOf('?') + 1), '');
  try {
    return PAGE_METHODS.has(raw.method) ? openChecked(core, raw) : undefined;
  } catch (error) {
    if (!(error instanceof AlipayRefusal)) throw error;
    throw new SimulatorRefusal(422, String(error.content['sub_code']), error.message);
  }
}

function openChecked(core: Core, raw: RawRequest): Trade {
  return openPage(core, checkRequest(raw, keysOf(core).byAppId, PAGE_METHODS, { checkTime: false }));
}

function signerOf(
  byAppId: (appId: string) => AlipayAccount | undefined,
  { form }: RawRequest,
): AlipayAccount | undefined {
  return byAppId(form.values.get('app_id')?.toString('latin1') ?? '');
}

function memberOf(method: string): string {
  return `${method.replaceAll('.', '_')}_response`;
}

/**
 * Pays a pay-per-call request as Alipay's agent does. `header` is the value of the header `Payment-Needed`.
 * `clientSession` is the agent's session; if it is absent, the simulator creates one.
 */
export function payAsAgent(core: Core, header: string, clientSession?: string): AgentPaid {
  return payBill(core, header, keysOf(core).byAppId, clientSession);
}

function keysOf(core: Core): ReturnType<typeof createKeyring> {
  const known = keyrings.get(core) ?? createKeyring(core);
  keyrings.set(core, known);
  return known;
}
