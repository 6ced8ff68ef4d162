import test from 'ava';
import { watchExpiry } from '../../../server/credentials/status.ts';
import { alipay, certificateFor, endedRoot, keyOf } from './material.ts';
import { startService } from './service.ts';

test('a certificate that expires soon is named and degrades its channel, but an expired root does not', async (t) => {
  const { call, store } = await startService(t);
  const { root, issued } = endedRoot();
  const body = {
    ...alipay,
    alipay_public_key: undefined,
    alipay_app_cert: certificateFor(keyOf('app.key'), { days: 40 }),
    alipay_public_cert: issued,
    alipay_root_cert: root,
  };
  t.is((await call('POST', '/api/v1/payment/config/alipay', { body })).status, 200);
  const lines: string[] = [];
  const watch = (days: number) =>
    watchExpiry({
      store,
      now: () => new Date(Date.now() + days * 86_400_000),
      log: (level, message, details) =>
        void lines.push(`${level} ${message}: ${String(details?.kind)} ${String(details?.daysLeft)}`),
    });
  t.deepEqual(await watch(0), []);
  t.like(await watch(15), [{ project: 'default', payWay: 'alipay', kind: 'alipay_app_cert', daysLeft: 24 }]);
  t.like(await watch(45), [{ daysLeft: -6 }]);
  t.deepEqual(lines, [
    'warn a certificate in use expires soon: alipay_app_cert 24',
    'error a certificate in use has expired: alipay_app_cert -6',
  ]);
  const status = async () => (await call('GET', '/api/v1/payment/config/alipay')).body.data.status;
  t.is(await status(), 'up');
  const state = await store.read((tx) => tx.channelStates.find({ payWay: 'alipay' }));
  t.true(state!.certsExpireAt! > new Date());
  await store.transaction((tx) =>
    tx.channelStates.update({ payWay: 'alipay' }, { certsExpireAt: new Date(Date.now() + 29 * 86_400_000) }),
  );
  t.is(await status(), 'degraded');
});
