import test, { type ExecutionContext } from 'ava';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { issueCertificate, newRsaKeys } from '../../server/simulator/certificates.ts';
import { temporaryFolder } from '../support/folder.ts';
import { listenOnFreePort, serve } from '../support/free-port.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** A service that calls a channel, delivers a webhook and calls the local simulator. */
const SERVICE = `
import { keepThisMachineDirect } from './cli/env-proxy.ts';
import { createTransport } from './server/channels/transport.ts';
import { createSender } from './server/outgoing/sender.ts';
keepThisMachineDirect(process.env);
const [own, ca] = process.argv.slice(1);
const names = { 'shop.example': '203.0.113.7', 'inside.example': '10.1.2.3', 'direct.example': '127.0.0.1', 'plain.example': '127.0.0.2' };
const resolve = async (host) => [{ address: names[host], family: 4 }];
const sender = (allowedNetworks) => createSender({ allowedNetworks, httpsOnly: false, resolve, ca });
const ask = createTransport({ timeoutMs: 20_000 });
const about = { call: 'query' };
const told = async (work) => work.then(({ status, body }) => status + ' ' + JSON.parse(body).host, ({ why }) => why);
const hook = (url, allowed = []) => told(sender(allowed)({ url, headers: {}, body: '{}' }));
console.log(JSON.stringify([
  await told(ask({ method: 'GET', url: 'https://channel.example/query', headers: {}, about })),
  await told(ask({ method: 'GET', url: own + '/sim', headers: {}, about })),
  await hook('https://shop.example/hook'),
  await hook('https://inside.example/hook'),
  await hook('https://10.1.2.3/hook'),
  await hook(own.replace('127.0.0.1', 'direct.example') + '/hook', ['127.0.0.0/8']),
  await hook(own + '/hook', ['127.0.0.0/8']),
  await hook(own.replace('127.0.0.1', 'plain.example') + '//169.254.169.254/hook', ['127.0.0.0/8']),
]));
`;

/** A proxy that connects every tunnel to one TLS server and records the requested names. */
async function stage(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const [authority, own] = await Promise.all([newRsaKeys(), newRsaKeys()]);
  const issuer = { C: 'CN', O: 'Shop', OU: 'Pay', CN: 'Authority' };
  const signed = { issuer, signer: authority.privateKey };
  const ca = issueCertificate({ ...signed, subject: issuer, publicKey: authority.publicKey, ca: true });
  const dnsNames = ['channel.example', 'shop.example', 'pay.example'];
  const subject = { ...issuer, CN: 'channel.example' };
  const cert = issueCertificate({ ...signed, subject, publicKey: own.publicKey, ca: false, dnsNames });
  const key = own.privateKey.export({ type: 'pkcs8', format: 'pem' });
  writeFileSync(join(folder, 'ca.pem'), ca);
  const target = createTlsServer({ key, cert }, (request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ status: 'ok', host: request.headers.host }));
  });
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(502).end();
  });
  const port = await listenOnFreePort(target);
  proxy.on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`);
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    for (const end of [onward, socket]) end.on('error', () => {});
  });
  const url = `http://127.0.0.1:${await listenOnFreePort(proxy)}`;
  t.teardown(() => {
    for (const server of [target, proxy]) server.close();
  });
  const env = {
    PATH: process.env['PATH'],
    NODE_USE_ENV_PROXY: '1',
    HTTPS_PROXY: url,
    HTTP_PROXY: url,
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    PAYCTL_CONFIG_DIR: folder,
  };
  return { asked, env, ca };
}

test('a service calls channels and delivers webhooks through the proxy, and addresses forbidden for webhooks stay refused', async (t) => {
  const { asked, env, ca } = await stage(t);
  const own = await serve(t, (request, response) => response.end(JSON.stringify({ host: request.headers.host })));
  const { host } = new URL(own);
  const ask = async (more: Record<string, string>) => {
    asked.length = 0;
    const argv = ['--input-type=module', '--eval', SERVICE, own, ca];
    const { stdout } = await run(process.execPath, argv, { cwd: root, env: { ...env, ...more } });
    return JSON.parse(stdout) as string[];
  };
  const direct = host.replace('127.0.0.1', 'direct.example');
  t.deepEqual(await ask({ NO_PROXY: 'other.example, .direct.example, direct.example' }), [
    '200 channel.example',
    `200 ${host}`,
    '200 shop.example',
    'address_refused',
    'address_refused',
    `200 ${direct}`,
    `200 ${host}`,
    'network',
  ]);
  // The proxy receives the checked address: a name that it resolves again could lead elsewhere.
  t.deepEqual(asked, ['CONNECT channel.example:443', 'CONNECT 203.0.113.7:443']);
  t.is((await ask({}))[0], '200 channel.example');
  const [channel] = await ask({ NO_PROXY: 'channel.example', NODE_USE_ENV_PROXY: '1' });
  t.is(channel, 'network', 'NO_PROXY: the name is resolved locally and does not exist');
  t.is((await ask({ NODE_USE_ENV_PROXY: '' }))[0], 'network', 'only where the switch is on');
  t.deepEqual(asked, []);
});

test('payctl uses the proxy for remote servers and not for this machine', async (t) => {
  const { asked, env } = await stage(t);
  const own = await serve(t, (_request, response) => response.end('{"status":"ok"}'));
  const status = async (server: string, more: Record<string, string> = {}) => {
    const argv = [join(root, 'bin/payctl.ts'), 'status', '--server', server, '--fields', 'part,status'];
    const ran = run(process.execPath, argv, { cwd: root, env: { ...env, ...more } });
    return ran.then(
      ({ stdout }) => stdout,
      ({ stdout }: { stdout: string }) => stdout,
    );
  };
  t.regex(await status('https://pay.example'), /^service\tup\ndatabase\tup\n/);
  t.deepEqual([...new Set(asked)], ['CONNECT pay.example:443']);
  asked.length = 0;
  t.regex(await status(own), /^service\tup\n/);
  t.regex(await status('https://pay.example', { NO_PROXY: '.example' }), /^service\tdown\n/);
  t.regex(await status('https://pay.example', { NODE_USE_ENV_PROXY: '' }), /^service\tdown\n/);
  t.deepEqual(asked, []);
});
