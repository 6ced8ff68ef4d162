import { Migration } from '@mikro-orm/migrations';

/** Codes that payers show in a shop, and what a merchant asks of a channel beyond the order itself. */
export class PayerCodes extends Migration {
  override up(): void {
    this.addSql(`alter table "orders" add column "pay_code" varchar(64) null, add column "channel_options" jsonb null`);
  }
}
