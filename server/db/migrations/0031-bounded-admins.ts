import { Migration } from '@mikro-orm/migrations';

/**
 * Roles and projects of administrators. Replicas of the release before would let whoever is limited to projects see all of them, and
 * would ask nobody for a second factor: they cannot begin a session of such an account, because theirs do not say whether one was
 * given. The refusal is one that is tried again (`lock_not_available`), at another replica.
 */
export class BoundedAdmins extends Migration {
  override up(): void {
    this.addSql(`alter table "admins" add column "grade" varchar(16) null, add column "projects" text[] null`);
    this.addSql(`create function "require_bounds"() returns trigger language plpgsql as $$
      begin
        if exists (select 1 from admins a where a.id = new.admin_id and a.projects is not null)
          or exists (select 1 from second_factors f where f.admin_id = new.admin_id and f.enabled_at is not null)
        then
          raise exception 'sessions of this account need a replica of a later release' using errcode = 'lock_not_available';
        end if;
        return new;
      end $$`);
    this.addSql(
      `create trigger "sessions_bounds" before insert on "sessions" for each row when (new.second_factor is null) execute function "require_bounds"()`,
    );
  }
}
