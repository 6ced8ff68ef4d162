import { Migration } from '@mikro-orm/migrations';

/** What Alipay's agents are asked with, the trade that one of them proved, and the confirmation that is due to Alipay. */
export class AgentBills extends Migration {
  override up(): void {
    this.addSql(
      `alter table "skill_orders" add column "payment_needed" text null, add column "agent_trade_no" varchar(64) null, add column "confirm_at" timestamptz(6) null, add column "confirm_tries" int not null default 0`,
    );
    this.addSql(`create index "skill_orders_confirm" on "skill_orders" ("confirm_at") where confirm_at is not null`);
  }
}
