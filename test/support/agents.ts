import { createPublicKey, createPrivateKey, verify } from 'node:crypto';
import { firstAdmin, type Admin } from './admin.ts';
import type { Answer, Service } from './service.ts';

/** The decoded `Payment-Needed`. */
interface Bill {
  protocol: Record<string, string>;
  method: Record<string, string>;
}

/** Lets the project `default` accept payments by Alipay's agents; returns its administrator. */
export async function takeAgents(service: Service, agentServiceId = 'API_7F3A'): Promise<Admin> {
  await service.app.prepare();
  const admin = await firstAdmin(service);
  const settings = { mode: 'simulator', agentServiceId, agentSellerName: 'Tea house' };
  const { status, body } = await admin.call('POST', '/api/v1/payment/config/alipay?project=default', settings);
  if (status > 201) throw new Error(JSON.stringify(body));
  return admin;
}

/** The bill of any 402. */
export function billOf(answer: Answer | Response): Bill {
  return JSON.parse(Buffer.from(answer.headers.get('payment-needed') ?? '', 'base64url').toString()) as Bill;
}

/** Whether the seller signed the bill, by the published steps: eight fields sorted, joined, RSA2. */
export function isSigned({ protocol, method }: Bill, appKeyPem: string): boolean {
  const facts: Record<string, string | undefined> = { ...protocol, ...method };
  const names = [
    'amount',
    'currency',
    'goods_name',
    'out_trade_no',
    'pay_before',
    'resource_id',
    'seller_id',
    'service_id',
  ];
  const text = names.filter((name) => facts[name]).map((name) => `${name}=${facts[name]}`);
  const key = createPublicKey(createPrivateKey(appKeyPem));
  return verify(
    'RSA-SHA256',
    Buffer.from(text.join('&')),
    key,
    Buffer.from(protocol['seller_signature'] ?? '', 'base64'),
  );
}

/** The agent pays at Alipay, in its own session or the given one; returns the value of `Payment-Proof`. */
export async function payBill(service: Service, answer: Answer | Response, clientSession?: string): Promise<string> {
  const paymentNeeded = answer.headers.get('payment-needed');
  const paid = await service.sim('/sim/agent/pay-bill', { paymentNeeded, clientSession });
  return (paid as unknown as { paymentProof: string }).paymentProof;
}

/** Lets the project `default` request WeChat's payment codes for agents, for the resource `weather`. */
export async function takeWeixinAgents(service: Service, admin: Admin): Promise<void> {
  const made = await service.sim('/sim/agent/developer', { account: 'default', skills: ['weather-report'] });
  const { developerId, keyId, privateKey } = made as unknown as Record<string, string>;
  const skills = { weather: { id: 'weather-report', version: '1.0.0' } };
  const settings = { developerId, keyId, privateKey, skills };
  const { status, body } = await admin.call('PUT', '/api/v1/skillpay/agent-pay?project=default', settings);
  if (status !== 200) throw new Error(JSON.stringify(body));
}
