import { Migration } from '@mikro-orm/migrations';

/** Processes that report themselves while somebody follows the live feed. */
export class Replicas extends Migration {
  override up(): void {
    this.addSql(
      `create unlogged table "replicas" ("id" uuid not null, "host" varchar(128) not null, "pid" int not null, "worker" int null, "version" varchar(64) not null, "started_at" timestamptz(6) not null, "seen_at" timestamptz(6) not null, "followed_until" timestamptz(6) null, "figures" jsonb not null, primary key ("id"))`,
    );
  }
}
