import test from 'ava';
import { AlipayFormData, AlipaySdk } from 'alipay-sdk';
import { certSerial, readCertificates } from '../../../server/channels/alipay/signature.ts';
import { shownCode } from '../../unit/channels/alipay/shown-code.ts';
import { startReceiver, startWorld, until, type World } from '../../unit/simulator/world.ts';

// The package writes timestamps in the time zone of the process.
process.env['TZ'] = 'Asia/Shanghai';

let world: World;
test.before(async () => {
  world = await startWorld();
  await world.post('/sim/accounts', { payWay: 'alipay', name: 'certificate', signMode: 'certificate' });
});
test.after.always(() => world?.close());

async function sdkFor(account: string): Promise<AlipaySdk> {
  const { fields, pems } = (await world.config(account))['alipay']!;
  const certificates = pems['alipay_app_cert'] && {
    appCertContent: pems['alipay_app_cert'][0]!,
    alipayPublicCertContent: pems['alipay_public_cert']![0]!,
    alipayRootCertContent: pems['alipay_root_cert']![0]!,
  };
  return new AlipaySdk({
    appId: fields['appId']!,
    privateKey: pems['alipay_app_key']![0]!,
    keyType: 'PKCS8',
    gateway: `${world.url}/alipay/gateway.do`,
    ...(certificates ?? { alipayPublicKey: pems['alipay_public_key']![0]! }),
  });
}

/** Calls through the unchanged package, which verifies the response. */
const call = (sdk: AlipaySdk, method: string, bizContent: object) =>
  sdk.exec(method, { bizContent }, { validateSign: true });

const precreate = (sdk: AlipaySdk, orderNo: string, extra: Record<string, string> = {}) =>
  sdk.exec(
    'alipay.trade.precreate',
    { ...extra, bizContent: { out_trade_no: orderNo, total_amount: '12.30', subject: '测试 coffee' } },
    { validateSign: true },
  );

for (const account of ['default', 'certificate']) {
  test(`alipay-sdk (${account} account) creates, queries and refunds, and verifies every response`, async (t) => {
    const sdk = await sdkFor(account);
    const orderNo = `SDK_${account}`;
    const created = await precreate(sdk, orderNo);
    t.is(created.code, '10000');
    t.true(String(created['qrCode']).startsWith(world.url));
    await world.post('/sim/pay', { orderNo });
    const queried = await sdk.exec(
      'alipay.trade.query',
      { bizContent: { out_trade_no: orderNo } },
      { validateSign: true },
    );
    t.like(queried, { code: '10000', tradeStatus: 'TRADE_SUCCESS', totalAmount: '12.30' });
    const refund = { out_trade_no: orderNo, refund_amount: '2.30', out_request_no: `${orderNo}_R1` };
    const refunded = await sdk.exec('alipay.trade.refund', { bizContent: refund }, { validateSign: true });
    t.like(refunded, { code: '10000', fundChange: 'Y', refundFee: '2.30' });
  });
}

