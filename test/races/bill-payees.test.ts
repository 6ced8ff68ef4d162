import test, { type ExecutionContext } from 'ava';
import type { BillRow } from '../../server/db/entities/bills.ts';
import { CHANNEL_KINDS } from '../../server/channels/registry.ts';
import { settlement } from '../../server/payments/bills/settlement.ts';
import type { PayWay } from '../../server/payments/channel.ts';
import { firstAdmin, madeOffline } from '../support/admin.ts';
import { atNoon } from '../support/billed-shop.ts';
import { configureAs, type Shop } from './changed-identity.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { type Merchant, type Service, startService, until } from '../support/service.ts';

const DAY_SECONDS = 86_400;

/** Projects with shops of their own at one channel, at noon in Beijing; jobs run only when the test runs them. */
async function market(t: ExecutionContext, payWay: PayWay) {
  const service = await startService(t);
  const { store } = service.app;
  const { advance, day } = await atNoon(service);
  const { logIn } = await firstAdmin(service);
  return {
    service,
    day,
    project,
    configure,
    tryToConfigure,
    handedOver,
    limitedTo,
    shop,
    advance,
    nextDay,
    read,
    bills,
    lines,
    differences,
    settled,
    fetch,
  };

  /** A shop of a project; `account` and `what` select the simulator data for its configuration. */
  async function shop(code: string, account: string, what?: string): Promise<Shop> {
    const on = await project(code);
    if (what === undefined) await configure(on, await handedOver(account));
    else await configureAs(on, account, what);
    return on;
  }

  async function project(code: string): Promise<Shop> {
    const made = await (await logIn()).call('POST', '/api/v1/projects', { code, name: code });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    return { service, shop: await service.merchant({ project: code }), logIn, payWay, project: code };
  }

  /** The data that the simulator issues for an account. */
  async function handedOver(account: string): Promise<Record<string, unknown>> {
    const given = await service.sim(`/sim/config?account=${account}`);
    const { fields, pems } = given[payWay] as unknown as { fields: object; pems: object };
    return { ...fields, ...pems };
  }

  /** An administrator with access to one project only. */
  async function limitedTo(code: string) {
    return madeOffline(service, `of-${code}`, { role: 'operator', projects: [code] });
  }

  async function configure(of: Shop, fields: Facts): Promise<void> {
    const status = await tryToConfigure(of, fields);
    if (status !== 200) throw new Error(`config: ${status}`);
  }

  /** Writes a configuration as an administrator or as an application of the project; returns the status. */
  async function tryToConfigure({ project: code }: Shop, fields: Facts, by?: Merchant): Promise<number> {
    const sent = { mode: 'simulator', ...fields };
    const path = `/payment/config/${payWay}`;
    if (by) return (await by.call('POST', `/api/v2${path}`, sent)).status;
    return (await (await logIn()).call('POST', `/api/v1${path}?project=${code}`, sent)).status;
  }

  async function nextDay(): Promise<void> {
    await advance(DAY_SECONDS + 4 * 3600);
    await read();
  }

  /** Plans and runs all due bill and difference work. */
  async function read(): Promise<void> {
    await service.app.bills.plan();
    await service.app.bills.sweep.once();
  }

  async function bills(): Promise<BillRow[]> {
    return store.read((tx) => tx.bills.list({ payWay, day }, { orderBy: { account: 'asc' } }));
  }

  /** The order numbers of the counted lines, by the account of the bill. */
  async function lines(): Promise<Record<string, string[]>> {
    const found: Record<string, string[]> = {};
    for (const { billNo, reading, account } of await bills()) {
      if (reading === 0) continue;
      const rows = await store.read((tx) => tx.billLines.list({ billNo, reading }));
      found[account] = rows.map(({ orderNo }) => orderNo ?? '').toSorted();
    }
    return found;
  }

  async function differences(): Promise<string[]> {
    const rows = await store.read((tx) => tx.billDifferences.list({}));
    return rows.map(({ project, kind, orderNo, state }) => `${project} ${kind} ${orderNo} ${state}`).toSorted();
  }

  async function settled(of?: string) {
    const { ports } = service.app;
    return settlement(ports)({ mode: 'simulator', payWay, from: day, to: day, ...(of && { project: [of] }) });
  }

  /** Runs `payctl bill fetch` for a project's bill of the day; returns the bill row. */
  async function fetch(of: string): Promise<BillRow> {
    const { status, body } = await (await logIn()).call('POST', '/api/v1/bills', { project: of, payWay, day });
    if (status !== 200) throw new Error(`fetch: ${status} ${JSON.stringify(body)}`);
    await service.app.bills.sweep.once();
    return (await store.read((tx) => tx.bills.find({ billNo: body.data.billNo })))!;
  }
}

