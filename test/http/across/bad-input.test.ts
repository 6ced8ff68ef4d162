import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { z } from 'zod';
import { errorCodes } from '../../../server/error-codes/error-codes.ts';
import type { Route } from '../../../server/http/router.ts';
import { firstAdmin } from '../../support/admin.ts';
import { count, inParallel } from '../../support/counts.ts';
import { libraryWords } from '../../support/documented.ts';
import { payOrder } from '../../support/orders.ts';
import { allRoutes } from '../../support/routes.ts';
import { startService, type Service } from '../../support/service.ts';
import { fingerprints } from '../../support/tables.ts';

/** JSON texts of values that few members accept. Values that a contract accepts are filtered out by its schema. */
const BAD_VALUES: readonly string[] = [
  'null',
  'true',
  '[]',
  '["a"]',
  '{}',
  '{"$ne":""}',
  '{"$gt":0,"length":3}',
  '{"__proto__":{"role":"admin"}}',
  '{"toString":"x"}',
  '-1',
  '0',
  '1e400',
  '-0',
  '1e21',
  '9007199254740993',
  '0.1',
  '""',
  '" "',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udfff x"',
  '"\\u202e\\u0007"',
  '"../../etc/passwd"',
  '"a\'; drop table orders; --"',
  '"%00"',
  `"${'x'.repeat(70_000)}"`,
  `"${'😀'.repeat(3000)}"`,
  '"__proto__"',
  '"NaN"',
  '"1e3"',
  '"javascript:alert(1)"',
];

/** Bodies that every operation rejects: JSON other than an object, invalid JSON, too deep, text that cannot be stored. */
const BAD_BODIES: Readonly<Record<string, string | Uint8Array>> = {
  list: '[]',
  text: '"text"',
  number: '1',
  'half of JSON': '{"a":',
  'two values': '{}{}',
  'not a number': '{"a":NaN}',
  comment: '{/**/}',
  'too deep': `{"a":${'['.repeat(25)}${']'.repeat(25)}}`,
  'a hundred thousand deep': '['.repeat(100_000),
  'NUL in a key': '{"a\\u0000":1}',
  'NUL in an unknown member': '{"unknown":"\\u0000"}',
  'a lone surrogate in a key': '{"\\ud800":1}',
  'a lone surrogate deep inside': '{"unknown":[{"a":"\\udc00"}]}',
  'bytes that are no UTF-8': Uint8Array.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  'more than 100 KB': `{"a":"${'x'.repeat(101 * 1024)}"}`,
};

/** Media types that every JSON operation rejects. */
const BAD_TYPES = [
  'text/plain',
  'application/xml',
  'application/octet-stream',
  'application/json; charset=utf-16',
  'multipart/related; boundary=x',
  'json',
] as const;

/** Invalid ids, as they are written in a path. */
const BAD_IDS = [
  '..%2f..%2fetc%2fpasswd',
  '%00',
  'a%00b',
  '%',
  '%zz',
  '%ff%fe',
  '%ED%A0%80',
  'a%20b',
  "'%20or%201=1--",
  '1;2',
  'x'.repeat(65),
  '%F0%9F%98%80',
  '%0d%0aSet-Cookie:a=b',
  '[object%20Object]',
] as const;

/** Texts for query parameters. Values that a contract accepts are filtered out by its schema. */
const BAD_QUERIES = [
  '',
  '0',
  '-1',
  '201',
  '1e3',
  '0x10',
  ' 5',
  '5 ',
  '1.5',
  '٣',
  '99999999999999999999999999',
  'abc',
  'null',
  'a b',
  "' or 1=1--",
  '%',
  '../..',
  'x'.repeat(300),
  '2030-01-31',
  '2030-13-01T00:00:00Z',
  '9999999-01-01T00:00:00Z',
  'Mars/Olympus',
  'eyJ9',
  '\u0000',
] as const;

