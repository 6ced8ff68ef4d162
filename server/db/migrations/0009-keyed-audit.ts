import { Migration } from '@mikro-orm/migrations';

/**
 * Lines of the audit log name the key that authenticates them; replicas of the release before write none. The lock is the log's
 * own, taken first as every writer does: after the table's it would be the other way round.
 */
export class KeyedAudit extends Migration {
  override up(): void {
    this.addSql(`select pg_advisory_xact_lock(hashtextextended('audit', 0))`);
    this.addSql(`alter table "audit_log" add column "key_id" varchar(64) null`);
    this.addSql(
      `create table "audit_keys" ("key_id" varchar(64) not null, "sealed" text not null, "created_at" timestamptz(6) not null, primary key ("key_id"))`,
    );
  }
}
