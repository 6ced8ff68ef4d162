import test from 'ava';
import { paypalKind } from '../../../../server/channels/paypal/kind.ts';
import { SIMULATOR_CA, WEBHOOK_INTERMEDIATE } from '../../../../server/channels/paypal/settings.ts';
import { ChannelMisconfigured, type ChannelInput } from '../../../../server/payments/channel.ts';
import { exponentOf } from '../../../../server/money.ts';
import { FIELDS, json, placeOrder, token } from './scripted.ts';
import { PEMS } from './signer.ts';

const input: ChannelInput = {
  mode: 'sandbox',
  fields: FIELDS,
  pems: {},
  simulatorUrl: null,
  send: () => Promise.reject(new Error('not used')),
  now: () => new Date(),
};

function fieldAtFault(more: Partial<ChannelInput>): string | undefined {
  try {
    paypalKind.create({ ...input, ...more });
  } catch (error) {
    if (error instanceof ChannelMisconfigured) return error.field;
    throw error;
  }
  return undefined;
}

test('missing fields are reported, and the simulator CA only in its mode', (t) => {
  const { clientId, clientSecret } = FIELDS;
  t.deepEqual(paypalKind.missing('live', { clientId }, new Set()), ['clientSecret', 'webhookId']);
  t.deepEqual(paypalKind.missing('live', FIELDS, new Set()), []);
  t.deepEqual(paypalKind.missing('simulator', FIELDS, new Set()), [SIMULATOR_CA]);
  t.deepEqual(paypalKind.missing('simulator', { clientId, clientSecret }, new Set([SIMULATOR_CA])), ['webhookId']);
});

test('only the client secret is secret, and the client id is the account', (t) => {
  t.deepEqual(
    paypalKind.fields.filter(({ secret }) => secret).map(({ name }) => name),
    ['clientSecret'],
  );
  t.is(paypalKind.accountOf(FIELDS), FIELDS.clientId);
  t.is(paypalKind.create(input).account, FIELDS.clientId);
});

test('an invalid configuration reports the field', (t) => {
  t.is(fieldAtFault({}), undefined);
  for (const field of ['clientId', 'clientSecret', 'webhookId']) {
    t.is(fieldAtFault({ fields: { ...FIELDS, [field]: '' } }), field);
  }
  t.is(fieldAtFault({ mode: 'simulator' }), 'mode');
  const simulator = { mode: 'simulator', simulatorUrl: 'http://127.0.0.1:8081' } as const;
  t.is(fieldAtFault({ ...simulator, pems: { [SIMULATOR_CA]: ['nonsense'] } }), SIMULATOR_CA);
  t.is(fieldAtFault({ pems: { [SIMULATOR_CA]: ['nonsense'] } }), undefined, 'it is not read in the sandbox');
  t.is(fieldAtFault({ pems: { [WEBHOOK_INTERMEDIATE]: [PEMS.root.replace('MII', 'AAA')] } }), WEBHOOK_INTERMEDIATE);
});

test('each mode has its own fixed address, and only the simulator receives the notification address', async (t) => {
  const urls = {
    live: 'https://api-m.paypal.com',
    sandbox: 'https://api-m.sandbox.paypal.com',
    simulator: 'http://127.0.0.1:1/paypal',
  };
  for (const mode of paypalKind.modes) {
    const sent: { url: string; headers: Record<string, string> }[] = [];
    const send: ChannelInput['send'] = async (request) => {
      sent.push(request);
      return request.about.call === 'token' ? token() : json(500, {});
    };
    const channel = paypalKind.create({ ...input, mode, send, simulatorUrl: 'http://127.0.0.1:1/' });
    await channel.place(placeOrder);
    t.true(
      sent.every(({ url }) => url.startsWith(`${urls[mode]}/v`)),
      mode,
    );
    t.is(sent[1]?.headers['simulator-notify-url'], mode === 'simulator' ? placeOrder.notifyUrl : undefined);
  }
});

test('every offered currency has known decimals', (t) => {
  t.true(paypalKind.currencies.includes(paypalKind.defaultCurrency));
  for (const currency of paypalKind.currencies) t.not(exponentOf(currency), undefined, currency);
});
