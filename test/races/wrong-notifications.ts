import { hash } from 'node:crypto';
import type { PayWay } from '../../server/payments/channel.ts';
import type { Delivery } from '../../server/simulator/notification.ts';
import type { Envelope, Facts, Forger } from './forge.ts';

/** The material of the wrong messages. */
export interface Scene {
  forger: Forger;
  /** The service's own address. */
  url: string;
  /** Facts that report the victim as paid, correct in every member. */
  template: Facts;
  donor: Delivery;
  victim: string;
  /** An order of the other project at the same channel. */
  foreign: string;
  /** An order of ours at another channel. */
  elsewhere: string;
  refundNo: string;
  otherCertUrl: string;
}

/** A message with a genuine signature that must not be accepted. */
export interface Wrong {
  name: string;
  account?: string;
  project?: string;
  facts?: Facts;
  envelope?: Envelope;
}

/** Every class of validly signed but wrong messages at one channel. */
export function wrongMessages(payWay: PayWay, scene: Scene): Wrong[] {
  const { template, foreign, elsewhere } = scene;
  const about = (orderNo: string): Facts => withOrder(payWay, template, orderNo, 'NONE');
  return [
    { name: 'to the address of another project', project: 'other' },
    { name: 'to the address of a project that does not exist', project: 'nobody' },
    { name: 'by another account, with our order number', account: 'other' },
    { name: 'by another account, at its own address', account: 'other', project: 'other' },
    { name: 'an unknown number', facts: about('P20300101000000ABCDEFGHJK') },
    { name: 'a number that is none', facts: about("' or 1=1 --") },
    { name: 'no number', facts: about('') },
    { name: 'an order of another project', facts: about(foreign) },
    { name: 'an order of another project, at its address', facts: about(foreign), project: 'other' },
    { name: 'an order of ours at another channel', facts: about(elsewhere) },
    ...ONLY[payWay](scene),
  ];
}

