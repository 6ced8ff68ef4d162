import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { logIn, operatorAt, type Operator } from './operator.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService, until } from '../support/service.ts';
import { writeCertFiles } from './cert-files.ts';

type Row = Record<string, unknown>;

/** Runs a command line that must fail; returns the error object from stderr. */
async function fails(operator: Operator, line: string): Promise<Row & { exitCode: number }> {
  const { stderr } = await operator.payctl(`${line} -o json`);
  const text = stderr.trim().split('\n').at(-1) ?? '';
  return (JSON.parse(text) as { error: Row & { exitCode: number } }).error;
}

test('projects, users, products and coins are created, listed, changed, refused and deleted', async (t) => {
  const service = await startService(t);
  const payctl = await operatorAt(t, service);
  t.like(await payctl.json('project create --code shop-eu --name "Shop Europe" --remark first'), {
    code: 'shop-eu',
    enabled: true,
  });
  t.is((await fails(payctl, 'project create --code shop-eu --name Again')).exitCode, 6);
  t.is((await payctl.json('project list')).length, 2);
  t.is((await payctl.json('project update shop-eu --clear remark')).remark, null);
  t.false((await payctl.json('project disable shop-eu -y')).enabled);
  t.true((await payctl.json('project enable shop-eu')).enabled);
  t.is((await fails(payctl, 'project get nothing')).exitCode, 3);

  t.like(await payctl.json('user create --user-id u-1 --nickname Anna --metadata \'{"tier":2}\''), {
    userId: 'u-1',
    metadata: { tier: 2 },
  });
  t.is((await payctl.json('user update u-1 --email anna@shop.example')).email, 'anna@shop.example');
  t.is((await payctl.json('user disable u-1 -y')).status, 'blocked');
  t.deepEqual(
    (await payctl.json('user list --status blocked')).map(({ userId }: Row) => userId),
    ['u-1'],
  );
  t.is((await payctl.json('user enable u-1')).status, 'active');
  t.is((await payctl.json('user get u-1')).nickname, 'Anna');
  t.deepEqual(await payctl.json('user orders u-1'), []);
  t.is((await fails(payctl, 'user get u-1 --project shop-eu')).exitCode, 3);

  t.like(await payctl.json('coin create --code gold --name Gold --clawback debt'), { code: 'gold', clawback: 'debt' });
  t.is((await payctl.json('coin adjust gold --user-id u-1 --amount 50 --reason apology -y')).balanceAfter, 50);
  t.is((await fails(payctl, 'coin adjust gold --user-id u-1 --amount=-51 --reason wrong -y')).exitCode, 6);
  t.is((await payctl.json('coin accounts gold'))[0].balance, 50);
  t.is((await payctl.json('coin entries gold --user-id u-1')).length, 1);
  t.like((await payctl.json('user coins u-1'))[0], { coin: 'gold', available: 50 });
  t.is((await payctl.json('coin update gold --name "Gold coins"')).name, 'Gold coins');
  t.false((await payctl.json('coin disable gold -y')).enabled);
  t.true((await payctl.json('coin enable gold')).enabled);
  t.is((await payctl.json('coin get gold')).code, 'gold');
  t.is((await payctl.json('coin list')).length, 1);
  t.is((await fails(payctl, 'coin delete gold --confirm gold')).exitCode, 6, 'it has a ledger');

  const tea =
    'product create --code tea --kind goods --name Tea --price 12.50 --currency CNY --pay-ways alipay,wechat --stock 100';
  t.like(await payctl.json(tea), { code: 'tea', price: 12.5, stock: 100, version: 1 });
  t.is((await fails(payctl, tea)).exitCode, 6);
  t.is((await fails(payctl, 'product update tea --currency USD')).exitCode, 1, 'wechat does not support USD');
  t.is((await payctl.json('product update tea --price 13.00')).version, 2);
  t.is((await payctl.json('product update tea --clear stock')).stock, null);
  t.like(
    await payctl.json(
      'product create --code pack --kind coin_package --name Pack --price 6 --currency CNY --pay-ways alipay --coin \'{"code":"gold","amount":60,"bonus":6}\'',
    ),
    { coin: { code: 'gold', amount: 60, bonus: 6 } },
  );
  t.deepEqual(
    (await payctl.json('product list --kind goods')).map(({ code }: Row) => code),
    ['tea'],
  );
  t.false((await payctl.json('product disable tea -y')).enabled);
  t.is((await payctl.json('product list --enabled false')).length, 1);
  t.true((await payctl.json('product enable tea')).enabled);
  t.is((await payctl.json('product get tea')).code, 'tea');
  t.like(await payctl.json('product delete tea --confirm tea'), { code: 'tea', deleted: true });
  t.like(await payctl.json('project delete shop-eu --confirm shop-eu'), { deleted: true });
  t.is(
    (await fails(payctl, 'project delete shop-eu')).exitCode,
    2,
    '--confirm is required when not running interactively',
  );
  t.like(await payctl.json('user delete u-1 --confirm u-1'), { deleted: true });
});

