import test from 'ava';
import { join } from 'node:path';
import { addChannel } from './added-channel/add.ts';
import { bundleInto } from '../support/built.ts';
import { migratedFile } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { openStage } from './tour/stage.ts';

test('a channel added by entries in three files pays, refunds, is billed and is shown everywhere', async (t) => {
  const folder = temporaryFolder(t);
  addChannel(folder);
  const program = await bundleInto(temporaryFolder(t), join(folder, 'bin/payctl.ts'));
  const stage = await openStage('payment-added-channel-', {}, await migratedFile(), program);
  t.teardown(() => stage.close());
  const payctl = async (...argv: string[]) => {
    const ran = await stage.payctl(argv);
    t.is(ran.code, 0, `payctl ${argv.join(' ')}: ${ran.stderr}`);
    return ran.stdout;
  };
  const read = async (path: string) => (await fetch(`${stage.url}${path}`)).text();

  await payctl('bootstrap', 'admin', '-u', 'admin', '--generate', '--secret-file', 'admin.password');
  await stage.start();
  await payctl('login', '-u', 'admin', '--password-file', join(stage.folder, 'admin.password'));

  // payctl: the simulator's configuration is listed and tested.
  t.regex(await payctl('channel', 'list'), /^example\tsimulator\ttrue\tup\t/m);
  await payctl('channel', 'test', 'example');
  t.regex(await payctl('pay', '--help'), /--pay-way <channel>[^]*example/);

  // An order, its page, its payment and its refund.
  const placed = JSON.parse(
    await payctl('pay', '--subject', 'Tea', '--amount', '12.50', '--pay-way', 'example', '--json'),
  );
  t.like(placed, { payWay: 'example', currency: 'EUR', amount: 12.5, status: 'pending' });
  const page = await read(`/pay/${placed.orderNo}?lang=en`);
  t.true(page.includes('Pay with Example Pay'));
  t.true((await read(`/pay/${placed.orderNo}?lang=zh`)).includes('示例支付'));
  await payctl('simulator', 'pay', placed.orderNo);
  const paid = JSON.parse(await payctl('order', 'sync', placed.orderNo, '--json'));
  t.like(paid, { status: 'paid', payWay: 'example', currency: 'EUR' });
  const refund = ['refund', 'create', placed.orderNo, '--amount', '2.50', '--reason', 'cold', '--yes', '--json'];
  t.like(JSON.parse(await payctl(...refund)), { status: 'succeeded', refundAmount: 2.5, currency: 'EUR' });

  // The bill of a past day, with payments of another system.
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const day = ['--pay-way', 'example', '--date', yesterday];
  await payctl('simulator', 'bill', 'condition', 'filler', ...day, '--rows', '3');
  t.like(JSON.parse(await payctl('bill', 'fetch', ...day, '--interval', '1', '--json')), { state: 'done', lines: 3 });

  // The API document and the guides.
  const document = JSON.parse(await read('/swagger/doc.json'));
  t.true(document.components.schemas.PayWay.enum.includes('example'));
  t.true(document.info.description.startsWith('Example Pay, Alipay, WeChat Pay and PayPal'));
  t.true((await read('/docs/go-live-example-pay?lang=en')).includes('77 days'));
  t.true((await read('/docs?lang=zh')).includes('示例支付上线'));
});
