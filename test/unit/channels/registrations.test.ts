import test from 'ava';
import { CHANNEL_KINDS } from '../../../server/channels/registry.ts';
import type { PayWay } from '../../../server/payments/channel.ts';

const ADDRESSES = {
  publicUrl: 'https://pay.shop.example:8443',
  notifyUrl: 'https://pay.shop.example:8443/notify/paypal/default',
};

function registered(payWay: PayWay, fields: Record<string, string> = {}): Record<string, readonly string[]> {
  const rows = CHANNEL_KINDS.get(payWay)!.registrations(fields, ADDRESSES);
  return Object.fromEntries(rows.map(({ name, values }) => [name, values]));
}

test('WeChat Pay: the H5 domain has no scheme or port, and every app is listed once', (t) => {
  const fields = { appId: 'wx1', appIdJsapi: 'wx2, wx3', appIdMini: 'wx1', appIdApp: 'wx4' };
  t.deepEqual(registered('wechat', fields), {
    'App IDs linked to the merchant number': ['wx1', 'wx2', 'wx3', 'wx4'],
    'H5 payment domain': ['pay.shop.example'],
    'JSAPI payment directory': [],
  });
});

test('PayPal: the webhook and its events are listed, and payctl registers them', (t) => {
  const { 'Webhook address': address, 'Webhook events': events = [] } = registered('paypal');
  t.deepEqual(address, [ADDRESSES.notifyUrl]);
  t.true(events.includes('PAYMENT.CAPTURE.COMPLETED') && events.includes('CUSTOMER.DISPUTE.CREATED'));
  const rows = CHANNEL_KINDS.get('paypal')!.registrations({}, ADDRESSES);
  t.deepEqual(
    rows.map(({ by }) => by),
    ['payctl', 'payctl', 'hand'],
  );
});

test('Alipay: the product website and the optional entries are listed', (t) => {
  t.deepEqual(registered('alipay'), {
    'Website of the product': ['https://pay.shop.example:8443'],
    'Server IP allowlist': [],
    'App gateway': [ADDRESSES.notifyUrl],
    'Authorisation callback address': [],
  });
});

test('an entry without an address of ours names its owner, and every scene belongs to the channel', (t) => {
  for (const kind of CHANNEL_KINDS.values()) {
    for (const { name, values, scenes, note } of kind.registrations({}, ADDRESSES)) {
      if (values.length === 0) t.regex(note ?? (name.startsWith('App IDs') ? 'your own' : ''), /your own|Optional/);
      t.true(scenes.length > 0 && scenes.every((scene) => kind.scenes[scene]), name);
    }
  }
});
