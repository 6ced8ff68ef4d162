import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import type { Channel, ChannelInput, OrderRef, PlaceOrder } from '../../../../server/payments/channel.ts';
import { alipaySimulator } from '../../../../server/simulator/alipay/simulator.ts';
import { startSimulator, type RunningSimulator } from '../../../../server/simulator/simulator.ts';
import { connect, newOrder, newRefund, show } from '../promises/subject.ts';
import * as codesOf from './refusal-codes.ts';
import type { Codes, Meaning } from './refusal-codes.ts';

/** Every combination of signing mode and merchant. */
const WAYS = [
  { name: 'key mode', signMode: 'key' },
  { name: 'certificate mode', signMode: 'certificate' },
  { name: 'another merchant, key mode', signMode: 'key', rotate: 'merchant' },
  { name: 'another merchant, certificate mode', signMode: 'certificate', rotate: 'merchant' },
] as const;

type Configs = { alipay: Pick<ChannelInput, 'fields' | 'pems'> };
interface Merchant {
  channel: Channel;
  /** A paid order, so that only the fault refuses a call. */
  order: PlaceOrder & OrderRef;
}

let simulator: RunningSimulator;
let folder: string;
const merchants = new Map<string, Merchant>();

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'alipay-refusals-'));
  const listen = { host: '127.0.0.1', port: 0 };
  simulator = await startSimulator({ dir: folder, listen, channelSimulators: [alipaySimulator] });
  for (const [index, way] of WAYS.entries()) {
    const account = `way-${index}`;
    let { alipay } = await control<Configs>('/accounts', { payWay: 'alipay', name: account, signMode: way.signMode });
    if ('rotate' in way)
      ({ alipay } = await control<Configs>('/rotate', { payWay: 'alipay', account, what: way.rotate }));
    const channel = connect(alipayKind, { mode: 'simulator', simulatorUrl: simulator.url, ...alipay });
    const order = newOrder(alipayKind);
    await channel.place(order);
    await control('/pay', { payWay: 'alipay', orderNo: order.orderNo });
    merchants.set(way.name, { channel, order });
  }
});
test.after.always(async () => {
  await simulator?.close();
  await rm(folder, { recursive: true, force: true });
});

async function control<T>(path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${simulator.url}/sim${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** The expected channel outcome of each meaning; `code` is the whole sub_code. */
type Expected = (code: string) => Partial<Record<Meaning, object>>;

interface Table {
  /** The name of the call in faults. */
  call: string;
  scene?: string;
  codes: Codes;
  ask: (merchant: Merchant) => Promise<object>;
  expected: Expected;
}

const asked = { kind: 'unknown', cause: 'busy' };
const created: Expected = (code) => ({
  final: { kind: 'declined', code, definite: true },
  payer: { kind: 'declined', code, definite: true },
  'hides-trade': { kind: 'declined', code, definite: false, doubt: 'trade_may_exist' },
  ask: asked,
});
const closed: Expected = (code) => ({ absent: { kind: 'absent' }, 'look-up': { kind: 'refused', code }, ask: asked });
const CREATES = { qr: codesOf.PRECREATE, mini: codesOf.CREATE, code: codesOf.PAY };
const PAYER = { payCode: '280000000000000003', openId: 'a-user' };

const TABLES: readonly Table[] = [
  ...(['qr', 'mini', 'code'] as const).map((scene) => ({
    call: 'create',
    scene,
    codes: { ...CREATES[scene], ...codesOf.BUSY_WORDS },
    ask: ({ channel, order }: Merchant) => channel.place({ ...order, ...PAYER, scene }),
    expected: created,
  })),
  {
    call: 'close',
    scene: 'code',
    codes: { ...codesOf.CANCEL, ...codesOf.BUSY_WORDS },
    ask: ({ channel, order }) => channel.close({ ...order, scene: 'code' }),
    expected: closed,
  },
  {
    call: 'refund',
    codes: { ...codesOf.REFUND, ...codesOf.BUSY_WORDS },
    ask: ({ channel, order }) => channel.refund(newRefund(order)),
    expected: (code) => ({
      final: { kind: 'refused', code },
      ask: code === 'ACQ.DISCORDANT_REPEAT_REQUEST' ? { kind: 'unknown', cause: 'mismatch' } : asked,
    }),
  },
  {
    call: 'close',
    codes: { ...codesOf.CLOSE, ...codesOf.BUSY_WORDS },
    ask: ({ channel, order }) => channel.close(order),
    expected: closed,
  },
  {
    call: 'query',
    codes: { ...codesOf.QUERY, ...codesOf.BUSY_WORDS },
    ask: ({ channel, order }) => channel.query(order),
    expected: () => ({ absent: { kind: 'absent' }, ask: { kind: 'unknown' } }),
  },
  {
    call: 'refund-query',
    codes: { ...codesOf.REFUND_QUERY, ...codesOf.BUSY_WORDS },
    ask: ({ channel, order }) => channel.queryRefund(newRefund(order)),
    expected: () => ({ absent: { kind: 'absent' }, ask: { kind: 'unknown' } }),
  },
];

test("the code lists have the same length as Alipay's", (t) => {
  const { PRECREATE, CREATE, PAY, REFUND, CLOSE, CANCEL, QUERY, REFUND_QUERY } = codesOf;
  const lists = [PRECREATE, CREATE, PAY, REFUND, CLOSE, CANCEL, QUERY, REFUND_QUERY];
  t.deepEqual(
    lists.map((codes) => Object.keys(codes).length),
    [40, 49, 98, 31, 6, 8, 4, 4],
  );
});

for (const { name } of WAYS) {
  for (const { call, scene = 'any scene', codes, ask, expected } of TABLES) {
    test.serial(`${name}: every refusal of ${call}, ${scene}, has its outcome`, async (t) => {
      const merchant = merchants.get(name)!;
      const { orderNo } = merchant.order;
      for (const [code, meaning] of Object.entries(codes)) {
        await control('/faults', { payWay: 'alipay', call, fault: 'refused', orderNo, word: code });
        const outcome = await ask(merchant);
        const wanted = expected(`ACQ.${code}`)[meaning];
        t.truthy(wanted, `${call} has no words for ${meaning}`);
        t.like(outcome, { ...wanted }, `${code}: ${show(outcome)}`);
      }
    });
  }
}
