import { createHash, createVerify, X509Certificate } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { type ChannelInput, TransportFailed, type WireAnswer } from '../../../../server/payments/channel.ts';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import { billFile, bytesOf, collect, fakeDownload, refused } from '../bill-trial.ts';
import { billText } from './bill-file.ts';
import { channelWith, MERCHANT, NOW, platformInput, signed, SUB_MCHID, unsigned } from './fake.ts';

const YESTERDAY = new Date(NOW.getTime() + 8 * 3_600_000 - 86_400_000).toISOString().slice(0, 10);
const PLAIN = Buffer.from(billText([{ ordered: 100, time: `${YESTERDAY} 10:00:00` }]));
const PACKED = gzipSync(PLAIN);
const SHA1 = createHash('sha1').update(PLAIN).digest('hex');
const ADDRESS = 'https://api.mch.weixin.qq.com/v3/billdownload/file?token=a%2Bb&tartype=gzip';

const named = (change: object = {}) =>
  signed(200, { hash_type: 'SHA1', hash_value: SHA1, download_url: ADDRESS, ...change });

function deskSaying(answer: WireAnswer, pieces: Iterable<Uint8Array> = [PACKED], input: Partial<ChannelInput> = {}) {
  const fake = fakeDownload(pieces);
  const { channel, sent } = channelWith(() => answer, { download: fake.download, ...input });
  return { desk: channel.bills!, sent, ...fake };
}

test('a bill is requested compressed and returned unchanged if its hash matches', async (t) => {
  const { desk, sent } = deskSaying(named());
  const answer = await desk.fetch(YESTERDAY);
  t.true((await bytesOf(answer)).equals(PACKED));
  t.is(
    sent[0]?.url,
    `https://api.mch.weixin.qq.com/v3/bill/tradebill?bill_date=${YESTERDAY}&bill_type=ALL&tar_type=GZIP`,
  );
  t.is((await collect(desk.read(await billFile(t, PACKED), YESTERDAY))).lines.length, 1);
});

test('the file request is signed for its path and query', async (t) => {
  const { desk, asked } = deskSaying(named());
  await desk.fetch(YESTERDAY);
  const [request] = asked;
  t.is(request?.url, ADDRESS);
  const { authorization = '' } = request?.headers ?? {};
  const field = (name: string) => new RegExp(`${name}="([^"]+)"`).exec(authorization)?.[1] ?? '';
  const text = [
    'GET',
    '/v3/billdownload/file?token=a%2Bb&tartype=gzip',
    field('timestamp'),
    field('nonce_str'),
    '',
    '',
  ];
  const verifier = createVerify('RSA-SHA256').update(text.join('\n'));
  t.true(verifier.verify(new X509Certificate(MERCHANT.pem).publicKey, field('signature'), 'base64'));
});

test('the hash is verified for any split of the file, compressed or not', async (t) => {
  const split = (bytes: Buffer, size: number) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
  for (const bytes of [PACKED, PLAIN])
    for (const size of [1, 2, 3, 7, 1000]) {
      const pieces = [Buffer.alloc(0), ...split(bytes, size)];
      t.true((await bytesOf(await deskSaying(named(), pieces).desk.fetch(YESTERDAY))).equals(bytes), String(size));
    }
  const upper = await deskSaying(named({ hash_value: SHA1.toUpperCase() })).desk.fetch(YESTERDAY);
  t.true((await bytesOf(upper)).equals(PACKED));
});

test('a wrong hash, a truncated file and a corrupt file are refused at the end', async (t) => {
  const fault = async (pieces: Uint8Array[], change: object = {}) => {
    const answer = await deskSaying(named(change), pieces).desk.fetch(YESTERDAY);
    const error = await t.throwsAsync(bytesOf(answer));
    return error && 'fault' in error ? error.fault : error?.message;
  };
  t.is(await fault([PACKED], { hash_value: '0'.repeat(40) }), 'wrong_hash');
  t.is(await fault([PLAIN.subarray(1)]), 'wrong_hash');
  t.is(await fault([]), 'wrong_hash');
  t.is(await fault([PACKED.subarray(0, PACKED.length - 9)]), 'cut_short');
  const spoilt = Buffer.from(PACKED);
  spoilt.fill(0xff, 20, 40);
  t.is(await fault([spoilt]), 'not_a_bill');
  t.is(await fault([gzipSync(Buffer.alloc(64 * 1024 * 1024))]), 'too_large');
});

