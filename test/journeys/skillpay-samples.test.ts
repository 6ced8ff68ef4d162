import test, { type ExecutionContext } from 'ava';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startService, type Service } from '../support/service.ts';
import { giveCoins } from '../support/coins.ts';
import { addSkill } from '../support/skillpay.ts';

const root = join(import.meta.dirname, '../..');
const document = readFileSync(join(root, 'server/skillpay/README.md'), 'utf8');

/** The samples of the document, each with the heading it stands under. */
const samples = [...document.matchAll(/^## (.+)\n([^]*?)(?=^## |$(?![^]))/gm)].flatMap(([, title = '', text = '']) =>
  [...text.matchAll(/```(sh|js)\n([^]*?)```/g)].map(([, language = '', code = '']) => ({ title, language, code })),
);

const names = { RESOURCE: 'weather', COIN_RESOURCE: 'tides', PAYER: 'u-1' };

/** Runs a sample as its reader would; the payer pays when it asks. Gives what it printed last. */
async function run(t: ExecutionContext, service: Service, { language, code }: (typeof samples)[number]) {
  const shop = await service.merchant();
  // Inside of the project, so that imports find its packages.
  const folder = mkdtempSync(join(root, 'node_modules', '.sample-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, `sample.${language === 'js' ? 'mjs' : 'sh'}`);
  writeFileSync(file, code);
  const [command, ...flags] = language === 'js' ? [process.execPath] : ['bash', '-euo', 'pipefail'];
  const env = { PATH: process.env['PATH'], SERVER: service.url, TOKEN: shop.token, ...names };
  const child = spawn(command!, [...flags, file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  let paid: string | undefined;
  for await (const chunk of child.stdout) {
    printed += String(chunk);
    const asked = /Please pay at \S+\/pay\/(X\w+)/.exec(printed)?.[1];
    if (asked === undefined || paid !== undefined) continue;
    paid = asked;
    await service.sim('/sim/pay', { orderNo: asked });
  }
  return printed.trim().split('\n').at(-1) ?? '';
}

test('the document has a sample for each client', (t) => {
  t.deepEqual(
    samples.map(({ title, language }) => `${title}: ${language}`),
    ['curl: sh', 'x402: js', 'MPP: js', 'Coins: sh'],
  );
});

for (const sample of samples)
  test(`${sample.title}: the sample pays and gets the content`, async (t) => {
    const service = await startService(t);
    await addSkill(service);
    await addSkill(service, { code: names.COIN_RESOURCE, coinPrice: { code: 'bean', amount: 1 } });
    await giveCoins(service, 'bean', names.PAYER, 1);
    const last = JSON.parse(await run(t, service, sample)) as { data: object };
    t.like(last.data, { content: { sky: 'blue' }, alreadyFulfilled: false });
    const [orders, coinCalls] = await service.app.store.read(async (tx) => [
      await tx.orders.count({}),
      await tx.coinCalls.count({}),
    ]);
    t.deepEqual([orders, coinCalls], sample.title === 'Coins' ? [0, 1] : [1, 0]);
  });
