import type Router from '@koa/router';
import type { Context } from 'koa';
import { SimulatorRefusal, rawBodyOf, readParts } from '../requests.ts';
import type { Core, Half } from '../half.ts';
import { write } from '../exchange.ts';
import type { Trade } from '../trade.ts';
import { type AgentPaid, cashier, payBill } from './agents.ts';
import { BILL_PATH, serveBill } from './bills.ts';
import { METHODS, openPage, perform } from './trades.ts';
import { actOnComplaint } from './disputes.ts';
import {
  type AlipayRequest,
  type RawRequest,
  checkRequest,
  newTradeNo,
  orderNoIn,
  readRequest,
  tradeNoOf,
} from './requests.ts';
import { signNotice, tell, tellBank } from './notices.ts';
import { type AlipayAccount, PRODUCTS, configFor, createKeyring, newSecrets, rotate } from './account.ts';
import { AlipayRefusal, contentText, sealAnswer, unsignedAnswer } from './answers.ts';

const GATEWAY = '/alipay/gateway.do';
/** At another host of Alipay's than the gateway, so at its own path here. */
const CASHIER = '/openclawpay/agent/v1/pay';
const JSON_METHODS: ReadonlySet<string> = new Set(Object.keys(METHODS));
const PAGE_METHODS: ReadonlySet<string> = new Set(Object.keys(PRODUCTS));
/** 4m 10m 10m 1h 2h 6h 15h. */
const SCHEDULE = [4, 10, 10, 60, 120, 360, 900].map((minutes) => minutes * 60);

const keyrings = new WeakMap<Core, ReturnType<typeof createKeyring>>();

/** Alipay's open API v2 as its gateway behaves. */
export const alipayHalf: Half = {
  payWay: 'alipay',
  hosts: ['openapi.alipay.com', 'openapi-sandbox.dl.alipaydev.com', 'openapi.alipaydev.com'],
  noticeSchedule: SCHEDULE,
  newSecrets,
  configFor,
  rotate,
  newRefundNumber: newTradeNo,
  mount(router: Router, core: Core) {
    // In an address, too: python-alipay-sdk asks in no other way.
    for (const verb of ['get', 'post'] as const) router[verb](GATEWAY, (ctx) => serve(core, ctx));
    router.post(CASHIER, (ctx) => {
      ctx.body = cashier(core, rawBodyOf(ctx).toString(), keysOf(core).byAppId);
    });
    router.get(BILL_PATH, (ctx) => serveBill(core, ctx));
  },
  pay(core, trade) {
    core.trades.scan(trade);
    core.trades.pay(trade, { number: tradeNoOf(trade) });
    tell(core, trade, keysOf(core).byName(trade.account));
  },
  detailsOfAnother: (core, { details }) => ({ ...details, tradeNo: newTradeNo(core) }),
  decline(core, trade) {
    core.trades.scan(trade);
    core.trades.decline(trade);
  },
  open: (core, payUrl) => openSigned(core, payUrl),
  tellRefund(core, trade, refund) {
    if (refund.state === 'succeeded') tell(core, trade, keysOf(core).byName(trade.account), refund);
  },
  tellBank: (core, trade, refund) => tellBank(core, trade, keysOf(core).byName(trade.account), refund),
  dispute: actOnComplaint,
  signNotice: (core, notice, fault) => signNotice(core, keysOf(core).byName(notice.account), notice, fault),
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
      const said = perform(core, request, fault, word);
      return { status: 200, body: contentText(said.content), silent: said.silent };
    },
    seal: ({ body: text }, fault) => sealAnswer(core, account, { member, text, certificateMode, charset }, fault),
  });
}

/** The request, or undefined when it was refused and answered: some refusals of the gateway carry no signature. */
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
        await sealAnswer(
          core,
          account,
          { member, text, certificateMode: raw.form.values.has('app_cert_sn'), charset: 'utf-8' },
          undefined,
        ),
      );
    return undefined;
  }
}

/** A payer's browser at a signed address: on to the page where he decides, or an error in words. */
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

/** An agent of Alipay pays by the value of `Payment-Needed`, in a session of its own or a given one. */
export function payAsAgent(core: Core, header: string, clientSession?: string): AgentPaid {
  return payBill(core, header, keysOf(core).byAppId, clientSession);
}

function keysOf(core: Core): ReturnType<typeof createKeyring> {
  const known = keyrings.get(core) ?? createKeyring(core);
  keyrings.set(core, known);
  return known;
}
