import { Buffer } from 'node:buffer';
import test from 'ava';
import { tokenRequest } from '../../../../server/channels/paypal/requests.ts';
import { readSettings } from '../../../../server/channels/paypal/settings.ts';
import { createTokenSource } from '../../../../server/channels/paypal/reply.ts';
import { TransportFailed, type WireAnswer, type WireRequest } from '../../../../server/payments/channel.ts';
import { FIELDS, json, orderBody, orderRef, scripted, token } from './scripted.ts';

const settings = readSettings({
  mode: 'live',
  fields: FIELDS,
  pems: {},
  simulatorUrl: null,
  send: () => Promise.reject(new Error('not used')),
  now: () => new Date(0),
});

function source(answers: (() => WireAnswer)[]) {
  const clock = { at: 0 };
  const sent: WireRequest[] = [];
  const send = async (request: WireRequest): Promise<WireAnswer> => {
    sent.push(request);
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    return answer ? answer() : json(500, {});
  };
  return { clock, sent, tokens: createTokenSource(tokenRequest(settings), send, () => new Date(clock.at)) };
}

test('the token call is a form with Basic credentials', (t) => {
  const request = tokenRequest(settings);
  t.is(request.url, 'https://api-m.paypal.com/v1/oauth2/token');
  t.is(request.body, 'grant_type=client_credentials');
  const basic = Buffer.from(request.headers['authorization']?.slice('Basic '.length) ?? '', 'base64').toString();
  t.is(basic, `${FIELDS.clientId}:${FIELDS.clientSecret}`);
});

test('50 concurrent callers share one token request', async (t) => {
  const { tokens, sent } = source([() => token('one')]);
  const replies = await Promise.all(Array.from({ length: 50 }, () => tokens.get()));
  t.is(sent.length, 1);
  t.true(replies.every((reply) => reply.kind === 'token' && reply.token === 'one'));
});

test('a token is renewed at 90 % of its life, not before', async (t) => {
  const { tokens, sent, clock } = source([() => token('one', 1000), () => token('two', 1000)]);
  await tokens.get();
  clock.at = 899_999;
  t.deepEqual(await tokens.get(), { kind: 'token', token: 'one' });
  clock.at = 900_000;
  t.deepEqual(await tokens.get(), { kind: 'token', token: 'two' });
  t.is(sent.length, 2);
});

test('a token in its last tenth survives a failed renewal, and an expired one does not', async (t) => {
  const { tokens, clock } = source([() => token('one', 1000), () => json(503, {})]);
  await tokens.get();
  clock.at = 950_000;
  t.deepEqual(await tokens.get(), { kind: 'token', token: 'one' });
  clock.at = 1_000_000;
  t.like(await tokens.get(), { kind: 'unknown', cause: 'http_status' });
});

test('a failure is not cached, and the next caller requests again', async (t) => {
  const fail = (): WireAnswer => {
    throw new TransportFailed('timeout', 'No answer.');
  };
  const { tokens } = source([fail, () => token('one')]);
  t.like(await tokens.get(), { kind: 'unknown', cause: 'timeout' });
  t.deepEqual(await tokens.get(), { kind: 'token', token: 'one' });
});

test('dropping an older token keeps the newer one', async (t) => {
  const { tokens, sent } = source([() => token('one'), () => token('two')]);
  await tokens.get();
  tokens.drop('one');
  await tokens.get();
  tokens.drop('one');
  t.deepEqual(await tokens.get(), { kind: 'token', token: 'two' });
  t.is(sent.length, 2);
});

test('wrong credentials are a misconfiguration', async (t) => {
  const { tokens } = source([
    () => json(401, { error: 'invalid_client', error_description: 'Client Authentication failed' }),
  ]);
  t.like(await tokens.get(), { kind: 'unknown', cause: 'misconfigured' });
});

test('a response without a usable token is unparsable', async (t) => {
  for (const body of [
    {},
    { access_token: '', expires_in: 10 },
    { access_token: 'x' },
    { access_token: 'x', expires_in: -1 },
  ]) {
    const { tokens } = source([() => json(200, body)]);
    t.like(await tokens.get(), { kind: 'unknown', cause: 'unparsable' });
  }
});

test('a 401 renews the token once and repeats the call', async (t) => {
  let calls = 0;
  const { channel, sent } = scripted(() =>
    ++calls === 1 ? json(401, { name: 'invalid_token' }) : json(200, orderBody()),
  );
  t.like(await channel.query(orderRef), { kind: 'approved' });
  t.deepEqual(
    sent.map(({ about }) => about.call),
    ['token', 'query', 'token', 'query'],
  );
});

test('a second 401 is a misconfiguration without another repeat', async (t) => {
  const { channel, sent } = scripted(() => json(401, { name: 'invalid_token' }));
  t.like(await channel.query(orderRef), { kind: 'unknown', cause: 'misconfigured' });
  t.is(sent.length, 4);
});
