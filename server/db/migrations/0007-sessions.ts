import { Migration } from '@mikro-orm/migrations';

/** Logins of administrators, and where they have logged in before. Replicas of the release before go on without either. */
export class Sessions extends Migration {
  override up(): void {
    this.addSql(
      `create table "known_addresses" ("admin_id" uuid not null, "address" varchar(64) not null, "seen_at" timestamptz(6) not null, primary key ("admin_id", "address"))`,
    );
    this.addSql(
      `create table "sessions" ("jti" varchar(64) not null, "admin_id" uuid not null, "generation" int not null, "ip" varchar(64) null, "user_agent" varchar(256) null, "created_at" timestamptz(6) not null, "seen_at" timestamptz(6) not null, "confirmed_at" timestamptz(6) null, "expires_at" timestamptz(6) not null, primary key ("jti"))`,
    );
    this.addSql(`create index "sessions_admin_id_index" on "sessions" ("admin_id")`);
    this.addSql(`create index "sessions_expires_at_index" on "sessions" ("expires_at")`);
  }
}