for (const account of ['default', 'certificate']) {
  test(`alipay-sdk (${account} account) closes, queries refunds and downloads certificates`, async (t) => {
    const sdk = await sdkFor(account);
    const orderNo = `SDK2_${account}`;
    await precreate(sdk, orderNo);
    t.is((await call(sdk, 'alipay.trade.close', { out_trade_no: orderNo }))['subCode'], 'ACQ.TRADE_NOT_EXIST');
    await world.post('/sim/pay', { orderNo });
    const numbers = { out_trade_no: orderNo, out_request_no: `${orderNo}_R1` };
    await call(sdk, 'alipay.trade.refund', { ...numbers, refund_amount: '2.30' });
    const query = { ...numbers, query_options: ['gmt_refund_pay'] };
    const found = await call(sdk, 'alipay.trade.fastpay.refund.query', query);
    t.like(found, { code: '10000', refundStatus: 'REFUND_SUCCESS', refundAmount: '2.30' });
    t.regex(String(found['gmtRefundPay']), /^\d{4}-/);
    const closed = `${orderNo}_C`;
    await precreate(sdk, closed);
    await world.post('/sim/scan', { orderNo: closed });
    t.is((await call(sdk, 'alipay.trade.close', { out_trade_no: closed })).code, '10000');
  });

  for (const [method, product] of [
    ['alipay.trade.page.pay', 'FAST_INSTANT_TRADE_PAY'],
    ['alipay.trade.wap.pay', 'QUICK_WAP_WAY'],
  ] as const) {
    test(`alipay-sdk (${account} account) signs a URL and a form of ${method}`, async (t) => {
      const sdk = await sdkFor(account);
      for (const way of ['GET', 'POST'] as const) {
        const orderNo = `SDK_${product}_${account}_${way}`;
        const bizContent = { out_trade_no: orderNo, total_amount: '12.30', subject: '测试', product_code: product };
        const made = sdk.pageExecute(method, way, { bizContent });
        const opened = way === 'GET' ? await fetch(made, { redirect: 'manual' }) : await submit(made);
        t.is(opened.status, 302, await opened.text());
        t.is((await world.get<{ subject: string }>(`/sim/trades/${orderNo}`)).subject, '测试');
      }
    });
  }

  test(`alipay-sdk (${account} account) charges a payer's code, cancels it, and creates for a mini program`, async (t) => {
    const sdk = await sdkFor(account);
    const order = { total_amount: '12.30', subject: '测试' };
    const till = { ...order, out_trade_no: `SDK_TILL_${account}`, scene: 'bar_code', auth_code: shownCode(account) };
    t.like(await call(sdk, 'alipay.trade.pay', till), { code: '10000', totalAmount: '12.30' });
    const cancelled = await call(sdk, 'alipay.trade.cancel', { out_trade_no: till.out_trade_no });
    t.like(cancelled, { code: '10000', action: 'refund', retryFlag: 'N' });
    const asks = {
      ...till,
      out_trade_no: `${till.out_trade_no}_2`,
      auth_code: shownCode(`${account}2`, 'asks-password'),
    };
    t.is((await call(sdk, 'alipay.trade.pay', asks)).code, '10003');
    const mini = { ...order, product_code: 'JSAPI_PAY', op_app_id: '2021000000000005', buyer_open_id: 'a-user' };
    const created = await call(sdk, 'alipay.trade.create', { ...mini, out_trade_no: `SDK_MINI_${account}` });
    t.regex(String(created['tradeNo']), /^\d{28}$/);
  });

  test(`alipay-sdk (${account} account) signs the order string of an app`, async (t) => {
    const sdk = await sdkFor(account);
    const orderNo = `SDK_APP_${account}`;
    const content = { out_trade_no: orderNo, total_amount: '12.30', subject: 'a', product_code: 'QUICK_MSECURITY_PAY' };
    const signed = sdk.sdkExecute('alipay.trade.app.pay', { bizContent: content });
    await world.post('/sim/pay', { orderNo, payUrl: `${world.url}/alipay/gateway.do?${signed}` });
    t.is((await call(sdk, 'alipay.trade.query', { out_trade_no: orderNo }))['tradeStatus'], 'TRADE_SUCCESS');
  });
}

