import { Migration } from '@mikro-orm/migrations';

/**
 * Refunds that a channel named and that nobody explained are asked about until there is an answer. What was listed before
 * becomes a question that is due; WeChat Pay was listed by a number that it cannot be asked by, so that stays with a person.
 */
export class RefundQuestions extends Migration {
  override up(): void {
    this.addSql(
      `create table "refund_questions" ("id" uuid not null, "order_no" varchar(64) not null, "number" varchar(128) not null, "total" bigint null, "state" varchar(16) not null, "checks" int not null, "next_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "last_answer" varchar(16) null, "created_at" timestamptz(6) not null, "finished_at" timestamptz(6) null, primary key ("id"))`,
    );
    this.addSql(`create index "refund_questions_due" on "refund_questions" ("next_at") where state = 'open'`);
    this.addSql(
      `alter table "refund_questions" add constraint "refund_questions_order_no_number_unique" unique ("order_no", "number")`,
    );
    this.addSql(
      `insert into refund_questions (id, order_no, number, state, checks, next_at, created_at)
       select gen_random_uuid(), e.order_no, e.dedupe, 'open', 0, e.created_at, e.created_at
         from order_exceptions e join orders o on o.order_no = e.order_no
        where e.kind = 'refund_unexplained' and e.state = 'open' and e.dedupe <> 'once' and o.pay_way <> 'wechat'`,
    );
  }
}
