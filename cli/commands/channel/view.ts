import type { Resource } from '../../resource.ts';

/** The channels, by their wire name. */
export const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;

/** Channel configurations: one for each project and channel. */
export const channel: Resource = {
  noun: 'channel',
  plural: 'channel configurations',
  path: '/api/v1/payment/config',
  idName: 'payWay',
  inProject: true,
  view: {
    noun: 'channel',
    id: 'payWay',
    columns: [
      { field: 'payWay', title: 'CHANNEL', kind: 'id' },
      { field: 'mode', kind: 'status' },
      { field: 'enabled', kind: 'yesno' },
      { field: 'status', kind: 'status' },
      { field: 'fault' },
      { field: 'account' },
      { field: 'version', kind: 'id' },
      { field: 'missing' },
      { field: 'project' },
      { field: 'updatedAt', kind: 'time' },
      { field: 'refusedNotices.why', title: 'REFUSED NOTICES' },
      { field: 'lastNoticeAt', title: 'LAST NOTICE', kind: 'time' },
    ],
  },
  fields: [],
};