test('a download failure is passed on to the reader', async (t) => {
  const pieces = (function* (): Generator<Uint8Array> {
    yield PACKED.subarray(0, 50);
    throw new TransportFailed('network', 'cut');
  })();
  const answer = await deskSaying(named(), pieces).desk.fetch(YESTERDAY);
  t.is((await t.throwsAsync(bytesOf(answer), { instanceOf: TransportFailed }))?.why, 'network');
});

test('a missing bill is empty only with a signed response after the bill time, and a bill in preparation is not ready', async (t) => {
  const said = async (answer: WireAnswer, now: string) =>
    deskSaying(answer, [], { now: () => new Date(now) }).desk.fetch(YESTERDAY);
  const end = Date.parse(`${YESTERDAY}T16:00:00Z`);
  const ready = new Date(end + 630 * 60_000).toISOString();
  const early = new Date(end + 630 * 60_000 - 1000).toISOString();
  const none = { code: 'NO_STATEMENT_EXIST', message: 'x' };
  const by = (now: string) => signed(400, none, { at: new Date(now) });
  t.deepEqual(await said(by(ready), ready), { kind: 'empty', code: none.code, payee: '1900000109' });
  t.deepEqual(await said(by(early), early), { kind: 'not_ready', code: none.code });
  t.like(await said(unsigned(400, none), ready), { kind: 'unknown', cause: 'unsigned' });
  const creating = { code: 'STATEMENT_CREATING', message: 'x' };
  t.deepEqual(await deskSaying(signed(400, creating)).desk.fetch(YESTERDAY), {
    kind: 'not_ready',
    code: creating.code,
  });
});

test('a refusal keeps its code and reason, and an unclear response is unknown', async (t) => {
  const said = async (status: number, code: string) =>
    deskSaying(signed(status, { code, message: 'words' })).desk.fetch(YESTERDAY);
  t.deepEqual(await said(403, 'NO_AUTH'), { kind: 'refused', code: 'NO_AUTH', reason: 'words' });
  t.deepEqual(await said(400, 'PARAM_ERROR'), { kind: 'refused', code: 'PARAM_ERROR', reason: 'words' });
  t.like(await said(429, 'FREQUENCY_LIMITED'), { kind: 'unknown', cause: 'busy' });
  t.like(await said(401, 'SIGN_ERROR'), { kind: 'unknown', cause: 'misconfigured' });
  for (const change of [{ hash_type: 'MD5' }, { hash_value: 'x' }, { download_url: undefined }, { download_url: 'x' }])
    t.like(await deskSaying(named(change)).desk.fetch(YESTERDAY), { kind: 'unknown', cause: 'unparsable' });
  t.like(await deskSaying(unsigned(200, { hash_type: 'SHA1' })).desk.fetch(YESTERDAY), { cause: 'unsigned' });
});

test('a signed request is sent only to WeChat Pay', async (t) => {
  const outcome = async (download_url: string, input: Partial<ChannelInput> = {}) => {
    const { desk, asked } = deskSaying(named({ download_url }), [PACKED], input);
    const { kind } = await desk.fetch(YESTERDAY);
    t.is(asked.length, kind === 'bill' ? 1 : 0, download_url);
    return kind;
  };
  t.is(await outcome('https://api2.mch.weixin.qq.com/v3/billdownload/file?token=x'), 'bill');
  for (const url of [
    'http://api.mch.weixin.qq.com/v3/billdownload/file',
    'https://api.mch.weixin.qq.com.evil.example/v3',
    'https://api.mch.weixin.qq.com@evil.example/v3',
    'https://api.mch.weixin.qq.com:444/v3',
    'https://user@api.mch.weixin.qq.com/v3',
    'https://evil.example/v3',
  ])
    t.is(await outcome(url), 'unknown', url);
  const simulator = { mode: 'simulator', simulatorUrl: 'http://127.0.0.1:8080/' } as const;
  t.is(await outcome('http://127.0.0.1:8080/wechat/v3/billdownload/file?token=x', simulator), 'bill');
  t.is(await outcome('http://127.0.0.1:8081/wechat/v3', simulator), 'unknown');
  t.is(await outcome(ADDRESS, simulator), 'unknown');
});

