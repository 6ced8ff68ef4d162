import { Migration } from '@mikro-orm/migrations';

/** Calls that are paid with coins. A replica of the release before knows no such price and keeps asking for money. */
export class CoinCalls extends Migration {
  override up(): void {
    this.addSql(`alter table "products" add column "coin_price" jsonb null`);
    this.addSql(
      `create table "coin_calls" ("order_no" varchar(64) not null, "client_id" varchar(64) not null, "project" varchar(64) not null, "user_id" varchar(64) not null, "resource" varchar(64) not null, "product_version" int not null, "subject" varchar(128) not null, "body_digest" varchar(64) not null, "input" jsonb null, "handler" jsonb not null, "coin" varchar(64) not null, "amount" bigint not null, "refund_after_fulfilment" boolean not null, "fulfilment" varchar(16) not null, "fencing" int not null, "attempts" int not null, "first_attempt_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "next_attempt_at" timestamptz(6) null, "content" text null, "content_type" varchar(128) null, "receipt" text null, "failure_code" varchar(64) null, "failure_message" text null, "created_at" timestamptz(6) not null, "fulfilled_at" timestamptz(6) null, "refunded_at" timestamptz(6) null, primary key ("order_no"), constraint coin_calls_amount_check check (amount > 0))`,
    );
    this.addSql(
      `create index "coin_calls_project_coin_created_at_index" on "coin_calls" ("project", "coin", "created_at")`,
    );
    this.addSql(`create index "coin_calls_due" on "coin_calls" ("next_attempt_at") where next_attempt_at is not null`);
  }
}
