import test from 'ava';
import * as offline from '../../../server/identity/offline.ts';
import { embeddedDatabase } from '../../support/database.ts';
import { account, actor, from, world } from './identity-world.ts';

test('identity also works on the embedded database', async (t) => {
  const { store, identity, ports } = await world(await embeddedDatabase(t));
  t.is(await offline.countAdmins(store), 0);
  await offline.createFirstAdmin(ports, actor, account);
  const settings = { trusted: false, allowedIps: ['127.0.0.1'], rateLimit: null, latePayment: null, remark: null };
  const made = await offline.createApp(ports, actor, {
    name: 'shop',
    project: 'default',
    scopes: ['payment:read'],
    ...settings,
  });
  t.true(await offline.appExists(store, 'default', 'shop'));
  const session = await identity.sessions.login({ ...account, ...from });
  const admin = await identity.authenticators.admin({ token: session.token, via: 'bearer', safe: true });
  t.like(admin, { username: 'alice', role: 'admin' });
  const credentials = { clientId: made.app.clientId, clientSecret: made.secret, basic: false };
  const { accessToken } = await identity.oauth.issue({ credentials, ip: from.ip });
  t.deepEqual([...(await identity.authenticators.app(accessToken, from.ip)).scopes], ['payment:read']);
  await identity.oauth.revoke({ token: accessToken, ip: from.ip });
  await t.throwsAsync(identity.authenticators.app(accessToken, from.ip), { message: /valid credential/ });
  const wrong = { username: 'alice', password: 'wrong-wrong-wrong', ...from };
  for (let at = 0; at < 3; at += 1)
    await t.throwsAsync(identity.sessions.login(wrong), { message: /Wrong username or password/ });
  await t.throwsAsync(identity.sessions.login({ ...account, ...from }), { message: /Too many/ });
  t.is((await identity.apiApps.list({ limit: 5 })).length, 1);
  t.is((await identity.admins.list({ limit: 5 })).length, 1);
  // The administrator, the application, the login and three failed logins.
  t.is((await identity.auditLines({ limit: 50 })).length, 6);
  t.is((await identity.verifyAudit()).broken, undefined);
});