test('apps and admins are created and rotated; a viewer can read and not change', async (t) => {
  const service = await startService(t);
  const payctl = await operatorAt(t, service);
  const app = await payctl.json('app create --name shop --scope payment:write,payment:read');
  t.regex(app.client_secret, /^pays_/);
  const id = app.client_id;
  t.is((await fails(payctl, 'app create --name bad --scope admin')).exitCode, 1, 'needs --trusted');
  t.deepEqual((await payctl.json('app update ' + id + ' --remark till')).remark, 'till');
  t.false((await payctl.json(`app disable ${id} -y`)).enabled);
  t.true((await payctl.json(`app enable ${id}`)).enabled);
  const second = await logIn(t, service, 'alice', 'seven-quiet-otters-swim');
  const own = await second.json('session list');
  t.deepEqual(
    own.map(({ current }: Row) => current),
    [true, false],
  );
  t.like(await payctl.json(`session end ${own[0].id} -y`), { ended: true });
  t.is((await fails(second, 'whoami')).exitCode, 4, 'ended at once');
  t.is((await payctl.json('session list')).length, 1);
  await payctl.done(`login --server ${service.url} -u alice --password-file own.password`);
  t.is((await payctl.json('session list')).length, 1, 'a new login replaces the old one');

  const rotated = await payctl.json(`app rotate-secret ${id} --grace 60 -y`);
  t.regex(rotated.client_secret, /^pays_/);
  await payctl.json(`app revoke-tokens ${id} -y`);
  t.true((await payctl.json('app list')).some(({ client_id }: Row) => client_id === id));
  t.is((await payctl.json(`app get ${id}`)).name, 'shop');
  t.like(await payctl.json(`app delete ${id} --confirm ${id}`), { deleted: true });
  t.is((await fails(payctl, `app get ${id}`)).exitCode, 3);

  const made = await payctl.json('admin create --username viewer1 --role viewer --password-file own.password');
  t.is(made.role, 'viewer');
  const viewer = await logIn(t, service, 'viewer1', 'seven-quiet-otters-swim');
  t.is((await viewer.json('whoami')).role, 'viewer');
  t.is((await viewer.json('order list')).length, 0);
  t.is((await fails(viewer, 'project create --code x --name X')).exitCode, 5);
  t.is((await payctl.json('admin list')).length, 2);
  t.like(await payctl.json(`admin disable ${made.id} -y`), { enabled: false });
  t.is((await fails(viewer, 'order list')).exitCode, 4, 'ended at once');
  t.like(await payctl.json(`admin enable ${made.id}`), { enabled: true });
});

test('channels are configured, tested and switched; certificates are uploaded and downloaded', async (t) => {
  const service = await startService(t);
  await service.app.prepare();
  const payctl = await operatorAt(t, service);
  await writeCertFiles(payctl.folder);
  const channels = await payctl.json('channel list');
  t.deepEqual(channels.map(({ payWay }: Row) => payWay).toSorted(), ['alipay', 'paypal', 'wechat']);
  for (const payWay of ['alipay', 'wechat', 'paypal']) {
    t.is((await payctl.json(`channel get ${payWay}`)).mode, 'simulator');
    t.true((await payctl.json(`channel test ${payWay}`)).ok);
    t.false((await payctl.json(`channel disable ${payWay} -y`)).enabled);
    t.true((await payctl.json(`channel enable ${payWay}`)).enabled);
  }
  t.is((await fails(payctl, 'channel get bitcoin')).exitCode, 3);
  const certs = await payctl.json('cert list');
  t.true(certs.length > 0);
  const { id } = certs.find(({ kind }: Row) => kind === 'wechat_merchant_cert');
  t.is((await payctl.json(`cert get ${id}`)).id, id);
  t.regex(await payctl.done(`cert download ${id}`), /^-----BEGIN CERTIFICATE-----/);
  t.is((await fails(payctl, `cert delete ${id} --confirm ${id}`)).exitCode, 6);
  const { id: key, fingerprint } = (await payctl.json('cert list')).find(
    ({ kind }: Row) => kind === 'alipay_public_key',
  );
  const refused = await fails(payctl, `cert distrust ${key}`);
  t.is(refused.exitCode, 2, 'it has to be confirmed');
  t.is((await payctl.json(`cert distrust ${key} -y`)).trust, 'distrusted');
  t.true((await payctl.json('channel get alipay')).missing.includes('alipay_public_key'));
  t.like(await payctl.json(`cert trust ${key} -y`), { trust: 'trusted', fingerprint });
  t.deepEqual((await payctl.json('channel get alipay')).missing, []);
  t.is(
    (await fails(payctl, 'cert upload app.crt --kind alipay_app_cert')).exitCode,
    1,
    'its key is not the one in use',
  );
  const pair = await payctl.json('cert upload app.crt --kind alipay_app_cert --key app.key --name spare');
  t.deepEqual(
    pair.map(({ kind, name }: Row) => [kind, name]),
    [
      ['alipay_app_key', 'spare'],
      ['alipay_app_cert', 'spare'],
    ],
  );
  const uploaded = pair[1];
  t.is((await payctl.json(`cert set-default ${uploaded.id} -y`)).isDefault, true);
  t.is((await fails(payctl, 'cert upload own.password --kind alipay_app_cert')).exitCode, 2);
});

