import { Migration } from '@mikro-orm/migrations';

/** The same question with the same answer is a count; the default is for replicas of the release before. */
export class MessageCounts extends Migration {
  override up(): void {
    this.addSql(
      `alter table "channel_messages" add column "times" int not null default 1, add column "last_at" timestamptz(6) null`,
    );
  }
}
