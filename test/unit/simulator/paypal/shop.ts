import { createPaypalChannel } from '../../../../server/channels/paypal/channel.ts';
import { createTransport } from '../../../../server/channels/transport.ts';
import type { CaptureRef, Channel, PlaceOrder } from '../../../../server/payments/channel.ts';
import { readAmount } from '../../../../server/money.ts';
import { paypalSimulator } from '../../../../server/simulator/paypal/simulator.ts';
import type { SimulatorOptions } from '../../../../server/simulator/simulator.ts';
import { startWorld, type World } from '../world.ts';

/** A PayPal response with its status and JSON. */
export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** A merchant at a simulated PayPal, with raw calls and our adapter. */
export interface Shop {
  world: World;
  fields: Record<string, string>;
  channel: Channel;
  token: string;
  /** Makes one call with a valid token; `headers` overwrite ours, undefined removes one. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string | undefined>): Promise<Answer>;
  fault(call: string, fault: string, more?: object): Promise<void>;
  advance(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens a shop; `notifyUrl` receives its webhooks. */
export async function openShop(
  options: Partial<SimulatorOptions> & { notifyUrl?: string; account?: string } = {},
): Promise<Shop> {
  const { notifyUrl, account = 'shop', ...simulator } = options;
  const world = await startWorld({ channelSimulators: [paypalSimulator], ...simulator });
  await world.post('/sim/accounts', { payWay: 'paypal', name: account, notifyUrl });
  const { paypal } = await world.config(account);
  if (!paypal) throw new Error('PayPal is not simulated.');
  const { fields, pems } = paypal;
  const send = createTransport({ timeoutMs: 120_000 });
  const channel = createPaypalChannel({
    mode: 'simulator',
    simulatorUrl: world.url,
    fields,
    pems,
    send,
    now: () => new Date(),
  });
  const token = await fetchToken(world.url, fields);
  return {
    world,
    fields,
    channel,
    token,
    call: (method, path, body, headers) => call(world.url, token, method, path, body, headers),
    fault: async (name, fault, more) =>
      void (await world.post('/sim/faults', { payWay: 'paypal', call: name, fault, ...more })),
    advance: async (advanceSeconds) => void (await world.post('/sim/clock', { advanceSeconds })),
    close: () => world.close(),
  };
}

async function fetchToken(url: string, { clientId, clientSecret }: Record<string, string>): Promise<string> {
  const response = await fetch(`${url}/paypal/v1/oauth2/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

async function call(
  url: string,
  token: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string | undefined> = {},
): Promise<Answer> {
  const usual = {
    authorization: `Bearer ${token}`,
    prefer: 'return=representation',
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
  };
  const sent = Object.entries({ ...usual, ...headers }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const text = typeof body === 'string' ? body : body && JSON.stringify(body);
  const response = await fetch(`${url}/paypal${path}`, { method, headers: sent, body: text as string | undefined });
  const answer = await response.text();
  return { status: response.status, body: answer === '' ? {} : (JSON.parse(answer) as Record<string, unknown>) };
}

/** Returns the first issue of an error response. */
export function issueOf({ body }: Answer): string | undefined {
  return (body['details'] as { issue: string }[] | undefined)?.[0]?.issue;
}

/** The body of a create request. */
export function orderRequest(orderNo: string, value = '12.30', currency_code = 'USD'): Record<string, unknown> {
  const context = { return_url: 'https://shop.example/back?x=1', cancel_url: 'https://shop.example/cancelled' };
  return {
    intent: 'CAPTURE',
    purchase_units: [
      { amount: { currency_code, value }, custom_id: orderNo, invoice_id: orderNo, description: 'Blue kettle' },
    ],
    payment_source: { paypal: { experience_context: context } },
  };
}

/** An order for our adapter. */
export function placeOrder(orderNo: string, amount = '12.30', currency = 'USD'): PlaceOrder {
  const now = new Date();
  return {
    orderNo,
    subject: 'Blue kettle',
    amount: readAmount(amount, currency),
    scene: 'redirect',
    expiresAt: new Date(now.getTime() + 3_600_000),
    sentAt: now,
    notifyUrl: 'http://127.0.0.1:9/notify',
    returnUrl: 'https://shop.example/back',
    cancelUrl: 'https://shop.example/cancelled',
    clientIp: null,
    openId: null,
    payCode: null,
    options: {},
  };
}

/** Places an order through the adapter. */
export async function place({ channel }: Shop, order: PlaceOrder): Promise<CaptureRef> {
  const outcome = await channel.place(order);
  if (outcome.kind !== 'pending' || !outcome.channelOrderId) throw new Error(`place: ${outcome.kind}`);
  return { ...order, channelOrderId: outcome.channelOrderId, channelTradeNo: null, captureNo: `${order.orderNo}-c1` };
}

/** Places an order and approves it as the payer. */
export async function approve(shop: Shop, orderNo: string, amount?: string, currency?: string): Promise<CaptureRef> {
  const ref = await place(shop, placeOrder(orderNo, amount, currency));
  await shop.world.post('/sim/approve', { orderNo });
  return ref;
}

/** Places, approves and captures an order. */
export async function paid(shop: Shop, orderNo: string, amount?: string, currency?: string): Promise<CaptureRef> {
  const ref = await approve(shop, orderNo, amount, currency);
  const outcome = await shop.channel.capture?.(ref);
  if (outcome?.kind !== 'paid') throw new Error(`capture: ${outcome?.kind}`);
  return { ...ref, channelTradeNo: outcome.channelNo };
}
