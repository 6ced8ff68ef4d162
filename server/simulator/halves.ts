/**
 * The channels that the simulator is. To plug one in:
 *
 * 1. write `server/simulator/<payWay>/half.ts` that exports a `Half` (see half.ts) and add it to HALVES below;
 * 2. `hosts` are the names under which the channel is at the root (roots.ts); `mount` registers the channel's routes below `/<payWay>` (the adapter's base address is `<simulator>/<payWay>`); the raw
 *    body of a request is `rawBodyOf(ctx)` from body.ts;
 * 3. a route checks the request as strictly as the channel does and answers bad ones with `write(ctx, …)`; a good one becomes
 *    `core.answer(ctx, { payWay, account, call, orderNo, act, seal })`: `act` changes trades through `core.trades` (each change
 *    is in the ledger before the call returns) and gives the unsigned answer, `seal` signs it. All faults are drawn and applied
 *    by `core.answer`; `act` looks at `fault` for the faults of the effect (`query-lag`, `pending-refund`, `wrong-amount`,
 *    `capture-pending` …), `seal` for those of the signature (`wrong-key`, `no-signature`, `duplicate-key`, `clock-skew`,
 *    `unknown-serial`, `signtest`). `tampered`, `half-body`, `html`, all time-outs and delays need nothing from a half.
 *    `wrong-key` signs with `core.strangerKey`;
 * 4. fixed outcomes: `trade.fixed`. A create answers `declined` with a definite refusal before it makes a trade
 *    (`fixedOutcome()`), calls `core.startFixed(trade)` once after `core.trades.create`, and returns `silent: true` for the first
 *    create of a `silent` one; a refund of `refunds-fail` is refused;
 * 5. a refund goes through `core.refund(trade, draft, fault)`, which knows all refund faults and ends what must end later;
 * 6. a notice is `core.notices.send(trade, { id, event, url, facts }, core.noticeDelay(trade))`; it is signed anew for every
 *    delivery by `signNotice`, which must write the same facts each time.
 */
import { alipayHalf } from './alipay/half.ts';
import type { Half } from './half.ts';
import { paypalHalf } from './paypal/half.ts';
import { wechatHalf } from './wechat/half.ts';

/** Every channel that is simulated. */
export const HALVES: readonly Half[] = [alipayHalf, wechatHalf, paypalHalf];
