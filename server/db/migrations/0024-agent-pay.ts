import { Migration } from '@mikro-orm/migrations';

/** Who asks WeChat for payment codes of agents, by project; and the code of an offer with the time until which it pays. */
export class AgentPay extends Migration {
  override up(): void {
    this.addSql(
      `create table "agent_pays" ("project" varchar(64) not null, "mode" varchar(16) not null, "developer_id" varchar(64) not null, "key_id" varchar(64) not null, "sealed" text not null, "fingerprint" varchar(64) not null, "skills" jsonb not null, "last_success_at" timestamptz(6) null, "last_failure_at" timestamptz(6) null, "last_failure" text null, "updated_by" varchar(128) not null, "updated_at" timestamptz(6) not null, primary key ("project"))`,
    );
    this.addSql(
      `alter table "skill_orders" add column "agent_code" text null, add column "agent_code_until" timestamptz(6) null`,
    );
  }
}
