import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { operatorAt } from './operator.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';

test('webhooks, exceptions, the audit log and the live board work against the real service', async (t) => {
  const service = await startService(t, { env: { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } });
  const payctl = await operatorAt(t, service);
  const shop = await service.merchant();
  const app = shop.clientId;
  const receiver = await startReceiver(t);

  t.is((await payctl.payctl(`app webhook get ${app}`)).code, 3);
  await payctl.done(`app webhook set ${app} --url ${receiver.url} --types order.paid --secret-file hook.secret`);
  const secret = (await readFile(join(payctl.folder, 'hook.secret'), 'utf8')).trimEnd();
  t.like(await payctl.json(`app webhook get ${app}`), { url: receiver.url, types: ['order.paid'], enabled: true });
  t.is((await payctl.json(`app webhook set ${app} --types all`)).secret, undefined);
  t.like(await payctl.json(`app webhook test ${app}`), { state: 'delivered', type: 'webhook.test' });
  const { headers, body } = receiver.received.at(-1)!;
  t.is(
    headers['webhook-signature'],
    new Webhook(secret).sign(
      String(headers['webhook-id']),
      new Date(Number(headers['webhook-timestamp']) * 1000),
      body,
    ),
  );
  receiver.answer = () => ({ status: 500 });
  t.is((await payctl.payctl(`app webhook test ${app}`)).code, 1);
  t.regex((await payctl.json(`app webhook rotate ${app} --grace 1h -y`)).secret, /^whsec_/);

  const paid = await payOrder(service, shop, { amount: 3, subject: '红茶' });
  const [event] = await payctl.json(`event list --about ${paid} --types order.paid`);
  // As if every delivery attempt had failed.
  await service.app.database.em
    .fork()
    .execute(
      `update deliveries set state = 'failed', next_attempt_at = null, finished_at = now() where event_id = '${event.id}'`,
    );
  t.is((await payctl.json(`app webhook deliveries ${app} --state failed --event ${event.id}`)).length, 1);
  t.deepEqual(await payctl.json(`app webhook resend ${app} --failed --dry-run`), [
    { clientId: app, eventId: event.id },
  ]);
  const [again] = await payctl.json(`app webhook resend ${app} --failed -y`);
  t.like(again, { eventId: event.id, state: 'pending' });
  t.deepEqual(await payctl.json(`app webhook resend ${app} --failed -y`), [], 'the delivery is already pending');
  t.is((await payctl.json(`app webhook resend ${app} --event ${event.id} -y`)).length, 1);
  t.is((await payctl.payctl(`app webhook resend ${app} --event evt_none -y`)).code, 3);

  const wrong = await placeOrder(shop, { payWay: 'wechat' });
  await payctl.done('simulator faults --pay-way wechat --fault wrong-amount --call query --times 1');
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
  await payctl.done(`simulator pay ${wrong}`);
  await payctl.json(`order sync ${wrong}`);
  const [listed] = await payctl.json('exception list --state open');
  t.like(await payctl.json(`exception get ${listed.id}`), { kind: 'amount_mismatch', orderNo: wrong, state: 'open' });
  t.is((await payctl.payctl('exception get 42')).code, 3);

  const actions = (await payctl.json(`audit-log list --target ${app}`)).map(({ action }: { action: string }) => action);
  t.true(actions.includes('webhook.rotate-secret') && actions.includes('webhook.update'), actions.join(' '));
  t.regex(await payctl.done('audit-log verify'), /^audit-log\ttrue\t0\t/);
  const exported = (await payctl.done('audit-log export --format ndjson')).split('\n').map((line) => JSON.parse(line));
  t.is(exported[0].action, 'audit-log.exported');
  t.is((await payctl.payctl(`audit-log verify --tip ${exported[0].hash}`)).code, 0);
  t.is((await payctl.payctl(`audit-log verify --tip ${'0'.repeat(63)}1`)).code, 1);
  const em = service.app.database.em.fork();
  await em.execute('delete from audit_log where id > (select min(id) + 1 from audit_log)');
  const cut = await payctl.payctl('audit-log verify');
  t.is(cut.code, 1, 'the stored tip is missing from the log');
  t.regex(cut.stderr, /unless an older backup was restored; only then: payctl audit --forget-tip/);
  t.regex((await payctl.payctl('audit-log verify --forget-tip')).stderr, /payctl audit --accept-until \d+/);

  t.is((await payctl.done('order list --watch --count 1 -q')).split('\n').at(-1), wrong);
  t.regex(await payctl.done('status --watch --count 1'), /^service\tup/m);
  const board = JSON.parse(await payctl.done('top --count 1'));
  t.is(board.exceptions.newest[0].orderNo, wrong);
  t.is(board.orders.past.statuses[0].count, 1);
  t.is(board.webhooks[0].clientId, app);
  t.true(
    board.events.rows.some(({ orderNo, subject }: Record<string, string>) => orderNo === paid && subject === '红茶'),
  );
});
