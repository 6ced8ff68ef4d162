import { Migration } from '@mikro-orm/migrations';

/** Which payment a refund gives back, when the order has more than one; null, as before, is the order's own. */
export class RefundPayment extends Migration {
  override up(): void {
    this.addSql(`alter table "refunds" add column "payment_no" varchar(128) null`);
  }
}