test('orders, refunds and exceptions: every list filter, every verb and the export work', async (t) => {
  const service = await startService(t, { timeoutMs: 6000 });
  await service.app.prepare();
  const payctl = await operatorAt(t, service);
  const shop = await service.merchant();
  const paid = await payOrder(service, shop, {
    amount: 12.5,
    merchantOrderNo: 'm-1',
    userId: 'u-9',
    orderType: 'tea',
    subject: '=Tea',
  });
  const open = await placeOrder(shop, { amount: 3, payWay: 'wechat' });
  const order = await payctl.json(`order get ${paid}`);
  for (const filter of [
    `--order-no ${paid}`,
    '--merchant-order-no m-1',
    `--channel-trade-no ${order.channelTradeNo}`,
    '--status paid',
    '--pay-way alipay',
    '--user-id u-9',
    '--order-type tea',
    '--amount-min 12.50 --amount-max 12.50',
    '--mode simulator --status paid',
    `--app ${shop.clientId} --pay-way alipay`,
    '--project default --pay-way alipay',
    '--since 1h --pay-way alipay',
  ])
    t.deepEqual(
      (await payctl.json(`order list ${filter}`)).map(({ orderNo }: Row) => orderNo),
      [paid],
      filter,
    );
  for (const filter of ['--exception any', '--until 1h', '--mode live', '--project default --status failed'])
    t.deepEqual(await payctl.json(`order list ${filter}`), [], filter);
  t.is((await payctl.done('order list --all -q')).split('\n').length, 2);

  const csv = (await payctl.done('order export --status paid')).split('\n');
  t.is(csv.length, 2);
  t.true(csv[0]?.startsWith('orderNo,') && csv[1]?.includes(paid));
  await payctl.done('order export --format ndjson --file all.ndjson');
  const lines = (await readFile(join(payctl.folder, 'all.ndjson'), 'utf8')).trim().split('\n');
  t.deepEqual(lines.map((line) => (JSON.parse(line) as Row)['orderNo']).toSorted(), [paid, open].toSorted());
  t.is((await stat(join(payctl.folder, 'all.ndjson'))).mode & 0o077, 0);

  t.true(
    (await payctl.json(`order timeline ${paid}`)).some(({ summary }: Row) =>
      String(summary).includes('pending → paid'),
    ),
  );
  t.is((await payctl.json(`order sync ${paid}`)).status, 'paid');
  t.is((await fails(payctl, `order close ${paid} -y`)).exitCode, 6);
  t.is((await payctl.json(`order close ${open} -y`)).status, 'closed');
  t.is((await fails(payctl, 'order get P00000000000000XXXXXXXXXX')).exitCode, 3);
  t.is((await fails(payctl, 'order list --status lost')).exitCode, 2);

  const refund = await payctl.json(`refund create ${paid} --amount 2.50 --reason damaged --merchant-refund-no r-1 -y`);
  t.is((await fails(payctl, `refund create ${paid} --amount 100 -y`)).exitCode, 1);
  await until('the refund', async () => (await payctl.json(`refund get ${refund.refundNo}`)).status === 'succeeded');
  t.is((await payctl.json(`refund sync ${refund.refundNo}`)).status, 'succeeded');
  t.is((await fails(payctl, `refund retry ${refund.refundNo} -y`)).exitCode, 6);
  t.is(
    (await fails(payctl, `refund resolve ${refund.refundNo} --action release --reason no --confirm ${refund.refundNo}`))
      .exitCode,
    6,
  );
  for (const filter of [
    `--order ${paid}`,
    '--merchant-refund-no r-1',
    '--status succeeded',
    `--app ${shop.clientId}`,
    '--since 1h',
    '--project default',
  ])
    t.deepEqual(
      (await payctl.json(`refund list ${filter}`)).map(({ refundNo }: Row) => refundNo),
      [refund.refundNo],
      filter,
    );

  const disputed = await payOrder(service, shop, { payWay: 'paypal' });
  await payctl.done(`simulator dispute ${disputed} --act open --amount 4.00`);
  const find = () => payctl.json(`dispute list --order ${disputed}`);
  await until('the dispute', async () => (await find()).length === 1);
  const [{ disputeNo }] = await find();
  t.is((await payctl.json(`dispute get ${disputeNo}`)).status, 'open');
  t.is((await payctl.json(`dispute answer ${disputeNo} --text "on its way" -y`)).status, 'open');
  await payctl.done(`simulator dispute ${disputed} --act escalate`);
  await until('the claim', async () => (await payctl.json(`dispute get ${disputeNo}`)).status === 'needs_answer');
  const [photo, proof, text] = ['photo.png', 'proof.pdf', 'notes.txt'].map((name) => join(payctl.folder, name));
  await writeFile(photo!, Buffer.from('89504e470d0a1a0a', 'hex'));
  await writeFile(proof!, '%PDF-1.7');
  await writeFile(text!, 'Signed for');
  const none = await fails(payctl, `dispute answer ${disputeNo} --text x --file ${text} -y`);
  t.regex(String(none['message']), /PayPal does not accept the file notes\.txt/);
  const files = `--file ${photo} --file ${proof}`;
  t.is((await payctl.json(`dispute answer ${disputeNo} --text "signed for" ${files} -y`)).status, 'under_review');
  await payctl.done(`simulator dispute ${disputed} --act ask`);
  await until('the claim', async () => (await payctl.json(`dispute get ${disputeNo}`)).status === 'needs_answer');
  t.is((await payctl.json(`dispute accept ${disputeNo} --note sorry --confirm ${disputeNo}`)).status, 'lost');
  t.is((await fails(payctl, `dispute accept ${disputeNo} --note sorry --confirm ${disputeNo}`)).exitCode, 6);

  const wrong = await placeOrder(shop, { payWay: 'wechat' });
  await payctl.done('simulator faults --pay-way wechat --fault wrong-amount --call query --times 1');
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
  await payctl.done(`simulator pay ${wrong}`);
  await payctl.json(`order sync ${wrong}`);
  const [exception] = await payctl.json('exception list --state open --kind amount_mismatch');
  t.is(exception.orderNo, wrong);
  t.deepEqual(
    (await payctl.json('order list --exception amount_mismatch')).map(({ orderNo }: Row) => orderNo),
    [wrong],
  );
  t.is((await payctl.json(`explain ${wrong}`)).situation, 'amount_mismatch');
  t.regex(await payctl.done(`explain ${wrong}`), /^do\tpayctl exception resolve \S+ --action refund/m);
  const resolve = `exception resolve ${exception.id} --action refund --reason agreed --confirm ${exception.id}`;
  t.is((await payctl.json(resolve)).state, 'resolved');
  t.is((await fails(payctl, resolve)).exitCode, 6);
  t.is((await fails(payctl, 'exception list --kind nonsense')).exitCode, 1);
  const books = await payctl.json('audit');
  t.deepEqual(
    books.filter(({ ok }: Row) => !ok),
    [],
  );
  await service.app.database.em.fork().execute(`update orders set refunded = refunded + 1 where order_no = '${paid}'`);
  const lie = await payctl.payctl('audit');
  t.is(lie.code, 1);
  t.regex(lie.stdout, /^refunded\tfalse\t1\t/m);
  t.regex(lie.stderr, new RegExp(`refunded  ${paid}  order 251, refunds 250`));
  t.regex(lie.stderr, new RegExp(`next: payctl explain ${paid}`));
});

