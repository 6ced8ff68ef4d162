import { Migration } from '@mikro-orm/migrations';

/** An answer counts only when nothing was heard of the refund since it was asked for. */
export class QuestionTold extends Migration {
  override up(): void {
    this.addSql(`alter table "refund_questions" add column "told" int not null default 1`);
  }
}
