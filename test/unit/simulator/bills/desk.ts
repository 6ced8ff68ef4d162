import { inflateRawSync } from 'node:zlib';
import { startWorld, type World } from '../world.ts';
import { clientFor, order, type Client } from '../alipay/client.ts';
import { call, configOf, nativeOrder, type Raw } from '../wechat/merchant.ts';
import { orderRequest } from '../paypal/shop.ts';
import type { PayWay } from '../../../../server/payments/channel.ts';

const DAY_MS = 86_400_000;

/** A bill row by column name, or the members of a transaction. */
export type Row = Record<string, string>;

/** A merchant at all three channels who reads the bills. */
export interface Desk {
  world: World;
  /** The current day in Beijing and in UTC. */
  day: string;
  /** Creates an order of 12.30 and pays it by default. */
  make(payWay: PayWay, orderNo: string, isPaid?: boolean): Promise<void>;
  /** Refunds 2.30 of the order. */
  refund(payWay: PayWay, orderNo: string): Promise<void>;
  alipay: Client;
  wechat(path: string, body?: object): Promise<Raw>;
  paypal(method: string, path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }>;
  /** Returns the rows of a bill, by default of today. */
  rows(payWay: PayWay, day?: string): Promise<Row[]>;
  plant(kind: string, payWay: PayWay, more?: object): Promise<Row & { error?: { code: string } }>;
  condition(condition: string, payWay: PayWay, more?: object): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** Opens the desk at noon in Beijing, when Beijing and UTC have the same date. */
export async function openDesk(): Promise<Desk> {
  const noon = (((4 * 3_600_000 - Date.now()) % DAY_MS) + DAY_MS) % DAY_MS;
  const world = await startWorld({ timeFactor: 0.001, clockOffset: noon });
  const { now } = await world.get<{ now: string }>('/sim/clock');
  const [alipay, merchant] = await Promise.all([clientFor(world), configOf(world)]);
  const paypal = paypalOf(world);
  const day = now.slice(0, 10);
  const wechat = (path: string, body?: object) => call(world, merchant, body ? 'POST' : 'GET', path, body);

  const desk: Desk = {
    world,
    day,
    alipay,
    wechat,
    paypal,
    async make(payWay, orderNo, isPaid = true) {
      if (payWay === 'alipay') await alipay.call('alipay.trade.precreate', order(orderNo));
      const amount = { total: 1230, currency: 'CNY' };
      if (payWay === 'wechat')
        await wechat('/v3/pay/transactions/native', nativeOrder(merchant, { out_trade_no: orderNo, amount }));
      if (payWay !== 'paypal') {
        if (isPaid) await world.post('/sim/pay', { orderNo, payWay });
        return;
      }
      const { body } = await paypal('POST', '/v2/checkout/orders', orderRequest(orderNo));
      if (!isPaid) return;
      await world.post('/sim/approve', { orderNo, payWay });
      await paypal('POST', `/v2/checkout/orders/${String(body['id'])}/capture`, {});
    },
    async refund(payWay, orderNo) {
      const refundNo = `${orderNo}R`;
      if (payWay === 'alipay') {
        const content = { out_trade_no: orderNo, refund_amount: '2.30', out_request_no: refundNo };
        await alipay.call('alipay.trade.refund', content);
      } else if (payWay === 'wechat') {
        const amount = { refund: 230, total: 1230, currency: 'CNY' };
        await wechat('/v3/refund/domestic/refunds', { out_trade_no: orderNo, out_refund_no: refundNo, amount });
        await world.post('/sim/refund-state', { orderNo, payWay, refundNo, state: 'succeeded' });
      } else {
        const { entries } = await world.ledger(orderNo);
        const { number = '' } = entries.find(({ type }) => type === 'captured') ?? {};
        const body = { amount: { currency_code: 'USD', value: '2.30' }, invoice_id: refundNo };
        await paypal('POST', `/v2/payments/captures/${number}/refund`, body);
      }
    },
    rows: (payWay, of = day) => READERS[payWay](desk, of),
    plant: (kind, payWay, more = {}) => world.post('/sim/bills/plants', { kind, payWay, ...more }),
    condition: (condition, payWay, more = {}) => world.post('/sim/bills/conditions', { condition, payWay, ...more }),
    close: () => world.close(),
  };
  return desk;
}

const READERS: Readonly<Record<PayWay, (desk: Desk, day: string) => Promise<Row[]>>> = {
  async alipay({ alipay }, day) {
    const { content } = await askAlipay(alipay, day);
    if (content['code'] !== '10000') throw new Error(content['sub_code']);
    const { files } = await unzip(await (await fetch(content['bill_download_url']!)).arrayBuffer());
    return tableOf(files[0]!.text.split('\r\n').slice(4), (line) => line.split(',').map((cell) => cell.trim()));
  },
  async wechat({ wechat, world }, day) {
    const { code, body } = await wechat(`/v3/bill/tradebill?bill_date=${day}`);
    if (code !== '') throw new Error(code);
    const file = await wechat(targetOf(body, world));
    if (file.status !== 200) throw new Error(file.code);
    return tableOf(file.body.replace(/^\uFEFF/, '').split('\r\n'), (line) =>
      line.startsWith('`') ? line.slice(1).split(',`') : line.split(','),
    );
  },
  async paypal({ paypal }, day) {
    const { status, body } = await paypal('GET', reportPath(day));
    if (status !== 200) throw new Error(String(body['name']));
    const details = body['transaction_details'] as { transaction_info: Row }[];
    return details.map((one) => one.transaction_info);
  },
};

/** Requests the bill URL from Alipay. */
export function askAlipay(client: Client, day: string, type = 'trade') {
  return client.call('alipay.data.dataservice.bill.downloadurl.query', { bill_type: type, bill_date: day });
}

/** Returns the path of the file that WeChat Pay named. */
export function targetOf(body: string, { url }: World): string {
  const { download_url: address } = JSON.parse(body) as { download_url: string };
  return address.replace(`${url}/wechat`, '');
}

/** Returns the path of PayPal's report for a UTC day. */
export function reportPath(day: string, more = ''): string {
  const span = `start_date=${day}T00:00:00Z&end_date=${day}T23:59:59Z`;
  return `/v1/reporting/transactions?${span}&fields=transaction_info&page_size=500${more}`;
}

/** Reads the files of a zip from its directory; each is unpacked up to `most` bytes. */
export function unzip(zip: ArrayBuffer, most = 1 << 24): { files: { name: string; size: number; text: string }[] } {
  const bytes = Buffer.from(zip);
  const end = bytes.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'));
  if (end < 0) throw new Error('not a zip');
  let at = bytes.readUInt32LE(end + 16);
  const gbk = new TextDecoder('gbk');
  const files = Array.from({ length: bytes.readUInt16LE(end + 10) }, () => {
    const [packed, size, length] = [
      bytes.readUInt32LE(at + 20),
      bytes.readUInt32LE(at + 24),
      bytes.readUInt16LE(at + 28),
    ];
    const local = bytes.readUInt32LE(at + 42);
    const begin = local + 30 + bytes.readUInt16LE(local + 26);
    const name = gbk.decode(bytes.subarray(at + 46, at + 46 + length));
    const text = size > most ? '' : gbk.decode(inflateRawSync(bytes.subarray(begin, begin + packed)));
    at += 46 + length;
    return { name, size, text };
  });
  return { files };
}

function tableOf([header = '', ...lines]: string[], cellsOf: (line: string) => string[]): Row[] {
  const names = header.split(',');
  const end = lines.findIndex((line) => /^(#|总)/.test(line));
  return lines
    .slice(0, end)
    .map((line) => Object.fromEntries(cellsOf(line).map((cell, index) => [names[index] ?? '', cell])));
}

function paypalOf(world: World): Desk['paypal'] {
  let calls = 0;
  return async (method, path, body) => {
    calls += 1;
    const headers = {
      authorization: await bearerOf(world),
      'content-type': 'application/json',
      'paypal-request-id': `call-${calls}`,
    };
    const answer = await fetch(`${world.url}/paypal${path}`, { method, headers, body: body && JSON.stringify(body) });
    return { status: answer.status, body: JSON.parse(await answer.text()) as Record<string, unknown> };
  };
}

/** Returns a new token each time, because the clock may have expired the last one. */
export async function bearerOf(world: World): Promise<string> {
  const { fields } = (await world.config())['paypal']!;
  const answer = await fetch(`${world.url}/paypal/v1/oauth2/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${fields['clientId']}:${fields['clientSecret']}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return `Bearer ${((await answer.json()) as { access_token: string }).access_token}`;
}
