import { Migration } from '@mikro-orm/migrations';

/** The channels' bills; the lines of a month are a table of their own, those of other days stand in the rest. */
export class Bills extends Migration {
  override up(): void {
    this.addSql(
      `create table "bills" ("bill_no" varchar(64) not null, "pay_way" varchar(16) not null, "account" varchar(128) not null, "mode" varchar(16) not null, "project" varchar(64) not null, "day" date not null, "state" varchar(16) not null, "source" varchar(16) null, "reading" int not null, "readings" int not null, "lines" int not null, "not_ours" int not null, "bytes" bigint null, "sha256" varchar(64) null, "totals" jsonb null, "sums" jsonb null, "fault" varchar(64) null, "fault_detail" text null, "fault_line" int null, "fault_column" int null, "checks" int not null, "next_check_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "created_at" timestamptz(6) not null, "asked_at" timestamptz(6) null, "read_at" timestamptz(6) null, "matched_at" timestamptz(6) null, primary key ("bill_no"))`,
    );
    this.addSql(`create index "bills_due" on "bills" ("next_check_at") where next_check_at is not null`);
    this.addSql(`create index "bills_day" on "bills" ("day", "bill_no")`);
    this.addSql(`alter table "bills" add constraint "bills_of_day" unique ("pay_way", "account", "mode", "day")`);
    this.addSql(
      `create table "bill_differences" ("id" uuid not null, "bill_no" varchar(64) not null, "pay_way" varchar(16) not null, "project" varchar(64) not null, "day" date not null, "kind" varchar(32) not null, "order_no" varchar(64) not null, "refund_no" varchar(128) null, "key" varchar(128) not null, "ours" jsonb null, "theirs" jsonb null, "state" varchar(16) not null, "checks" int not null, "next_check_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "answer" jsonb null, "created_at" timestamptz(6) not null, "finished_at" timestamptz(6) null, primary key ("id"))`,
    );
    this.addSql(
      `create index "bill_differences_due" on "bill_differences" ("next_check_at") where next_check_at is not null`,
    );
    this.addSql(`create index "bill_differences_order" on "bill_differences" ("order_no")`);
    this.addSql(`create index "bill_differences_state" on "bill_differences" ("state", "day", "id")`);
    this.addSql(
      `alter table "bill_differences" add constraint "bill_differences_once" unique ("bill_no", "kind", "order_no", "key")`,
    );
    this.addSql(
      `create table "bill_lines" ("bill_no" varchar(64) not null, "reading" int not null, "line" int not null, "day" date not null, "kind" varchar(8) not null, "event" varchar(64) not null, "order_no" varchar(128) null, "refund_no" varchar(128) null, "channel_trade_no" varchar(128) null, "channel_refund_no" varchar(128) null, "currency" varchar(3) not null, "amount" bigint not null, "fee" bigint not null, "at" timestamptz(6) not null, "raw" text not null, primary key ("bill_no", "reading", "line", "day")) partition by range ("day")`,
    );
    this.addSql(`create table "bill_lines_rest" partition of "bill_lines" default`);
    this.addSql(`create index "bill_lines_order" on "bill_lines" ("order_no") where order_no is not null`);
    this.addSql(
      `create table "order_fees" ("order_no" varchar(64) not null, "refund_no" varchar(64) not null, "fee" bigint not null, "currency" varchar(3) not null, "bill_no" varchar(64) not null, primary key ("order_no", "refund_no"))`,
    );
  }
}
