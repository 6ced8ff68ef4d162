// The baseline program: Koa, jose and pg with the same durable writes into the same tables, and without input checks, limits, log,
// metrics and headers. It prints its address as its only line. With a webhook it also asks the channel for notifications, writes the
// same rows as the service when an order is paid, the messages of the channel included, and calls the webhook.
import { SignJWT, jwtVerify } from 'jose';
import Koa, { type Context } from 'koa';
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  randomUUID,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deflateRawSync } from 'node:zlib';
import pg from 'pg';
import type { BareSettings } from './stage.ts';

const settings = JSON.parse(process.env['BENCH_BARE'] ?? '{}') as BareSettings;
const pool = new pg.Pool({ connectionString: settings.database, max: 10 });
const secret = new TextEncoder().encode('a-secret-of-the-bare-program-that-is-long-enough');
const appKey = createPrivateKey(settings.appKey);
const channelKey = createPublicKey(settings.channelKey);

async function readText(req: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) text += chunk;
  return text;
}

async function read(req: IncomingMessage): Promise<Record<string, unknown>> {
  return JSON.parse(await readText(req)) as Record<string, unknown>;
}

function matches(sent: string, hash: string): boolean {
  return timingSafeEqual(Buffer.from(createHash('sha256').update(sent).digest('hex')), Buffer.from(hash));
}

async function token(ctx: Context): Promise<void> {
  const { client_id, client_secret } = await read(ctx.req);
  const { rows } = await pool.query('select client_id, secret_hash, scopes from api_apps where client_id = $1', [
    client_id,
  ]);
  const [app] = rows;
  if (!app || !matches(String(client_secret), String(app['secret_hash']))) return void (ctx.status = 401);
  const scope = (app['scopes'] as string[]).join(' ');
  const access_token = await new SignJWT({ scope })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(String(client_id))
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(secret);
  ctx.body = { access_token, token_type: 'Bearer', expires_in: 3600, scope };
}

async function authenticate(ctx: Context): Promise<Record<string, unknown>> {
  const { payload } = await jwtVerify(ctx.get('authorization').slice(7), secret, { algorithms: ['HS256'] });
  const { rows } = await pool.query(
    `select client_id, project, late_payment, enabled, exists(select 1 from revoked_tokens where jti = $1) as revoked
       from api_apps where client_id = $2`,
    [payload.jti, payload.sub],
  );
  const [app] = rows;
  if (!app || app['enabled'] !== true || app['revoked'] === true) ctx.throw(401);
  return app!;
}

async function query(ctx: Context, orderNo: string): Promise<void> {
  const app = await authenticate(ctx);
  const { rows } = await pool.query('select * from orders where order_no = $1 and client_id = $2', [
    orderNo,
    app['client_id'],
  ]);
  const [order] = rows;
  if (!order) return void (ctx.status = 404);
  ctx.body = { data: present(order) };
}

function present(order: Record<string, unknown>): Record<string, unknown> {
  return {
    orderNo: order['order_no'],
    status: order['state'],
    amount: Number(order['amount']) / 100,
    currency: order['currency'],
    payWay: order['pay_way'],
    subject: order['subject'],
    createdAt: order['created_at'],
    paidAt: order['paid_at'],
    pay: order['credential'],
  };
}

async function pay(ctx: Context): Promise<void> {
  const app = await authenticate(ctx);
  const { subject, amount } = (await read(ctx.req)) as { subject: string; amount: number };
  const { orderNo, qrCode } = await place(app, subject, amount);
  ctx.status = 201;
  ctx.body = { data: { orderNo, status: 'pending', amount, currency: 'CNY', pay: { type: 'qr', qrCode } } };
}

interface Placed {
  orderNo: string;
  qrCode: string;
}

async function place(
  app: Record<string, unknown>,
  subject: string,
  amount: number,
  also: (run: Run, orderNo: string) => Promise<unknown> = async () => {},
): Promise<Placed> {
  const now = new Date();
  const orderNo = `B${randomUUID().replaceAll('-', '')}`;
  const expiresAt = new Date(now.getTime() + 7_200_000);
  await inTransaction(async (run) => {
    await run(INSERT, [orderNo, app['client_id'], app['project'], subject, Math.round(amount * 100), now, expiresAt]);
    await run(HISTORY, [orderNo, 1, null, 'created', 'placed', 'place', app['client_id'], now, null]);
    await also(run, orderNo);
  });
  const { qrCode, texts } = await precreate(orderNo, subject, amount);
  await inTransaction(async (run) => {
    const [order] = (await run('select * from orders where order_no = $1 for update', [orderNo])).rows;
    // A notification may be faster than the answer.
    if (order?.['state'] !== 'created') return;
    await run(
      `update orders set state = 'pending', credential = $2, checked_at = $3, next_check_at = $4, sequence = 2
        where order_no = $1`,
      [orderNo, JSON.stringify({ type: 'qr', qrCode }), now, expiresAt],
    );
    await run(HISTORY, [orderNo, 2, 'created', 'pending', 'accepted', 'place', app['client_id'], now, null]);
    if (settings.webhook) await run(MESSAGE, [orderNo, 'out', 'alipay.trade.precreate', deflateRawSync(texts)]);
  });
  return { orderNo, qrCode };
}

