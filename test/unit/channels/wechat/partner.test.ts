import test from 'ava';
import { ChannelMisconfigured, type PlaceOrder, type Scene } from '../../../../server/payments/channel.ts';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import {
  APP_ID,
  channelWith,
  MCHID,
  orderRef,
  partnerTrade,
  placeOrder,
  platformInput,
  publicKeyInput,
  refunded,
  refundOrder,
  signed,
  SUB_MCHID,
  trade,
  unsigned,
} from './fake.ts';

/** Another sub-merchant of the partner. */
const OTHER_SUB = '1900000307';
const SUB_APP = 'wx00000000000000d1';
const SUB_MINI = 'wx00000000000000d2';
const SP_JSAPI = 'wx00000000000000d3';

const input = platformInput();
const fields = { ...input.fields, subMchId: SUB_MCHID };
const withApps = { ...fields, subAppId: SUB_APP, subAppIdMini: SUB_MINI, appIdJsapi: SP_JSAPI };

const SP = { sp_appid: APP_ID, sp_mchid: MCHID, sub_mchid: SUB_MCHID };
const BY_SUB = { ...SP, sub_appid: SUB_APP };

const bodyOf = (sent: { body?: string }) => JSON.parse(sent.body ?? '') as Record<string, unknown>;

const SCENES: Readonly<Partial<Record<Scene, { product: string; order: Partial<PlaceOrder>; payer?: object }>>> = {
  qr: { product: 'native', order: {} },
  h5: { product: 'h5', order: { clientIp: '192.0.2.7' } },
  app: { product: 'app', order: {} },
  jsapi: { product: 'jsapi', order: { openId: 'o1' }, payer: { sp_openid: 'o1' } },
  mini: { product: 'jsapi', order: { openId: 'o1' }, payer: { sp_openid: 'o1' } },
  code: {
    product: 'codepay',
    order: { payCode: '131234567890123456', clientIp: '192.0.2.9' },
    payer: { auth_code: '131234567890123456' },
  },
};

for (const base of [input, publicKeyInput()]) {
  const way = base.fields.publicKeyId ? 'public key' : 'certificate';

  for (const [scene, { product, order, payer }] of Object.entries(SCENES)) {
    test(`${way}: ${scene} uses the partner's path and only the partner's members`, async (t) => {
      const { channel, sent } = channelWith(() => unsigned(500), {
        pems: base.pems,
        fields: { ...base.fields, subMchId: SUB_MCHID },
      });
      await channel.place(placeOrder({ scene: scene as Scene, ...order }));
      t.is(sent[0]?.url, `https://api.mch.weixin.qq.com/v3/pay/partner/transactions/${product}`);
      const body = bodyOf(sent[0]!);
      t.like(body, { ...SP, payer, out_trade_no: 'ORDER00001', amount: { total: 1234, currency: 'CNY' } });
      for (const member of ['mchid', 'appid', 'sub_appid']) t.false(member in body, member);
    });
  }
}

test('an order with an app of the sub-merchant names both apps and the payer by the openid of that app', async (t) => {
  const { channel, sent } = channelWith(() => signed(200, { prepay_id: 'wx1' }), { fields: withApps });
  const jsapi = await channel.place(placeOrder({ scene: 'jsapi', openId: 'o1', appId: SUB_APP }));
  const mini = await channel.place(placeOrder({ scene: 'mini', openId: 'o2', appId: SUB_MINI }));
  const bySp = await channel.place(placeOrder({ scene: 'jsapi', openId: 'o3', appId: SP_JSAPI }));
  const app = await channel.place(placeOrder({ scene: 'app', appId: SUB_APP }));
  const [first, second, third] = sent.map(bodyOf);
  t.like(first, { ...BY_SUB, payer: { sub_openid: 'o1' } });
  t.like(second, { ...SP, sub_appid: SUB_MINI, payer: { sub_openid: 'o2' } });
  t.like(third, { ...SP, sp_appid: SP_JSAPI, sub_appid: undefined, payer: { sp_openid: 'o3' } });
  const params = [jsapi, mini, bySp, app].map((said) => said.kind === 'pending' && said.pay?.params);
  t.like(params[0], { appId: SUB_APP });
  t.like(params[1], { appId: SUB_MINI });
  t.like(params[2], { appId: SP_JSAPI });
  t.like(params[3], { appid: SUB_APP, partnerid: MCHID });
});

