import test from 'ava';
import { rotateMasterKey } from '../../../server/db/encryption.ts';
import { embeddedDatabase } from '../../support/database.ts';
import { alipay, fixture, paypal, publicOf } from './material.ts';
import { newMasterKey } from './stage.ts';
import { startService } from './service.ts';

test('credentials also work on the embedded database', async (t) => {
  const service = await startService(t, { on: await embeddedDatabase(t) });
  const { call, channels, store, masterKeys } = service;
  t.is((await call('POST', '/api/v1/payment/config/alipay', { body: alipay })).status, 200);
  t.is((await call('POST', '/api/v1/payment/config/paypal', { body: paypal })).status, 200);
  const content = publicOf(fixture('alipay2.key'));
  const key = await call('POST', '/api/v1/certs/upload', {
    body: { payWay: 'alipay', kind: 'alipay_public_key', content },
  });
  t.is((await call('POST', `/api/v1/certs/${key.body.data.id}/default`)).status, 200);
  t.is((await channels.forNew('default', 'alipay')).configVersion, 3);
  t.is((await channels.forNotifications('default', 'alipay')).length, 1);
  t.is((await call('GET', '/api/v1/payment/channels', { token: '' })).body.data[0].status, 'up');
  const { rewrapped } = await rotateMasterKey(store, [newMasterKey(), ...masterKeys]);
  t.is(rewrapped, 5);
  t.false((await service.dump()).includes(masterKeys[0]!.id));
});