const paymentCodes = generateKeyPairSync('ed25519').privateKey;

/** The first call: order and offer in one commit, the channel, a signed code. The repeat: the stored result. */
async function resource(ctx: Context): Promise<void> {
  const app = await authenticate(ctx);
  const body = await read(ctx.req);
  const outTradeNo = ctx.get('x-out-trade-no');
  if (outTradeNo !== '') return redeem(ctx, app, outTradeNo);
  const { orderNo, qrCode } = await place(app, 'demo', 0.1, (run, number) =>
    run(OFFER, [
      number,
      app['client_id'],
      app['project'],
      createHash('sha256').update(JSON.stringify(body)).digest('hex'),
    ]),
  );
  const code = await new SignJWT({ outTradeNo: orderNo, qrCode })
    .setProtectedHeader({ alg: 'EdDSA' })
    .sign(paymentCodes);
  ctx.set({ 'X-Out-Trade-No': orderNo, 'Weixin-Pay-Required': code });
  ctx.status = 402;
  ctx.body = { data: { outTradeNo: orderNo, qrCode } };
}

async function redeem(ctx: Context, app: Record<string, unknown>, outTradeNo: string): Promise<void> {
  const { rows } = await pool.query(
    `select s.content, o.state from orders o join skill_orders s using (order_no)
      where o.order_no = $1 and o.client_id = $2`,
    [outTradeNo, app['client_id']],
  );
  if (rows[0]?.['state'] !== 'paid') return void (ctx.status = 402);
  ctx.body = { data: { outTradeNo, content: rows[0]['content'] } };
}

const OFFER = `insert into skill_orders (order_no, client_id, project, resource, product_version, body_digest, handler,
  refund_after_fulfilment, fulfilment, fencing, attempts, content, entries, queue_key, offered_at)
  values ($1, $2, $3, 'demo', 1, $4, '{}', true, 'done', 0, 0, '{"message":"Paid content."}', '[]', 'alipay simulator 1', now())`;

const INSERT = `insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene,
  subject, amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered, paid, refunded,
  refunding, overrun, sequence, place_tries, absent_count, captures, checks, created_at, sent_at, expires_at)
  values ($1, 'payment', $2, $3, 'simulator', 'alipay', '1', 1, 'qr', $4, $5, 'CNY', '', false, '', 'created', false,
  false, 0, 0, 0, 0, 1, 1, 0, 0, 0, $6, $6, $7)`;
