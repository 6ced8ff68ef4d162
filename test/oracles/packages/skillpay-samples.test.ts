import test, { type ExecutionContext } from 'ava';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startService, type Service } from '../../support/service.ts';
import { takeAgents, takeWeixinAgents } from '../../support/agents.ts';
import { giveCoins } from '../../support/coins.ts';
import { addSkill } from '../../support/skillpay.ts';

const root = join(import.meta.dirname, '../../..');
const document = readFileSync(join(root, 'server/skillpay/README.md'), 'utf8');

/** The samples of the document, each with its heading. */
const samples = [...document.matchAll(/^## (.+)\n([^]*?)(?=^## |$(?![^]))/gm)].flatMap(([, title = '', text = '']) =>
  [...text.matchAll(/```(sh|js)\n([^]*?)```/g)].map(([, language = '', code = '']) => ({ title, language, code })),
);

const names = { RESOURCE: 'weather', COIN_RESOURCE: 'tides', PAYER: 'u-1' };

/** Pays the order of a sample; returns the proof of payment. */
async function payAs(service: Service, how: string, what: string): Promise<string | undefined> {
  if (how === 'the bill') {
    const paid = await service.sim('/sim/agent/pay-bill', { paymentNeeded: what });
    return (paid as unknown as { paymentProof: string }).paymentProof;
  }
  if (how === 'with the code') await service.sim('/sim/agent/pay', { paymentCode: what });
  else await service.sim('/sim/pay', { orderNo: what.split('/').at(-1) });
  return undefined;
}

/** Runs a sample, and pays when it waits for the payment. Returns its last output. */
async function run(t: ExecutionContext, service: Service, { language, code }: (typeof samples)[number]) {
  const shop = await service.merchant();
  // The file is beside the packages, so that its imports find them.
  const folder = mkdtempSync(join(root, 'test/oracles/node_modules/.sample-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, `sample.${language === 'js' ? 'mjs' : 'sh'}`);
  writeFileSync(file, code);
  const [command, ...flags] = language === 'js' ? [process.execPath] : ['bash', '-euo', 'pipefail'];
  const env = { PATH: process.env['PATH'], SERVER: service.url, TOKEN: shop.token, ...names };
  const child = spawn(command!, [...flags, file], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  let printed = '';
  let isPaid = false;
  for await (const chunk of child.stdout) {
    printed += String(chunk);
    const [, how, what] = /Please pay (at|with the code|the bill) (\S+)\n/.exec(printed) ?? [];
    if (isPaid || how === undefined || what === undefined) continue;
    isPaid = true;
    const said = await payAs(service, how, what);
    if (said !== undefined) child.stdin.end(`${said}\n`);
  }
  return printed.trim().split('\n').at(-1) ?? '';
}

test('the document has a sample for each client', (t) => {
  t.deepEqual(
    samples.map(({ title, language }) => `${title}: ${language}`),
    ['curl: sh', 'x402: js', 'MPP: js', "WeChat's agents: sh", "Alipay's agents: js", 'Coins: sh'],
  );
});

for (const sample of samples)
  test(`${sample.title}: the sample pays and gets the content`, async (t) => {
    const service = await startService(t);
    await addSkill(service);
    await addSkill(service, { code: names.COIN_RESOURCE, coinPrice: { code: 'bean', amount: 1 } });
    await takeWeixinAgents(service, await takeAgents(service));
    await giveCoins(service, 'bean', names.PAYER, 1);
    const last = JSON.parse(await run(t, service, sample)) as { data: object };
    t.like(last.data, { content: { sky: 'blue' }, alreadyFulfilled: false });
    const [orders, coinCalls] = await service.app.store.read(async (tx) => [
      await tx.orders.count({}),
      await tx.coinCalls.count({}),
    ]);
    t.deepEqual([orders, coinCalls], sample.title === 'Coins' ? [0, 1] : [1, 0]);
  });
