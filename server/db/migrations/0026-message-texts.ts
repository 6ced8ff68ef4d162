import { Migration } from '@mikro-orm/migrations';

/**
 * Texts of messages take a quarter of their bytes. Replicas of the release before write theirs as they did, which is read as
 * before, and show no texts of new messages.
 */
export class MessageTexts extends Migration {
  override up(): void {
    this.addSql(`alter table "channel_messages" add column "texts" bytea null, add column "digest" bigint null`);
  }
}
