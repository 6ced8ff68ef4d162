import test from 'ava';
import { type Download, TransportFailed } from '../../../../server/payments/channel.ts';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import { billFile, bytesOf, collect, fakeDownload, refused } from '../bill-trial.ts';
import { billZip, DAY } from './bill-file.ts';
import { APP_ID, channelWith, http, said, SELLER_ID } from './fixture.ts';

const URL_OF_BILL = 'http://dwbillcenter.alipay.com/downloadBillFile.resource?bizType=trade&signature=x%3D';
const NEXT_DAY = new Date('2026-03-02T02:30:00Z');
const FIELDS = { appId: APP_ID, sellerId: SELLER_ID };

interface How {
  now?: Date;
  mode?: 'sandbox' | 'live' | 'simulator';
  download?: Download;
}

function deskSaying(content: object, { now = NEXT_DAY, mode, download = fakeDownload([]).download }: How = {}) {
  const { channel, sent } = channelWith(({ about }) => said(about.call, content), {
    fields: FIELDS,
    now,
    mode,
    simulatorUrl: 'http://127.0.0.1:8080',
    download,
  });
  return { desk: channel.bills!, sent };
}

const ok = (url: string) => ({ code: '10000', msg: 'Success', bill_download_url: url });
const refusal = (sub_code: string, code = '40004') => ({ code, msg: 'x', sub_code, sub_msg: 'words' });

test('a bill is requested by type and day, and its URL is fetched immediately and unchanged', async (t) => {
  const zip = billZip([{ ordered: 100 }]);
  const { download, asked } = fakeDownload([zip.subarray(0, 100), zip.subarray(100)]);
  const { desk, sent } = deskSaying(ok(URL_OF_BILL), { download });
  const answer = await desk.fetch(DAY);
  t.true((await bytesOf(answer)).equals(zip));
  const body = new URLSearchParams(sent[0]?.body);
  t.is(body.get('method'), 'alipay.data.dataservice.bill.downloadurl.query');
  t.deepEqual(JSON.parse(body.get('biz_content') ?? ''), { bill_type: 'trade', bill_date: DAY });
  t.deepEqual(asked, [{ method: 'GET', url: URL_OF_BILL, headers: {}, about: { call: 'bill file' } }]);
  t.is((await collect(desk.read(await billFile(t, zip), DAY))).lines.length, 1);
});

test('a bill of another seller than the configured one is refused', async (t) => {
  const { desk } = deskSaying({});
  const other = billZip([], { account: '20880000000000990156' });
  await refused(t, desk.read(await billFile(t, other), DAY), 'wrong_account', { line: 2 });
});

test('a missing bill is not ready until another day is over, then empty, because a late bill has the same code', async (t) => {
  t.deepEqual(alipayKind.bills, { utcOffsetMinutes: 480, readyAfterMinutes: 630, backDays: 3650 });
  for (const code of ['isp.bill_not_exist', 'BILL_NOT_EXIST', 'NO_BILL_DATA', 'isv.no_bill_data']) {
    const said = async (now: string) => deskSaying(refusal(code), { now: new Date(now) }).desk.fetch(DAY);
    t.deepEqual(await said('2026-03-02T15:59:59Z'), { kind: 'not_ready', code });
    t.deepEqual(await said('2026-03-02T16:00:00Z'), { kind: 'empty', code });
    t.deepEqual(await said('2026-03-01T12:00:00Z'), { kind: 'not_ready', code });
  }
});

test('a day before the retention period is not requested', async (t) => {
  const { desk, sent } = deskSaying(ok(URL_OF_BILL));
  t.deepEqual(await desk.fetch('2015-12-31'), { kind: 'gone', code: 'OLDER_THAN_3650_DAYS' });
  t.is(sent.length, 0);
});

test("a refusal keeps Alipay's code and reason, and an unclear response is unknown", async (t) => {
  const answer = async (content: object) => deskSaying(content).desk.fetch(DAY);
  const reason = 'words';
  for (const [code, sub] of [
    ['40006', 'isv.insufficient-isv-permissions'],
    ['40004', 'isv.invalid-arguments'],
  ] as const)
    t.deepEqual(await answer(refusal(sub, code)), { kind: 'refused', code: sub, reason });
  const cause = async (content: object) => {
    const said = await answer(content);
    return said.kind === 'unknown' ? said.cause : said.kind;
  };
  t.is(await cause(refusal('isp.unknow-error', '20000')), 'busy');
  t.is(await cause(refusal('isv.invalid-timestamp', '40002')), 'clock_skew');
  t.is(await cause({ code: '10000', msg: 'Success' }), 'mismatch');
  const { channel } = channelWith(() => http('busy', 502), { fields: FIELDS, download: fakeDownload([]).download });
  t.like(await channel.bills?.fetch(DAY), { kind: 'unknown', cause: 'http_status' });
});

test('only bill URLs of Alipay or of the configured simulator are fetched', async (t) => {
  const outcome = async (url: string, mode: How['mode']) => {
    const { download, asked } = fakeDownload([]);
    const { kind } = await deskSaying(ok(url), { mode, download }).desk.fetch(DAY);
    t.is(asked.length, kind === 'bill' ? 1 : 0, url);
    return kind;
  };
  for (const url of [
    'https://dwbillcenter.alipay.com/a',
    'http://dwbillcenter.alipay.com/a',
    'https://a.b.alipay.com/a',
  ])
    for (const mode of ['live', 'sandbox'] as const) t.is(await outcome(url, mode), 'bill', url);
  t.is(await outcome('https://dwbillcenter.dl.alipaydev.com/a', 'sandbox'), 'bill');
  for (const url of [
    'https://dwbillcenter.dl.alipaydev.com/a',
    'https://evil.example/.alipay.com',
    'https://alipay.com.evil.example/a',
    'https://evilalipay.com/a',
    'https://dwbillcenter.alipay.com@evil.example/a',
    'https://user@dwbillcenter.alipay.com/a',
    'https://dwbillcenter.alipay.com:8443/a',
    'ftp://dwbillcenter.alipay.com/a',
    'file:///etc/passwd',
    'http://127.0.0.1:8080/a',
    'not an address',
  ])
    t.is(await outcome(url, 'live'), 'unknown', url);
  t.is(await outcome('http://127.0.0.1:8080/alipay/bills/1', 'simulator'), 'bill');
  for (const url of ['http://127.0.0.1:8081/a', 'https://127.0.0.1:8080/a', 'https://dwbillcenter.alipay.com/a'])
    t.is(await outcome(url, 'simulator'), 'unknown', url);
});

test('a failed download is unknown', async (t) => {
  for (const [status, cause] of [
    [302, 'redirected'],
    [403, 'http_status'],
    [500, 'http_status'],
  ] as const) {
    const { download, state } = fakeDownload([Buffer.from('x')], status);
    t.like(await deskSaying(ok(URL_OF_BILL), { download }).desk.fetch(DAY), { kind: 'unknown', cause });
    t.true(state.left);
  }
  const download: Download = () => Promise.reject(new TransportFailed('timeout', 'silence'));
  t.like(await deskSaying(ok(URL_OF_BILL), { download }).desk.fetch(DAY), { kind: 'unknown', cause: 'timeout' });
});

test('a channel without a download has no bills', (t) => {
  t.is(channelWith(() => http('')).channel.bills, undefined);
});