const place = ({ shop, payWay }: Shop) =>
  placeOrder(shop, { payWay, amount: 10, ...(payWay === 'paypal' && { currency: 'USD' }) });

async function paid(on: Shop): Promise<string> {
  const orderNo = await place(on);
  const { service, payWay } = on;
  await service.sim(payWay === 'paypal' ? '/sim/approve' : '/sim/pay', { orderNo });
  await until(`${orderNo} paid`, async () => {
    await service.app.sweep.once();
    return (await stateOf(service, orderNo)) === 'paid';
  });
  return orderNo;
}

/** The payer pays, and the service learns of it only from the bill. */
async function paidUntold(on: Shop, day: string): Promise<string> {
  const orderNo = await place(on);
  await on.service.sim('/sim/bills/plants', { kind: 'paid_unknown_to_us', payWay: on.payWay, date: day, orderNo });
  return orderNo;
}

/** Two merchants behind one account: under a partner, or by two tokens of an app. */
const TWO_MERCHANTS = {
  wechat: { first: 'public-key', second: 'sub-merchant' },
  alipay: { first: 'merchant', second: 'merchant' },
} as const;

async function accountFor(service: Service, payWay: PayWay, name: string): Promise<void> {
  await service.sim('/sim/accounts', { payWay, name, ...(payWay === 'wechat' && { partner: true }) });
}

for (const payWay of ['wechat', 'alipay'] as const)
  test(`${payWay}: two merchants behind one account have a bill each, and the lost payments of both are found`, async (t) => {
    const on = await market(t, payWay);
    await accountFor(on.service, payWay, 'partner');
    const pa = await on.shop('pa', 'partner', TWO_MERCHANTS[payWay].first);
    const ours = [await paid(pa), await paidUntold(pa, on.day)];
    const pb = await on.shop('pb', 'partner', TWO_MERCHANTS[payWay].second);
    const theirs = [await paid(pb), await paidUntold(pb, on.day)];
    await on.nextDay();
    await on.read();
    const lines = await on.lines();
    t.deepEqual(Object.values(lines).toSorted(), [ours.toSorted(), theirs.toSorted()].toSorted());
    t.is(new Set((await on.bills()).filter(({ reading }) => reading > 0).map(({ account }) => account)).size, 2);
    t.deepEqual(
      await on.differences(),
      [`pa paid_unknown_to_us ${ours[1]} healed`, `pb paid_unknown_to_us ${theirs[1]} healed`].toSorted(),
    );
    for (const orderNo of [...ours, ...theirs]) t.is(await stateOf(on.service, orderNo), 'paid');
    const bill = await on.fetch('pb');
    t.like(bill, { project: 'pb', state: 'done', lines: 2, notOurs: 0, fault: null });
    t.like((await on.settled('pb')).totals[0], { payments: 2, grossMinor: 2000 });
  });

for (const payWay of ['wechat', 'alipay'] as const)
  test(`${payWay}: a day on which a project changes its merchant has a bill of each, and is reread with the former merchant`, async (t) => {
    const on = await market(t, payWay);
    await accountFor(on.service, payWay, 'partner');
    const shop = await on.shop('pa', 'partner', TWO_MERCHANTS[payWay].first);
    const before = [await paid(shop), await paidUntold(shop, on.day)];
    await configureAs(shop, 'partner', TWO_MERCHANTS[payWay].second);
    const after = [await paid(shop), await paidUntold(shop, on.day)];
    await on.nextDay();
    await on.read();
    const lines = await on.lines();
    t.deepEqual(Object.values(lines).toSorted(), [before.toSorted(), after.toSorted()].toSorted());
    t.deepEqual(
      (await on.differences()).map((line) => line.replace(/P\w+/, '')),
      ['pa paid_unknown_to_us  healed', 'pa paid_unknown_to_us  healed'],
    );
    const settled = await on.settled();
    t.like(settled.totals[0], { payments: 4, grossMinor: 4000 });
    await on.advance(DAY_SECONDS);
    await on.read();
    t.deepEqual(await on.lines(), lines, 'read again a day later');
    t.deepEqual(await on.settled(), settled);
    t.deepEqual([settled.missing, settled.shrunk, settled.disagreements], [[], [], []]);
  });

