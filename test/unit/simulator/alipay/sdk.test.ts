import test from 'ava';
import { AlipaySdk } from 'alipay-sdk';
import { startReceiver, startWorld, until, type World } from '../world.ts';

// The package stamps its requests in the time zone of the process.
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

const precreate = (sdk: AlipaySdk, orderNo: string, extra: Record<string, string> = {}) =>
  sdk.exec(
    'alipay.trade.precreate',
    { ...extra, bizContent: { out_trade_no: orderNo, total_amount: '12.30', subject: '测试 coffee' } },
    { validateSign: true },
  );

for (const account of ['default', 'certificate']) {
  test(`alipay-sdk (${account} account) creates, queries and refunds, and verifies every answer`, async (t) => {
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

for (const fault of ['tampered', 'wrong-key', 'no-signature', 'signtest']) {
  test.serial(`alipay-sdk refuses an answer with the fault ${fault}`, async (t) => {
    const sdk = await sdkFor('default');
    await world.post('/sim/faults', { payWay: 'alipay', call: 'create', fault, times: 1 });
    await t.throwsAsync(precreate(sdk, `SDK_${fault.replace('-', '_')}`));
  });
}

test.serial('alipay-sdk verifies our notices and refuses tampered ones', async (t) => {
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
