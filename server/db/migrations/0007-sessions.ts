import { Migration } from '@mikro-orm/migrations';

/** Where administrators have logged in before. Replicas of the release before go on without it. */
export class Sessions extends Migration {
  override up(): void {
    this.addSql(
      `create table "known_addresses" ("admin_id" uuid not null, "address" varchar(64) not null, "seen_at" timestamptz(6) not null, primary key ("admin_id", "address"))`,
    );
  }
}
