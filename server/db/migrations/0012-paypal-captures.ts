import { Migration } from '@mikro-orm/migrations';

/** Why a capture is pending or was refused, how often the payer was asked to approve again, and what the channel keeps of the money. */
export class PaypalCaptures extends Migration {
  override up(): void {
    this.addSql(
      `alter table "orders" add column "capture_reason" varchar(128) null, add column "approvals_asked" int not null default 0,
       add column "approval_asked_at" timestamptz null, add column "settlement" jsonb null`,
    );
  }
}
