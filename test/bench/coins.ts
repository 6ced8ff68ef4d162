import type { Line } from './figures.ts';
import type { Service, Stage } from './stage.ts';

const PAIRS = 1_000;
const COIN = 'bench-bean';
const PAYER = 'bench-payer';

/** Measures a call paid with coins beside a bare debit of the same account, in alternation: the slowest hundredth of each. */
export async function measureCoinCalls({ service }: Stage): Promise<Line[]> {
  await prepare(service);
  const took = { call: [] as number[], debit: [] as number[] };
  for (let pair = -50; pair < PAIRS; pair += 1) {
    const debit = await timed(() =>
      post(service, `/api/v2/coins/${COIN}/debit`, { userId: PAYER, amount: 1, bizNo: `b${pair}` }, [200, 201]),
    );
    const call = await timed(() =>
      post(service, '/api/v2/skillpay/resource', { resource: COIN, userId: PAYER }, [200]),
    );
    if (pair < 0) continue;
    took.debit.push(debit);
    took.call.push(call);
  }
  const [ours, baseline] = [p99(took.call), p99(took.debit)];
  const more = ours - baseline;
  return [
    {
      what: 'coin-paid call, p99',
      ours: `${ours.toFixed(1)} ms`,
      baseline: `${baseline.toFixed(1)} ms (bare debit)`,
      result: `${more >= 0 ? '+' : ''}${more.toFixed(1)} ms`,
      aim: '≤ +10 ms',
      reached: more <= 10,
    },
  ];
}

async function prepare(service: Service): Promise<void> {
  const admin = { authorization: `Bearer ${service.adminToken}` };
  await post(service, '/api/v1/coins?project=default', { code: COIN, name: 'Bean', clawback: 'refuse' }, [201], admin);
  const adjust = { userId: PAYER, amount: 10 * PAIRS, reason: 'benchmark' };
  await post(service, `/api/v1/coins/${COIN}/adjustments?project=default`, adjust, [200, 201], admin);
  const skill = { code: COIN, name: 'Bean', kind: 'skill', price: 1, currency: 'CNY', payWays: ['alipay'] };
  const resource = { handler: 'static', content: { sky: 'blue' } };
  const coinPrice = { code: COIN, amount: 1 };
  await post(service, '/api/v1/products?project=default', { ...skill, resource, coinPrice }, [201], admin);
}

async function post(
  { url, token }: Service,
  path: string,
  body: object,
  expected: readonly number[],
  headers: Record<string, string> = { authorization: `Bearer ${token}` },
): Promise<void> {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!expected.includes(answer.status)) throw new Error(`${path}: ${answer.status} ${text}`);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function p99(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
}
