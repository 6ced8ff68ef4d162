import { scopes } from '../../server/domain.ts';
import { type Call } from './admin.ts';
import { type FileService } from './file-service.ts';
import { payOrder } from './orders.ts';
import { type Merchant, until } from './service.ts';

/** An application of one test in a project whose three channels use the simulator. */
export interface Market {
  project: string;
  shop: Merchant;
  admin: Call;
  service: FileService['service'];
  /** Creates a product; by default 10 CNY, paid with Alipay. */
  product(settings: Record<string, unknown>): Promise<void>;
  /** Places a paid order of 10 CNY, with the given changes. */
  paid(request?: Record<string, unknown>): Promise<string>;
  /** From now on no notification about the order arrives: a late one would undo the test's changes. */
  withoutNotifications(payWay: string, orderNo: string): Promise<void>;
  /** Places a paid order of WeChat Pay whose refund of 4 CNY needs manual review; returns both numbers. */
  abnormal(): Promise<{ orderNo: string; refundNo: string }>;
  /** Places an order for 10 CNY for which the channel reports another amount; returns its number and the exception's id. */
  mismatch(request?: Record<string, unknown>): Promise<{ orderNo: string; id: string }>;
}

/** The permissions of an application without full access. */
const EVERYTHING = scopes.filter((scope) => scope !== 'admin');

type AppSettings = Parameters<FileService['shop']>[0];
/** The base of a market. */
type Ground = Pick<FileService, 'service' | 'admin' | 'shop'>;

/** A market in the project `default`, which other tests share. */
export async function openMarket(file: Ground, app: AppSettings = {}): Promise<Market> {
  return marketIn(file, 'default', app);
}

/** A market in its own project, for tests that change the whole project. */
export async function openOwnMarket(file: FileService, app: AppSettings = {}): Promise<Market> {
  return marketIn(file, await file.project(), app);
}

/** A market in a project that the tests of a file share. */
export async function marketIn(
  { service, admin, shop }: Ground,
  project: string,
  app: AppSettings = {},
): Promise<Market> {
  const merchant = await shop({ scopes: [...EVERYTHING], ...app, project });
  const place = async (path: string, body: object) => {
    const answer = await admin('POST', `${path}?project=${project}`, body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  };
  const paid: Market['paid'] = (request = {}) => payOrder(service, merchant, request);
  const withoutNotifications: Market['withoutNotifications'] = async (payWay, orderNo) => {
    await service.sim('/sim/faults', { payWay, call: 'notice', fault: 'drop-notify', orderNo, probability: 1 });
  };
  return {
    withoutNotifications,
    project,
    shop: merchant,
    admin,
    service,
    product: (settings) =>
      place('/api/v1/products', {
        name: 'Tea',
        kind: 'goods',
        price: 10,
        currency: 'CNY',
        payWays: ['alipay'],
        ...settings,
      }),
    paid,
    abnormal: async () => {
      const orderNo = await paid({ payWay: 'wechat' });
      await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'abnormal-refund', orderNo });
      await withoutNotifications('wechat', orderNo);
      const refund = await merchant.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
      const { refundNo } = refund.body.data;
      await until('the refund is abnormal', async () => {
        const { body } = await admin('POST', `/api/v1/refunds/${refundNo}/sync`);
        return body.data.status === 'abnormal';
      });
      return { orderNo, refundNo };
    },
    mismatch: async (request = {}) => {
      const asked = { subject: 'Test', amount: 10, payWay: 'wechat', ...request };
      const { orderNo } = (await merchant.call('POST', '/api/v2/payment/pay', asked)).body.data;
      await service.sim('/sim/faults', { payWay: 'wechat', call: 'query', fault: 'wrong-amount', orderNo, times: 1 });
      await service.sim('/sim/faults', {
        payWay: 'wechat',
        call: 'notice',
        fault: 'drop-notify',
        orderNo,
        probability: 1,
      });
      await service.sim('/sim/pay', { orderNo });
      await admin('POST', `/api/v1/orders/${orderNo}/sync`);
      const { data } = (await admin('GET', `/api/v1/exceptions?orderNo=${orderNo}`)).body;
      if (data[0]?.kind !== 'amount_mismatch') throw new Error(JSON.stringify(data));
      return { orderNo, id: data[0].id };
    },
  };
}