test('a partner requests the bill of its sub-merchant and refuses any other', async (t) => {
  const { fields } = platformInput();
  const { desk, sent } = deskSaying(named(), [PACKED], { fields: { ...fields, subMchId: SUB_MCHID } });
  await desk.fetch(YESTERDAY);
  t.is(new URL(sent[0]?.url ?? '').searchParams.get('sub_mchid'), SUB_MCHID);
  await refused(t, desk.read(await billFile(t, PACKED), YESTERDAY), 'wrong_account', { line: 2, column: 4 });
});

test('with refunds from the available balance a second bill is requested and appended', async (t) => {
  const { fields } = platformInput();
  const refunds = Buffer.from(
    billText([
      {
        state: 'REFUND',
        asked: 50,
        refundId: '1',
        refundNo: 'R1',
        refundState: 'SUCCESS',
        time: `${YESTERDAY} 11:00:00`,
      },
    ]),
  );
  const none = signed(400, { code: 'NO_STATEMENT_EXIST', message: 'x' });
  const of = (bytes: Buffer) => named({ hash_value: createHash('sha1').update(bytes).digest('hex') });
  const said = async (all: WireAnswer, more: WireAnswer, files: Buffer[]) => {
    const types: (string | null)[] = [];
    const answers = (request: { url: string }) => {
      types.push(new URL(request.url).searchParams.get('bill_type'));
      return types.length % 2 === 1 ? all : more;
    };
    let at = 0;
    const download: ChannelInput['download'] = async (request) => fakeDownload([files[at++]!]).download(request);
    const { channel } = channelWith(answers, { download, fields: { ...fields, refundFunds: 'AVAILABLE' } });
    const desk = channel.bills!;
    const answer = await desk.fetch(YESTERDAY);
    t.deepEqual(types.slice(0, 2), ['ALL', 'RECHARGE_REFUND'].slice(0, types.length));
    if (answer.kind !== 'bill') return answer.kind;
    const { lines } = await collect(desk.read(await billFile(t, await bytesOf(answer)), YESTERDAY));
    return lines.map(({ kind }) => kind).join();
  };
  const [first, second] = [of(PLAIN), of(refunds)];
  for (const pack of [gzipSync, (plain: Buffer) => plain])
    t.is(await said(first, second, [pack(PLAIN), pack(refunds)]), 'payment,refund');
  t.is(await said(first, none, [PACKED]), 'payment');
  t.is(await said(none, second, [gzipSync(refunds)]), 'refund');
  t.not(await said(none, none, []), 'bill');
  // The newer API documents omit this bill, so a refusal of it does not affect the first one.
  t.is(await said(first, signed(400, { code: 'PARAM_ERROR', message: 'x' }), [PACKED]), 'payment');
  t.is(await said(first, signed(400, { code: 'STATEMENT_CREATING', message: 'x' }), [PACKED]), 'not_ready');
  t.is(await said(first, signed(429, { code: 'FREQUENCY_LIMITED', message: 'x' }), [PACKED]), 'unknown');
  await t.throwsAsync(said(first, second, [PACKED, refunds]), { message: /One of the two bills of the day is GZIP/ });
  await t.throwsAsync(said(first, second, [PACKED, gzipSync('x')]), { message: /SHA-1/ });
});

test('a day before the retention period is not requested, and a channel without a download has no bills', async (t) => {
  t.deepEqual(wechatKind.bills, { utcOffsetMinutes: 480, readyAfterMinutes: 630, backDays: 90 });
  const { desk, sent } = deskSaying(named());
  t.deepEqual(await desk.fetch('2020-01-01'), { kind: 'gone', code: 'OLDER_THAN_90_DAYS' });
  t.is(sent.length, 0);
  t.is(channelWith(() => unsigned(500)).channel.bills, undefined);
});
