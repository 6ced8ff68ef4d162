import test, { type ExecutionContext } from 'ava';
import { randomUUID } from 'node:crypto';
import { postgresDatabase } from '../support/database.ts';
import {
  alice,
  appWithToken,
  type IdentityApp,
  identityApp,
  type IdentityAppOptions,
  twoInstances,
} from '../support/identity-app.ts';
import type { Call } from '../support/admin.ts';
import { codeAt, enrol, wrongCode } from '../support/second-factor.ts';
import { createClock, quickPasswords } from '../support/service.ts';

const wrong = 'wrong-wrong-wrong';
const home = '198.51.100.7';

const behindProxy = { trustedProxies: 1 };

async function replicas(t: ExecutionContext, options: IdentityAppOptions = {}): Promise<[IdentityApp, IdentityApp]> {
  return twoInstances(t, await postgresDatabase(t, 20), { ...behindProxy, passwords: quickPasswords, ...options });
}

function logIn(app: IdentityApp, ip: string, account: { username: string; password: string; code?: string } = alice) {
  return app.call('POST', '/api/v1/login', { body: account, headers: { 'x-forwarded-for': ip } });
}

/** Runs the work for each item, two at a time: an instance checks two logins at once. */
async function inPairs<In, Out>(items: readonly In[], work: (item: In, index: number) => Promise<Out>): Promise<Out[]> {
  const left = [...items.entries()];
  const results: Out[] = [];
  const worker = async () => {
    for (let next = left.shift(); next; next = left.shift()) results.push(await work(next[1], next[0]));
  };
  await Promise.all([worker(), worker()]);
  return results;
}

/** The factor for a slow machine, on which further windows may have begun. */
function windowsOf(seconds: number, began: number): number {
  return Math.floor((performance.now() - began) / 1000 / seconds) + 1;
}

function tally(statuses: readonly number[]): Record<string, number> {
  return Object.fromEntries(Object.entries(Object.groupBy(statuses, String)).map(([name, all]) => [name, all!.length]));
}

test('few of 70 addresses that guess at one account are answered, and a known address still logs in', async (t) => {
  const [one, two] = await replicas(t);
  t.is((await logIn(one, home)).status, 200);
  const began = performance.now();
  const addresses = Array.from({ length: 70 }, (_, at) => `10.${at}.0.9`);
  const statuses = await inPairs(addresses, async (ip, at) => {
    const guess = { username: 'Alice', password: wrong };
    return (await logIn(at % 2 ? one : two, ip, guess)).status;
  });
  const seen = tally(statuses);
  t.log(seen);
  const answered = seen['401'] ?? 0;
  t.is(answered + (seen['429'] ?? 0), 70);
  t.true(answered >= 50, 'the first guesses are answered like any mistake');
  // Two more on each instance may have been running when the limit was reached.
  t.true(answered <= 50 + 4 + windowsOf(30, began), `${answered} guesses were answered`);
  const held = Date.now() + 3_600_000;
  await one.on.database.em.fork().execute(`update rate_limits set expire = ${held} where key like 'login-turn:%'`);
  for (const app of [one, two]) {
    t.is((await logIn(app, home)).status, 200, 'a known address is known on every replica');
    const stranger = await logIn(app, '192.0.2.1');
    t.is(stranger.status, 429, 'another login has the turn');
    t.true(Number(stranger.headers.get('retry-after')) > 0);
  }
  await one.on.database.em.fork().execute(`update rate_limits set expire = 1 where key like 'login-turn:%'`);
  const later = await identityApp(t, { on: one.on, ...behindProxy, passwords: quickPasswords });
  t.is((await logIn(later, '192.0.2.1')).status, 200, 'the login with the turn succeeds with the right password');
});

