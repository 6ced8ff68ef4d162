import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import test from 'ava';
import { payOrder } from '../../support/orders.ts';
import { startService } from '../../support/service.ts';

test('unsigned notifications and those by unknown signers cause almost no fetches, and a genuine one is accepted beside them', async (t) => {
  const fetched: string[] = [];
  const listen = (message: unknown) => {
    const { method, path } = (message as { request: { method: string; path: string } }).request;
    if (method === 'GET' && /\/notifications\/certs\/|\/v3\/certificates/.test(path)) fetched.push(path);
  };
  subscribe('undici:request:create', listen);
  t.teardown(() => unsubscribe('undici:request:create', listen));
  const service = await startService(t);
  const shop = await service.merchant();
  const send = async (payWay: string, headers: Record<string, string>, body: Buffer) =>
    (await fetch(`${service.url}/notify/${payWay}/default`, { method: 'POST', headers, body })).status;
  const told = async (payWay: string) => {
    const orderNo = await payOrder(service, shop, { payWay });
    const { headers, bodyBase64 } = (await service.deliveries(orderNo))[0]!;
    return { headers, body: Buffer.from(bodyBase64, 'base64') };
  };

  const paypal = await told('paypal');
  const wechat = await told('wechat');
  const certUrl = paypal.headers['paypal-cert-url'] ?? '';
  t.true(certUrl.includes('/certs/'));
  fetched.length = 0;
  for (let round = 0; round < 24; round += 1) {
    const elsewhere = { ...paypal.headers, 'paypal-cert-url': certUrl.replace(/[^/]+$/, `CERT-${round}`) };
    const unsigned = Object.fromEntries(Object.entries(elsewhere).filter(([name]) => !name.endsWith('-sig')));
    t.is(await send('paypal', unsigned, paypal.body), 400);
    t.is(await send('paypal', { ...elsewhere, 'paypal-transmission-sig': 'c2hvcnQ=' }, paypal.body), 400);
    t.is(await send('paypal', elsewhere, Buffer.from('{"event_type":')), 400);
    t.is(await send('paypal', { ...elsewhere, 'paypal-cert-url': `https://evil.example/${round}` }, paypal.body), 400);
    const { 'wechatpay-signature': _, ...bare } = wechat.headers;
    t.is(await send('wechat', { ...bare, 'wechatpay-serial': `AB${round}` }, wechat.body), 400);
  }
  t.deepEqual(fetched, [], 'nothing is fetched before the cheap checks hold');

  for (let round = 0; round < 24; round += 1) {
    const forged = { ...paypal.headers, 'paypal-cert-url': certUrl.replace(/[^/]+$/, `CERT-${round}`) };
    t.is(await send('paypal', forged, paypal.body), 400);
    t.is(await send('wechat', { ...wechat.headers, 'wechatpay-serial': `AB${round}` }, wechat.body), 400);
  }
  const certificates = fetched.filter((path) => path.includes('/certs/'));
  // Five in a minute; the loop may reach into a second one.
  t.true(certificates.length >= 1 && certificates.length <= 10, certificates.join());
  t.true(fetched.length - certificates.length <= 2, fetched.join());
  await payOrder(service, shop, { payWay: 'paypal' });
});
