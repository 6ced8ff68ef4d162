import test from 'ava';
import {
  type MasterKey,
  MasterKeyWrong,
  OldCiphertextsLeft,
  createEncryption,
  missingMasterKeys,
  rotateMasterKey,
} from '../../../server/db/encryption.ts';
import { alipay, fixture, paypal } from './material.ts';
import { newMasterKey } from './stage.ts';
import { startService, type Service } from './service.ts';

const wechat = {
  mode: 'live',
  mchid: '1900000001',
  appId: 'wx0123456789abcdef',
  apiV3Key: '0123456789abcdefghijABCDEFGHIJ!!',
  wechat_merchant_key: fixture('app.key'),
  wechat_merchant_cert: fixture('app.crt'),
};

/** Configures every channel, one of them in two versions, and fills the other tables with encrypted columns. */
async function fill({ call, store, ports }: Service): Promise<void> {
  for (const [payWay, body] of Object.entries({ alipay, wechat, paypal })) {
    const { status } = await call('POST', `/api/v1/payment/config/${payWay}`, { body });
    if (status !== 200) throw new Error(payWay);
  }
  await call('POST', '/api/v1/payment/config/paypal', { body: { clientSecret: 'another-secret-of-the-same-app' } });
  const at = new Date();
  const { encrypt } = ports.encryption;
  await store.transaction(async (tx) => {
    const place = { table: 'webhooks', id: 'app_1', version: 1 };
    await tx.webhooks.insert({
      clientId: 'app_1',
      url: 'https://shop.example/hook',
      types: [],
      enabled: true,
      encryptedSecret: encrypt({ ...place, column: 'encryptedSecret' }, 'whsec_first'),
      previousEncryptedSecret: encrypt({ ...place, column: 'previousEncryptedSecret' }, 'whsec_second'),
      createdAt: at,
      updatedAt: at,
    });
    const encrypted = encrypt({ table: 'signing_keys', id: 'k1', column: 'encrypted', version: 1 }, 'signing secret');
    await tx.signingKeys.insert({ kid: 'k1', mode: 'sandbox', publicJwk: {}, encrypted, createdAt: at });
  });
}

test('a dump of the database contains no key and no secret', async (t) => {
  const service = await startService(t);
  await fill(service);
  const dump = await service.dump();
  t.true(dump.includes(paypal.clientId), 'the dump shows what is no secret');
  const keyLines = fixture('app.key')
    .split('\n')
    .filter((line) => line.length > 40);
  const secrets = [
    alipay.appAuthToken,
    wechat.apiV3Key,
    paypal.clientSecret,
    'another-secret-of-the-same-app',
    'whsec_',
    'signing secret',
  ];
  const masters = service.masterKeys.flatMap(({ key }) => [
    key.toString('base64'),
    key.toString('base64url'),
    key.toString('hex'),
  ]);
  for (const secret of [...secrets, ...keyLines, ...masters]) t.false(dump.includes(secret), secret.slice(0, 12));
  t.notRegex(dump, /PRIVATE KEY/);
});

test('a master key rotation replaces all old key ids, and a second run changes nothing', async (t) => {
  const service = await startService(t);
  await fill(service);
  const [old] = service.masterKeys;
  const young = newMasterKey();
  const { store } = service;
  const result = await rotateMasterKey(store, [young, old!]);
  t.is(result.keyId, young.id);
  t.is(result.rewrapped, 4 + 2 + 2 + 1);
  t.false((await service.dump()).includes(old!.id));
  t.is((await rotateMasterKey(store, [young, old!])).rewrapped, 0);
  t.is((await rotateMasterKey(store, [young])).rewrapped, 0);
  const after = await startService(t, { on: service.on, masterKeys: [young] });
  for (const payWay of ['alipay', 'wechat', 'paypal'] as const)
    await t.notThrowsAsync(after.channels.forNew('default', payWay));
  const hook = await store.read((tx) => tx.webhooks.find({ clientId: 'app_1' }));
  const place = { table: 'webhooks', id: 'app_1', column: 'encryptedSecret', version: 1 };
  t.is(createEncryption([young]).open(place, hook!.encryptedSecret), 'whsec_first');
});

