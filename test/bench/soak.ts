import autocannon, { type Request } from 'autocannon';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Line, median } from './figures.ts';
import { openReceiver } from './receiver.ts';
import { freePort, openSimulator, residentMegabytes } from './processes.ts';
import { post, type Service, type Stage } from './stage.ts';

const CONNECTIONS = 32;
const SAMPLE_MS = 15_000;
/** Below saturation: a soak measures the effect of time, not of load. */
const PER_SECOND = 60;

interface Sample {
  minute: number;
  megabytes: number;
  /** In seconds: the delay of due work, and the age of unwritten channel messages. */
  dueLag: number;
  messageLag: number;
}

/** Measures how minutes of payments, queries and tokens affect memory and waiting work; a simulator pays, and a webhook receives. */
export async function measureSoak(stage: Stage, minutes: number): Promise<Line[]> {
  const simulator = await openSimulator(stage.processes);
  const port = await freePort();
  const env = { ...simulator.env, PAY_METRICS_LISTEN: `127.0.0.1:${port}` };
  const service = await stage.onCopy('soak', env, 'simulator');
  const receiver = await openReceiver();
  const hook = `${service.url}/api/v1/api-apps/${service.clientId}/webhook`;
  await post(hook, { url: receiver.url }, service.adminToken, 'PUT');
  const samples: Sample[] = [];
  const began = performance.now();
  const load = autocannon({
    url: service.url,
    connections: CONNECTIONS,
    duration: minutes * 60,
    overallRate: PER_SECOND,
    requests: requestsOf(service),
  });
  let isOver = false;
  const ended = load.then((result) => ((isOver = true), result));
  while (!isOver) {
    await Promise.race([ended, sleep(SAMPLE_MS)]);
    samples.push(await sample(service, port, (performance.now() - began) / 60_000));
  }
  const { requests, non2xx, errors, timeouts } = await ended;
  const failed = non2xx + errors + timeouts;
  receiver.close();
  await stage.processes.end(service.child);
  await simulator.close();
  const of = (from: number, to: number) => samples.filter(({ minute }) => minute >= from && minute <= to);
  const memory = (some: readonly Sample[]) => median(some.map(({ megabytes }) => megabytes));
  const [first, last] = [memory(of(0.5, 2)), memory(of(minutes - 1.5, minutes + 1))];
  const worst = (figure: (one: Sample) => number) => Math.max(...samples.map(figure));
  const line = (what: string, ours: string, aim: string, reached: boolean): Line => ({
    what,
    ours,
    baseline: '',
    result: ours,
    aim,
    reached,
  });
  return [
    line(
      `soak of ${minutes} minutes: requests, and those that failed`,
      `${requests.total}, ${failed}`,
      '0 failed',
      failed === 0,
    ),
    line(
      '  memory at its beginning and at its end',
      `${first.toFixed(0)}, ${last.toFixed(0)} MB`,
      '≤ 10 % more',
      last <= first * 1.1,
    ),
    line(
      '  due work was late, at most',
      `${worst(({ dueLag }) => dueLag).toFixed(1)} s`,
      '≤ 5 s',
      worst(({ dueLag }) => dueLag) <= 5,
    ),
    line(
      '  messages waited to be written, at most',
      `${worst(({ messageLag }) => messageLag).toFixed(1)} s`,
      '≤ 5 s',
      worst(({ messageLag }) => messageLag) <= 5,
    ),
  ];
}

function requestsOf({ token, clientId, secret, paidOrders }: Service): Request[] {
  const json = { 'content-type': 'application/json' };
  const headers = { ...json, authorization: `Bearer ${token}` };
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  const pay = (payWay: string): Request => ({
    method: 'POST',
    path: '/api/v2/payment/pay',
    headers,
    body: JSON.stringify({ subject: 'Tea', amount: 0.01, payWay, currency: payWay === 'paypal' ? 'USD' : 'CNY' }),
  });
  const query: Request = { method: 'GET', path: `/api/v2/payment/query/${paidOrders[0]}`, headers };
  const list: Request = { method: 'GET', path: '/api/v2/payment/orders?limit=20', headers };
  const token_: Request = {
    method: 'POST',
    path: '/oauth/token',
    headers: json,
    body: JSON.stringify(grant),
  };
  return [pay('alipay'), query, pay('wechat'), query, list, pay('paypal'), query, token_];
}

async function sample({ pid, sql }: Service, port: number, minute: number): Promise<Sample> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const lags = [...text.matchAll(/^due_lag_seconds\{[^}]*\} (\S+)$/gm)].map(([, lag]) => Number(lag));
  const [row] = await sql(
    `select extract(epoch from now() - greatest(max(m.at), (select now() - interval '1 hour')))::float8 as lag from channel_messages m
      where m.at > now() - interval '5 minutes'`,
  );
  return {
    minute,
    megabytes: residentMegabytes(pid),
    dueLag: Math.max(0, ...lags),
    messageLag: Number(row?.['lag'] ?? 0),
  };
}