test("the apps of a scene come first, and those of the sub-merchant before the partner's", (t) => {
  const { channel } = channelWith(() => unsigned(500), { fields: withApps });
  t.deepEqual(channel.appIds?.('mini'), [SUB_MINI, SUB_APP, APP_ID, SP_JSAPI]);
  t.deepEqual(channel.appIds?.('jsapi'), [SP_JSAPI, SUB_APP, APP_ID, SUB_MINI]);
  t.deepEqual(channel.appIds?.('qr'), [SUB_APP, APP_ID, SUB_MINI, SP_JSAPI]);
  t.deepEqual(channelWith(() => unsigned(500), { fields }).channel.appIds?.('mini'), [APP_ID]);
});

test('a query, a close and a reverse name both merchants', async (t) => {
  const { channel, sent } = channelWith(() => unsigned(500), { fields });
  await channel.query(orderRef());
  await channel.close(orderRef());
  const base = 'https://api.mch.weixin.qq.com/v3/pay/partner/transactions/out-trade-no/ORDER00001';
  t.is(sent[0]?.url, `${base}?sp_mchid=${MCHID}&sub_mchid=${SUB_MCHID}`);
  t.is(sent[1]?.url, `${base}/close`);
  t.deepEqual(bodyOf(sent[1]!), { sp_mchid: MCHID, sub_mchid: SUB_MCHID });

  const unpaid = signed(200, partnerTrade({ ...BY_SUB, trade_state: 'USERPAYING', transaction_id: undefined }));
  const code = channelWith(({ method }) => (method === 'GET' ? unpaid : unsigned(500)), { fields: withApps });
  await code.channel.close(orderRef({ scene: 'code', appId: SUB_APP }));
  t.is(code.sent[1]?.url, `${base}/reverse`);
  t.deepEqual(bodyOf(code.sent[1]!), BY_SUB);
});

test('a refund, its query and its retry name the sub-merchant', async (t) => {
  const stuck = refunded({ status: 'ABNORMAL', refund_id: 'R1' });
  const { channel, sent } = channelWith(() => signed(200, stuck), { fields });
  const refund = { ...refundOrder(), channelRefundNo: null };
  await channel.refund(refund);
  await channel.queryRefund(refund);
  await channel.lookUpRefund(orderRef(), 'REFUND0002');
  await channel.retryAbnormalRefund?.(refund);
  const base = 'https://api.mch.weixin.qq.com/v3/refund/domestic/refunds';
  t.deepEqual(
    sent.map(({ method, url }) => `${method} ${url}`),
    [
      `POST ${base}`,
      `GET ${base}/REFUND0001?sub_mchid=${SUB_MCHID}`,
      `GET ${base}/REFUND0002?sub_mchid=${SUB_MCHID}`,
      `GET ${base}/REFUND0001?sub_mchid=${SUB_MCHID}`,
      `POST ${base}/R1/apply-abnormal-refund`,
    ],
  );
  t.is(bodyOf(sent[0]!).sub_mchid, SUB_MCHID);
  t.deepEqual(bodyOf(sent[4]!), { sub_mchid: SUB_MCHID, out_refund_no: 'REFUND0001', type: 'MERCHANT_BANK_CARD' });
});

test('a direct merchant sends no sub-merchant', async (t) => {
  const { channel, sent } = channelWith(() => unsigned(500));
  await channel.refund(refundOrder());
  await channel.queryRefund({ ...refundOrder(), channelRefundNo: null });
  t.false('sub_mchid' in bodyOf(sent[0]!));
  t.false(sent[1]!.url.includes('?'));
});

test('a response must match the partner, the sub-merchant and the app', async (t) => {
  const ask = async (members: object, appId?: string) => {
    const { channel } = channelWith(() => signed(200, members), { fields: withApps });
    const said = await channel.query(orderRef(appId === undefined ? {} : { appId }));
    return said.kind === 'paid' ? said.payer : said;
  };
  t.is(await ask(partnerTrade(), APP_ID), 'sp-1');
  const bySub = partnerTrade({ ...BY_SUB, payer: { sp_openid: 'sp-1', sub_openid: 'sub-1' } });
  t.is(await ask(bySub, SUB_APP), 'sub-1');
  t.is(await ask(bySub), 'sub-1');
  for (const [changes, member] of [
    [{ sub_mchid: OTHER_SUB }, 'sub_mchid'],
    [{ sub_mchid: undefined }, 'sub_mchid'],
    [{ sp_mchid: '1900000999' }, 'sp_mchid'],
    [{ sp_appid: SP_JSAPI }, 'sp_appid'],
    [{ sub_appid: SUB_MINI }, 'sub_appid'],
    [{ sub_appid: undefined }, 'sub_appid'],
    [{ out_trade_no: 'ORDER00002' }, 'out_trade_no'],
  ] as const)
    t.like(await ask({ ...bySub, ...changes }, SUB_APP), { kind: 'unknown', cause: 'mismatch' }, member);
  t.like(await ask(trade(), APP_ID), { kind: 'unknown', cause: 'mismatch' }, 'a direct merchant’s');
  const direct = await channelWith(() => signed(200, partnerTrade())).channel.query(orderRef());
  t.like(direct, { kind: 'unknown', cause: 'mismatch' }, 'a partner’s to a direct merchant');
});

