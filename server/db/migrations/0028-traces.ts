import { Migration } from '@mikro-orm/migrations';

/** Which request asked for a move, and the trace that a request began: what comes of it later goes on in the same one. */
export class Traces extends Migration {
  override up(): void {
    this.addSql(`alter table "moves" add column "request_id" uuid null`);
    this.addSql(`alter table "orders" add column "trace_parent" varchar(55) null`);
    this.addSql(`alter table "refunds" add column "trace_parent" varchar(55) null`);
    this.addSql(`alter table "events" add column "trace_parent" varchar(55) null`);
  }
}
