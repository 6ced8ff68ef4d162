import type { View } from '../../values.ts';

/** A certificate id for examples. */
export const CERT_ID = '01935b2e-7c41-7a90-9d3f-5f0c2b6e8a17';

/** The console's path of certificates. */
export const CERTS = '/api/v1/certs';

/** How certificates are shown. */
export const VIEW: View = {
  noun: 'cert',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'kind', kind: 'id' },
    { field: 'isDefault', title: 'DEFAULT', kind: 'yesno' },
    { field: 'trust', kind: 'status' },
    { field: 'mode', kind: 'id' },
    { field: 'account', kind: 'id' },
    { field: 'daysLeft', title: 'DAYS LEFT', kind: 'id' },
    { field: 'serialNumber', title: 'SERIAL' },
    { field: 'subject' },
    { field: 'name' },
    { field: 'project' },
    { field: 'fingerprint' },
    { field: 'trustedBy', title: 'TRUSTED BY' },
    { field: 'trustedAt', title: 'TRUSTED AT', kind: 'time' },
    { field: 'createdBy', title: 'UPLOADED BY' },
    { field: 'notAfter', kind: 'time' },
  ],
};

/** The kinds that the service keeps. */
export const KINDS = [
  'alipay_app_cert',
  'alipay_public_cert',
  'alipay_root_cert',
  'alipay_public_key',
  'alipay_app_key',
  'wechat_merchant_cert',
  'wechat_merchant_key',
  'wechat_platform_cert',
  'wechat_public_key',
  'paypal_webhook_intermediate',
  'paypal_simulator_ca',
] as const;

/** The modes that an account can have. */
export const MODES = ['simulator', 'sandbox', 'live'] as const;