/** Amounts that are invalid in every currency. */
const BAD_AMOUNTS: readonly string[] = [
  ['0', '-0', '-1', '0.001', '12.345', '1e9', '100000000.01', '100000001', '1e-7', '1e400', '0.1e1000'],
  ['"0"', '"0.00"', '"-1"', '"+1"', '"1e1"', '"1E1"', '" 1"', '"1 "', '"1,000"', '"1,5"', '".5"', '"1."', '"0x10"'],
  ['"١٢"', '"１"', '""', '"NaN"', '"Infinity"', '"1_0"', '"0.001"', '"1.000000000000000000001"', '"1234567890"'],
  ['null', 'true', '[]', '[1]', '{}', '{"$gt":0}', `"${'1'.repeat(40)}"`, '"1\\u0000"', '"0b1"', '"1n"', '"½"'],
].flat();

/** The member names of a body schema, with the wrappers around its object removed. */
function membersOf(schema: unknown): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return membersOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return membersOf(schema.in);
  if (schema instanceof z.ZodUnion) return [...new Set(schema.options.flatMap(membersOf))];
  return [];
}

/** Whether a text contains NUL or a lone surrogate, which every body schema rejects. */
function isUnkeepable(text: string): boolean {
  let found = false;
  try {
    JSON.parse(text, (key, value: unknown) => {
      for (const part of [key, value])
        found ||= typeof part === 'string' && (part.includes('\u0000') || !part.isWellFormed());
      return value;
    });
  } catch {
    return true;
  }
  return found;
}

/** One request as it is sent. */
interface Shot {
  route: Route;
  path: string;
  body?: string | Uint8Array | undefined;
  type?: string;
  headers?: Record<string, string>;
  note: string;
}

const ends: (() => unknown)[] = [];
test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

let staged: ReturnType<typeof setUp> | undefined;

/** One service and callers with every permission, shared by all tests: a rejected request leaves no state behind. */
const stage = () => (staged ??= setUp());

async function setUp() {
  // The clock is fixed: the last use of an application is stored once a minute, and a slow machine takes longer than that.
  const at = new Date();
  const service = await startService({ teardown: (end) => void ends.push(end) }, { now: () => at });
  const admin = await firstAdmin(service);
  const app = await service.merchant({ scopes: ['admin'], trusted: true });
  await app.call('GET', '/api/v2/payment/config/alipay');
  const tokenFor = ({ contract: { auth } }: Route) =>
    auth === 'none' ? undefined : typeof auth === 'object' && 'admin' in auth ? admin.token : app.token;
  const fire = async ({ route, path, body, type = 'application/json', headers = {} }: Shot) => {
    const token = tokenFor(route);
    const answer = await fetch(service.url + path, {
      method: route.method,
      redirect: 'manual',
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
      body: body as string | undefined,
    });
    return { status: answer.status, type: answer.headers.get('content-type') ?? '', text: await answer.text() };
  };
  return { service, app, admin, fire };
}

type Fire = Awaited<ReturnType<typeof stage>>['fire'];

/**
 * Distributes the bad inputs over the operations, because one reader and one contract reject them everywhere. A short run sends each
 * operation a share of at least one; a long run sends all.
 */
function dealt<Piece>(pieces: readonly Piece[], turn: number, oneOf = 6): Piece[] {
  const share = count(1, Math.min(oneOf, pieces.length));
  return pieces.filter((_, piece) => (turn + piece) % share === 0);
}

/** Sends all requests and asserts that each is rejected with a stable code and that nothing was written. */
async function refuseAll(
  t: ExecutionContext,
  service: Service,
  fire: Fire,
  shots: readonly Shot[],
  statuses: readonly number[],
): Promise<void> {
  const before = await fingerprints(service);
  await inParallel(shots.length, 8, async (index) => {
    const shot = shots[index]!;
    const { status, type, text } = await fire(shot);
    const which = `${shot.route.method} ${shot.path.slice(0, 120)} ${shot.note}: ${status} ${text.slice(0, 300)}`;
    t.true(statuses.includes(status), which);
    if (shot.route.contract.raw === 'html') return;
    const { code, error } = JSON.parse(text) as { code?: string; error?: string };
    if (shot.route.contract.style === 'oauth') return void t.regex(error ?? '', /^(invalid|unsupported)_/, which);
    t.true(type.startsWith('application/problem+json'), which);
    t.true(Object.hasOwn(errorCodes, code ?? ''), which);
    t.is(libraryWords(JSON.parse(text)), undefined, which);
  });
  t.deepEqual(await fingerprints(service), before, 'nothing was written');
}

