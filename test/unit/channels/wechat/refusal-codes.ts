/** A refusable call of API v3. */
export type RefusedCall = 'create' | 'query' | 'close' | 'refund' | 'refund-query';

/**
 * The meaning of a refusal: `final` = never possible · `absent` = unknown to the channel · `paid`, `closed` = final trade state ·
 * `ask` = uncertain, query it · `later` = no effect, repeat later · `configuration` = the account is wrong, not the order.
 */
export type Meaning = 'final' | 'absent' | 'paid' | 'closed' | 'ask' | 'later' | 'configuration';

/** One row of an error code table. */
export interface RefusalRow {
  status: number;
  code: string;
  meaning: Meaning;
  /** The message of the channel, only where it matters. */
  message?: string;
}

/** The codes of one call and their source. */
export interface RefusalTable {
  call: RefusedCall;
  source: string;
  rows: readonly RefusalRow[];
}

const rows = (text: string): RefusalRow[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [status, code, meaning, ...message] = line.trim().split(/\s+/);
      return {
        status: Number(status),
        code: code ?? '',
        meaning: meaning as Meaning,
        ...(message.length > 0 ? { message: message.join(' ') } : {}),
      };
    });

/** Only codes and figures of the named documents; their texts are not copied. */
export const REFUSAL_TABLES: readonly RefusalTable[] = [
  {
    call: 'create',
    source:
      'pay.weixin.qq.com: Native下单, JSAPI下单, APP下单, H5下单, 错误码 (one table for all); wiki/doc/api_external/ch/faq/chapter1_1_5; ' +
      'REQUEST_BLOCKED and "201 商户订单号重复" as merchants report them',
    rows: rows(`
      400 PARAM_ERROR final
      400 INVALID_REQUEST final
      400 INVALID_REQUEST ask 201 商户订单号重复
      400 APPID_MCHID_NOT_MATCH final
      400 MCH_NOT_EXISTS final
      404 MCH_NOT_EXISTS final
      400 ORDER_CLOSED ask
      400 ORDER_PAID ask
      401 SIGN_ERROR configuration
      403 ACCOUNT_ERROR final
      403 USER_ACCOUNT_ABNORMAL final
      403 REQUEST_BLOCKED final
      403 NO_AUTH final
      403 NOT_ENOUGH ask
      403 OUT_TRADE_NO_USED ask
      403 RULE_LIMIT final
      403 TRADE_ERROR ask
      404 ORDER_NOT_EXIST ask
      429 FREQUENCY_LIMITED later
      429 RATELIMIT_EXCEEDED later
      500 SYSTEM_ERROR later
      500 BANK_ERROR later
      500 INVALID_TRANSACTIONID later`),
  },
  {
    call: 'query',
    source:
      'pay.weixin.qq.com: 商户订单号查询订单, 错误码 (docs/merchant/apis/query-order/direct-jsons/query-by-out-trade-no)',
    rows: rows(`
      400 PARAM_ERROR ask
      400 INVALID_REQUEST ask
      404 MCH_NOT_EXISTS configuration
      401 SIGN_ERROR configuration
      403 RULE_LIMIT ask
      403 TRADE_ERROR ask
      404 ORDER_NOT_EXIST absent
      429 FREQUENCY_LIMITED later
      500 SYSTEM_ERROR later`),
  },
  {
    call: 'close',
    source: 'pay.weixin.qq.com: 关闭订单, 错误码 (docs/partner/apis/partner-miniprogram-payment/close-order)',
    rows: rows(`
      400 PARAM_ERROR ask
      400 INVALID_REQUEST ask
      400 APPID_MCHID_NOT_MATCH configuration
      400 MCH_NOT_EXISTS configuration
      400 ORDER_CLOSED closed
      400 ORDER_PAID paid
      401 SIGN_ERROR configuration
      403 ACCOUNT_ERROR ask
      403 NO_AUTH configuration
      403 NOT_ENOUGH ask
      403 OUT_TRADE_NO_USED ask
      403 RULE_LIMIT ask
      403 TRADE_ERROR ask
      404 ORDER_NOT_EXIST absent
      429 FREQUENCY_LIMITED later
      500 BANK_ERROR later
      500 SYSTEM_ERROR later`),
  },
  {
    call: 'refund',
    source:
      'pay.weixin.qq.com: 申请退款, 错误码 (wiki/doc/apiv3/apis/chapter3_1_9); REQUEST_BLOCKED as merchants report it',
    rows: rows(`
      400 PARAM_ERROR final
      400 INVALID_REQUEST final
      401 SIGN_ERROR configuration
      403 NO_AUTH final
      403 NOT_ENOUGH final
      403 USER_ACCOUNT_ABNORMAL final
      403 REQUEST_BLOCKED final
      404 MCH_NOT_EXISTS configuration
      404 RESOURCE_NOT_EXISTS later
      429 FREQUENCY_LIMITED later
      500 SYSTEM_ERROR later`),
  },
  {
    call: 'refund-query',
    source: 'pay.weixin.qq.com: 查询单笔退款, 错误码 (wiki/doc/apiv3/apis/chapter3_1_10)',
    rows: rows(`
      400 PARAM_ERROR ask
      400 INVALID_REQUEST ask
      401 SIGN_ERROR configuration
      404 MCH_NOT_EXISTS configuration
      404 RESOURCE_NOT_EXISTS absent
      429 FREQUENCY_LIMITED later
      500 SYSTEM_ERROR later`),
  },
];
