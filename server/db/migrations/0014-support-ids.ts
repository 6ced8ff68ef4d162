import { Migration } from '@mikro-orm/migrations';

/** How a channel's support finds a request again. */
export class SupportIds extends Migration {
  override up(): void {
    this.addSql(`alter table "channel_messages" add column "support_id" varchar(128) null`);
  }
}