const ONLY: Record<PayWay, (scene: Scene) => Wrong[]> = {
  alipay({ template, forger, refundNo }) {
    const other = forger.secretsOf('alipay', 'other');
    const facts = (changes: Facts): Facts => ({ ...template, ...changes });
    const refunded = { gmt_refund: '2030-01-01 00:00:00.000', refund_fee: '4.00' };
    return [
      { name: 'another app_id', facts: facts({ app_id: other['appId'] }) },
      { name: 'no app_id', facts: facts({ app_id: '' }) },
      { name: 'another seller', facts: facts({ seller_id: other['sellerId'] }) },
      {
        name: 'our ids, the key of another account',
        facts: facts({}),
        envelope: { secrets: { alipayKey: other['alipayKey'] ?? '' } },
      },
      { name: 'a smaller amount', facts: facts({ total_amount: '0.01' }) },
      { name: 'a larger amount', facts: facts({ total_amount: '10.01' }) },
      { name: 'no amount', facts: facts({ total_amount: '' }) },
      { name: 'an amount with an exponent', facts: facts({ total_amount: '1e1' }) },
      { name: 'an amount with three decimals', facts: facts({ total_amount: '10.0001' }) },
      { name: 'no trade number', facts: facts({ trade_no: '' }) },
      { name: 'an unknown state', facts: facts({ trade_status: 'TRADE_WONDERFUL' }) },
      { name: 'a word in small letters', facts: facts({ trade_status: 'trade_success' }) },
      { name: 'a payer who is still there', facts: facts({ trade_status: 'WAIT_BUYER_PAY' }) },
      { name: 'no id of the message', envelope: { id: '' } },
      { name: 'a refund of another order', facts: facts({ ...refunded, out_biz_no: refundNo, total_amount: '0.01' }) },
    ];
  },
  wechat({ template, forger, refundNo, victim, foreign }) {
    const other = forger.secretsOf('wechat', 'other');
    const isPartner = template['sp_mchid'] !== undefined;
    const [mchid, appid] = isPartner ? ['sp_mchid', 'sp_appid'] : ['mchid', 'appid'];
    const { [mchid]: own, sub_mchid } = template;
    const amount = template['amount'] as Facts;
    const facts = (changes: Facts): Facts => ({ ...template, ...changes });
    const refund = (changes: Facts): Wrong => ({
      name: `a refund: ${JSON.stringify(changes)}`,
      facts: {
        [mchid]: own,
        ...(isPartner ? { sub_mchid } : {}),
        transaction_id: template['transaction_id'],
        out_trade_no: victim,
        refund_id: '50300000000000000000000000001',
        out_refund_no: refundNo,
        refund_status: 'SUCCESS',
        success_time: '2030-01-01T00:00:00+08:00',
        user_received_account: 'somebody',
        amount: { total: 1000, refund: 400, payer_total: 1000, payer_refund: 400 },
        ...changes,
      },
      envelope: { event: 'REFUND.SUCCESS' },
    });
    return [
      { name: 'another mchid', facts: facts({ [mchid]: other['mchid'] }) },
      { name: 'another appid', facts: facts({ [appid]: other['appId'] }) },
      { name: 'no mchid', facts: facts({ [mchid]: undefined }) },
      ...(isPartner ? wrongSubs(template, other) : []),
      {
        name: 'encrypted with the APIv3 key of another account',
        envelope: { secrets: { apiV3Key: other['apiV3Key'] ?? '' } },
      },
      {
        name: 'our ids, the keys of another account',
        envelope: { secrets: { platformKeys: other['platformKeys'] ?? '', publicKeys: other['publicKeys'] ?? '' } },
      },
      { name: 'a smaller amount', facts: facts({ amount: { ...amount, total: 1 } }) },
      { name: 'a larger amount', facts: facts({ amount: { ...amount, total: 100_000 } }) },
      { name: 'another currency', facts: facts({ amount: { ...amount, currency: 'USD' } }) },
      { name: 'an amount as text', facts: facts({ amount: { ...amount, total: '1000' } }) },
      { name: 'a fraction of a fen', facts: facts({ amount: { ...amount, total: 1000.5 } }) },
      { name: 'no amount', facts: facts({ amount: undefined }) },
      { name: 'not paid', facts: facts({ trade_state: 'NOTPAY' }) },
      { name: 'an unknown state', facts: facts({ trade_state: 'PAID' }) },
      { name: 'no transaction number', facts: facts({ transaction_id: '' }) },
      { name: 'no id of the message', envelope: { id: '' } },
      refund({}),
      refund({ [mchid]: other['mchid'] }),
      refund({ out_refund_no: '' }),
      refund({ out_trade_no: foreign }),
      refund({ out_refund_no: refundNo, refund_status: 'CLOSED' }),
    ];
  },
  paypal({ template, forger, url, refundNo, victim, donor, otherCertUrl }) {
    const other = forger.secretsOf('paypal', 'other');
    const resource = template['resource'] as Facts;
    const facts = (changes: Facts, inside: Facts = {}): Facts => ({
      ...template,
      ...changes,
      resource: { ...resource, ...inside },
    });
    const said = (event_type: string, inside: Facts = {}): Wrong => ({
      name: event_type,
      facts: facts({ event_type }, inside),
    });
    return [
      { name: 'for another webhook', envelope: { secrets: { webhookId: other['webhookId'] ?? '' } } },
      {
        name: 'our webhook, the key of another account',
        envelope: { secrets: { privateKey: other['privateKey'] ?? '' } },
      },
      {
        name: 'our webhook, key and certificate of another account',
        envelope: { certUrl: otherCertUrl, secrets: { privateKey: other['privateKey'] ?? '', webhookId: 'WH-0' } },
      },
      {
        name: 'a certificate of an unknown issuer',
        envelope: { certUrl: 'https://api.paypal.com.example.org/v1/notifications/certs/CERT-1' },
      },
      { name: 'a certificate from this service', envelope: { certUrl: `${url}/health` } },
      { name: 'a certificate from a file', envelope: { certUrl: 'file:///etc/passwd' } },
      said('CHECKOUT.ORDER.APPROVED', { status: 'COMPLETED' }),
      said('CHECKOUT.ORDER.COMPLETED', { status: 'COMPLETED' }),
      said('PAYMENT.CAPTURE.COMPLETED', {
        status: 'COMPLETED',
        custom_id: victim,
        amount: { value: '10.00', currency_code: 'USD' },
      }),
      said('PAYMENT.CAPTURE.COMPLETED', {
        status: 'COMPLETED',
        custom_id: victim,
        amount: { value: '0.01', currency_code: 'USD' },
      }),
      said('PAYMENT.CAPTURE.COMPLETED', {
        status: 'COMPLETED',
        custom_id: victim,
        amount: { value: '10.00', currency_code: 'JPY' },
      }),
      said('PAYMENT.CAPTURE.REFUNDED', { id: '1AB00000000000000', custom_id: victim, invoice_id: refundNo }),
      said('PAYMENT.CAPTURE.REFUNDED', {
        id: '1AB00000000000000',
        custom_id: victim,
        invoice_id: 'R20300101000000ABCDEFGHJK',
      }),
      said('PAYMENT.CAPTURE.REVERSED', { id: '1AB00000000000000', custom_id: donor.orderNo, invoice_id: 'nothing' }),
      said('PAYMENT.CAPTURE.DENIED', { custom_id: victim }),
      said('SOMETHING.NEW', {}),
      {
        name: 'the paid order of another number',
        facts: facts({}, { id: (forger.factsOf(donor)['resource'] as Facts)['id'] }),
      },
    ];
  },
};

