import { Migration } from '@mikro-orm/migrations';

/**
 * The limits of applications, and what was ordered and refunded under them in each span of time. Orders of the release before
 * are not limited: they were not counted and give nothing back.
 */
export class Limits extends Migration {
  override up(): void {
    this.addSql(`alter table "api_apps" add column "limits" jsonb null`);
    this.addSql(`alter table "orders" add column "limited" boolean not null default false`);
    this.addSql(
      `create table "limit_uses" ("client_id" varchar(64) not null, "currency" varchar(3) not null, "span" varchar(16) not null, "begins_at" timestamptz(6) not null, "used" bigint not null, primary key ("client_id", "currency", "span", "begins_at"))`,
    );
    this.addSql(`create index "limit_uses_begins_at_index" on "limit_uses" ("begins_at")`);
  }
}
