import type Router from '@koa/router';
import { z } from 'zod';
import { bodyOf } from './control-request.ts';
import type { Core } from './half.ts';
import { payAsAgent } from './alipay/half.ts';
import { giveDeveloper } from './wechat/developers.ts';
import { tradeOfCode } from './wechat/payment-codes.ts';

const NewDeveloper = z.object({
  account: z.string().default('default'),
  skills: z.array(z.string().min(1)).min(1).optional(),
});
const PayByBill = z.object({ paymentNeeded: z.string().max(8192), clientSession: z.string().max(4096).optional() });
const PayByCode = z.object({ paymentCode: z.string().max(1024) });

/** Adds the part of the control API that is about agents: a developer of SkillHub, and agents that pay by a code or a bill. */
export function addAgents(router: Router, core: Core): void {
  router.post('/agent/developer', async (ctx) => {
    const { account, skills } = bodyOf(ctx, NewDeveloper);
    ctx.body = await giveDeveloper(core, account, skills);
    ctx.status = 201;
  });
  router.post('/agent/pay-bill', (ctx) => {
    const { paymentNeeded, clientSession } = bodyOf(ctx, PayByBill);
    ctx.body = payAsAgent(core, paymentNeeded, clientSession);
  });
  router.post('/agent/pay', (ctx) => {
    const trade = tradeOfCode(core, bodyOf(ctx, PayByCode).paymentCode);
    // A second payment of a paid order changes nothing.
    if (trade.state !== 'paid') core.half('wechat').pay(core, trade);
    ctx.body = trade;
  });
}
