import test from 'ava';
import { compactVerify, importJWK, type JWK } from 'jose';
import { createEncryption } from '../../../server/db/encryption.ts';
import { createSigningKeys } from '../../../server/skillpay/signing-keys.ts';
import { postgresDatabase } from '../../support/database.ts';

const encryption = createEncryption([{ id: 'aaaaaaaa', key: Buffer.alloc(32, 1) }]);
const now = () => new Date();

test('concurrent replicas create one first key per mode', async (t) => {
  const { store } = await postgresDatabase(t);
  const replicas = Array.from({ length: 8 }, () => createSigningKeys({ store, encryption, now, simulated: true }));
  await Promise.all(replicas.flatMap((keys) => [keys.ensure('simulator'), keys.ensure('live')]));
  const rows = await store.read((tx) => tx.signingKeys.list({}));
  t.deepEqual(rows.map(({ mode }) => mode).toSorted(), ['live', 'simulator']);
  const signed = await Promise.all(replicas.map((keys) => keys.sign('live', 'pay-code+jws', { a: 1 })));
  t.is(new Set(signed).size, 1);
  const { keys } = await replicas[0]!.publicKeys();
  t.deepEqual(keys.map(({ kid }) => kid).toSorted(), rows.map(({ kid }) => kid).toSorted());
  for (const key of keys) t.deepEqual(Object.keys(key).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
});

test('the newest key signs, older keys stay published, and signing fails without a key', async (t) => {
  const { store } = await postgresDatabase(t);
  let at = Date.now();
  const keys = createSigningKeys({ store, encryption, now: () => new Date(at), simulated: false });
  await t.throwsAsync(keys.sign('live', 'pay-code+jws', {}), { message: /has just changed/ });
  await keys.ensure('live');
  const kidOf = async () =>
    JSON.parse(Buffer.from((await keys.sign('live', 'x', {})).split('.')[0] ?? '', 'base64url').toString()).kid;
  const first = await kidOf();
  const other = createSigningKeys({ store, encryption, now: () => new Date(at), simulated: false });
  await other.ensure('sandbox');
  at += 61_000;
  await store.transaction((tx) =>
    tx.signingKeys.update({ mode: 'sandbox' }, { mode: 'live', createdAt: new Date(at) }),
  );
  await keys.ensure('live');
  t.not(await kidOf(), first);
  t.is((await keys.publicKeys()).keys.length, 2);
});

test('jose verifies a signature with the published key', async (t) => {
  const { store } = await postgresDatabase(t);
  const keys = createSigningKeys({ store, encryption, now, simulated: true });
  await keys.ensure('live');
  const [published] = (await keys.publicKeys()).keys;
  const key = await importJWK(published as JWK, 'EdDSA');
  const { kid } = published!;
  for (const [signer, id] of [
    [undefined, kid],
    ['did:web:pay.example', `did:web:pay.example#${String(kid)}`],
  ] as const) {
    const signed = await keys.sign('live', 'pay-code+jws', { resource: '天气' }, signer);
    const { payload, protectedHeader } = await compactVerify(signed, key);
    t.deepEqual(JSON.parse(Buffer.from(payload).toString()), { resource: '天气' });
    t.deepEqual(protectedHeader, { alg: 'EdDSA', typ: 'pay-code+jws', kid: id } as never);
    const [head, , signature] = signed.split('.');
    const other = Buffer.from('{"resource":"x"}').toString('base64url');
    await t.throwsAsync(compactVerify(`${head}.${other}.${signature}`, key));
  }
});

test('a private key moved to another row cannot be decrypted', async (t) => {
  const { store } = await postgresDatabase(t);
  const keys = createSigningKeys({ store, encryption, now, simulated: true });
  await keys.ensure('live');
  await store.transaction(async (tx) => {
    const [row] = await tx.signingKeys.list({});
    await tx.signingKeys.insert({ ...row, kid: 'moved', mode: 'sandbox' });
  });
  await t.throwsAsync(createSigningKeys({ store, encryption, now, simulated: true }).ensure('sandbox'), {
    message: /cannot be decrypted/,
  });
});
