import type { BillRow, PayeeRow } from '../entities/bills.ts';
import type { ReadTx } from '../store.ts';

/** The condition that an order `o` is one of the account of a bill `b`. */
export const OF_PAYEE = `exists (select 1 from payees p
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and p.project = o.project and p.version = o.config_version)
  and o.pay_way = b.pay_way and o.mode = b.mode`;

/** The condition that no project but these takes money for the account of a bill `b`. */
export const OF_NO_OTHER = `not exists (select 1 from payees p
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and p.project <> all(?::text[]))`;

/** The versions of configurations that take money for the account of a bill. */
export async function versionsOf(
  tx: ReadTx,
  { payWay, account, mode }: Pick<BillRow, 'payWay' | 'account' | 'mode'>,
): Promise<Pick<PayeeRow, 'project' | 'version'>[]> {
  return tx.payees.list({ payWay, payee: account, mode });
}

/** The condition that a bill, or an account, `b` is called so (two parameters, both the name): by the payee or by an account that is configured for it. */
export const IS_CALLED = `(b.account = ? or exists (select 1 from payees p
  join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and c.account = ?))`;

/** Whether an order of the account of a bill was paid between two instants. */
export async function hasPayments(
  tx: ReadTx,
  billNo: string,
  { from, to }: { from: Date; to: Date },
): Promise<boolean> {
  const [row] = await tx.prepared<{ found: boolean }>(
    `select exists (select 1 from bills b, orders o
      where b.bill_no = $1 and ${OF_PAYEE} and o.paid_at >= $2 and o.paid_at < $3) as found`,
    [billNo, from, to],
  );
  return row?.found === true;
}
