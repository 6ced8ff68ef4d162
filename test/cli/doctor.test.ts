import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { makePlace, type Place, type RunOptions } from './payctl.ts';
import { temporaryFolder } from '../support/folder.ts';
import { diagnosisRow } from './fakes/rows.ts';
import { problem, type FakeAnswer } from './fakes/api.ts';

interface Finding {
  check: string;
  status: string;
  detail: string;
  fix: string | null;
}

async function examine(place: Place, options: RunOptions = {}): Promise<{ code: number; findings: Finding[] }> {
  const { code, stdout } = await place.payctl(['doctor', '--json'], options);
  return { code, findings: JSON.parse(stdout) as Finding[] };
}

/** The files of an installed service. */
function installed(t: ExecutionContext): NonNullable<RunOptions['installation']> {
  const folder = temporaryFolder(t, { 'pay.toml': '', 'pay.service': '', 'as-pay': '' });
  const at = (name: string): string => join(folder, name);
  return { config: at('pay.toml'), unit: at('pay.service'), wrapper: at('as-pay') };
}

const list = (...data: object[]): FakeAnswer => ({ body: { data, page: { nextCursor: null, hasMore: false } } });

test('a healthy service: exit 0 and no fix', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/exceptions', () => list());
  place.api.on('GET /api/v1/approvals', () => list());
  place.api.on('GET /api/v1/refunds', () => list());
  const { code, findings } = await examine(place);
  t.deepEqual(
    findings.filter(({ status }) => status !== 'ok'),
    [],
  );
  t.is(code, 0);
});

/** Due work that no worker has leased. */
const WAITS = { kind: 'order', rows: 7, lagSeconds: 400 };

const diagnose = ({ api }: Place, found: object) =>
  api.on('GET /api/v1/diagnosis', () => ({ body: { data: { ...diagnosisRow, ...found } } }));

const PLANTED: [name: string, plant: (place: Place) => unknown, check: string, fix: RegExp][] = [
  [
    'files that other users can read',
    (place) => chmod(join(place.folder, 'credentials.json'), 0o644),
    'files',
    /chmod go=/,
  ],
  [
    'a wrong clock',
    (place) => place.api.on('GET /health', () => ({ body: {}, headers: { date: 'Sat, 21 Nov 2026 07:05:00 GMT' } })),
    'clock',
    /set-ntp/,
  ],
  [
    'a database that is down',
    (place) => place.api.on('GET /health/db', () => problem(503, 'database_down', 'Down.')),
    'database',
    /doctor --offline/,
  ],
  [
    'no login',
    (place) => place.api.on('GET /api/v1/me', () => problem(401, 'unauthorized', 'No.')),
    'login',
    /payctl login/,
  ],
  [
    'a channel that is down',
    (place) =>
      place.api.on('POST /api/v1/payment/config/alipay/test', () => ({
        body: { data: { ok: false, field: 'appId', message: 'No such app.' } },
      })),
    'alipay',
    /channel set alipay/,
  ],
  [
    'a channel whose secrets cannot be decrypted',
    (place) =>
      place.api.on('GET /api/v1/payment/config/list', () =>
        list({
          payWay: 'alipay',
          mode: 'simulator',
          enabled: true,
          configured: false,
          missing: [],
          fault: 'Not decrypted.',
        }),
      ),
    'alipay',
    /Security\.MasterKey/,
  ],
  [
    'a skill whose handler is never called',
    (place) => place.api.on('GET /api/v1/products', () => list({ code: 'weather', handlerFault: 'address_refused' })),
    'skill weather',
    /product update weather/,
  ],
  [
    'no channel at all',
    (place) => place.api.on('GET /api/v1/payment/config/list', () => list()),
    'channels',
    /channel set alipay/,
  ],
  [
    'a channel that does not respond',
    (place) =>
      place.api.on('POST /api/v1/payment/config/alipay/test', () => ({
        body: { data: { ok: false, field: null, code: 'timeout', message: 'No complete response within 6000 ms.' } },
      })),
    'alipay',
    /^payctl channel test alipay$/,
  ],
  [
    'a service that responds too slowly',
    (place) => place.api.on('GET /health', () => problem(504, 'timeout', 'Late.')),
    'service',
    /look at the network/,
  ],
  ['late due work', (place) => diagnose(place, { due: [WAITS] }), 'due work', /Server\.Workers/],
  [
    'late webhook deliveries',
    (place) => diagnose(place, { due: [{ ...WAITS, kind: 'delivery' }] }),
    'due work',
    /Server\.Workers/,
  ],
  [
    'notifications that stopped',
    (place) => diagnose(place, { silentNotices: [{ project: 'default', payWay: 'wechat', payments: 5 }] }),
    'notices',
    /^payctl channel test wechat$/,
  ],
  ['a database with a different clock', (place) => diagnose(place, { clockAheadSeconds: -75 }), 'clock', /set-ntp/],
  [
    'an expired certificate',
    (place) =>
      place.api.on('POST /api/v1/certs/list', () => list({ kind: 'alipay_app_cert', isDefault: true, daysLeft: -1 })),
    'alipay_app_cert',
    /cert upload/,
  ],
];

