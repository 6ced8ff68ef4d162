import type Router from '@koa/router';
import { z } from 'zod';
import type { PayWay } from '../../payments/channel.ts';
import { bodyOf, queryText } from '../control-request.ts';
import type { Core } from '../half.ts';
import { CONDITIONS } from './conditions.ts';
import { plant } from './planting.ts';
import { PLANTS } from './plants.ts';

const PayWays = z.enum(['alipay', 'wechat', 'paypal'] as const satisfies readonly PayWay[]);
const Day = z.string().regex(/^\d{4}-\d\d-\d\d$/);
const NewPlant = z.object({
  kind: z.enum(PLANTS),
  payWay: PayWays,
  date: Day.optional(),
  orderNo: z.string().optional(),
  account: z.string().optional(),
});
const NewCondition = z.object({
  condition: z.enum(CONDITIONS),
  payWay: PayWays,
  date: Day.nullable().default(null),
  rows: z.int().min(1).max(5_000_000).nullable().default(null),
  on: z.boolean().default(true),
});

/** Adds the part of the control API that is about bills: what is planted in them and what they are like. */
export function addBills(router: Router, core: Core): void {
  const { plants, conditions } = core.bills;
  const all = (payWay?: string) => ({
    plants: plants.list().filter((one) => (payWay ?? one.payWay) === one.payWay),
    conditions: conditions.list().filter((one) => (payWay ?? one.payWay) === one.payWay),
  });
  router.get('/bills', (ctx) => {
    ctx.body = all(queryText(ctx, 'payWay'));
  });
  router.post('/bills/plants', (ctx) => {
    ctx.body = plant(core, bodyOf(ctx, NewPlant));
    ctx.status = 201;
  });
  router.post('/bills/conditions', (ctx) => {
    const { on, ...condition } = bodyOf(ctx, NewCondition);
    if (!on) conditions.unset(condition);
    ctx.body = { ...(on ? conditions.set(condition) : { id: null, ...condition }), on };
    ctx.status = on ? 201 : 200;
  });
  router.delete('/bills', (ctx) => {
    plants.clear();
    conditions.clear();
    ctx.body = all();
  });
  router.delete('/bills/:id', (ctx) => {
    const id = ctx.params['id'] ?? '';
    plants.clear(id);
    conditions.clear(id);
    ctx.body = all();
  });
}
