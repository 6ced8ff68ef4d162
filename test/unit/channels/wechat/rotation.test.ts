import { X509Certificate } from 'node:crypto';
import test from 'ava';
import {
  certificatesAnswer,
  channelWith,
  MERCHANT,
  MERCHANT_KEY_PEM,
  NOW,
  orderRef,
  OTHER_PLATFORM,
  PLATFORM,
  platformInput,
  PUBLIC,
  publicKeyInput,
  signed,
  trade,
  unsigned,
  type Answering,
  type SignedHow,
} from './fake.ts';

/** Query responses are signed by the new certificate; `/v3/certificates` returns `certificates`. */
function rotated(certificates: Answering, how: SignedHow = { signer: OTHER_PLATFORM }): Answering {
  return (request) => (request.url.endsWith('/v3/certificates') ? certificates(request) : signed(200, trade(), how));
}

test('a new platform certificate is fetched once for concurrent responses', async (t) => {
  const { channel, sent } = channelWith(rotated(() => certificatesAnswer([OTHER_PLATFORM, PLATFORM])));
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => channel.query(orderRef())));
  t.true(outcomes.every(({ kind }) => kind === 'paid'));
  t.is(sent.filter(({ url }) => url.endsWith('/v3/certificates')).length, 1);
});

test('the old certificate stays valid next to the new one', async (t) => {
  let signer = OTHER_PLATFORM;
  const { channel } = channelWith((request) =>
    rotated(() => certificatesAnswer([OTHER_PLATFORM]), { signer })(request),
  );
  t.is((await channel.query(orderRef())).kind, 'paid');
  signer = PLATFORM;
  t.is((await channel.query(orderRef())).kind, 'paid');
});

test('without a stored certificate the first response fetches the certificates', async (t) => {
  const pems = { wechat_merchant_key: [MERCHANT_KEY_PEM], wechat_merchant_cert: [MERCHANT.pem] };
  const { channel } = channelWith(
    rotated(() => certificatesAnswer([OTHER_PLATFORM])),
    { pems },
  );
  t.is((await channel.query(orderRef())).kind, 'paid');
});

test('a merchant in public-key mode fetches certificates verified by its public key', async (t) => {
  const { fields, pems } = publicKeyInput();
  const answering = rotated(() => certificatesAnswer([OTHER_PLATFORM], { signer: PUBLIC }));
  const { channel } = channelWith(answering, { fields, pems });
  t.is((await channel.query(orderRef())).kind, 'paid');
});

for (const [what, certificates] of Object.entries<Answering>({
  'encrypted with another key': () => certificatesAnswer([OTHER_PLATFORM], { apiV3Key: 'x'.repeat(32) }),
  'signed by none of the new certificates': () => certificatesAnswer([OTHER_PLATFORM], { signer: PLATFORM }),
  'signed by another key under their serial': () =>
    certificatesAnswer([OTHER_PLATFORM], { signer: { ...PLATFORM, serial: OTHER_PLATFORM.serial } }),
  'signed 10 minutes ago': () => certificatesAnswer([OTHER_PLATFORM], { at: new Date(NOW.getTime() - 600_000) }),
  'under a wrong serial': () =>
    certificatesAnswer([{ ...OTHER_PLATFORM, serial: PLATFORM.serial }], { signer: OTHER_PLATFORM }),
  unsigned: () => ({ ...certificatesAnswer([OTHER_PLATFORM]), headers: {} }),
  'that are missing': () => unsigned(404),
  'not JSON': () => signed(200, '<html>', { signer: OTHER_PLATFORM }),
})) {
  test(`certificates ${what} are not trusted`, async (t) => {
    const { channel } = channelWith(rotated(certificates));
    t.like(await channel.query(orderRef()), { kind: 'unknown', cause: 'serial_unknown' });
  });
}

test('certificates outside their validity are not trusted', async (t) => {
  const later = new Date('2040-01-01T00:00:00Z');
  const how = { signer: OTHER_PLATFORM, at: later };
  const { channel } = channelWith(
    rotated(() => certificatesAnswer([OTHER_PLATFORM], how), how),
    { now: () => later },
  );
  t.like(await channel.query(orderRef()), { kind: 'unknown', cause: 'serial_unknown' });
});

test('unknown serials cause at most one fetch a minute', async (t) => {
  let now = NOW;
  const answering = rotated(() => unsigned(500), { serial: 'ABCDEF' });
  const { channel, sent } = channelWith(answering, { now: () => now });
  const fetches = () => sent.filter(({ url }) => url.endsWith('/v3/certificates')).length;
  for (let round = 0; round < 5; round += 1) await channel.query(orderRef());
  t.is(fetches(), 1);
  now = new Date(NOW.getTime() + 61_000);
  await channel.query(orderRef());
  t.is(fetches(), 2);
});

test('an unknown public key id causes no fetch', async (t) => {
  const { channel, sent } = channelWith(
    rotated(() => certificatesAnswer([PLATFORM]), { signer: PUBLIC }),
    platformPems(),
  );
  t.like(await channel.query(orderRef()), { kind: 'unknown', cause: 'serial_unknown' });
  t.is(sent.length, 1);
});

test('two public keys are valid at once, each under its own id', async (t) => {
  const { fields, pems } = publicKeyInput();
  const other = { ...OTHER_PLATFORM, serial: 'PUB_KEY_ID_02' };
  const both = {
    fields: { ...fields, publicKeyId: `PUB_KEY_ID_02,${fields.publicKeyId}` },
    pems: { ...pems, wechat_public_key: [publicPem(OTHER_PLATFORM.pem), ...(pems.wechat_public_key ?? [])] },
  };
  for (const signer of [PUBLIC, other]) {
    const { channel } = channelWith(() => signed(200, trade(), { signer }), both);
    t.is((await channel.query(orderRef())).kind, 'paid');
  }
});

function platformPems() {
  const { fields, pems } = platformInput();
  return { fields, pems };
}

function publicPem(certificate: string): string {
  return new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'pem' }).toString();
}
