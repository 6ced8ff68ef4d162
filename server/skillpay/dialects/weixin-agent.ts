import { liveAgentCode, type WithAgentCode } from '../agent-code.ts';
import type { Asked, Dialect } from './dialect.ts';

/** Where agents of WeChat read a payment code of WeChat's own; ours never stands there. */
const AGENT_CODE = 'WeixinPay-Required';

/** What an agent that reads bodies only is told to do, in the words of the vendor's merchant demo. */
const AGENT_PROMPT =
  '本次使用微信支付，请将 WeixinPay-Required 的值作为 paymentCode 交给 weixinpay_pay，以向用户申请支付授权。';

/** The dialect of WeChat's agents: WeChat's own payment code, in a header and in the body. The proof is the number, as ever. */
export function weixinAgentDialect(withAgentCode: WithAgentCode, now: () => Date): Dialect {
  return {
    name: 'weixin-agent',
    exposes: [AGENT_CODE],
    prepare: withAgentCode,
    ask(pair): Asked {
      const code = liveAgentCode(pair, now());
      if (code === undefined) return { headers: {} };
      return {
        headers: { [AGENT_CODE]: code },
        members: { WeixinPay: { [AGENT_CODE]: code, prompt: AGENT_PROMPT } },
      };
    },
  };
}
