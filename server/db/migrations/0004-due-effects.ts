import { Migration } from '@mikro-orm/migrations';

/**
 * Effects that failed are rows that are worked until they are done. What failed before and is still listed becomes a row
 * that nobody works by itself: a person may have put it right by hand, and says with a retry that it may run.
 */
export class DueEffects extends Migration {
  override up(): void {
    this.addSql(`alter table "orders" add column "effects_due" boolean not null default false`);
    this.addSql(
      `create table "due_effects" ("id" uuid not null, "order_no" varchar(64) not null, "refund_no" varchar(64) null, "project" varchar(64) not null, "sequence" int not null, "place" int not null, "name" varchar(128) not null, "run" text[] not null, "refunded" bigint not null, "refunding" bigint not null, "state" varchar(16) not null, "tries" int not null, "next_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "last_error" text null, "created_at" timestamptz(6) not null, "finished_at" timestamptz(6) null, primary key ("id"))`,
    );
    this.addSql(`create index "due_effects_due" on "due_effects" ("next_at") where state = 'due'`);
    this.addSql(
      `alter table "due_effects" add constraint "due_effects_order_no_sequence_name_unique" unique ("order_no", "sequence", "name")`,
    );
    this.addSql(
      `insert into due_effects (id, order_no, refund_no, project, sequence, place, name, run, refunded, refunding, state, tries, last_error, created_at)
       select gen_random_uuid(), e.order_no, r.refund_no, e.project, o.sequence,
              row_number() over (partition by e.order_no order by e.created_at), e.dedupe,
              case split_part(e.dedupe, ':', 1)
                when 'paid' then array['paid']
                when 'ended' then array['ended']
                when 'refund-reserved' then array['refundReserved']
                when 'refund-succeeded' then array['refundSucceeded']
                when 'refund-failed' then array['refundFailed']
                else array['refundReserved', 'refundSucceeded'] end,
              o.refunded, o.refunding, 'due', 1, e.detail ->> 'message', e.created_at
         from order_exceptions e
         join orders o on o.order_no = e.order_no
         left join refunds r on r.order_no = e.order_no and r.refund_no = split_part(e.dedupe, ':', 2)
        where e.kind = 'effect_failed' and e.state = 'open'
          and (e.dedupe in ('paid', 'ended') or r.refund_no is not null)`,
    );
  }
}
