import test from 'ava';
import { alipay, paypal } from '../unit/credentials/material.ts';
import { startService } from '../unit/credentials/service.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { withAnotherKey } from '../support/own-credentials.ts';
import { coverRoutes } from '../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

const path = '/api/v1/payment/channels';

test.serial('every caller sees three channels with a status and a time, and nothing else', async (t) => {
  const { call } = await startService(t);
  await call('POST', '/api/v1/payment/config/alipay', { body: alipay });
  await call('POST', '/api/v1/payment/config/paypal?project=other', { body: paypal });
  const { status, body, text } = await call('GET', path, { token: '' });
  t.is(status, 200);
  t.deepEqual(body.data, [
    {
      payWay: 'alipay',
      name: 'Alipay',
      enabled: true,
      configured: true,
      mode: 'sandbox',
      status: 'up',
      lastSuccessAt: null,
    },
    {
      payWay: 'wechat',
      name: 'WeChat Pay',
      enabled: false,
      configured: false,
      mode: null,
      status: 'unconfigured',
      lastSuccessAt: null,
    },
    {
      payWay: 'paypal',
      name: 'PayPal',
      enabled: false,
      configured: false,
      mode: null,
      status: 'unconfigured',
      lastSuccessAt: null,
    },
  ]);
  t.false(text.includes(alipay.appId));
});

test.serial('the status shows successes and failures of a channel without its error texts', async (t) => {
  const { call, channels, store } = await startService(t);
  await call('POST', '/api/v1/payment/config/alipay', { body: alipay });
  const one = async () => (await call('GET', path, { token: '' })).body.data[0];
  await call('PUT', '/api/v1/payment/config/alipay/toggle', { body: { enabled: false } });
  t.is((await one()).status, 'disabled');
  await call('PUT', '/api/v1/payment/config/alipay/toggle', { body: { enabled: true } });
  const note = (patch: object) => store.transaction((tx) => tx.channelStates.update({ project: 'default' }, patch));
  await note({ lastFailureAt: new Date(), lastFailure: 'timeout' });
  t.is((await one()).status, 'down');
  t.false(JSON.stringify(await one()).includes('timeout'));
  const at = new Date();
  await note({ lastSuccessAt: at });
  t.deepEqual([(await one()).status, (await one()).lastSuccessAt], ['degraded', at.toISOString()]);
  await note({ lastFailureAt: null, certsExpireAt: new Date(Date.now() + 20 * 86_400_000) });
  t.is((await one()).status, 'degraded');
  await channels.idle();
});

test.serial('a channel whose secrets cannot be decrypted is down, and the reason is not shown', async (t) => {
  const before = await startService(t);
  await before.call('POST', '/api/v1/payment/config/alipay', { body: alipay });
  const { call } = await withAnotherKey(t, before);
  const { body, text } = await call('GET', path, { token: '' });
  t.like(body.data[0], { payWay: 'alipay', enabled: true, configured: false, status: 'down' });
  t.notRegex(text, /decrypt|channel_configs|key/i);
  t.is(body.data[1].status, 'unconfigured');
});

test.serial('a project parameter is rejected', async (t) => {
  const { call } = await startService(t);
  t.is((await call('GET', `${path}?project=other`, { token: '' })).status, 400);
});
