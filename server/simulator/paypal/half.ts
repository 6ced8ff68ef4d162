import { createPrivateKey } from 'node:crypto';
import type { Core, Half } from '../half.ts';
import type { FaultName } from '../faults.ts';
import type { NoticeRecord, SignedNotice } from '../notice.ts';
import { SimulatorRefusal } from '../refusal.ts';
import { duplicateFirstKey } from '../spoil.ts';
import type { Trade } from '../trade.ts';
import { moveCapture, takeMoney } from './captures.ts';
import { actOnPaypalDispute } from './disputes.ts';
import { tell, type EventFacts } from './events.ts';
import { presentOrder } from './present.ts';
import { tellRefund } from './refunds.ts';
import { mountPaypal } from './routes.ts';
import { apiUrlOf, sceneryOf } from './scenery.ts';
import { certificateId, certificatesOf, newPaypalId, newSecrets, rotate } from './secrets.ts';
import { signedHeaders } from './webhook-signature.ts';
import { FEE_RATES } from '../bills/fees.ts';

/** Seconds between deliveries: at most 25 within three days. */
const SCHEDULE = [
  60,
  120,
  300,
  600,
  1200,
  1800,
  3600,
  3600,
  7200,
  7200,
  7200,
  7200,
  14_400,
  14_400,
  14_400,
  14_400,
  ...Array.from({ length: 8 }, () => 18_000),
];

/** PayPal (Orders v2) inside the simulator. */
export const paypalHalf: Half = {
  payWay: 'paypal',
  hosts: ['api-m.paypal.com', 'api-m.sandbox.paypal.com', 'api.paypal.com', 'api.sandbox.paypal.com'],
  noticeSchedule: SCHEDULE,
  mount: mountPaypal,
  newSecrets: (core, _name, options) => newSecrets(core, options),
  configFor: ({ secrets }, core) => ({
    fields: { ...pick(secrets, ['clientId', 'clientSecret', 'webhookId', 'merchantId']), feeRate: FEE_RATES.paypal },
    pems: { paypal_simulator_ca: [core.authority.root] },
  }),
  pay: approve,
  take: (core, trade) => takeMoney(core, trade, undefined, undefined),
  twinOf(core, { details }) {
    const { requestId: _1, refundRequests: _2, disputes: _3, refusedWith: _4, ...kept } = details;
    return { id: core.trades.newNumber(newPaypalId), details: kept };
  },
  moveCapture,
  tellEvent: (core, trade, { type, resource, isTest }) => tell(core, trade, type, type, resource, isTest),
  decline: (core, trade) => core.trades.decline(trade),
  tellRefund,
  dispute: actOnPaypalDispute,
  newRefundNumber: (core) => core.trades.newNumber(newPaypalId),
  signNotice,
  acknowledged: (status) => status >= 200 && status < 300,
  rotate,
};

/** The payer agrees; the money is the merchant's to take. */
function approve(core: Core, trade: Trade): void {
  if (trade.state === 'approved') return;
  delete trade.details['refusedWith'];
  trade.details['approvedAt'] = core.clock.now();
  core.trades.approve(trade);
  const order = presentOrder(trade, sceneryOf(core, trade));
  tell(core, trade, 'CHECKOUT.ORDER.APPROVED', 'An order has been approved by buyer', order);
}

function signNotice(core: Core, notice: NoticeRecord, fault: FaultName | undefined): SignedNotice {
  const account = core.accounts.get('paypal', notice.account);
  if (!account) throw new SimulatorRefusal(404, 'no_such_account', `The account ${notice.account} does not exist.`);
  const body = bodyOf(notice, fault);
  const known = certificateId(certificatesOf(account)[0] ?? '');
  const name = fault === 'unknown-serial' ? `${known}0` : known;
  const certUrl = `${apiUrlOf(core)}/v1/notifications/certs/${name}`;
  const skew = fault === 'clock-skew' ? 600_000 : 0;
  const time = new Date(notice.createdAt - skew).toISOString();
  const { webhookId } = notice.facts as EventFacts;
  const key = fault === 'wrong-key' ? core.strangerKey : createPrivateKey(account.secrets['privateKey'] ?? '');
  const { 'PAYPAL-TRANSMISSION-SIG': signature = '', ...headers } = signedHeaders(
    body,
    { id: notice.id, time, webhookId, certUrl },
    key,
  );
  if (fault === 'no-signature') return { headers, body };
  const sent = fault === 'signtest' ? Buffer.from('SIGNTEST').toString('base64') : signature;
  return { headers: { ...headers, 'PAYPAL-TRANSMISSION-SIG': sent }, body };
}

function bodyOf({ facts }: NoticeRecord, fault: FaultName | undefined): Buffer {
  const text = JSON.stringify((facts as EventFacts).event);
  if (fault === 'duplicate-key') return Buffer.from(duplicateFirstKey(text));
  if (fault === 'wrong-amount') return Buffer.from(text.replaceAll(/"value":"(\d)/g, '"value":"9$1'));
  return Buffer.from(text);
}

function pick(from: Record<string, string>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, from[name] ?? '']));
}
