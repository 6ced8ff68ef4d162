import test from 'ava';
import { makePlace, scripted } from './payctl.ts';

const ID = 'app_7Kd2mQxW9bTzR4vLp1Ns';

test('a change prints its target on stderr first', async (t) => {
  const place = await makePlace('prod');
  t.teardown(() => place.close());
  const { stderr, code } = await place.payctl(['app', 'enable', ID]);
  t.is(code, 0);
  t.true(stderr.startsWith(`prod  ${place.api.url}  as alice\n`));
});

test('a moderate change without a terminal requires --yes, and sends nothing without it', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const refused = await place.payctl(['app', 'disable', ID]);
  t.is(refused.code, 2);
  t.regex(refused.stderr, /^error: --yes is required when not running interactively\.$/m);
  t.deepEqual(place.api.seen, []);
});

test('a severe change requires --confirm and is not confirmed by -y', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const refused = await place.payctl(['app', 'delete', ID, '-y']);
  t.is(refused.code, 2);
  t.regex(refused.stderr, new RegExp(`^error: --confirm ${ID} is required when not running interactively\\.$`, 'm'));
  const wrong = await place.payctl(['app', 'delete', ID, '--confirm', 'app_other']);
  t.is(wrong.code, 2);
  t.deepEqual(place.api.seen, []);
  t.is((await place.payctl(['app', 'delete', ID, '--confirm', ID])).code, 0);
});

test('a rotation is severe without a grace period and moderate with one', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.is((await place.payctl(['app', 'rotate-secret', ID, '-y', '-o', 'json'])).code, 2);
  t.is((await place.payctl(['app', 'rotate-secret', ID, '--grace', '1h', '-y', '-o', 'json'])).code, 0);
});

test('the confirmation of a rotation states when the old secret and live tokens end', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const rotate = async (...flags: string[]) => {
    const prompts = scripted({ '--yes': true });
    const { stderr } = await place.payctl(['app', 'rotate-secret', ID, ...flags, '-o', 'env'], { prompts });
    return { question: prompts.asked, done: stderr.trimEnd().split('\n').at(-1) };
  };
  t.deepEqual(await rotate('--grace', '24h', '--revoke-tokens'), {
    question: [
      `Are you sure you want to rotate the secret of app ${ID} (the old secret stays valid for 24 h, all live tokens end now) on dev?`,
    ],
    done: 'The old secret stays valid for 24 h. All live tokens were revoked.',
  });
  t.deepEqual(await rotate('--grace', '15m'), {
    question: [
      `Are you sure you want to rotate the secret of app ${ID} (the old secret stays valid for 15 min) on dev?`,
    ],
    done: 'The old secret stays valid for 15 min.',
  });
  t.deepEqual(await rotate(), {
    question: [
      `This will rotate the secret of app ${ID} (the old secret and all live tokens end now) on dev. Type ${ID} to confirm:`,
    ],
    done: 'The old secret and all live tokens were revoked.',
  });
});

for (const [label, code] of [
  ['dev', 0],
  ['staging', 0],
  ['prod', 2],
] as const) {
  test(`a refund with -y on ${label}: exit ${code}`, async (t) => {
    const place = await makePlace(label);
    t.teardown(() => place.close());
    t.is((await place.payctl(['refund', 'create', 'P1', '--amount', '1', '-y'])).code, code);
  });
}

test('disabling a live channel requires its name, and a simulated channel only --yes', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.is((await place.payctl(['channel', 'disable', 'alipay', '-y'])).code, 0);
  place.api.on('GET /api/v1/payment/config/alipay', () => ({ body: { data: { payWay: 'alipay', mode: 'live' } } }));
  t.is((await place.payctl(['channel', 'disable', 'alipay', '-y'])).code, 2);
  t.is((await place.payctl(['channel', 'disable', 'alipay', '--confirm', 'alipay'])).code, 0);
});

test('a declined confirmation and a wrong name on a terminal are exit 130', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.is((await place.payctl(['app', 'disable', ID], { prompts: scripted({ '--yes': false }) })).code, 130);
  t.is((await place.payctl(['app', 'delete', ID], { prompts: scripted({ [`--confirm ${ID}`]: 'nope' }) })).code, 130);
  t.deepEqual(place.api.seen, []);
});

