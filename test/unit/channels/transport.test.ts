import iconv from 'iconv-lite';
import test, { type ExecutionContext } from 'ava';
import { type ChannelMessage, createTransport, redactText } from '../../../server/channels/transport.ts';
import { inChannelCall } from '../../../server/payments/numbers.ts';
import { TransportFailed, type WireRequest } from '../../../server/payments/channel.ts';
import { serve } from '../../support/free-port.ts';

const post = (url: string, body = 'a=1'): WireRequest => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'text/plain', authorization: 'Bearer very-secret-token' },
  body,
  about: { call: 'test.call', orderNo: 'O1', refundNo: 'R1' },
});

async function failure(t: ExecutionContext, url: string, timeoutMs = 5000): Promise<string | undefined> {
  const error = await t.throwsAsync(createTransport({ timeoutMs })(post(url)), { instanceOf: TransportFailed });
  return error?.why;
}

test('the response bytes are returned unchanged for any status', async (t) => {
  const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0xff, 0x00, 0x41]);
  const url = await serve(t, (_request, response) => response.writeHead(418, { 'X-Serial': 'ABC' }).end(bytes));
  const answer = await createTransport({ timeoutMs: 20_000 })(post(url));
  t.is(answer.status, 418);
  t.is(answer.headers['x-serial'], 'ABC');
  t.deepEqual(answer.body, bytes);
});

test('a redirect is returned and not followed', async (t) => {
  const seen: string[] = [];
  const url = await serve(t, (request, response) => {
    seen.push(request.url ?? '');
    response.writeHead(302, { location: '/elsewhere' }).end('moved');
  });
  const answer = await createTransport({ timeoutMs: 20_000 })(post(`${url}/first`));
  t.is(answer.status, 302);
  t.deepEqual(seen, ['/first']);
});

test('a request is sent only once, even if it fails', async (t) => {
  let count = 0;
  const url = await serve(t, (request) => {
    count += 1;
    request.socket.destroy();
  });
  t.is(await failure(t, url), 'network');
  t.is(count, 1);
});

test('a silent server and an endless body give a timeout', async (t) => {
  const silent = await serve(t, () => {});
  const slow = await serve(t, (_request, response) => response.writeHead(200).write('half'));
  t.is(await failure(t, silent, 50), 'timeout');
  t.is(await failure(t, slow, 50), 'timeout');
});

test('a truncated body and a closed port are network failures', async (t) => {
  const broken = await serve(t, (request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => request.socket.destroy());
  });
  t.is(await failure(t, broken), 'network');
  t.is(await failure(t, 'http://127.0.0.1:1'), 'network');
});

test('a body of one megabyte is read, and a larger one is refused', async (t) => {
  const size = 1024 * 1024;
  const url = await serve(t, (request, response) => response.end(Buffer.alloc(size + Number(request.url?.slice(1)))));
  t.is((await createTransport({ timeoutMs: 20_000 })(post(`${url}/0`))).body.length, size);
  t.is(await failure(t, `${url}/1`), 'too_large');
});

test('connections are reused', async (t) => {
  const ports = new Set<number | undefined>();
  const url = await serve(t, (request, response) => {
    ports.add(request.socket.remotePort);
    response.end('ok');
  });
  const send = createTransport({ timeoutMs: 20_000 });
  for (let n = 0; n < 10; n += 1) await send(post(url));
  t.true(ports.size < 10, `${ports.size} connections for 10 requests`);
});

const recording = { payWay: 'alipay', now: () => new Date() } as const;

test('the message record has the outcome and no secret', async (t) => {
  const messages: ChannelMessage[] = [];
  const url = await serve(t, (request, response) => {
    if (request.url === '/gone') request.socket.destroy();
    else response.end('{"access_token":"SECRET-1","code":"10000","sign":"SECRET-2"}');
  });
  const send = createTransport({
    timeoutMs: 5000,
    recording: { ...recording, record: (message) => messages.push(message) },
  });
  await send(post(`${url}/a?sign=SECRET-3&app_id=7`, 'biz_content=%7B%7D&sign=SECRET-4&app_auth_token=SECRET-5'));
  await t.throwsAsync(send(post(`${url}/gone`)));
  t.like(messages[0], { call: 'test.call', orderNo: 'O1', refundNo: 'R1', direction: 'out', status: 200, note: null });
  t.like(messages[1], { status: null, note: 'network', answer: '' });
  t.true(messages.every(({ durationMs }) => Number.isInteger(durationMs) && durationMs >= 0));
  t.regex(messages[0]?.answer ?? '', /"code":"10000"/);
  t.notRegex(JSON.stringify(messages), /SECRET|very-secret/);
});

test('the message record of a GBK response is readable', async (t) => {
  const messages: ChannelMessage[] = [];
  const url = await serve(t, (_request, response) => response.end(iconv.encode('{"sub_msg":"余额不足"}', 'gbk')));
  const send = createTransport({
    timeoutMs: 20_000,
    recording: { ...recording, record: (message) => messages.push(message) },
  });
  await send(post(url));
  t.is(messages[0]?.answer, '{"sub_msg":"余额不足"}');
});

for (const header of ['trace_id', 'alipay-trace-id', 'request-id', 'paypal-debug-id'])
  test(`the support id in ${header} is passed to the call and to the message record`, async (t) => {
    const messages: ChannelMessage[] = [];
    const url = await serve(t, (_request, response) => response.writeHead(500, { [header]: 'f81d4fae' }).end());
    const record = (message: ChannelMessage) => messages.push(message);
    const send = createTransport({ timeoutMs: 20_000, recording: { ...recording, record } });
    const [one, other] = await Promise.all([
      inChannelCall(() => send(post(url))),
      inChannelCall(async () => 'nothing'),
    ]);
    t.is(one.supportId, 'f81d4fae');
    t.is(other.supportId, null);
    t.is(messages[0]?.supportId, 'f81d4fae');
  });

test('an invalid support id is not kept', async (t) => {
  const url = await serve(t, (_request, response) => response.writeHead(200, { trace_id: 'x'.repeat(129) }).end());
  t.is((await inChannelCall(() => createTransport({ timeoutMs: 20_000 })(post(url)))).supportId, null);
});

test('a failing message record does not affect the call', async (t) => {
  const url = await serve(t, (_request, response) => response.end('ok'));
  const send = createTransport({
    timeoutMs: 5000,
    recording: {
      ...recording,
      record: () => {
        throw new Error('disk full');
      },
    },
  });
  t.is((await send(post(url))).body.toString(), 'ok');
});

const texts: [string, string][] = [
  ['{"a":1,"sign":"x\\"SECRET"}', '{"a":1,"sign":"***"}'],
  ['{"Access_Token" : "SECRET"}', '{"Access_Token" : "***"}'],
  ['{"resource":{"nonce":"SECRET","ciphertext":"SECRET', '{"resource":{"nonce":"***","ciphertext":"***"'],
  ['sign=SECRET&a=1', 'sign=***&a=1'],
  ['a=1&sign_type=RSA2&sign=SECRET', 'a=1&sign_type=RSA2&sign=***'],
  ['Authorization: Bearer SECRET', 'Authorization: Bearer ***'],
  ['-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----', '***'],
  ['-----BEGIN PRIVATE KEY-----\nSECRET', '***'],
];
for (const [text, expected] of texts) {
  test(`redacts ${JSON.stringify(text)}`, (t) => t.is(redactText(text), expected));
}

test('a long text is cut and its length stated', (t) => {
  const text = redactText('x'.repeat(100_000));
  t.true(text.length < 17_000);
  t.regex(text, /\(100000 characters\)$/);
});