for (const payWay of ['alipay', 'paypal'] as const)
  test(`${payWay}: two apps of one merchant share one bill, requested by either app, and it counts once`, async (t) => {
    const on = await market(t, payWay);
    await on.service.sim('/sim/accounts', {
      payWay,
      name: 'second',
      merchantOf: 'default',
      notifyUrl: `${on.service.url}/notify/${payWay}/pb`,
    });
    const pa = await on.shop('pa', 'default');
    const ours = [await paid(pa), await paidUntold(pa, on.day)];
    const pb = await on.shop('pb', 'second');
    const theirs = await paidUntold(pb, on.day);
    await on.nextDay();
    await on.read();
    const lines = await on.lines();
    t.deepEqual(Object.values(lines), [[...ours, theirs].toSorted()]);
    t.deepEqual(
      await on.differences(),
      [`pa paid_unknown_to_us ${ours[1]!} healed`, `pb paid_unknown_to_us ${theirs} healed`].toSorted(),
    );
    t.is(await stateOf(on.service, theirs), 'paid');
    const { totals, days, missing } = await on.settled();
    t.deepEqual([totals[0]?.payments, totals[0]?.grossMinor], [3, 3000]);
    t.deepEqual(days.map(({ project, payments }) => [project, payments]).toSorted(), [
      ['pa', 2],
      ['pb', 1],
    ]);
    t.deepEqual(missing, []);
    const bill = await on.fetch('pb');
    t.like(bill, { state: 'done', lines: 3, notOurs: 0, fault: null });
    t.deepEqual(Object.keys(lines), [bill.account]);
  });

/**
 * The fields that another project can write into its configuration without the keys of the account that it names: each non-secret
 * account field alone, all together, with another rate, and the channel's fields for merchants under a partner.
 */
function claimsOf(payWay: PayWay, own: Facts, victim: Facts): Facts[] {
  const open = CHANNEL_KINDS.get(payWay)!.fields.filter(({ name, secret }) => !secret && victim[name] !== undefined);
  const named = Object.fromEntries(open.map(({ name }) => [name, victim[name]]));
  return [
    ...open.map(({ name }) => ({ ...own, [name]: victim[name] })),
    { ...own, ...named },
    { ...own, ...named, feeRate: '0.9' },
    ...(payWay === 'alipay' ? [{ ...own, ...named, appAuthToken: '202611BBsomebodyelses' }] : []),
    ...(payWay === 'wechat'
      ? [
          { ...own, subMchId: victim['mchid'] },
          { ...own, mchid: victim['mchid'], merchantSerial: null },
        ]
      : []),
  ];
}

type Facts = Record<string, unknown>;

for (const payWay of ['alipay', 'wechat', 'paypal'] as const)
  test(`${payWay}: a project that names another project's account without its keys does not change its bills`, async (t) => {
    const on = await market(t, payWay);
    await on.service.sim('/sim/accounts', {
      payWay,
      name: 'another',
      notifyUrl: `${on.service.url}/notify/${payWay}/pb`,
    });
    const pb = await on.shop('pb', 'default');
    const orders = [await paid(pb), await paidUntold(pb, on.day)];
    const own = await on.handedOver('another');
    const victim = await on.handedOver('default');
    const victimAccount = CHANNEL_KINDS.get(payWay)!.accountOf(victim as Record<string, string>);
    // The project code sorts first, so its claims are planned first.
    const thieves: Shop[] = [];
    const claims = claimsOf(payWay, own, victim);
    for (const [at, claim] of claims.entries()) {
      const thief = await on.project(`a${at}`);
      // An application writes the last configuration.
      const by =
        at === claims.length - 1
          ? await on.service.merchant({ project: `a${at}`, scopes: ['config:write', 'cert:manage'], trusted: true })
          : undefined;
      const status = await on.tryToConfigure(thief, claim, by);
      if (status === 200) thieves.push(thief);
      else t.is(status, 400, 'a configuration that does not fit the keys is refused');
    }
    t.log(`${thieves.length} of ${claims.length} claims are configurations`);
    t.true(thieves.length >= 3);
    await on.nextDay();
    await on.read();
    const mine = (await on.bills()).filter(({ project }) => project === 'pb');
    t.is(mine.length, 1);
    t.like(mine[0], { state: 'done', lines: 2, notOurs: 0, fault: null });
    t.deepEqual(await on.differences(), [`pb paid_unknown_to_us ${orders[1]} healed`]);
    const others = (await on.bills()).filter(({ project }) => project !== 'pb');
    t.deepEqual(
      others.filter(({ lines, reading }) => reading > 0 && lines > 0),
      [],
      'nothing of it is read for another',
    );
    t.is((await on.fetch('pb')).billNo, mine[0]!.billNo);
    t.like((await on.settled('pb')).totals[0], { payments: 2 });
    t.deepEqual((await on.settled('pb')).missing, []);
    const limited = await on.limitedTo('pb');
    const shown = await limited('GET', `/api/v1/bills/${mine[0]!.billNo}`);
    t.is(shown.status, 200, 'an administrator of the project alone');
    t.is(
      (await limited('GET', `/api/v1/bills?payWay=${payWay}`)).body.data.some(
        (one: BillRow) => one.billNo === mine[0]!.billNo,
      ),
      true,
    );
    t.is((await limited('POST', '/api/v1/bills', { payWay, day: on.day, project: 'pb' })).status, 200);
    const peeper = await on.limitedTo(thieves[0]!.project!);
    t.is((await peeper('GET', `/api/v1/bills/${mine[0]!.billNo}`)).status, 404);
    // A claim that was never proven is deleted once the configuration is corrected.
    for (const thief of thieves) await on.configure(thief, { ...own, ...NAMED_NO_MORE[payWay] });
    await on.advance(DAY_SECONDS);
    await on.read();
    const { missing } = await on.settled();
    t.deepEqual(
      missing.filter(({ account }) => account.startsWith(`${victimAccount.slice(0, 40)}@`)),
      [],
    );
    await on.advance(9 * DAY_SECONDS);
    for (let turn = 0; turn < 2; turn += 1) await on.read();
    const rows = await on.service.app.store.read((tx) => tx.bills.list({ payWay }));
    t.deepEqual(
      rows.filter(({ account, day }) => account.startsWith(`${victimAccount.slice(0, 40)}@`) && day > on.day),
      [],
      'it has no requested bills either',
    );
  });

