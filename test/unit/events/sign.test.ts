import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { newWebhookSecret, signedHeaders } from '../../../server/events/deliver.ts';

const body = JSON.stringify({ id: 'evt_1', type: 'order.paid', data: { object: { subject: '红茶 "x"' } } });

test('the standardwebhooks package verifies our signature with either secret of a rotation', (t) => {
  const [fresh, old] = [newWebhookSecret(), newWebhookSecret()];
  const headers = signedHeaders([fresh, old], { id: 'evt_1', at: new Date(), body });
  t.deepEqual(new Webhook(fresh).verify(body, headers), JSON.parse(body));
  t.deepEqual(new Webhook(old).verify(body, headers), JSON.parse(body));
  t.throws(() => new Webhook(newWebhookSecret()).verify(body, headers));
  t.throws(() => new Webhook(fresh).verify(body.replace('evt_1', 'evt_2'), headers));
});

test('a secret is unique and consists of whsec_ and 256 bits', (t) => {
  const secret = newWebhookSecret();
  t.is(Buffer.from(secret.replace('whsec_', ''), 'base64').length, 32);
  t.not(secret, newWebhookSecret());
});
