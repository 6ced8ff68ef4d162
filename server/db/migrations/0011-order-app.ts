import { Migration } from '@mikro-orm/migrations';

/**
 * The app in whose name an order was placed, and until when what its payer got can be used. Null in both, as in orders of the
 * release before: what the order's configuration version says, and as long as the order.
 */
export class OrderApp extends Migration {
  override up(): void {
    this.addSql(
      `alter table "orders" add column "app_id" varchar(32) null, add column "credential_until" timestamptz(6) null`,
    );
  }
}
