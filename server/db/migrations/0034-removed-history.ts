import { Migration } from '@mikro-orm/migrations';

/** Up to when histories and events may have been removed, so that the books do not miss them. */
export class RemovedHistory extends Migration {
  override up(): void {
    this.addSql(
      `create table "removed_history" ("kind" varchar(64) not null, "before" timestamptz(6) not null, primary key ("kind"))`,
    );
  }
}