test('events that a receiver refused for good are resent in bulk, and not once more', async (t) => {
  const service = await startService(t, { env: { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' } });
  const payctl = await operatorAt(t, service);
  const receiver = await startReceiver(t);
  const shop = await service.merchant();
  await payctl.json(`app webhook set ${shop.clientId} --url ${receiver.url} --types order.paid`);
  receiver.answer = () => ({ status: 410 });
  const paid = await payOrder(service, shop, { payWay: 'alipay' });
  await service.app.deliveries.once();
  const [{ eventId }] = await payctl.json(`app webhook deliveries ${shop.clientId} --state failed`);
  const stopped = await fails(payctl, 'event resend --failed --since 1h -y');
  t.is(stopped.exitCode, 1);
  t.deepEqual(stopped['notResent'], [{ clientId: shop.clientId, eventId, code: 'webhook_not_configured' }]);
  await payctl.json(`app webhook set ${shop.clientId} --enabled true`);
  receiver.answer = () => ({ status: 204 });
  t.like((await payctl.json('event resend --failed --since 1h -y'))[0], { eventId, state: 'pending' });
  await service.app.deliveries.once();
  t.is(receiver.received.length, 2);
  t.is(receiver.received[1]?.headers['webhook-id'], eventId);
  t.true(receiver.received[1]?.body.includes(paid));
  t.deepEqual(await payctl.json('event resend --failed --since 1h -y'), [], 'it is delivered');
});

test('events are listed, followed without loss and sent again', async (t) => {
  const service = await startService(t, { env: { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } });
  const payctl = await operatorAt(t, service);
  const shop = await service.merchant();
  const paid = await payOrder(service, shop, {});
  const [event] = await payctl.json('event list --types order.paid');
  t.is(event.data.object.orderNo, paid);
  t.is((await payctl.json(`event list --app ${shop.clientId} --project default`)).length, 1);
  t.deepEqual(await payctl.json(`event list --after ${event.sequence}`), []);
  const heard = await payctl.done('event listen --since 1h --types order.paid --count 1 -o jsonl');
  t.is(JSON.parse(heard).id, event.id);
  t.is(await payctl.done('event listen --after 0 --types order.paid --count 1 -q'), event.id);
  t.is((await fails(payctl, `event resend ${event.id}`)).exitCode, 6, 'the application has no webhook');
  t.is((await fails(payctl, 'event resend evt_nothing')).exitCode, 3);
  await payctl.json(`api -X PUT /api/v1/api-apps/${shop.clientId}/webhook -f url=http://127.0.0.1:9/hook`);
  t.like(await payctl.json(`event resend ${event.id}`), { eventId: event.id, state: 'pending', type: 'order.paid' });
  t.regex(await payctl.done(`explain ${paid}`), /^step\t\S+\t\*\tdelivery to http:\/\/127\.0\.0\.1:9\/hook/m);
  t.deepEqual(
    (await payctl.json(`event list --about ${paid} --since 1h`)).map(({ id }: Row) => id),
    [event.id],
  );
  t.is((await fails(payctl, 'event list --types order.lost')).exitCode, 1);
});

test('skillpay: price list, offer, redeem, verify, refund and figures work', async (t) => {
  const service = await startService(t);
  await service.app.prepare();
  const payctl = await operatorAt(t, service);
  await payctl.json(
    'product create --code weather --kind skill --name Weather --price 0.50 --currency CNY --pay-ways wechat,alipay --resource \'{"handler":"static","content":{"sky":"blue"}}\' --refund-after-fulfilment true',
  );
  const app = await payctl.done('app create --name bot --scope skillpay:call --secret-file bot.secret -q');
  const as = `--app ${app} --secret-file bot.secret`;
  t.deepEqual(
    (await payctl.json(`skillpay list ${as}`)).map(({ resource }: Row) => resource),
    ['demo', 'weather'],
  );
  const offer = await payctl.json(
    `skillpay offer --resource weather --input '{"city":"Paris"}' --pay-way wechat ${as}`,
  );
  t.is(offer.status, 'pending');
  t.is((await fails(payctl, `skillpay redeem ${offer.outTradeNo} ${as}`)).exitCode, 1);
  await payctl.done(`simulator pay ${offer.outTradeNo}`);
  await until(
    'it is paid',
    async () => (await payctl.json(`skillpay get ${offer.outTradeNo} ${as}`)).status === 'paid',
  );
  t.deepEqual(JSON.parse(await payctl.done(`skillpay redeem ${offer.outTradeNo} --content ${as}`)), { sky: 'blue' });
  t.true((await payctl.json(`skillpay redeem ${offer.outTradeNo} ${as}`)).alreadyFulfilled);
  const code = await payctl.json('skillpay verify-code', { stdin: offer.paymentCode });
  t.like(code, { valid: true, outTradeNo: offer.outTradeNo });
  t.is((await payctl.payctl('skillpay verify-code', { stdin: `${offer.paymentCode.slice(0, -4)}AAAA` })).code, 1);
  t.is((await payctl.json(`skillpay refund ${offer.outTradeNo} -y ${as}`)).refundAmount, 0.5);
  const stats = await payctl.json('skillpay stats');
  t.like(
    stats.find(({ resource }: Row) => resource === 'weather'),
    { offered: 1, fulfilled: 1 },
  );
});
