import { z } from 'zod';
import { MODES } from '../../payments/channel.ts';
import { Code, Timestamp, TimeZone } from './fields.ts';

const Moment = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], 'must be a date such as 2030-01-31 or an RFC 3339 time')
  .refine((text) => /^2\d{3}-/.test(text), 'must be in the years 2000 to 2999');

const period = {
  from: Moment.optional().describe('A day in `tz`, or a timestamp. By default 29 days before `to`.'),
  to: Moment.optional().describe('A day in `tz` (inclusive), or a timestamp (exclusive). By default today.'),
  tz: TimeZone,
  mode: z.enum(MODES).default('live').describe('One mode at a time.'),
};

/** What a question about one project may say. */
export const ProjectStatsQuery = z.object(period);

/** What a question about all projects, or one, may say. */
export const StatsQuery = z.object({ ...period, project: Code.optional() });

const Sums = z.object({
  payWay: z.string(),
  currency: z.string(),
  paidOrders: z.int(),
  paidAmount: z.number().describe('Major units.'),
  paidAmountMinor: z.int(),
  refunds: z.int(),
  refundedAmount: z.number().describe('Major units.'),
  refundedAmountMinor: z.int(),
});

const figures = {
  createdOrders: z.int(),
  states: z.record(z.string(), z.int()).describe('The orders created in the period, by their current state.'),
  paidOrders: z.int(),
  refunds: z.int(),
  amounts: z.array(Sums),
};

/** Counts and sums of a period and of each of its days. */
export const Overview = z
  .object({
    mode: z.enum(MODES),
    tz: z.string(),
    project: z.string().nullable(),
    from: Timestamp,
    to: Timestamp,
    totals: z.object(figures),
    days: z.array(z.object({ date: z.string(), ...figures })),
  })
  .meta({ id: 'StatsOverview' });