const filled = ({ path }: Route) =>
  path
    .replace('{payWay}', 'alipay')
    .replaceAll(/\{(id|sessionId)\}/g, '00000000-0000-4000-8000-000000000000')
    .replace('{outTradeNo}', 'X20300101000000ABCDEFGHJK')
    .replace(/\{\w+\}/g, 'nothing');

/** Sends `__proto__` as text: in an object literal it would set the prototype. */
const objectText = (members: Record<string, string>) =>
  `{${Object.entries(members)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`;

const isRefused = ({ contract }: Route, text: string): boolean =>
  isUnkeepable(text) || contract.body?.safeParse(JSON.parse(text)).success === false;

const withJson = (routes: readonly Route[]) =>
  routes.filter(({ contract }) => contract.body !== undefined && (contract.accepts ?? ['json']).includes('json'));

test.serial(
  'invalid bodies, wrong media types, depth and size are rejected by every operation that takes JSON',
  async (t) => {
    const { service, fire } = await stage();
    const shots = withJson(await allRoutes()).flatMap((route, turn) => {
      const pieces: Shot[] = [
        ...Object.entries(BAD_BODIES).map(([note, body]) => ({ route, path: filled(route), body, note })),
        ...BAD_TYPES.map((type) => ({ route, path: filled(route), body: '{}', type, note: type })),
        { route, path: filled(route), body: '{}', headers: { 'content-encoding': 'gzip' }, note: 'compressed' },
      ];
      return dealt(pieces, turn);
    });
    await refuseAll(t, service, fire, shots, [400, 413, 415]);
    t.log(`${shots.length} requests: 4xx, nothing written`);
  },
);

test.serial('an unknown member is rejected by every operation that takes JSON', async (t) => {
  const { service, fire } = await stage();
  const body = '{"nobodyHasThis":1}';
  const before = await fingerprints(service);
  const routes = withJson(await allRoutes()).filter(({ path }) => path.startsWith('/api/'));
  await inParallel(routes.length, 8, async (index) => {
    const route = routes[index]!;
    const { status, text } = await fire({ route, path: filled(route), body, note: 'unknown' });
    const { errors } = JSON.parse(text) as { errors: { pointer: string; code: string }[] };
    t.is(status, 400, `${route.method} ${route.path}`);
    const fault = errors.find(({ pointer }) => pointer === '/nobodyHasThis');
    t.is(fault?.code, 'unknown_member', `${route.method} ${route.path}: ${text.slice(0, 300)}`);
  });
  t.deepEqual(await fingerprints(service), before, 'nothing was written');
});

test.serial('every member of every body rejects every value that its contract forbids', async (t) => {
  const { service, fire } = await stage();
  let turn = 0;
  const shots = withJson(await allRoutes()).flatMap((route) =>
    membersOf(route.contract.body).flatMap((member) => {
      const bodyOf = (value: string) => objectText({ [member]: value });
      const refused = BAD_VALUES.filter((value) => isRefused(route, bodyOf(value)));
      return dealt(refused, turn++, 8).map((value): Shot => {
        return { route, path: filled(route), body: bodyOf(value), note: `${member}: ${value.slice(0, 40)}` };
      });
    }),
  );
  await refuseAll(t, service, fire, shots, [400]);
  t.log(`${shots.length} requests: 4xx, nothing written`);
});

/** Whether a contract accepts a parameter value; a NUL never gets this far. */
const isTaken = ({ contract }: Route, name: string, value: string): boolean =>
  !value.includes('\u0000') &&
  (contract.query!.shape[name] as { safeParse(v: string): { success: boolean } }).safeParse(value).success;

