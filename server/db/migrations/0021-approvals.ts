import { Migration } from '@mikro-orm/migrations';

/** Refunds that wait for a second administrator. Null in `refunds`, as in those of the release before: it needs nobody. */
export class Approvals extends Migration {
  override up(): void {
    this.addSql(`alter table "refunds" add column "approval" varchar(16) null`);
    this.addSql(
      `create table "approvals" ("refund_no" varchar(64) not null, "order_no" varchar(64) not null, "client_id" varchar(64) not null, "project" varchar(64) not null, "pay_way" varchar(16) not null, "amount" bigint not null, "currency" varchar(3) not null, "reason" text null, "asked_by" varchar(128) not null, "state" varchar(16) not null, "decided_by" varchar(128) null, "decision" text null, "created_at" timestamptz(6) not null, "decided_at" timestamptz(6) null, primary key ("refund_no"))`,
    );
    this.addSql(`create index "approvals_created" on "approvals" ("created_at", "refund_no")`);
    this.addSql(`create index "approvals_waiting" on "approvals" ("created_at", "refund_no") where state = 'waiting'`);
  }
}
