import type { BillRow, PayeeRow } from '../entities/bills.ts';
import type { ReadTx, Tx } from '../store.ts';

/** The account of a bill: a payee at a channel, or the claim of a project. */
export type Account = Pick<BillRow, 'payWay' | 'account' | 'mode'>;

/** The fault of a bill that turned out to be that of a payee whose bill of the day is there already. */
export const SAME_ACCOUNT = 'same_account';

/** The condition that an order `o` is one of the account of a bill `b`. */
export const OF_PAYEE = `exists (select 1 from payees p
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and p.project = o.project and p.version = o.config_version)
  and o.pay_way = b.pay_way and o.mode = b.mode`;

/** The condition that no project but these takes money for the account of a bill `b`. */
export const OF_NO_OTHER = `not exists (select 1 from payees p
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and p.project <> all(?::text[]))`;

/** The versions of configurations that take money for the account of a bill. */
export async function versionsOf(tx: ReadTx, { payWay, account, mode }: Account): Promise<PayeeRow[]> {
  return tx.payees.list({ payWay, payee: account, mode });
}

/** Since when a payee is configured, in whatever project; undefined = it never was. */
export async function accountSince(tx: ReadTx, { payWay, account, mode }: Account): Promise<Date | undefined> {
  const [row] = await tx.prepared<{ since: string | null }>(
    `select min(c.created_at)::text as since from payees p
       join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
      where p.pay_way = $1 and p.payee = $2 and p.mode = $3`,
    [payWay, account, mode],
  );
  return row?.since ? new Date(row.since) : undefined;
}

/** The condition that a bill, or an account, `b` is called so (two parameters, both the name): by the payee or by an account that is configured for it. */
export const IS_CALLED = `(b.account = ? or exists (select 1 from payees p
  join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and c.account = ?))`;

/**
 * Whether an order was placed with a version of a claim. That was while the version was the newest one, so the orders of its project in that
 * time, and two days beside it, are looked through, and no others.
 */
export async function hasOrders(tx: ReadTx, { payWay, account, mode }: Account): Promise<boolean> {
  const [row] = await tx.prepared<{ found: boolean }>(
    `select exists (
       select 1 from payees p
         join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
         cross join lateral (select coalesce(min(n.created_at), 'infinity') as at from channel_configs n
                              where n.project = p.project and n.pay_way = p.pay_way and n.version > p.version) ended
         join orders o on o.project = p.project and o.pay_way = p.pay_way and o.config_version = p.version
          and o.created_at between c.created_at - interval '2 days' and ended.at + interval '2 days'
        where p.pay_way = $1 and p.payee = $2 and p.mode = $3) as found`,
    [payWay, account, mode],
  );
  return row?.found === true;
}

/** Removes the bills of a claim that never came; one that is being worked on goes the next time. */
export async function forgetClaim(tx: Tx, { payWay, account, mode }: Account): Promise<void> {
  await tx.bills.delete({ payWay, account, mode, reading: 0, leasedUntil: null });
}
