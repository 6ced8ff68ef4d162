import { Migration } from '@mikro-orm/migrations';

/**
 * Data that has an end: the same question with the same answer is a count, old rows are found by an index, and what
 * statistics need of removed orders is kept. Defaults are for replicas of the release before.
 */
export class Retention extends Migration {
  override up(): void {
    this.addSql(
      `alter table "channel_messages" add column "times" int not null default 1, add column "last_at" timestamptz(6) null`,
    );
    this.addSql(`create index "notices_received_at_index" on "notices" ("received_at")`);
    this.addSql(`create index "deliveries_finished" on "deliveries" ("finished_at") where finished_at is not null`);
    this.addSql(`create index "due_effects_finished" on "due_effects" ("finished_at") where finished_at is not null`);
    this.addSql(
      `create index "refund_questions_finished" on "refund_questions" ("finished_at") where finished_at is not null`,
    );
    this.addSql(
      `alter table "users" add column "forget_since" timestamptz(6) null, add column "forget_at" timestamptz(6) null`,
    );
    this.addSql(`create index "users_forget" on "users" ("forget_at") where forget_at is not null`);
    this.addSql(
      `create index "idempotency_keys_intent" on "idempotency_keys" ("intent_no") where intent_no is not null`,
    );
    this.addSql(
      `create table "removed_orders" ("period_at" timestamptz(6) not null, "mode" varchar(16) not null, "project" varchar(64) not null, "state" varchar(16) not null, "client_id" varchar(64) not null, "resource" varchar(64) not null, "pay_way" varchar(16) not null, "currency" varchar(3) not null, "count" int not null, primary key ("period_at", "mode", "project", "state", "client_id", "resource", "pay_way", "currency"))`,
    );
  }
}
