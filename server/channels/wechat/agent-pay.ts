import { randomBytes, type KeyObject } from 'node:crypto';
import { preorderText, signRsa } from './signature.ts';

/*
 * WeChat agent pay ("微信支付 Agent Pay", protocol X402): payments by AI agents. Sources: the README of SkillHub's merchant
 * demo (`mch-demo`, Go and Java) and public ports of the demo to other languages. They show the fields, their sequence
 * in the signed text, times as text in seconds, `product_id` as SP with eight digits, and a lifetime of 15 minutes.
 */

export const AGENT_PAY_LIVE = 'https://payapp.weixin.qq.com';

/** The payment data of an order, as WeChat Pay returned it when the order was created. */
interface PayData {
  type: 'code_url' | 'prepay_id' | 'h5_url';
  value: string;
}

/** The id and the version of a skill (an ability of an AI agent) that is registered at SkillHub. */
interface AgentSkill {
  id: string;
  version: string;
}

/** The developer account at SkillHub that signs the request, and one of its keys. */
interface AgentDeveloper {
  developerId: string;
  keyId: string;
  key: KeyObject;
}

/**
 * Builds and signs the body of a preorder, which requests a payment code (the text with which an AI agent pays). The
 * request expires `seconds` after the current time `at`. The body contains no amount, because `payData` belongs to an
 * order that has the amount.
 */
export async function signPreorder(
  { developerId, keyId, key }: AgentDeveloper,
  { skill, payData, seconds }: { skill: AgentSkill; payData: PayData; seconds: number },
  at: Date,
): Promise<Record<string, string>> {
  const now = Math.floor(at.getTime() / 1000);
  const request = {
    skill_info: { skill_id: skill.id, skill_version: skill.version },
    pay_type: 'SKILL_PAY',
    pay_mode: 'AUTH_AND_PAY',
    pay_items: [{ product_id: `SP${randomBytes(4).toString('hex').toUpperCase()}`, pay_data: payData }],
    expires_at: String(now + seconds),
  };
  const paymentRequired = Buffer.from(JSON.stringify(request)).toString('base64');
  const [timestamp, nonce] = [String(now), randomBytes(16).toString('hex')];
  return {
    signature_type: 'SKILLHUB-SHA256-RSA2048',
    developer_platform: 'SKILLHUB',
    developer_id: developerId,
    pub_key_id: keyId,
    nonce_str: nonce,
    timestamp,
    signature: await signRsa(preorderText(timestamp, nonce, paymentRequired), key),
    payment_required: paymentRequired,
  };
}

/** Reads the payment code; undefined if there is none or if it is not valid in an HTTP header. */
export function readPaymentCode(body: Buffer): string | undefined {
  try {
    const { payment_code: code } = JSON.parse(body.toString('utf8')) as { payment_code?: unknown };
    return typeof code === 'string' && /^[\x21-\x7e]{1,512}$/.test(code) ? code : undefined;
  } catch {
    return undefined;
  }
}
