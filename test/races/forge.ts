import { createPrivateKey, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openText } from '../../server/channels/wechat/signature.ts';
import type { PayWay } from '../../server/payments/channel.ts';
import type { Account } from '../../server/simulator/accounts.ts';
import { signNotification as signAlipay } from '../../server/simulator/alipay/notifications.ts';
import type { Core } from '../../server/simulator/channel-simulator.ts';
import type { Delivery, NotificationRecord } from '../../server/simulator/notification.ts';
import { signedHeaders } from '../../server/simulator/paypal/notifications.ts';
import { readMerchant } from '../../server/simulator/wechat/account.ts';
import { encryptNotification } from '../../server/simulator/wechat/notifications.ts';

/** A notification as it is posted. */
export interface Message {
  headers: Record<string, string>;
  body: Buffer;
}

/** The content of a notification before it is signed. */
export type Facts = Record<string, unknown>;

/** The overrides of a message. */
export interface Envelope {
  /** The channel's id of the message. */
  id?: string;
  event?: string;
  at?: Date;
  /** Replaced members of the account's secrets: its keys, its webhook id … */
  secrets?: Record<string, string>;
  certUrl?: string;
}

/** Signs messages with the real keys of the simulator's accounts from its folder. */
export interface Forger {
  secretsOf(payWay: PayWay, account: string): Record<string, string>;
  factsOf(delivery: Delivery): Facts;
  sign(payWay: PayWay, account: string, facts: Facts, envelope?: Envelope): Promise<Message>;
}

/** Reads the keys in a simulator's folder. */
export function createForger(dir: string): Forger {
  const secretsOf: Forger['secretsOf'] = (payWay, name) => {
    const accounts = JSON.parse(readFileSync(join(dir, 'accounts.json'), 'utf8')) as Account[];
    const found = accounts.find((account) => account.payWay === payWay && account.name === name);
    if (!found) throw new Error(`There is no account ${name}.`);
    return found.secrets;
  };
  return {
    secretsOf,
    factsOf: (delivery) => FACTS[delivery.payWay](delivery, secretsOf(delivery.payWay, delivery.account)),
    sign: (payWay, account, facts, envelope = {}) =>
      SIGN[payWay](facts, { ...secretsOf(payWay, account), ...envelope.secrets }, envelope),
  };
}

const FACTS: Record<PayWay, (delivery: Delivery, secrets: Record<string, string>) => Facts> = {
  alipay({ body }) {
    const {
      sign: _,
      sign_type: __,
      notify_id: ___,
      notify_time: ____,
      ...facts
    } = Object.fromEntries(new URLSearchParams(body));
    return facts;
  },
  wechat({ body }, { apiV3Key = '' }) {
    const { resource } = JSON.parse(body) as { resource: Record<string, string> };
    const { ciphertext = '', nonce = '', associated_data: associatedData = '' } = resource;
    return JSON.parse(openText({ ciphertext, nonce, associatedData }, Buffer.from(apiV3Key))) as Facts;
  },
  paypal: ({ body }) => JSON.parse(body) as Facts,
};

type Sign = (facts: Facts, secrets: Record<string, string>, envelope: Envelope) => Promise<Message>;

const SIGN: Record<PayWay, Sign> = {
  alipay: (facts, { alipayKey = '' }, envelope) =>
    signAlipay(noCore, { alipayKey: createPrivateKey(alipayKey) } as never, recordOf(facts, envelope), undefined),
  wechat: (facts, secrets, envelope) =>
    encryptNotification(noCore, readMerchant({ secrets } as Account), recordOf(facts, envelope), undefined),
  async paypal(facts, { privateKey = '', webhookId = '' }, { id = randomUUID(), at = new Date(), certUrl = '' }) {
    const body = Buffer.from(JSON.stringify(facts));
    return { body, headers: signedHeaders(body, { id, time: at.toISOString(), webhookId, certUrl }, privateKey) };
  },
};

/** The signers use the core only to spoil a message. */
const noCore = {} as Core;

function recordOf(facts: Facts, { id = randomUUID(), event = 'TRANSACTION.SUCCESS', at = new Date() }: Envelope) {
  const record: Partial<NotificationRecord> = { id, event, facts, createdAt: at.getTime(), attempts: 0 };
  return record as NotificationRecord;
}