test('a start finds the master keys that are missing, and is refused if none of the stored secrets can be decrypted', async (t) => {
  const service = await startService(t);
  const { store, masterKeys } = service;
  const young = newMasterKey();
  const find = (keys: readonly MasterKey[], ...lostKeys: string[]) =>
    missingMasterKeys(store, { masterKeys: keys, lostKeys });
  t.deepEqual(await find([young]), [], 'nothing is stored');
  await fill(service);
  const [old] = masterKeys;
  t.deepEqual(await find([old!]), []);
  t.deepEqual(await find([young, old!]), []);
  const refused = await t.throwsAsync(find([young]), { instanceOf: MasterKeyWrong });
  t.like(refused, { code: 'master_key_wrong' });
  t.true(refused?.message.includes(young.id) && refused.message.includes(old!.id));
  t.deepEqual(await find([young], old!.id), [], 'the old key is known to be lost');
  await startService(t, { on: service.on, masterKeys: [young] }).then(({ call }) =>
    call('POST', '/api/v1/payment/config/paypal', { body: paypal }),
  );
  t.deepEqual(await find([young]), [old!.id], 'some secrets can be decrypted');
});

test('two concurrent rotations with concurrent writes end with one key', async (t) => {
  const service = await startService(t);
  await fill(service);
  const young = newMasterKey();
  const keys = [young, ...service.masterKeys];
  const writer = await startService(t, { on: service.on, masterKeys: keys });
  await Promise.all([
    rotateMasterKey(service.store, keys),
    rotateMasterKey(service.store, keys),
    writer.call('POST', '/api/v1/payment/config/paypal', { body: paypal }),
  ]);
  t.false((await service.dump()).includes(service.masterKeys[0]!.id));
  t.is((await startService(t, { on: service.on, masterKeys: [young] })).masterKeys.length, 1);
});

test('a rotation reports a record that cannot be decrypted and processes all others', async (t) => {
  const service = await startService(t);
  await fill(service);
  const { store } = service;
  const [row] = await store.read((tx) => tx.channelConfigs.list({ payWay: 'alipay' }));
  const encrypted = row!.encrypted!;
  const flipped = encrypted.slice(0, 20) + (encrypted[20] === 'A' ? 'B' : 'A') + encrypted.slice(21);
  await store.transaction((tx) => tx.channelConfigs.update({ id: row!.id }, { encrypted: flipped }));
  const young = newMasterKey();
  const error = await t.throwsAsync(rotateMasterKey(store, [young, ...service.masterKeys]), {
    instanceOf: OldCiphertextsLeft,
  });
  t.true(error?.message.includes(row!.id));
  const after = await startService(t, { on: service.on, masterKeys: [young] });
  await t.notThrowsAsync(after.channels.forNew('default', 'paypal'));
  await t.throwsAsync(after.channels.forNew('default', 'alipay'), { message: /cannot be decrypted/ });
});

test('a broken configuration is repaired only by writing its secrets again', async (t) => {
  const { call, store } = await startService(t);
  await call('POST', '/api/v1/payment/config/paypal', { body: paypal });
  await store.transaction((tx) => tx.channelConfigs.update({ payWay: 'paypal' }, { encrypted: 'broken' }));
  const shown = await call('GET', '/api/v1/payment/config/paypal');
  t.is(shown.body.data.fields.clientSecret, '***');
  t.is((await call('POST', '/api/v1/payment/config/paypal/test')).body.code, 'configuration_broken');
  const kept = await call('POST', '/api/v1/payment/config/paypal', { body: { merchantId: 'ABCDEFGHJKLMN' } });
  t.deepEqual([kept.status, kept.body.errors[0].pointer], [400, '/clientSecret']);
  t.is((await call('POST', '/api/v1/payment/config/paypal', { body: paypal })).status, 200);
});
