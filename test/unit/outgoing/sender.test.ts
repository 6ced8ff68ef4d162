import test, { type ExecutionContext } from 'ava';
import http, { type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSender, OutgoingFailed, type SenderOptions } from '../../../server/outgoing/sender.ts';

const here = { allowedNetworks: ['127.0.0.0/8'], httpsOnly: false } satisfies SenderOptions;
const message = { headers: { 'content-type': 'application/json' }, body: '{"a":1}' };

async function listen(t: ExecutionContext, listener: RequestListener): Promise<number> {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function faultOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof OutgoingFailed ? error.why : `no fault: ${String(error)}`;
}

test('the sender sends the body with its headers and returns the response', async (t) => {
  const port = await listen(t, (request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      response.writeHead(201, { 'content-type': 'text/plain', 'x-seen': String(request.headers['content-type']) });
      response.end(`${request.method} ${request.url} ${request.headers.host} ${body}`);
    });
  });
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  const answer = await createSender({ ...here, resolve })({ url: `http://up.example:${port}/a?b=1`, ...message });
  t.is(answer.status, 201);
  t.is(answer.headers['x-seen'], 'application/json');
  t.is(answer.body.toString(), `POST /a?b=1 up.example:${port} {"a":1}`);
});

test('a private destination is refused before anything is sent', async (t) => {
  let calls = 0;
  const port = await listen(t, (_request, response) => {
    calls += 1;
    response.end();
  });
  const send = createSender({ allowedNetworks: [], httpsOnly: false });
  const hosts = [
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '0.0.0.0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '169.254.169.254',
    '[::ffff:a9fe:a9fe]',
    'localhost',
    '[64:ff9b::7f00:1]',
    '10.0.0.1',
  ];
  for (const host of hosts)
    t.is(await faultOf(send({ url: `http://${host}:${port}/`, ...message })), 'address_refused', host);
  t.is(calls, 0);
});

test('a name with a private address or with no address is refused', async (t) => {
  const to = (...addresses: string[]) =>
    createSender({
      allowedNetworks: [],
      httpsOnly: false,
      resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    });
  const url = 'http://up.example/';
  t.is(await faultOf(to('1.1.1.1', '10.0.0.1')({ url, ...message })), 'address_refused');
  t.is(await faultOf(to('::ffff:192.168.0.1')({ url, ...message })), 'address_refused');
  t.is(await faultOf(to()({ url, ...message })), 'unresolvable');
  const broken = createSender({ ...here, resolve: () => Promise.reject(new Error('ENOTFOUND')) });
  t.is(await faultOf(broken({ url, ...message })), 'unresolvable');
});

test('the checked address is the one that is called, even if the name changes', async (t) => {
  const port = await listen(t, (_request, response) => void response.end('pinned'));
  let looks = 0;
  const resolve = async () => {
    looks += 1;
    return [{ address: looks === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
  };
  const answer = await createSender({ ...here, resolve })({ url: `http://rebind.example:${port}/`, ...message });
  t.is(answer.body.toString(), 'pinned');
  t.is(looks, 1);
});

test('other schemes, user info in the URL and, in production, http are refused', async (t) => {
  const send = createSender(here);
  for (const url of ['ftp://1.1.1.1/', 'file:///etc/passwd', 'data:,x', 'gopher://1.1.1.1'])
    t.is(await faultOf(send({ url, ...message })), 'scheme_refused', url);
  t.is(await faultOf(send({ url: 'http://user:word@1.1.1.1/', ...message })), 'url_invalid');
  t.is(await faultOf(send({ url: '//1.1.1.1', ...message })), 'url_invalid');
  const strict = createSender({ ...here, httpsOnly: true });
  t.is(await faultOf(strict({ url: 'http://1.1.1.1/', ...message })), 'scheme_refused');
});

test('a redirect is returned and not followed', async (t) => {
  let calls = 0;
  const port = await listen(t, (_request, response) => {
    calls += 1;
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  const answer = await createSender(here)({ url: `http://127.0.0.1:${port}/`, ...message });
  t.is(answer.status, 302);
  t.is(calls, 1);
});

test('silent, slow, endless and broken responses end with a fault', async (t) => {
  const send = createSender(here);
  const silent = await listen(t, () => {});
  t.is(await faultOf(send({ url: `http://127.0.0.1:${silent}/`, ...message, timeoutMs: 100 })), 'timeout');
  const dripping = await listen(t, (_request, response) => {
    const timer = setInterval(() => response.write('.'), 20);
    response.on('close', () => clearInterval(timer));
  });
  t.is(await faultOf(send({ url: `http://127.0.0.1:${dripping}/`, ...message, timeoutMs: 150 })), 'timeout');
  const endless = await listen(t, (_request, response) => void response.end('x'.repeat(70_000)));
  t.is(await faultOf(send({ url: `http://127.0.0.1:${endless}/`, ...message })), 'too_large');
  t.is(await faultOf(send({ url: `http://127.0.0.1:${endless}/`, ...message, maxBytes: 10 })), 'too_large');
  const broken = await listen(t, (request) => void request.socket.destroy());
  t.is(await faultOf(send({ url: `http://127.0.0.1:${broken}/`, ...message })), 'network');
  const never = createSender({ ...here, resolve: () => new Promise(() => {}) });
  t.is(await faultOf(never({ url: 'http://up.example/', ...message, timeoutMs: 100 })), 'timeout');
});

test('in status-only mode the response body has no effect', async (t) => {
  const send = createSender(here);
  const to = (port: number, timeoutMs = 5000) =>
    send({ url: `http://127.0.0.1:${port}/`, ...message, timeoutMs, statusOnly: true });
  const large = await listen(t, (_request, response) => void response.end('x'.repeat(200_000)));
  t.like(await to(large), { status: 200 });
  const endless = await listen(t, (_request, response) => void response.writeHead(201).write('.'));
  t.like(await to(endless), { status: 201 });
  const torn = await listen(t, (_request, response) => {
    response.writeHead(500, { 'content-length': '100' });
    response.write('half', () => response.socket?.destroy());
  });
  t.like(await to(torn), { status: 500 });
  const silent = await listen(t, () => {});
  t.is(await faultOf(to(silent, 100)), 'timeout');
});
