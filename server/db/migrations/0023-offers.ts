import { Migration } from '@mikro-orm/migrations';

/** What an offer can be paid with, what was signed for it, and the offer that took its place; null in offers of the release before. */
export class Offers extends Migration {
  override up(): void {
    this.addSql(
      `alter table "skill_orders" add column "entries" jsonb null, add column "signed_offer" text null, add column "signed_receipt" text null, add column "successor" varchar(64) null`,
    );
  }
}
