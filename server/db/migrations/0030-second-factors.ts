import { Migration } from '@mikro-orm/migrations';

/** Second factors of administrators, and which sessions were begun with one. Replicas of the release before know of neither. */
export class SecondFactors extends Migration {
  override up(): void {
    this.addSql(
      `create table "second_factors" ("admin_id" uuid not null, "sealed" text null, "enabled_at" timestamptz(6) null, "last_step" bigint null, "pending_sealed" text null, "pending_at" timestamptz(6) null, primary key ("admin_id"))`,
    );
    this.addSql(
      `create table "recovery_codes" ("admin_id" uuid not null, "code_hash" varchar(64) not null, "created_at" timestamptz(6) not null, "used_at" timestamptz(6) null, primary key ("admin_id", "code_hash"))`,
    );
    this.addSql(
      `alter table "sessions" add column "second_factor" boolean null, add column "code_at" timestamptz(6) null`,
    );
  }
}
