import { Migration } from '@mikro-orm/migrations';

/** A refund that its channel ended can be made again under another number; the default is for replicas of the release before. */
export class RefundAttempts extends Migration {
  override up(): void {
    this.addSql(`alter table "refunds" add column "attempt" int not null default 1`);
  }
}