/** The same facts about another order. */
export function withOrder(payWay: PayWay, facts: Facts, orderNo: string, channelOrderId: string): Facts {
  if (payWay === 'alipay') return { ...facts, out_trade_no: orderNo, trade_no: `20300101${digitsOf(orderNo)}` };
  if (payWay === 'wechat') return { ...facts, out_trade_no: orderNo, transaction_id: `42000000${digitsOf(orderNo)}` };
  const resource = facts['resource'] as Facts;
  const numbers = { custom_id: orderNo, invoice_id: orderNo };
  const [unit] = (resource['purchase_units'] ?? []) as Facts[];
  // A capture names its order; an order is named by its own id.
  const its = unit
    ? { id: channelOrderId, custom_id: orderNo, purchase_units: [{ ...unit, ...numbers }] }
    : { ...numbers, supplementary_data: { related_ids: { order_id: channelOrderId } } };
  return { ...facts, id: `WH-${orderNo}`, resource: { ...resource, ...its } };
}

/** Twenty digits, the same for the same order. */
function digitsOf(orderNo: string): string {
  return BigInt(`0x${hash('sha256', orderNo)}`)
    .toString()
    .slice(0, 20);
}

/** Partner messages about another sub-merchant, or about none. */
function wrongSubs(template: Facts, other: Record<string, string>): Wrong[] {
  const { sp_mchid, sub_mchid, sp_appid, sub_appid: _, ...rest } = template;
  return [
    { name: 'another sub-merchant', facts: { ...template, sub_mchid: other['mchid'] } },
    { name: 'no sub-merchant', facts: { ...template, sub_mchid: undefined } },
    { name: 'another app of the sub-merchant', facts: { ...template, sub_appid: other['appId'] } },
    { name: 'the partner as a direct merchant', facts: { ...rest, mchid: sp_mchid, appid: sp_appid } },
    { name: 'the sub-merchant as a direct merchant', facts: { ...rest, mchid: sub_mchid, appid: sp_appid } },
  ];
}