for (const account of ['default', 'certificate']) {
  test(`alipay-sdk (${account} account) lists, reads and ends complaints`, async (t) => {
    const sdk = await sdkFor(account);
    const orderNo = `SDK_COMPLAINT_${account}`;
    await precreate(sdk, orderNo);
    await world.post('/sim/pay', { orderNo });
    const { id } = await world.post<{ id: string }>('/sim/dispute', { orderNo, act: 'open' });
    const family = 'alipay.security.risk.complaint';
    const listed = await call(sdk, `${family}.info.batchquery`, { current_page_num: 1, page_size: 20 });
    t.is(listed.code, '10000');
    t.true((listed['complaintList'] as { id: number }[]).some((one) => String(one.id) === id));
    const shown = await call(sdk, `${family}.info.query`, { complain_id: id });
    t.like(shown, { code: '10000', status: 'WAIT_PROCESS', complainAmount: '12.30' });
    const formData = new AlipayFormData();
    formData.addFile('file_content', 'photo.png', Buffer.from('89504e470d0a1a0a00', 'hex'));
    const file = await sdk.exec(`${family}.file.upload`, {}, { formData, validateSign: true });
    t.like(file, { code: '10000', fileName: 'photo.png' });
    const images = [{ img_url: file['fileUrl'], img_url_key: file['fileKey'] }];
    const said = { process_code: 'CONSENSUS_WITH_CLIENT', remark: '已退款' };
    const done = { id_list: [Number(id)], ...said, img_file_list: images };
    t.true((await call(sdk, `${family}.process.finish`, done))['complaintProcessSuccess']);
    t.is((await call(sdk, `${family}.info.query`, { complain_id: id }))['status'], 'PROCESSED');
  });
}

/** Submits the form of the package as a browser does. */
function submit(form: string): Promise<Response> {
  const action = /action="([^"]+)"/.exec(form)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const inputs = [...form.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]): [string, string] => [
    name!,
    value!.replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
  ]);
  return fetch(action, { method: 'POST', body: new URLSearchParams(inputs), redirect: 'manual' });
}

test("alipay-sdk downloads Alipay's certificates, including the previous one, and verifies with them", async (t) => {
  await world.post('/sim/accounts', { payWay: 'alipay', name: 'changing', signMode: 'certificate' });
  const before = await sdkFor('changing');
  const former = (await world.config('changing'))['alipay']!.pems['alipay_public_cert']![0]!;
  await world.post('/sim/rotate', { payWay: 'alipay', account: 'changing', what: 'alipay-key' });
  const after = await sdkFor('changing');
  const next = (await world.config('changing'))['alipay']!.pems['alipay_public_cert']![0]!;
  const ask = (sdk: AlipaySdk) => call(sdk, 'alipay.trade.query', { out_trade_no: 'NONE' });
  await t.throwsAsync(ask(before));
  t.is((await ask(after))['subCode'], 'ACQ.TRADE_NOT_EXIST');
  for (const pem of [former, next]) {
    const serial = certSerial(readCertificates(pem)[0]!);
    const said = await call(after, 'alipay.open.app.alipaycert.download', { alipay_cert_sn: serial });
    t.is(Buffer.from(String(said['alipayCertContent']), 'base64').toString(), pem);
  }
  const unknown = await call(after, 'alipay.open.app.alipaycert.download', { alipay_cert_sn: 'f'.repeat(32) });
  t.is(unknown.code, '40004');
});

for (const fault of ['tampered', 'wrong-key', 'no-signature', 'signtest']) {
  test.serial(`alipay-sdk refuses a response with the fault ${fault}`, async (t) => {
    const sdk = await sdkFor('default');
    await world.post('/sim/faults', { payWay: 'alipay', call: 'create', fault, times: 1 });
    await t.throwsAsync(precreate(sdk, `SDK_${fault.replace('-', '_')}`));
  });
}

test.serial('alipay-sdk verifies our notifications and refuses tampered ones', async (t) => {
  const receiver = await startReceiver();
  const sdk = await sdkFor('default');
  await precreate(sdk, 'SDK_NOTICE', { notifyUrl: receiver.url });
  await world.post('/sim/pay', { orderNo: 'SDK_NOTICE' });
  const { body } = await until(() => receiver.received[0]);
  const params = Object.fromEntries(new URLSearchParams(body.toString('utf8')));
  t.like(params, {
    trade_status: 'TRADE_SUCCESS',
    out_trade_no: 'SDK_NOTICE',
    total_amount: '12.30',
    subject: '测试 coffee',
  });
  t.true(sdk.checkNotifySignV2(params));
  t.false(sdk.checkNotifySignV2({ ...params, total_amount: '12.31' }));
  t.false((await sdkFor('certificate')).checkNotifySignV2(params));
  receiver.close();
});
