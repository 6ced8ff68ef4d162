import test from 'ava';
import { createPublicKey } from 'node:crypto';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes } from '../support/route-file.ts';
import { request, startService } from '../support/service.ts';
import { callSkill } from '../support/skillpay.ts';

const file = await serviceOfFile(import.meta.filename);
const { nobody, service } = file;
coverRoutes(test, file);

// The key is created when the first code is signed.
test.before('an offer is made', async () => {
  await callSkill(await file.shop(), undefined);
});

const path = '/.well-known/jwks.json';

test.serial('every caller gets the public key of codes and receipts, cacheable for a minute', async (t) => {
  const { status, body, headers } = await nobody('GET', path);
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'public, max-age=60');
  t.is(body.keys.length, 1);
  t.like(body.keys[0], { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' });
  t.truthy(body.keys[0].kid);
  t.is(createPublicKey({ key: body.keys[0], format: 'jwk' }).asymmetricKeyType, 'ed25519');
});

test.serial('the same keys are published as the DID document of the host', async (t) => {
  const { status, body } = await nobody('GET', '/.well-known/did.json');
  t.is(status, 200);
  t.is(body.id, `did:web:${encodeURIComponent(new URL(service.url).host)}`);
  const [key] = (await nobody('GET', path)).body.keys;
  t.deepEqual(body.verificationMethod, [
    { id: `${body.id}#${key.kid}`, type: 'JsonWebKey2020', controller: body.id, publicKeyJwk: key },
  ]);
  t.deepEqual(body.assertionMethod, [body.verificationMethod[0].id]);
});

test.serial('the private key is never published', async (t) => {
  const { body } = await nobody('GET', path);
  t.false('d' in body.keys[0]);
});

test.serial('all replicas publish the same key', async (t) => {
  const replica = await startService(t, { url: service.databaseUrl, simulator: service.simulator });
  const here = await nobody('GET', path);
  t.deepEqual((await request(replica.url, 'GET', path)).body, here.body);
});