const HISTORY = `insert into transitions (order_no, sequence, from_state, to_state, rule, cause, actor, at, outcome)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;
const MESSAGE = `insert into channel_messages (order_no, pay_way, direction, call, status, texts, at)
  values ($1, 'alipay', $2, $3, 200, $4, now())`;

/** A notification of a payment: verified, then state, history, event and delivery in one commit; then the webhook is called. */
async function notified(ctx: Context): Promise<void> {
  const text = await readText(ctx.req);
  const form = new Map(new URLSearchParams(text));
  const signed = [...form]
    .filter(([name]) => name !== 'sign' && name !== 'sign_type')
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const said = signed.map(([name, value]) => `${name}=${value}`).join('&');
  if (!verify('RSA-SHA256', Buffer.from(said), channelKey, Buffer.from(form.get('sign') ?? '', 'base64')))
    ctx.throw(401);
  const delivery = await settlePaid(form, text);
  ctx.body = 'success';
  if (delivery) void deliver(delivery);
}

interface Delivery {
  id: string;
  eventId: string;
  body: string;
}

async function settlePaid(form: ReadonlyMap<string, string>, text: string): Promise<Delivery | undefined> {
  const now = new Date();
  const [orderNo, tradeNo, payer] = [form.get('out_trade_no'), form.get('trade_no'), form.get('buyer_id')];
  let delivery: Delivery | undefined;
  await inTransaction(async (run) => {
    const [order] = (await run('select * from orders where order_no = $1 for update', [orderNo])).rows;
    if (!order || order['state'] === 'paid') return;
    const { client_id: clientId, project, account } = order;
    const paid = { ...order, state: 'paid', paid_at: now, credential: null };
    const payload = {
      ...present(paid),
      payer,
      channelTradeNo: tradeNo,
      clientId,
      project,
      expiresAt: order['expires_at'],
    };
    const [id, eventId] = [randomUUID(), `evt_${randomBytes(12).toString('hex')}`];
    const outcome = {
      kind: 'paid',
      at: now,
      payer,
      channelNo: tradeNo,
      amount: { minor: order['amount'], currency: 'CNY' },
    };
    const sequence = Number(order['sequence']) + 1;
    await run(
      `insert into notifications (pay_way, account, notification_id, order_no, copies, received_at)
       values ('alipay', $1, $2, $3, 1, $4)`,
      [account, form.get('notify_id'), orderNo, now],
    );
    await run(
      `update orders set state = 'paid', paid = amount, paid_at = $2, payer = $3, channel_trade_no = $4, credential = null,
              next_check_at = null, checked_at = $2, sequence = $5
        where order_no = $1`,
      [orderNo, now, payer, tradeNo, sequence],
    );
    await run(HISTORY, [
      orderNo,
      sequence,
      order['state'],
      'paid',
      'paid',
      'notice',
      'channel:alipay',
      now,
      JSON.stringify(outcome),
    ]);
    await run(
      `insert into events (id, type, client_id, project, object_no, dedupe, payload, created_at)
       values ($1, 'order.paid', $2, $3, $4, 'once', $5, $6)`,
      [eventId, clientId, project, orderNo, JSON.stringify(payload), now],
    );
    await run(
      `insert into deliveries (id, event_id, client_id, target, url, state, attempts, next_attempt_at, leased_until, created_at)
       values ($1, $2, $3, 'webhook', $4, 'pending', 0, $5, $5::timestamptz + interval '1 minute', $5)`,
      [id, eventId, clientId, settings.webhook, now],
    );
    await run(MESSAGE, [orderNo, 'in', 'notice TRADE_SUCCESS', deflateRawSync(text)]);
    delivery = {
      id,
      eventId,
      body: JSON.stringify({ id: eventId, type: 'order.paid', createdAt: now, data: payload }),
    };
  });
  return delivery;
}

const webhookKey = randomBytes(32);

async function deliver({ id, eventId, body }: Delivery): Promise<void> {
  const [at, started] = [new Date(), performance.now()];
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signature = createHmac('sha256', webhookKey).update(`${eventId}.${timestamp}.${body}`).digest('base64');
  const { status } = await fetch(settings.webhook!, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': eventId,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    },
    body,
  });
  await inTransaction(async (run) => {
    await run('select * from deliveries where id = $1 for update', [id]);
    await run('insert into delivery_attempts (delivery_id, at, status, duration_ms) values ($1, $2, $3, $4)', [
      id,
      at,
      status,
      Math.round(performance.now() - started),
    ]);
    await run(
      `update deliveries set state = 'delivered', attempts = 1, last_status = $2, next_attempt_at = null, leased_until = null,
              finished_at = now()
        where id = $1`,
      [id, status],
    );
  });
}

type Run = (text: string, values: readonly unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

async function inTransaction(work: (run: Run) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await work((text, values) => client.query(text, [...values]));
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

async function precreate(orderNo: string, subject: string, amount: number): Promise<{ qrCode: string; texts: string }> {
  const params: Record<string, string> = {
    app_id: settings.appId,
    biz_content: JSON.stringify({ out_trade_no: orderNo, total_amount: amount.toFixed(2), subject }),
    charset: 'utf-8',
    method: 'alipay.trade.precreate',
    ...(settings.webhook && { notify_url: `${own}/notify` }),
    sign_type: 'RSA2',
    timestamp: chinaTime(),
    version: '1.0',
  };
  const text = Object.entries(params)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  params['sign'] = await new Promise<string>((resolve, reject) => {
    sign('RSA-SHA256', Buffer.from(text), appKey, (error, made) =>
      error ? reject(error) : resolve(made.toString('base64')),
    );
  });
  const body = new URLSearchParams(params).toString();
  const answer = await fetch(`${settings.gateway}/alipay/gateway.do`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
  });
  const raw = await answer.text();
  const [, said = '', signature = ''] = /_response":(\{.*\}),"sign":"(.*)"\}$/.exec(raw) ?? [];
  if (!verify('RSA-SHA256', Buffer.from(said), channelKey, Buffer.from(signature, 'base64')))
    throw new Error('not signed');
  const { qr_code: qrCode } = JSON.parse(said) as { qr_code?: string };
  if (qrCode === undefined) throw new Error(`refused: ${said}`);
  return { qrCode, texts: body + raw };
}

function chinaTime(): string {
  return new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
}

const koa = new Koa();
// The load generator breaks off its last requests.
koa.on('error', (error: NodeJS.ErrnoException) => error.code === 'ECONNRESET' || console.error('bare:', error));
koa.use(async (ctx) => {
  if (ctx.path === '/health') ctx.body = { status: 'ok' };
  else if (ctx.path === '/oauth/token') await token(ctx);
  else if (ctx.path === '/api/v2/payment/pay') await pay(ctx);
  else if (ctx.path === '/api/v2/skillpay/resource') await resource(ctx);
  else if (ctx.path === '/notify') await notified(ctx);
  else if (ctx.path.startsWith('/api/v2/payment/query/')) await query(ctx, ctx.path.slice(22));
});
const server = createServer(koa.callback());
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
process.stdout.write(`${own}\n`);
process.stdin.resume().once('close', () => process.exit(0));
