import { appendFileSync, readFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import test from 'ava';
import { clientFor, order } from './alipay/client.ts';
import { newDir, startWorld } from './world.ts';

test('keys, trades, numbers and the clock survive a restart, and an incomplete last line is dropped', async (t) => {
  const dir = newDir();
  const first = await startWorld({ dir });
  const config = await first.config();
  await (await clientFor(first)).call('alipay.trade.precreate', order('KEPT'));
  await first.post('/sim/pay', { orderNo: 'KEPT' });
  await first.post('/sim/clock', { advanceSeconds: 3600 });
  const { entries } = await first.ledger();
  await first.close();
  appendFileSync(join(dir, 'ledger.jsonl'), '{"entry":{"sequence":99,"ty');

  const second = await startWorld({ dir });
  t.deepEqual(await second.config(), config);
  t.deepEqual((await second.ledger()).entries, entries);
  const { now } = await second.get<{ now: string }>('/sim/clock');
  t.true(Date.parse(now) >= Date.now() + 3_590_000);
  const client = await clientFor(second);
  t.is((await client.call('alipay.trade.query', { out_trade_no: 'KEPT' })).content['trade_status'], 'TRADE_SUCCESS');
  await client.call('alipay.trade.precreate', order('NEXT'));
  await second.close();
  const third = await startWorld({ dir });
  t.is((await third.ledger('NEXT')).orders.length, 1);
  await third.close();
});

test('every acknowledged effect is in the ledger after a kill -9', async (t) => {
  const dir = newDir();
  const script = `import { runSimulator } from './server/simulator/simulator.ts';
    await runSimulator({ dir: ${JSON.stringify(dir)}, listen: { host: '127.0.0.1', port: 0 } }, (url) => console.log(url));`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const url = line.toString().trim();
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const config = (await (await fetch(`${url}/sim/config`)).json()) as Awaited<
    ReturnType<Awaited<ReturnType<typeof startWorld>>['config']>
  >;
  const client = await clientFor({ url, config: () => Promise.resolve(config) } as Awaited<
    ReturnType<typeof startWorld>
  >);
  await client.call('alipay.trade.precreate', order('KILLED'));
  t.is((await post('/sim/pay', { orderNo: 'KILLED' })).status, 200);
  child.kill('SIGKILL');
  await once(child, 'exit');
  t.regex(readFileSync(join(dir, 'ledger.jsonl'), 'utf8'), /"type":"paid"/);
  const world = await startWorld({ dir });
  t.like((await world.ledger('KILLED')).orders[0], { paid: 1230, payments: 1, state: 'paid' });
  await world.close();
});

test('a second simulator in the same folder is refused, and a killed one does not block the folder', async (t) => {
  const dir = newDir();
  const first = await startWorld({ dir });
  await t.throwsAsync(startWorld({ dir }), { message: /in use/ });
  await first.close();
  const second = await startWorld({ dir });
  await second.close();
  t.pass();
});
