import { Migration } from '@mikro-orm/migrations';

/** A refund that its channel ended can be made again under another number. */
export class RefundAttempts extends Migration {
  override up(): void {
    this.addSql(`alter table "refunds" add column "attempt" int not null default 1`);
    this.addSql(`alter table "refunds" alter column "attempt" drop default`);
  }
}
