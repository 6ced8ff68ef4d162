import test from 'ava';
import { certificateFor, fixture, keyOf, paypal, publicOf } from '../unit/credentials/material.ts';
import { startService } from '../unit/credentials/service.ts';

test('twenty concurrent changes leave exactly one default at every moment, and a version for the last one', async (t) => {
  const service = await startService(t);
  const { call, store } = service;
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) {
    const content = certificateFor(keyOf('alipay.key'), { name: `platform ${index}` });
    const { body } = await call('POST', '/api/v1/certs/upload', {
      body: { payWay: 'wechat', kind: 'wechat_platform_cert', content },
    });
    ids.push(body.data.id);
  }
  let done = false;
  const counts: number[] = [];
  const watcher = (async () => {
    while (!done)
      counts.push(await store.read((tx) => tx.certs.count({ kind: 'wechat_platform_cert', isDefault: true })));
  })();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => call('POST', `/api/v1/certs/${ids[index % ids.length]}/default`)),
  );
  done = true;
  await watcher;
  t.deepEqual(
    answers.map(({ status }) => status),
    Array.from({ length: 20 }, () => 200),
  );
  t.true(counts.length > 0);
  t.deepEqual([...new Set(counts)], [1]);
});

test('concurrent writes make sequential versions, and every replica ends at the last', async (t) => {
  const service = await startService(t);
  const replica = await startService(t, { on: service.on, masterKeys: service.masterKeys });
  const writes = Array.from({ length: 10 }, (_, index) =>
    (index % 2 ? service : replica).call('POST', '/api/v1/payment/config/paypal', {
      body: { ...paypal, clientSecret: `secret-number-${index}-of-ten` },
    }),
  );
  t.deepEqual(new Set((await Promise.all(writes)).map(({ status }) => status)), new Set([200]));
  const rows = await service.store.read((tx) =>
    tx.channelConfigs.list({ payWay: 'paypal' }, { orderBy: { version: 'asc' } }),
  );
  t.deepEqual(
    rows.map(({ version }) => version),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
  for (const { channels } of [service, replica]) t.is((await channels.forNew('default', 'paypal')).configVersion, 10);
});

test('the same key uploaded ten times at once is stored once', async (t) => {
  const { call, store } = await startService(t);
  const body = { payWay: 'alipay', kind: 'alipay_public_key', content: publicOf(fixture('alipay.key')) };
  const answers = await Promise.all(Array.from({ length: 10 }, () => call('POST', '/api/v1/certs/upload', { body })));
  t.deepEqual(answers.map(({ status }) => status).toSorted(), [201, ...Array.from({ length: 9 }, () => 409)]);
  t.is(await store.read((tx) => tx.certs.count({})), 1);
});