test('a reversed trade must belong to this sub-merchant', async (t) => {
  const close = (reversed: object) => {
    let state = 'NOTPAY';
    const answer = ({ method }: { method: string }) => {
      if (method === 'GET')
        return signed(200, partnerTrade({ trade_state: state, transaction_id: undefined, amount: undefined }));
      state = 'REVOKED';
      return signed(200, reversed);
    };
    return channelWith(answer, { fields }).channel.close(orderRef({ scene: 'code' }));
  };
  const reversed = { ...SP, out_trade_no: 'ORDER00001' };
  t.like(await close(reversed), { kind: 'closed' });
  t.like(await close({ ...reversed, sub_mchid: OTHER_SUB }), { kind: 'unknown', cause: 'mismatch' });
  t.like(await close({ ...reversed, sp_mchid: SUB_MCHID }), { kind: 'unknown', cause: 'mismatch' });
});

test('complaints are listed and answered for the sub-merchant', async (t) => {
  const complaint = (complainted_mchid: string) => ({
    complaint_id: 'C1',
    complaint_time: '2026-03-04T13:05:00+08:00',
    complaint_state: 'PENDING',
    complainted_mchid,
    complaint_order_info: [{ transaction_id: 'T1', out_trade_no: 'ORDER00001', amount: 1234 }],
  });
  const { channel, sent } = channelWith(
    ({ url }) => signed(200, url.includes('?') ? { data: [] } : complaint(SUB_MCHID)),
    {
      fields,
    },
  );
  const desk = channel.disputes!;
  await desk.list(new Date('2026-03-04T00:00:00Z'));
  t.is(new URL(sent[0]!.url).searchParams.get('complainted_mchid'), SUB_MCHID);
  t.is((await desk.read('C1')).kind, 'found');
  await desk.finish?.('C1', 'agreed');
  t.deepEqual(bodyOf(sent[2]!), { complainted_mchid: SUB_MCHID });
  for (const stranger of [MCHID, OTHER_SUB]) {
    const other = channelWith(() => signed(200, complaint(stranger)), { fields });
    t.is((await other.channel.disputes!.read('C1')).kind, 'absent', stranger);
  }
});

for (const [what, changes] of [
  ['the partner itself', { subMchId: MCHID }],
  ['missing next to an app', { subMchId: '', subAppId: SUB_APP }],
  ['missing next to the app of a scene', { subMchId: '', subAppIdMini: SUB_MINI }],
] as const) {
  test(`a sub-merchant that is ${what} is misconfigured`, (t) => {
    const create = () => wechatKind.create({ ...input, fields: { ...fields, ...changes } });
    t.is(t.throws(create, { instanceOf: ChannelMisconfigured }).field, 'subMchId');
  });
}

test('an app of a sub-merchant requires its number, and a number requires no app', (t) => {
  const kinds = new Set(['wechat_merchant_key', 'wechat_merchant_cert']);
  t.deepEqual(wechatKind.missing('live', { ...input.fields, subAppIdApp: SUB_APP }, kinds), ['subMchId']);
  t.deepEqual(wechatKind.missing('live', fields, kinds), []);
  t.is(wechatKind.accountOf(fields), MCHID);
});

for (const [message, status, code] of [
  ['受理关系不存在', 403, 'NO_AUTH'],
  ['普通商户不允许传sub_mch_id', 400, 'PARAM_ERROR'],
] as const) {
  test(`a probe refused with ${message} reports the sub-merchant`, async (t) => {
    const { channel } = channelWith(() => signed(status, { code, message }), { fields });
    t.like(await channel.probe(), { ok: false, field: 'subMchId', code });
  });
}

test('a partner without a sub-merchant gets the missing field reported', async (t) => {
  const said = { code: 'PARAM_ERROR', message: '受理机构必须传入sub_mch_id' };
  t.like(await channelWith(() => signed(400, said)).channel.probe(), { ok: false, field: 'subMchId' });
});
