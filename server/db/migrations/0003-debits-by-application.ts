import { Migration } from '@mikro-orm/migrations';

/**
 * A bizNo belongs to the application that uses it. Debits that were written before are found by the same columns, so
 * none is rewritten; an older replica that runs beside cannot take the coins of one bizNo again.
 */
export class DebitsByApplication extends Migration {
  override up(): void {
    this.addSql(
      `create unique index "coin_entries_biz_no" on "coin_entries" ("project", "coin", "actor", "user_id", "biz_no") where kind = 'debit'`,
    );
  }
}
