import { Migration } from '@mikro-orm/migrations';

/** A close that may have given money back, and whose answer nobody has. */
export class ReverseDoubt extends Migration {
  override up(): void {
    this.addSql(`alter table "orders" add column "reverse_doubt_at" timestamptz(6) null`);
  }
}
