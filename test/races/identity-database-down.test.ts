import test from 'ava';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { openDatabase } from '../../server/db/orm.ts';
import { createStore } from '../../server/db/store.ts';
import { postgresDatabase } from '../support/database.ts';
import { listenOnFreePort } from '../support/free-port.ts';
import { alice, appWithToken, identityApp } from '../support/identity-app.ts';

test('logins are refused with 503 without a database, and work again when it is back', async (t) => {
  const direct = await postgresDatabase(t);
  const { url, cut, mend } = await cable(t, direct.url);
  const database = await openDatabase({ kind: 'postgres', url, poolSize: 5 });
  t.teardown(() => database.close());
  const on = { url, database, store: createStore(database, async () => {}) };
  const founder = await identityApp(t, { on: direct });
  const app = await identityApp(t, { on });
  const { createFirstAdmin } = await import('../../server/identity/offline.ts');
  const { createPasswords } = await import('../../server/identity/passwords.ts');
  const ports = {
    store: direct.store,
    passwords: createPasswords(),
    audit: founder.identity.audit,
    now: () => new Date(),
  };
  await createFirstAdmin(ports, { kind: 'offline', name: 'tester@test' }, alice);
  const admin = await app.login();
  const { token, client_id, client_secret } = await appWithToken(app, admin);
  const body = { grant_type: 'client_credentials', client_id, client_secret };
  const all = () =>
    Promise.all([
      app.call('GET', '/api/v2/me', { token }),
      app.call('GET', '/api/v1/me', { token: admin }),
      app.call('POST', '/oauth/token', { body }),
      app.call('POST', '/api/v1/login', { body: alice }),
      app.call('POST', '/oauth/revoke', { body: { token } }),
    ]);
  cut();
  for (const { status, headers } of await all()) {
    t.is(status, 503);
    t.truthy(headers.get('retry-after'));
  }
  await mend();
  t.is((await app.call('GET', '/api/v2/me', { token })).status, 200, 'the revocation that failed did nothing');
  t.deepEqual(
    (await all()).slice(1).map(({ status }) => status),
    [200, 200, 200, 200],
  );
});

/** A cable to the database that can be cut. */
async function cable(t: Parameters<typeof postgresDatabase>[0], to: string) {
  const target = new URL(to);
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const plug = (near: Socket): void => {
    const far = connect(Number(target.port), target.hostname);
    keep(near).pipe(keep(far)).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  };
  let server = createServer(plug);
  const port = await listenOnFreePort(server);
  const cut = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(cut);
  const mend = async (): Promise<void> => {
    server = createServer(plug).listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const url = new URL(to);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return { url: url.href, cut, mend };
}
