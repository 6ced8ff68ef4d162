import { Migration } from '@mikro-orm/migrations';

/** The account at its channel, as the lane of what is due is named. */
const ACCOUNT = `(pay_way || ' ' || mode || ' ' || account)`;
const RECEIVER = `(client_id || ' //' || coalesce(substring(url from '^[a-z]+://([^/\\x3f#]*)'), ''))`;
const NAMED = `coalesce(lane, '')`;

/** Rows that have no account of their own, and the one that they are asked about by. */
const NAMELESS = [
  ['refunds', 'next_check_at', 'orders', 'order_no'],
  ['refund_questions', 'next_at', 'orders', 'order_no'],
  ['bill_differences', 'next_check_at', 'bills', 'bill_no'],
  ['skill_orders', 'confirm_at', 'orders', 'order_no'],
] as const;

const LANES = [
  ['orders_due_lanes', 'orders', ACCOUNT, 'next_check_at', 'next_check_at is not null'],
  ['refunds_due_lanes', 'refunds', NAMED, 'next_check_at', 'next_check_at is not null'],
  ['refund_questions_due_lanes', 'refund_questions', NAMED, 'next_at', `state = 'open'`],
  ['disputes_due_lanes', 'disputes', ACCOUNT, 'next_check_at', 'next_check_at is not null'],
  ['bills_due_lanes', 'bills', ACCOUNT, 'next_check_at', 'next_check_at is not null'],
  ['bill_differences_due_lanes', 'bill_differences', NAMED, 'next_check_at', 'next_check_at is not null'],
  ['skill_orders_confirm_lanes', 'skill_orders', NAMED, 'confirm_at', 'confirm_at is not null'],
  ['skill_orders_due_lanes', 'skill_orders', '"project"', 'next_attempt_at', 'next_attempt_at is not null'],
  ['coin_calls_due_lanes', 'coin_calls', '"project"', 'next_attempt_at', 'next_attempt_at is not null'],
  ['due_effects_due_lanes', 'due_effects', '"project"', 'next_at', `state = 'due'`],
  ['deliveries_due_lanes', 'deliveries', RECEIVER, 'next_attempt_at', `state = 'pending'`],
] as const;

/** What is due is found and claimed by its lane, so that the backlog of one is never gone through for another. */
export class DueLanes extends Migration {
  override up(): void {
    for (const [table, at, owner, key] of NAMELESS) {
      this.addSql(`alter table "${table}" add column "lane" varchar(192) null`);
      this.addSql(
        `update "${table}" t set "lane" = o.pay_way || ' ' || o.mode || ' ' || o.account from "${owner}" o
          where o.${key} = t.${key} and t.${at} is not null`,
      );
    }
    for (const [name, table, lane, at, covered] of LANES)
      this.addSql(`create index "${name}" on "${table}" (${lane}, "${at}") where ${covered}`);
  }
}
