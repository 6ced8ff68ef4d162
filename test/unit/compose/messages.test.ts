import test from 'ava';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Base } from '../../../server/compose/base.ts';
import { composeMessages } from '../../../server/compose/credentials.ts';
import { createMetrics } from '../../../server/http/metrics.ts';
import { type Waiting, readTexts } from '../../../server/db/queries/messages.ts';
import { fakeSql } from '../../support/fake-sql.ts';

const at = new Date('2030-01-01T00:00:00Z');

/** The message log over a store that keeps its writes. */
function stage() {
  const rows: Waiting[] = [];
  const aheads: [string, number][] = [];
  const tx = {
    sql: fakeSql((_, [batch]) => {
      const written = JSON.parse(String(batch)) as Record<string, unknown>[];
      rows.push(
        ...written.map(({ place: _place, asks: _asks, digest: _digest, texts, ...row }) => ({
          ...(row as unknown as Waiting),
          ...readTexts({ orderNo: String(row['orderNo']), at, texts: Buffer.from(String(texts), 'base64') }),
        })),
      );
      return [];
    }),
  };
  const store = { autocommit: async (work: (of: typeof tx) => Promise<void>) => work(tx) };
  const config = { channels: { timeoutMs: 5000 }, jobs: { callsPerSecond: 0 } };
  const figures = { clockAhead: (...ahead: [string, number]) => void aheads.push(ahead) };
  const base = { config, store, now: () => at, log: () => {}, metrics: createMetrics(), figures } as unknown as Base;
  return { rows, aheads, messages: composeMessages(base) };
}

test('a sent message belongs to the channel it was sent to, whatever its URL contains', async (t) => {
  const { rows, messages } = stage();
  const server = createServer((_req, res) => res.end('{"code":"10000"}')).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/alipay/paypal`;
  const headers = {};
  const call = 'x'.repeat(100);
  await messages.transportTo('wechat')({ method: 'POST', url, headers, about: { call, orderNo: 'P1' }, body: '{}' });
  await messages.transportTo('alipay')({ method: 'GET', url, headers, about: { call: 'probe' } });
  await messages.log.close();
  t.is(rows.length, 1, 'what is about no order is not kept');
  const [{ durationMs, ...row } = {} as Waiting] = rows;
  t.true(Number.isInteger(durationMs));
  t.deepEqual(row, {
    payWay: 'wechat',
    direction: 'out',
    call: 'x'.repeat(64),
    orderNo: 'P1',
    refundNo: null,
    status: 200,
    request: '{}',
    answer: '{"code":"10000"}',
    note: null,
    at: at.toISOString(),
    times: 1,
    lastAt: null,
    supportId: null,
  });
});

test('the channel clock comes from the response date, and a missing or invalid date is ignored', async (t) => {
  const { aheads, messages } = stage();
  const dates = [new Date(Date.now() - 90_000).toUTCString(), undefined, 'soon'];
  const server = createServer((_req, res) => {
    const date = dates.shift();
    res.sendDate = false;
    res.writeHead(200, date === undefined ? {} : { date }).end('{}');
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const send = messages.transportTo('wechat');
  for (const call of ['one', 'two', 'three'])
    t.is((await send({ method: 'GET', url, headers: {}, about: { call } })).status, 200);
  t.is(aheads.length, 1);
  t.is(aheads[0]?.[0], 'wechat');
  t.true(Math.abs((aheads[0]?.[1] ?? 0) - 90) < 60, 'a slow machine is no clock');
});

test('a notification is stored without its secrets and cut to the column size', async (t) => {
  const { rows, messages } = stage();
  const notification = {
    orderNo: 'P1',
    refundNo: null,
    payWay: 'paypal',
    status: 200,
    answer: 'ok',
    note: 'settled',
    verifiedBy: 'sim_1',
  } as const;
  messages.onReceived({ ...notification, call: 'notice', request: 'sign=secret&total=1' });
  messages.onReceived({ ...notification, call: 'notice', request: 'y'.repeat(20_000) });
  await messages.log.close();
  t.deepEqual(rows[0], {
    ...notification,
    call: 'notice',
    request: 'sign=***&total=1',
    direction: 'in',
    durationMs: null,
    at: at.toISOString(),
    times: 1,
    lastAt: null,
    supportId: null,
  });
  t.is(rows[1]?.request?.length, 16_384);
});