test('--dry-run sends no change and shows method, path and body without secrets', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const { code, stdout } = await place.payctl(['app', 'update', ID, '--name', 'new', '--dry-run', '--json']);
  t.is(code, 0);
  t.deepEqual(JSON.parse(stdout), {
    dryRun: true,
    method: 'PUT',
    path: `/api/v1/api-apps/${ID}`,
    body: { name: 'new' },
    changes: [{ field: 'name', from: 'shop', to: 'new' }],
  });
  t.true(place.api.seen.every(({ method }) => method === 'GET'));
  const admin = await place.payctl(
    ['admin', 'create', '--username', 'bob', '--role', 'viewer', '--password-stdin', '--dry-run'],
    { stdin: 'correct horse battery\n' },
  );
  t.is(admin.code, 0);
  t.false(admin.stdout.includes('correct horse'));
  t.true(admin.stdout.includes('***'));
});

for (const flags of [
  ['--scope', 'webhook:write,payment:read'],
  ['--remove-scope', 'payment:write', '--add-scope', 'webhook:write'],
])
  test(`a change that takes scopes from an application asks, and names them: ${flags[0]}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    const sent = () => place.api.seen.filter(({ method }) => method !== 'GET').map(({ body }) => body);
    const line = ['app', 'update', ID, ...flags];
    const refused = await place.payctl(line);
    t.is(refused.code, 2);
    t.regex(refused.stderr, /^error: --yes is required/m);
    const prompts = scripted({ '--yes': false });
    t.is((await place.payctl(line, { prompts })).code, 130);
    t.deepEqual(prompts.asked, [
      `Are you sure you want to update app ${ID} (it loses the scopes payment:write) on dev?`,
    ]);
    t.deepEqual(sent(), []);
    t.is((await place.payctl([...line, '-y'])).code, 0);
    t.is((await place.payctl([...line, '--confirm', ID])).code, 0);
    t.is(sent().length, 2);
    t.deepEqual((sent()[0] as { scopes: string[] }).scopes.toSorted(), ['payment:read', 'webhook:write']);
  });

test('scopes are either replaced or changed, and a removed scope must be one that exists', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const both = await place.payctl(['app', 'update', ID, '--scope', 'payment:read', '--add-scope', 'payment:write']);
  t.is(both.code, 2);
  t.regex(both.stderr, /--scope replaces all scopes and cannot be combined with --add-scope or --remove-scope\./);
  const unknown = await place.payctl(['app', 'update', ID, '--remove-scope', 'webhok:write', '-y']);
  t.is(unknown.code, 2);
  t.regex(unknown.stderr, /webhok:write is not a scope; the scopes are payment:write, /);
  t.deepEqual(place.api.seen, []);
});

test('--dry-run of an update prints the difference', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const { stdout } = await place.payctl(['app', 'update', ID, '--name', 'new', '--dry-run']);
  t.regex(stdout, /- name: shop\n\+ name: new\n/);
});

const CHANGES = [
  'app create --name x --scope payment:read',
  `app enable ${ID}`,
  `app delete ${ID}`,
  `app rotate-secret ${ID}`,
  'order capture P1',
  'order close P1',
  'refund create P1 --amount 1',
  'pay --subject x --amount 1 --pay-way alipay',
  'exception resolve 1 --action accept --reason x',
  'project create --code a --name b',
  'coin adjust gold --user-id u --amount 1 --reason x',
  'channel enable alipay',
  'cert delete c1',
  'event resend e1',
  'logout',
  'api -X POST /api/v1/logout',
];

for (const line of CHANGES) {
  test(`--dry-run sends no change: ${line}`, async (t) => {
    const place = await makePlace('prod');
    t.teardown(() => place.close());
    const { code, stdout, stderr } = await place.payctl([...line.split(' '), '--dry-run']);
    t.is(code, 0, stderr);
    t.regex(stdout, /(POST|PUT|DELETE)/);
    t.true(place.api.seen.every(({ method }) => method === 'GET'));
  });
}
