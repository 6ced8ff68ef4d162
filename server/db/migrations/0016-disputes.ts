import { Migration } from '@mikro-orm/migrations';

/** Disputes of payers; a replica of the release before neither reads nor writes them. */
export class Disputes extends Migration {
  override up(): void {
    this.addSql(
      `create table "disputes" ("dispute_no" varchar(64) not null, "order_no" varchar(64) not null, "client_id" varchar(64) not null, "project" varchar(64) not null, "pay_way" varchar(16) not null, "account" varchar(128) not null, "mode" varchar(16) not null, "channel_dispute_no" varchar(128) not null, "reason" varchar(128) not null, "amount" bigint not null, "currency" varchar(3) not null, "state" varchar(16) not null, "due_at" timestamptz(6) null, "amount_lost" bigint not null, "refund_no" varchar(64) null, "answered_at" timestamptz(6) null, "accepted_at" timestamptz(6) null, "changes" int not null, "checks" int not null, "next_check_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "opened_at" timestamptz(6) not null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, "closed_at" timestamptz(6) null, primary key ("dispute_no"))`,
    );
    this.addSql(`create index "disputes_order_no_index" on "disputes" ("order_no")`);
    this.addSql(`create index "disputes_due" on "disputes" ("next_check_at") where next_check_at is not null`);
    this.addSql(`create index "disputes_refund" on "disputes" ("refund_no") where refund_no is not null`);
    this.addSql(`create index "disputes_created" on "disputes" ("created_at", "dispute_no")`);
    this.addSql(`create index "disputes_client_created" on "disputes" ("client_id", "created_at", "dispute_no")`);
    this.addSql(
      `alter table "disputes" add constraint "disputes_pay_way_account_channel_dispute_no_unique" unique ("pay_way", "account", "channel_dispute_no")`,
    );
  }
}
