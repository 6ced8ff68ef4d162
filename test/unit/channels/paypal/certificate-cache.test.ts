import test from 'ava';
import { X509Certificate } from 'node:crypto';
import { createCertificateCache } from '../../../../server/channels/paypal/notification.ts';
import type { PaypalSettings } from '../../../../server/channels/paypal/settings.ts';
import { NotificationNotGenuine, type WireRequest } from '../../../../server/payments/channel.ts';
import { CERT_URL, PEMS } from './signer.ts';

const settings = {
  mode: 'simulator',
  apiUrl: CERT_URL.slice(0, CERT_URL.indexOf('/v1/')),
  simulatorRoots: [new X509Certificate(PEMS.root)],
  intermediates: [],
} as unknown as PaypalSettings;

function world() {
  const asked: string[] = [];
  const send = async ({ url }: WireRequest) => {
    asked.push(url);
    return { status: url === CERT_URL ? 200 : 404, headers: {}, body: Buffer.from(url === CERT_URL ? PEMS.good : '') };
  };
  return { find: createCertificateCache(settings, send, () => new Date()), asked };
}

test('messages with unknown certificate names never evict a valid certificate', async (t) => {
  const { find, asked } = world();
  await find(CERT_URL);
  for (let number = 0; number < 200; number += 1)
    await t.throwsAsync(find(CERT_URL.replace(/CERT-.*/, `CERT-${number}`)), { instanceOf: NotificationNotGenuine });
  await find(CERT_URL);
  t.is(asked.filter((url) => url === CERT_URL).length, 1);
});

test('a refused certificate is not fetched again immediately, and concurrent fetches are limited', async (t) => {
  const { find, asked } = world();
  const missing = CERT_URL.replace(/CERT-.*/, 'CERT-missing');
  for (let round = 0; round < 3; round += 1) await t.throwsAsync(find(missing), { instanceOf: NotificationNotGenuine });
  t.is(asked.length, 1);
  const many = Array.from({ length: 20 }, (_, index) => find(CERT_URL.replace(/CERT-.*/, `CERT-${index}`)));
  const ends = await Promise.allSettled(many);
  t.is(ends.filter((end) => end.status === 'rejected' && end.reason.why === 'busy').length, 16);
});