for (const [name, plant, check, fix] of PLANTED) {
  test(`doctor reports with its fix and exit 1: ${name}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    await plant(place);
    const { code, findings } = await examine(place);
    const found = findings.find((finding) => finding.check === check && finding.status !== 'ok');
    t.is(found?.status, 'failed');
    t.regex(found?.fix ?? '', fix);
    t.is(code, 1);
  });
}

test('a service that fails is no fault of the login, and is reported once', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const ofLogin = async (installed?: RunOptions) =>
    (await examine(place, installed)).findings.filter(({ check }) => check === 'login');
  place.api.on('GET /api/v1/me', () => problem(500, 'internal', 'Internal server error.'));
  const fault = { status: 'failed', detail: 'not checked: Internal server error.' };
  t.like(await ofLogin(), [{ ...fault, fix: 'look into the log of the service' }]);
  t.like(await ofLogin({ installation: installed(t) }), [{ ...fault, fix: 'journalctl -u pay -n 50' }]);
  place.api.on('GET /health/db', () => problem(503, 'database_unavailable', 'Down.'));
  t.deepEqual(await ofLogin(), [], 'the database is reported instead');
});

test('a network that Server.AdminNetworks refuses is named once, with the setting', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const refused = () => problem(403, 'ip_not_allowed', 'Your IP address is not allowed to use the console.');
  for (const path of [
    'me',
    'info',
    'exceptions',
    'approvals',
    'refunds',
    'orders',
    'products',
    'projects',
    'diagnosis',
  ])
    place.api.on(`GET /api/v1/${path}`, refused);
  place.api.on('GET /api/v1/payment/config/list', refused);
  place.api.on('POST /api/v1/certs/list', refused);
  const about = async (options?: RunOptions) =>
    (await examine(place, options)).findings.filter(({ detail }) => detail.includes('IP address'));
  const setting = 'add the address of this machine to Server.AdminNetworks';
  t.like(await about(), [{ check: 'login', status: 'failed', fix: setting }]);
  const installation = installed(t);
  const fix = `${setting}\nIn ${installation.config}. Then: systemctl restart pay`;
  t.like(await about({ installation }), [{ check: 'login', fix }]);
});

test('open exceptions and certificates that expire soon are warnings: exit 0', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v1/certs/list', () => list({ kind: 'alipay_app_cert', isDefault: true, daysLeft: 9 }));
  const { code, findings } = await examine(place);
  t.deepEqual(
    findings.filter(({ status }) => status === 'degraded').map(({ check }) => check),
    ['alipay_app_cert', 'exceptions', 'refunds', 'approvals'],
  );
  t.is(code, 0);
});

test('the fix of a single exception explains its order, unless the order is unknown to the service', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const orderNo = 'P202611210558007K2MQX9WBT';
  for (const [kind, fix] of [
    ['late_paid', `payctl explain ${orderNo}`],
    ['order_unknown_here', 'payctl exception list --state open'],
  ]) {
    place.api.on('GET /api/v1/exceptions', () => list({ orderNo, kind }));
    const { findings } = await examine(place);
    t.like(
      findings.find(({ check }) => check === 'exceptions'),
      { status: 'degraded', fix },
    );
  }
});

test('production without network limits, and work that is late but not lost, are warnings', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/exceptions', () => list());
  place.api.on('GET /api/v1/approvals', () => list());
  place.api.on('GET /api/v1/refunds', () => list());
  diagnose(place, {
    production: true,
    due: [{ ...WAITS, lagSeconds: 90 }],
    clockAheadSeconds: 7,
    failingWebhooks: [{ clientId: 'app_1', retrying: 3, givenUp: 1, lastError: null }],
    listensElsewhere: '127.0.0.1:9090',
  });
  const { code, findings } = await examine(place);
  t.deepEqual(
    findings.filter(({ status }) => status === 'degraded').map(({ check }) => check),
    ['due work', 'public url', 'console', 'explorer', 'second factors', 'clock', 'webhooks'],
  );
  t.is(code, 0);
});

test('a viewer sees the recent health of a channel, with a fix that names its project', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v1/payment/config/alipay/test', () => problem(403, 'role_insufficient', 'No.'));
  const row = { project: 'blue', payWay: 'alipay', enabled: true, configured: true, missing: [], mode: 'simulator' };
  place.api.on('GET /api/v1/payment/config/list', () => list({ ...row, status: 'down', lastFailure: 'timeout' }));
  const found = (await examine(place)).findings.find(({ check }) => check.includes('blue'));
  t.like(found, { status: 'failed', detail: 'timeout', fix: 'payctl channel test alipay --project blue' });
});

test('a working channel that lacks an optional product is a warning with its fix', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v1/payment/config/alipay/test', () => ({
    body: { data: { ok: true, field: 'qrProductCode', message: 'QR codes are refused.' } },
  }));
  const { code, findings } = await examine(place);
  const found = findings.find(({ check }) => check === 'alipay');
  t.like(found, { status: 'degraded', detail: 'QR codes are refused.' });
  t.regex(found?.fix ?? '', /channel set alipay/);
  t.is(code, 0);
});

test('refused notifications are a warning with their reason and fix until they are no longer open', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const refusedNotices = {
    why: 'misconfigured',
    detail: 'The resource cannot be decrypted with the APIv3 key.',
    change: 'Set the APIv3 key.',
    count: 3,
    at: '2026-11-21T07:00:00.000Z',
    isOpen: true,
  };
  const row = { payWay: 'wechat', project: 'default', mode: 'simulator', enabled: true, missing: [] };
  const told = async (refused: object) => {
    place.api.on('GET /api/v1/payment/config/list', () => list({ ...row, refusedNotices: refused }));
    const { findings } = await examine(place);
    return findings.find(({ check, detail }) => check === 'notices' && detail.includes('refused'));
  };
  t.like(await told(refusedNotices), {
    status: 'degraded',
    detail: `wechat: 3 refused (misconfigured), the last one at ${refusedNotices.at}: ${refusedNotices.detail}`,
    fix: refusedNotices.change,
  });
  t.is(await told({ ...refusedNotices, isOpen: false }), undefined);
});

test('an untrusted verification key is a warning that names the fingerprint to compare', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const untrusted = [{ id: 'cert_9', kind: 'alipay_public_key', fingerprint: 'ab'.repeat(32) }];
  const row = { payWay: 'alipay', project: 'default', mode: 'simulator', enabled: true, missing: [], untrusted };
  place.api.on('GET /api/v1/payment/config/list', () => list(row));
  const { code, findings } = await examine(place);
  const found = findings.find(({ check, status }) => check === 'alipay' && status === 'degraded');
  t.regex(found?.detail ?? '', /alipay_public_key abababababababab… is not trusted/);
  t.regex(found?.fix ?? '', /payctl cert trust cert_9/);
  t.is(code, 0);
});

test('keys of another mode are named, and a missing key names the accounts that have one', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /.well-known/oauth-authorization-server', () => ({ body: {} }));
  const channel = { project: 'default', enabled: true, mode: 'live' };
  const lacks = { missing: ['alipay_public_key'] };
  const elsewhere = [{ kind: 'alipay_public_key', mode: 'sandbox', account: '2021' }];
  place.api.on('GET /api/v1/payment/config/list', () =>
    list(
      { ...channel, payWay: 'alipay', account: '2021', ...lacks, ofOtherAccounts: elsewhere },
      { ...channel, payWay: 'wechat', account: '1900', enabled: false, missing: [] },
    ),
  );
  const cert = { payWay: 'wechat', kind: 'wechat_public_key', account: '1900', isDefault: true, daysLeft: 3 };
  place.api.on('POST /api/v1/certs/list', () =>
    list(
      { ...cert, id: 'cert_1', mode: 'simulator', trust: 'distrusted' },
      { ...cert, id: 'cert_2', mode: 'sandbox', trust: 'trusted' },
      { ...cert, id: 'cert_3', mode: 'live', trust: 'trusted', daysLeft: 300 },
      { ...cert, id: 'cert_4', mode: 'simulator', kind: 'wechat_merchant_key', trust: null },
    ),
  );
  const { findings } = await examine(place);
  const named = findings.filter(({ detail }) => detail.includes('came with mode'));
  t.deepEqual(
    named.map(({ check, status, fix }) => [check, status, fix]),
    [
      ['wechat', 'degraded', 'payctl cert delete cert_1'],
      ['wechat', 'degraded', 'payctl cert delete cert_2'],
    ],
  );
  t.regex(named[0]!.detail, /cert_1 came with mode simulator, the channel is in mode live: it is not trusted/);
  t.false(
    findings.some(({ detail }) => detail.includes('expires')),
    'only of accounts in use',
  );
  t.regex(findings.find(({ check }) => check === 'alipay')!.detail, /alipay_public_key of sandbox 2021/);
});

test('doctor reports Debug on prod', async (t) => {
  const place = await makePlace('prod');
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/info', () => ({ body: { data: { debug: true } } }));
  const { findings } = await examine(place);
  t.is(findings.find(({ check }) => check === 'debug')?.status, 'failed');
  t.like(
    findings.find(({ check }) => check === 'encryption'),
    { status: 'ok', detail: 'not needed on this machine' },
  );
});

test('doctor reports a database whose disk is full', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/info', () => ({ body: { data: { debug: true, databaseFull: true } } }));
  const { code, findings } = await examine(place);
  t.is(code, 1);
  const found = findings.find(({ check }) => check === 'storage');
  t.is(found?.status, 'failed');
});