test('during a guessing attack only the right password with a valid code logs in from a new address', async (t) => {
  const clock = createClock();
  clock.stop();
  const [one, two] = await replicas(t, { now: clock.now, loginFailures: 3 });
  const token = await one.login();
  const call: Call = (method, path, body) => one.call(method, path, { body, token }) as never;
  const { secret, recoveryCodes } = await enrol(call, clock.now);
  const bob = { username: 'bob', password: 'nine-tidy-green-anchors' };
  await one.store.transaction(async (tx) => {
    const [admin] = await tx.admins.list({});
    const passwordHash = await quickPasswords().hash(bob.password);
    await tx.admins.insert({ ...admin!, id: randomUUID(), username: bob.username, passwordHash });
  });
  clock.advance(30);
  let from = 0;
  const enter = async (account: { username: string; password: string; code?: string }) => {
    from += 1;
    return (await logIn(from % 2 ? one : two, `10.${from % 250}.${Math.floor(from / 250)}.1`, account)).status;
  };
  const em = () => one.on.database.em.fork();
  const counted = async (key: string) => {
    const [row] = await em().execute(
      `select coalesce(sum(points), 0)::int as n from rate_limits where key like '${key}:%'`,
    );
    return row!.n as number;
  };
  for (const { username } of [alice, bob])
    for (let at = 0; at < 16; at += 1) await enter({ username, password: wrong });
  const held = Date.now() + 3_600_000;
  await em().execute(`update rate_limits set expire = ${held} where key like 'login-turn:%'`);
  for (const { username } of [alice, bob, { username: 'nobody' }])
    t.is(await enter({ username, password: wrong }), username === 'nobody' ? 401 : 429);

  const code = () => codeAt(secret, clock.now());
  const off = () => wrongCode(secret, clock.now());
  const guesses = Array.from({ length: 30 }, () => ({ ...alice, password: wrong, code: off() }));
  t.deepEqual(tally(await inPairs(guesses, enter)), { 429: 30 });
  t.is(await enter({ ...alice, password: wrong, code: code() }), 429, 'the response does not reveal a right code');
  t.is(await enter({ ...alice, password: wrong, code: recoveryCodes[0]! }), 429);
  t.is(await enter(alice), 429, 'without a code another login has the turn');
  t.is(await enter({ ...alice, code: off() }), 429, 'the response does not reveal a right password');
  t.is(await enter({ ...bob, code: '123456' }), 429, 'an account without a second factor has no code that counts');
  const at = await Promise.all([1, 2, 3, 4].map(() => enter({ ...alice, code: code() })));
  t.deepEqual(tally(at), { 200: 1, 429: 3 }, 'a code counts once, on whichever replica');
  t.is(await enter({ ...alice, code: recoveryCodes[0]! }), 200, 'a password guess did not use it up');
  t.is(await enter({ ...alice, code: recoveryCodes[0]! }), 429);

  for (const tried of [off(), code(), off(), off(), off()]) {
    t.is((await logIn(one, '192.0.2.55', { ...alice, password: wrong, code: tried })).status, 429);
    t.is((await logIn(two, '192.0.2.56', { ...alice, code: off() })).status, 429);
  }
  const pairs = await em().execute(`select points from rate_limits where key like 'login:%:192.0.2.5_'`);
  t.deepEqual(
    pairs.map(({ points }) => Number(points)),
    [3, 3],
    'an address is refused before its password is looked at again',
  );

  const own = await counted('login-code');
  t.true(own >= 4, 'wrong codes with the right password are still counted');
  for (let tries = 0; tries < 20; tries += 1) t.is(await enter({ ...alice, code: off() }), 429);
  await em().execute(`update rate_limits set expire = ${held} where key like 'login-code-turn:%'`);
  clock.advance(30);
  t.is(await enter({ ...alice, code: code() }), 429, 'after twenty of them a short code waits for its turn');
  t.is(await enter({ ...alice, code: recoveryCodes[1]! }), 200, 'a recovery code does not');

  const counters = async () => {
    const rows = await em().execute(`select expire from rate_limits where key like 'login-code:%' order by expire`);
    return rows.map(({ expire }) => Number(expire));
  };
  for (const tried of [
    { ...alice, code: off() },
    { ...alice, password: wrong, code: off() },
    { ...bob, code: off() },
  ]) {
    const before = await counters();
    t.is(await enter(tried), 429);
    const more = (await counters()).filter((expire) => !before.includes(expire));
    t.is(
      more.length,
      1,
      'one more step in either case: the response does not reveal whether password or code was wrong',
    );
    t.true(more[0]! <= Date.now() + 60_000, 'and no long-lived rows');
  }
});

test('a correct login from a known address is never refused while 14 clients guess passwords', async (t) => {
  const app = await identityApp(t, behindProxy);
  t.is((await logIn(app, home)).status, 200);
  let over = false;
  const guesses: number[] = [];
  const guesser = async (who: number): Promise<void> => {
    for (let at = 0; !over; at += 1) {
      const guess = { username: `nobody-${who}-${at}`, password: wrong };
      guesses.push((await logIn(app, `10.${who}.${at % 250}.1`, guess)).status);
    }
  };
  const guessers = Array.from({ length: 14 }, (_, who) => guesser(who));
  while (!guesses.includes(503)) await new Promise((resolve) => setImmediate(resolve));
  const right: number[] = [];
  for (let at = 0; at < 4; at += 1) right.push((await logIn(app, home)).status);
  over = true;
  await Promise.all(guessers);
  t.log(tally(guesses));
  t.deepEqual(tally(right), { 200: 4 });
});