const NAMED_NO_MORE: Readonly<Record<PayWay, Facts>> = {
  alipay: { appAuthToken: null },
  wechat: { subMchId: null },
  paypal: {},
};

test("wechat: a sub-merchant of a partner has its own payments from the partner's bill and no others", async (t) => {
  const on = await market(t, 'wechat');
  await on.service.sim('/sim/accounts', { payWay: 'wechat', name: 'partner', partner: true, small: true });
  const small = await on.shop('small', 'partner');
  const ours = [await paid(small), await paidUntold(small, on.day)];
  const other = await on.shop('other', 'partner', 'sub-merchant');
  const theirs = await paid(other);
  await on.nextDay();
  await on.read();
  t.deepEqual(Object.values(await on.lines()).toSorted(), [ours.toSorted(), [theirs]].toSorted());
  const mine = (await on.bills()).find(({ project }) => project === 'small');
  t.like(mine, { state: 'done', lines: 2, notOurs: 0, fault: null, totals: [{ payments: 2, paid: '2000' }] });
  t.deepEqual(await on.differences(), [`small paid_unknown_to_us ${ours[1]!} healed`]);
  const settled = await on.settled();
  t.like(settled.totals[0], { payments: 3, grossMinor: 3000 });
  t.deepEqual([settled.missing, settled.disagreements], [[], []]);
});

test("wechat: a refund made in a sub-merchant's portal on a day without payments is found", async (t) => {
  const on = await market(t, 'wechat');
  await on.service.sim('/sim/accounts', { payWay: 'wechat', name: 'partner', partner: true, small: true });
  const small = await on.shop('small', 'partner');
  const orderNo = await paid(small);
  await on.advance(DAY_SECONDS);
  const date = on.service.clock.now().toISOString().slice(0, 10);
  await on.service.sim('/sim/bills/plants', { kind: 'refund_unknown_to_us', payWay: 'wechat', date, orderNo });
  for (let days = 0; days < 2; days += 1) {
    await on.nextDay();
    await on.read();
  }
  t.deepEqual(await on.differences(), [`small refund_unknown_to_us ${orderNo} healed`]);
});

test('wechat: an unpaid sub-merchant order whose payment was unreported, alone on its day, is found', async (t) => {
  const on = await market(t, 'wechat');
  await on.service.sim('/sim/accounts', { payWay: 'wechat', name: 'partner', partner: true, small: true });
  const small = await on.shop('small', 'partner');
  const orderNo = await paidUntold(small, on.day);
  await on.nextDay();
  await on.read();
  t.deepEqual(await on.differences(), [`small paid_unknown_to_us ${orderNo} healed`]);
});