test.serial(
  'unknown query parameters, repeated ones and every value that the contract forbids are rejected',
  async (t) => {
    const { service, fire } = await stage();
    // Operations with the same contract for a parameter share its values: the first receives all of them, each other one a few.
    const met = new Map<string, number>();
    const turnOf = (name: string, refused: readonly string[]): number => {
      const same = JSON.stringify([name, refused]);
      const turn = met.get(same) ?? 0;
      met.set(same, turn + 1);
      return turn;
    };
    const shots = (await allRoutes())
      .filter(({ path }) => path.startsWith('/api/') && path !== '/api/v1/login')
      .flatMap((route, place): Shot[] => {
        const names = Object.keys(route.contract.query?.shape ?? {});
        const at = (query: string, note = query): Shot => {
          const body = route.contract.body && route.method !== 'GET' ? '{}' : undefined;
          return { route, path: `${filled(route)}?${query}`, body, note };
        };
        return [
          ...dealt([at('limti=5'), at('__proto__=1'), at('a%00=1')], place),
          ...names.flatMap((name, index) => dealt([at(`${name}=1&${name}=1`), at(`${name}[$ne]=1`)], place + index)),
          ...names.flatMap((name) => {
            const refused = BAD_QUERIES.filter((value) => !isTaken(route, name, value));
            const turn = turnOf(name, refused);
            const sent = turn === 0 ? refused : dealt(refused, turn, 8);
            return sent.map((value) => at(`${name}=${encodeURIComponent(value)}`, name));
          }),
        ];
      });
    await refuseAll(t, service, fire, shots, [400]);
    t.log(`${shots.length} requests: 4xx, nothing written`);
  },
);

test.serial('query parameter values that a contract accepts never cause a server error', async (t) => {
  const { service, fire } = await stage();
  let turn = 0;
  const shots = (await allRoutes())
    // A stream of events never ends by itself.
    .filter(({ method, contract }) => method === 'GET' && !('text/event-stream' in (contract.answers?.[200] ?? {})))
    .flatMap((route): Shot[] => {
      const values = [
        ...BAD_QUERIES,
        'true',
        '1',
        'A'.repeat(64),
        '2030-01-31T08:00:00Z',
        '0001-01-01T00:00:00Z',
        '9999-12-31T23:59:59Z',
        '9223372036854775808',
        '2147483648',
        '0.01',
      ];
      return Object.keys(route.contract.query?.shape ?? {}).flatMap((name) =>
        // Values that operations of the API reject were sent above.
        dealt(
          values.filter((value) => !route.path.startsWith('/api/') || isTaken(route, name, value)),
          turn++,
          3,
        ).map((value) => ({ route, path: `${filled(route)}?${name}=${encodeURIComponent(value)}`, note: name })),
      );
    });
  const { audit_log: _before, ...before } = await fingerprints(service);
  const lines = () => service.app.store.read((tx) => tx.audit.count({}));
  const exported = () =>
    service.app.store.read((tx) => tx.audit.count({ action: ['orders.exported', 'audit-log.exported'] }));
  const others = (await lines()) - (await exported());
  await inParallel(shots.length, 8, async (index) => {
    const { status, text } = await fire(shots[index]!);
    t.true(status < 500, `${shots[index]!.path}: ${status} ${text.slice(0, 200)}`);
  });
  const { audit_log: _after, ...after } = await fingerprints(service);
  t.deepEqual(after, before, 'looking writes nothing');
  t.is((await lines()) - (await exported()), others, 'except the lines about exports');
  t.log(`${shots.length} requests: none 5xx`);
});

test.serial('invalid ids are rejected at every path that has an id', async (t) => {
  const { service, fire } = await stage();
  const shots = (await allRoutes())
    .filter(({ path }) => path.includes('{') && !path.startsWith('/docs'))
    .flatMap((route, turn) =>
      dealt(BAD_IDS, turn).map((id): Shot => {
        const path = route.path.replaceAll(/\{\w+\}/g, id);
        const body = route.contract.body && route.method !== 'GET' ? '{}' : undefined;
        return { route, path, body, note: id };
      }),
    );
  await refuseAll(t, service, fire, shots, [400, 404]);
  t.log(`${shots.length} requests: 4xx, nothing written`);
});

