import { createPrivateKey, sign } from 'node:crypto';
import test from 'ava';
import { readPaymentCode, signPreorder } from '../../../../server/channels/wechat/agent-pay.ts';
import { PREORDER_PATH, preorderText } from '../../../../server/channels/wechat/signature.ts';
import type { PlaceOrder } from '../../../../server/payments/channel.ts';
import type { World } from '../world.ts';
import { channelOf, configOf, newNo, startWechat } from './merchant.ts';

interface Developer {
  developerId: string;
  keyId: string;
  privateKey: string;
}
type Body = Record<string, string>;

let world: World;
let developer: Developer;
let other: Developer;
test.before(async () => {
  world = await startWechat();
  developer = await world.post('/sim/agent/developer', { skills: ['weather'] });
  await world.post('/sim/accounts', { payWay: 'wechat', name: 'second' });
  other = await world.post('/sim/agent/developer', { account: 'second', skills: ['weather'] });
});
test.after.always(() => world.close());

async function place(account?: string): Promise<{ orderNo: string; codeUrl: string }> {
  const order: PlaceOrder = {
    orderNo: newNo(),
    subject: 'Weather',
    amount: { minor: 1234n, currency: 'CNY' },
    scene: 'qr',
    expiresAt: new Date(Date.now() + 3_600_000),
    sentAt: new Date(),
    notifyUrl: 'http://127.0.0.1:9/notify',
    returnUrl: '',
    cancelUrl: '',
    clientIp: null,
    openId: null,
    payCode: null,
    options: {},
  };
  const placed = await channelOf(world, await configOf(world, account)).place(order);
  const { pay } = placed as unknown as { pay: { qrCode: string } };
  return { orderNo: order.orderNo, codeUrl: pay.qrCode };
}

const who = ({ developerId, keyId, privateKey }: Developer) => ({
  developerId,
  keyId,
  key: createPrivateKey(privateKey),
});

function made(codeUrl: string, { by = developer, skill = 'weather', seconds = 900 } = {}): Promise<Body> {
  const wish = {
    skill: { id: skill, version: '1.0.0' },
    payData: { type: 'code_url', value: codeUrl },
    seconds,
  } as const;
  return signPreorder(who(by), wish, new Date());
}

/** Signs a changed body again. */
function resigned(body: Body, change: Body, { text = preorderText, by = developer } = {}): Body {
  const next = { ...body, ...change };
  const bytes = text(next['timestamp']!, next['nonce_str']!, next['payment_required']!);
  return { ...next, signature: sign('RSA-SHA256', bytes, by.privateKey).toString('base64') };
}

/** Changes the encoded requirements and signs again. */
function rewished(body: Body, change: object): Body {
  const wish = JSON.parse(Buffer.from(body['payment_required']!, 'base64').toString()) as object;
  return resigned(body, { payment_required: Buffer.from(JSON.stringify({ ...wish, ...change })).toString('base64') });
}

async function send(body: unknown): Promise<{ status: number; code: string; paymentCode: string | undefined }> {
  const answer = await fetch(`${world.url}/wechat${PREORDER_PATH}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const { code } = JSON.parse(bytes.toString()) as { code: string };
  return { status: answer.status, code, paymentCode: readPaymentCode(bytes) };
}

test.serial('an agent pays the order of a payment code once', async (t) => {
  const { orderNo, codeUrl } = await place();
  const { status, paymentCode } = await send(await made(codeUrl));
  t.is(status, 200);
  for (const _ of [1, 2]) t.like(await world.post('/sim/agent/pay', { paymentCode }), { orderNo, state: 'paid' });
  const { orders } = await world.ledger(orderNo);
  t.like(orders, [{ orderNo, paid: 1234 }]);
  t.is((await send(await made(codeUrl))).code, 'ORDER_NOT_PAYABLE');
});

test.serial('each published check has its own refusal', async (t) => {
  const { codeUrl } = await place();
  const body = await made(codeUrl);
  const skewed = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds);
  const unended = (...words: Parameters<typeof preorderText>) => preorderText(...words).subarray(0, -1);
  const refused: [string, Body, string][] = [
    ['another kind of signature', { ...body, signature_type: 'WECHATPAY2-SHA256-RSA2048' }, 'PARAM_ERROR'],
    ['the last line feed', resigned(body, {}, { text: unended }), 'SIGN_TEXT_UNENDED'],
    ['milliseconds', resigned(body, { timestamp: String(Date.now()) }), 'TIMESTAMP_IN_MILLISECONDS'],
    ['early', resigned(body, { timestamp: skewed(310) }), 'TIMESTAMP_EXPIRED'],
    ['late', resigned(body, { timestamp: skewed(-310) }), 'TIMESTAMP_EXPIRED'],
    ['a short nonce', resigned(body, { nonce_str: 'short' }), 'NONCE_INVALID'],
    ['URL-safe base64', { ...body, signature: `${body['signature']!.slice(0, -4)}_-==` }, 'NOT_STANDARD_BASE64'],
    ['an unknown developer', { ...body, developer_id: 'sh-00000000' }, 'DEVELOPER_UNKNOWN'],
    ['the id of another pair', { ...body, pub_key_id: other.keyId }, 'KEY_PAIR_MISMATCH'],
    ['the key of another pair', resigned(body, {}, { by: other }), 'KEY_PAIR_MISMATCH'],
    ['changed after signing', { ...body, nonce_str: 'a'.repeat(32) }, 'SIGN_ERROR'],
    ['an amount', rewished(await made(codeUrl), { amount: { total: 1, currency: 'CNY' } }), 'AMOUNT_NOT_ALLOWED'],
    ['another way of paying', rewished(await made(codeUrl), { pay_mode: 'PAY' }), 'PARAM_ERROR'],
    ['over 15 minutes', rewished(await made(codeUrl), { expires_at: skewed(960) }), 'EXPIRES_AT_INVALID'],
    ['over already', rewished(await made(codeUrl), { expires_at: skewed(-1) }), 'EXPIRES_AT_INVALID'],
    ['an unknown skill', await made(codeUrl, { skill: 'horoscope' }), 'SKILL_UNKNOWN'],
    ['no order', await made(`${codeUrl}0`), 'PAY_DATA_UNKNOWN'],
    ["another merchant's order", await made(codeUrl, { by: other }), 'PAY_DATA_UNKNOWN'],
  ];
  for (const [what, sent, code] of refused) t.like(await send(sent), { code, paymentCode: undefined }, what);
  const right = await made(codeUrl);
  t.is((await send(right)).status, 200);
  t.is((await send(right)).code, 'NONCE_REUSED');
});

test.serial('an unknown or expired payment code pays nothing', async (t) => {
  const { orderNo, codeUrl } = await place();
  const { paymentCode = '' } = await send(await made(codeUrl, { seconds: 60 }));
  const forged = `${paymentCode.slice(0, -1)}${paymentCode.endsWith('0') ? '1' : '0'}`;
  t.like(await world.post('/sim/agent/pay', { paymentCode: forged }), { error: { code: 'payment_code_unknown' } });
  t.like(await world.post('/sim/agent/pay', { paymentCode: 'PAYCODE_x' }), { error: { code: 'payment_code_unknown' } });
  await world.post('/sim/clock', { advanceSeconds: 61 });
  t.like(await world.post('/sim/agent/pay', { paymentCode }), { error: { code: 'payment_code_expired' } });
  t.like((await world.ledger(orderNo)).orders, [{ paid: 0 }]);
});
