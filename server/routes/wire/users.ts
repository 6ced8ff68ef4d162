import { z } from 'zod';
import type { PayerRow, UserTotal } from '../../catalog/records.ts';
import type { PayWay } from '../../payments/channel.ts';
import { majorNumber } from '../../payments/money.ts';
import { JsonValue, SafeText, Timestamp, UserId } from './fields.ts';
import { UuidPaging } from './uuid-cursor.ts';

const Status = z.enum(['active', 'blocked']);
const Email = z.email({ error: 'must be a valid e-mail address' }).max(254);
const Phone = z.string().regex(/^\+?[0-9][0-9 ()-]{2,30}$/, 'must be a valid telephone number');
const Metadata = z
  .record(z.string().max(64), JsonValue)
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= 4096, 'must have at most 4096 bytes as JSON');

const settings = {
  nickname: SafeText(1, 128).nullable().optional(),
  email: Email.nullable().optional(),
  phone: Phone.nullable().optional(),
  status: Status.optional(),
  metadata: Metadata.nullable().optional(),
};

/** A payer to be created, or changed when it is there. */
export const UserInput = z.object({ userId: UserId, ...settings }).meta({ id: 'UserInput' });

/** A change of a payer; what is left out stays, `null` clears. */
export const UserChange = z.object(settings).meta({ id: 'UserChange' });

/** Filters of the payer list. */
export const UsersQuery = z.object({
  ...UuidPaging,
  userId: UserId.optional(),
  status: Status.optional(),
  email: Email.optional(),
  phone: Phone.optional(),
});

/** The path parameter of one payer. */
export const ByUserId = z.object({ userId: UserId });

const Total = z.object({
  mode: z.string(),
  payWay: z.string(),
  currency: z.string(),
  orders: z.int(),
  paidOrders: z.int(),
  paidAmount: z.number(),
  paidAmountMinor: z.int(),
  refundedAmount: z.number(),
  refundedAmountMinor: z.int(),
});

/** A payer in an answer; `totals` only when one is read. */
export const User = z
  .object({
    userId: UserId,
    project: z.string(),
    nickname: z.string().nullable(),
    email: z.string().nullable(),
    phone: z.string().nullable(),
    status: Status,
    metadata: z.record(z.string(), JsonValue).nullable(),
    anonymisedAt: Timestamp.nullable(),
    totals: z.array(Total).optional().describe('By mode, channel and currency.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'User' });

/** How a payer is shown. */
export function presentUser(row: PayerRow, totals?: readonly UserTotal[]): z.input<typeof User> {
  const { userId, project, nickname, email, phone, status } = row;
  return {
    userId,
    project,
    nickname: nickname ?? null,
    email: email ?? null,
    phone: phone ?? null,
    status,
    metadata: (row.metadata as z.input<typeof User>['metadata']) ?? null,
    anonymisedAt: row.anonymisedAt?.toISOString() ?? null,
    ...(totals ? { totals: totals.map(presentTotal) } : {}),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

function presentTotal({ paid, refunded, ...rest }: UserTotal): z.input<typeof Total> {
  const major = (minor: bigint) => majorNumber({ minor, currency: rest.currency }, rest.payWay as PayWay);
  return {
    ...rest,
    paidAmount: major(paid),
    paidAmountMinor: Number(paid),
    refundedAmount: major(refunded),
    refundedAmountMinor: Number(refunded),
  };
}