test.serial('invalid amounts are rejected in payments and refunds, from merchants and administrators', async (t) => {
  const { service, app, fire } = await stage();
  const orderNo = await payOrder(service, app, { amount: 10 });
  const routes = await allRoutes();
  const find = (method: string, path: string) => routes.find((one) => one.method === method && one.path === path)!;
  const order = { subject: '"x"', orderType: '"goods"' };
  const shots = BAD_AMOUNTS.flatMap((amount, turn) => {
    const ways: Shot[] = [
      ...['/api/v2/payment/pay', '/api/v1/console/payment/pay'].flatMap((path) =>
        ['alipay', 'wechat', 'paypal'].map((payWay) => ({
          route: find('POST', path),
          path,
          body: objectText({ ...order, payWay: `"${payWay}"`, amount }),
          note: `${payWay} ${amount}`,
        })),
      ),
      ...['/api/v2/payment/refund', '/api/v1/console/payment/refund'].map((path) => ({
        route: find('POST', path),
        path,
        body: objectText({ orderNo: `"${orderNo}"`, refundAmount: amount }),
        note: amount,
      })),
      {
        route: find('POST', '/api/v1/orders/{orderNo}/refunds'),
        path: `/api/v1/orders/${orderNo}/refunds`,
        body: objectText({ refundAmount: amount }),
        note: amount,
      },
    ];
    return dealt(ways, turn, 3);
  });
  // Each currency has its own number of decimals.
  for (const [currency, amount] of [
    ['JPY', '1.5'],
    ['HUF', '"10.01"'],
    ['TWD', '0.5'],
    ['USD', '1.001'],
    ['XXX', '1'],
  ] as const)
    shots.push({
      route: find('POST', '/api/v2/payment/pay'),
      path: '/api/v2/payment/pay',
      body: objectText({ ...order, payWay: '"paypal"', currency: `"${currency}"`, amount }),
      note: `${currency} ${amount}`,
    });
  await refuseAll(t, service, fire, shots, [400]);
  t.log(`${shots.length} requests: 4xx, nothing written`);
});

test.serial('generated bodies are answered 4xx when the contract rejects them, and never 5xx', async (t) => {
  const { service, fire } = await stage();
  const routes = withJson(await allRoutes()).filter(({ path }) => !path.endsWith('/login'));
  const value = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...BAD_VALUES.filter((text) => text.length < 1000)) },
    { weight: 2, arbitrary: fc.json({ maxDepth: 3 }) },
    { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => JSON.stringify(text)) },
    { weight: 1, arbitrary: fc.constantFrom('"alipay"', '"paypal"', '1', '12.5', '"CNY"', '"x"', 'true') },
  );
  const shot = fc.constantFrom(...routes).chain((route) => {
    const names = [...membersOf(route.contract.body), 'unknown', '__proto__', 'constructor'];
    return fc
      .dictionary(fc.constantFrom(...names), value, { maxKeys: 8 })
      .map((members) => ({ route, body: objectText(members) }));
  });
  let refused = 0;
  const runs = count(4000, 150);
  const before = await fingerprints(service);
  await fc.assert(
    fc.asyncProperty(shot, async ({ route, body }) => {
      if (!isRefused(route, body)) return;
      const { status, text } = await fire({ route, path: filled(route), body, note: '' });
      refused += 1;
      if (status < 400 || status >= 500) throw new Error(`${route.method} ${route.path}: ${status} ${text}`);
    }),
    { numRuns: runs },
  );
  t.deepEqual(await fingerprints(service), before, 'nothing was written');
  await fc.assert(
    fc.asyncProperty(shot, async ({ route, body }) => {
      const { status, text } = await fire({ route, path: filled(route), body, note: '' });
      if (status >= 500) throw new Error(`${route.method} ${route.path}: ${status} ${text}`);
    }),
    { numRuns: runs },
  );
  t.true(refused > runs / 4);
  t.log(`${runs} bodies, of which ${refused} refused by their contract, and ${runs} more: none 5xx`);
});