test('the addresses of a /48 or a /24 together make no more attempts than one network may, under any names', async (t) => {
  const [one, two] = await replicas(t, { loginFailures: 1 });
  for (const addressOf of [(at: number) => `2001:db8:7:${at.toString(16)}::1`, (at: number) => `203.0.113.${at + 1}`]) {
    const neighbour = addressOf(100);
    t.is((await logIn(one, neighbour)).status, 200);
    const began = performance.now();
    const statuses = await inPairs(
      Array.from({ length: 30 }, (_, at) => at),
      async (at) => {
        const guess = { username: `name-${at}`, password: wrong };
        return (await logIn(at % 2 ? one : two, addressOf(at), guess)).status;
      },
    );
    const { 401: answered = 0, 429: refused = 0 } = tally(statuses);
    t.is(answered + refused, 30);
    t.true(answered >= 20 && answered <= 20 * windowsOf(900, began), `${answered} were answered`);
    for (const app of [one, two]) {
      t.is((await logIn(app, addressOf(101))).status, 429);
      t.is((await logIn(app, neighbour)).status, 200, 'a known address does not pay for its neighbours');
      t.is((await logIn(app, '192.0.2.77')).status, 200, 'another network does not either');
    }
  }
});

test('wrong client secrets count for client and network, wrong tokens for the network, and correct ones always pass', async (t) => {
  const [one, two] = await replicas(t, { badCredentialsPerMinute: 2 });
  const token = await one.login();
  const client = await appWithToken(one, token);
  const ask = async (at: number, ip: string, body: object) => {
    const headers = { 'x-forwarded-for': ip };
    const sent = { grant_type: 'client_credentials', ...body };
    return (await (at % 2 ? one : two).call('POST', '/oauth/token', { body: sent, headers })).status;
  };
  const { client_id, client_secret } = client;
  const began = performance.now();
  const few = (statuses: readonly number[]) => {
    const { 401: answered = 0, 429: refused = 0 } = tally(statuses);
    t.is(answered + refused, 30);
    t.true(answered >= 20 && answered <= 20 * windowsOf(60, began), `${answered} were answered`);
  };
  const numbers = Array.from({ length: 30 }, (_, at) => at);
  const ofClient = await inPairs(numbers, (at) => ask(at, `10.${at}.0.1`, { client_id, client_secret: wrong }));
  few(ofClient);
  const ofNetwork = await inPairs(numbers, (at) =>
    ask(at, `2001:db8:9:${at.toString(16)}::1`, { client_id: `app_${at}`, client_secret: wrong }),
  );
  few(ofNetwork);
  for (const [at, ip] of ['10.1.0.1', '2001:db8:9:1::1', '192.0.2.1'].entries())
    t.is(await ask(at, ip, { client_id, client_secret }), 200, ip);
  const use = async (at: number, ip: string, shown: string) =>
    (await (at % 2 ? one : two).call('GET', '/api/v1/me', { token: shown, headers: { 'x-forwarded-for': ip } })).status;
  const addressOf = (at: number) => `2001:db8:5:${at.toString(16)}::1`;
  few(await inPairs(numbers, (at) => use(at, addressOf(at), 'x.y.z')));
  t.is(await use(0, addressOf(1), token), 200);
});

test('failed logins of a network write a bounded number of audit lines', async (t) => {
  const [one] = await replicas(t, { loginFailures: 100 });
  const statuses = await inPairs(
    Array.from({ length: 104 }, (_, at) => at),
    async (at) =>
      (await logIn(one, `2001:db8:3:${at.toString(16)}::1`, { username: `n${at}`, password: wrong })).status,
  );
  t.deepEqual(tally(statuses), { 401: 104 });
  t.is((await one.store.read((tx) => tx.audit.list({ action: 'admin.login_failed' }))).length, 100);
});

test('known addresses are stored without the addresses themselves, and deleted with the account', async (t) => {
  const [one, two] = await replicas(t);
  const bob = { username: 'bob', password: 'nine-tidy-green-anchors' };
  const token = await one.login();
  const { id } = (await one.call('POST', '/api/v1/admins', { token, body: { ...bob, role: 'viewer' } })).body.data;
  for (const app of [one, two, one]) t.is((await logIn(app, '2001:db8:1:2:3::4', bob)).status, 200);
  const rows = await one.on.database.em.fork().execute('select * from known_addresses where admin_id = ?', [id]);
  t.is(rows.length, 1, 'one for the /64 under any number of tries');
  t.false(JSON.stringify(rows).includes('2001'));
  t.is((await one.call('DELETE', `/api/v1/admins/${id}`, { token })).status, 204);
  t.is((await one.store.read((tx) => tx.knownAddresses.list({ adminId: id }))).length, 0);
});
