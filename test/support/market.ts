import { scopes } from '../../server/domain.ts';
import { type Call } from './admin.ts';
import { type FileService } from './file-service.ts';
import { payOrder } from './orders.ts';
import { type Merchant, until } from './service.ts';

/** An application of a test's own in a project whose three channels lead to the simulator. */
export interface Market {
  project: string;
  shop: Merchant;
  admin: Call;
  service: FileService['service'];
  /** Makes a product; 10 CNY by Alipay unless said otherwise. */
  product(settings: Record<string, unknown>): Promise<void>;
  /** An order of 10 CNY that is paid, and what is wished about it. */
  paid(request?: Record<string, unknown>): Promise<string>;
  /** From now on no notice about the order arrives: one that comes late would undo what a test does about it. */
  withoutNotifications(payWay: string, orderNo: string): Promise<void>;
  /** A paid order of WeChat Pay whose refund of 4 CNY waits for a person; the numbers of both. */
  abnormal(): Promise<{ orderNo: string; refundNo: string }>;
  /** An order for 10 CNY of which the channel says that another amount was paid; its number and the exception's id. */
  mismatch(request?: Record<string, unknown>): Promise<{ orderNo: string; id: string }>;
}

/** What an application may be allowed short of everything. */
const EVERYTHING = scopes.filter((scope) => scope !== 'admin');

type AppSettings = Parameters<FileService['shop']>[0];
/** What a market stands on. */
type Ground = Pick<FileService, 'service' | 'admin' | 'shop'>;

/** A market in the project `default`, where those of other tests are too. */
export async function openMarket(file: Ground, app: AppSettings = {}): Promise<Market> {
  return marketIn(file, 'default', app);
}

/** A market in a project of its own, for what a test does to the whole project. */
export async function openOwnMarket(file: FileService, app: AppSettings = {}): Promise<Market> {
  return marketIn(file, await file.project(), app);
}

/** A market in a project that tests of a file share. */
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
