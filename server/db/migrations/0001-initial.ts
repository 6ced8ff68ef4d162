import { Migration } from '@mikro-orm/migrations';

/** The first schema: every table of the service, with its constraints and indexes. */
export class Migration0001 extends Migration {
  override up(): void {
    this.addSql(
      `create table "admins" ("id" uuid not null, "username" varchar(64) not null, "password_hash" text not null, "role" varchar(16) not null, "enabled" boolean not null, "generation" int not null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, "last_login_at" timestamptz(6) null, primary key ("id"))`,
    );
    this.addSql(`alter table "admins" add constraint "admins_username_unique" unique ("username")`);
    this.addSql(
      `create table "api_apps" ("client_id" varchar(64) not null, "name" varchar(128) not null, "project" varchar(64) not null, "kind" varchar(16) not null, "scopes" text[] not null, "enabled" boolean not null, "trusted" boolean not null, "secret_hash" varchar(64) not null, "secret_hint" varchar(32) not null, "secret_created_at" timestamptz(6) not null, "previous_secret_hash" varchar(64) null, "previous_secret_expires_at" timestamptz(6) null, "generation" int not null, "allowed_ips" text[] not null, "rate_limit" int null, "late_payment" jsonb not null, "remark" text null, "last_used_at" timestamptz(6) null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, primary key ("client_id"))`,
    );
    this.addSql(`create index "api_apps_project_index" on "api_apps" ("project")`);
    this.addSql(`create index "api_apps_created_at_client_id_index" on "api_apps" ("created_at", "client_id")`);
    this.addSql(
      `create table "audit_log" ("id" bigserial primary key, "at" timestamptz(6) not null, "actor_kind" varchar(16) not null, "actor" varchar(128) not null, "action" varchar(64) not null, "target" varchar(256) not null, "before" jsonb null, "after" jsonb null, "ip" varchar(64) null, "request_id" varchar(64) null, "previous_hash" varchar(64) not null, "hash" varchar(64) not null)`,
    );
    this.addSql(
      `create table "certs" ("id" uuid not null, "project" varchar(64) not null, "pay_way" varchar(16) not null, "kind" varchar(64) not null, "name" varchar(128) not null, "subject" text null, "issuer" text null, "serial_number" varchar(512) null, "fingerprint" varchar(64) not null, "not_before" timestamptz(6) null, "not_after" timestamptz(6) null, "public_pem" text null, "sealed" text null, "is_default" boolean not null, "created_by" varchar(128) not null, "created_at" timestamptz(6) not null, "deleted_at" timestamptz(6) null, primary key ("id"))`,
    );
    this.addSql(
      `create unique index "certs_one_default" on "certs" ("project", "pay_way", "kind") where is_default and deleted_at is null`,
    );
    this.addSql(`create index "certs_project_pay_way_kind_index" on "certs" ("project", "pay_way", "kind")`);
    this.addSql(
      `create table "channel_configs" ("id" uuid not null, "project" varchar(64) not null, "pay_way" varchar(16) not null, "version" int not null, "mode" varchar(16) not null, "account" varchar(128) not null, "fields" jsonb not null, "sealed" text null, "fingerprints" jsonb not null, "cert_ids" jsonb not null, "missing" text[] not null, "created_by" varchar(128) not null, "created_at" timestamptz(6) not null, primary key ("id"))`,
    );
    this.addSql(
      `alter table "channel_configs" add constraint "channel_configs_project_pay_way_version_unique" unique ("project", "pay_way", "version")`,
    );
    this.addSql(
      `create table "channel_messages" ("id" bigserial primary key, "order_no" varchar(64) not null, "refund_no" varchar(64) null, "pay_way" varchar(16) not null, "direction" varchar(8) not null, "call" varchar(64) not null, "status" int null, "duration_ms" int null, "request" text null, "answer" text null, "note" text null, "at" timestamptz(6) not null)`,
    );
    this.addSql(`create index "channel_messages_order_no_index" on "channel_messages" ("order_no")`);
    this.addSql(
      `create table "channel_states" ("id" uuid not null, "project" varchar(64) not null, "pay_way" varchar(16) not null, "version" int not null, "enabled" boolean not null, "last_success_at" timestamptz(6) null, "last_failure_at" timestamptz(6) null, "last_failure" text null, "certs_expire_at" timestamptz(6) null, "updated_at" timestamptz(6) not null, primary key ("id"))`,
    );
    this.addSql(
      `alter table "channel_states" add constraint "channel_states_project_pay_way_unique" unique ("project", "pay_way")`,
    );
    this.addSql(
      `create table "coins" ("id" uuid not null, "project" varchar(64) not null, "code" varchar(64) not null, "name" varchar(128) not null, "enabled" boolean not null, "clawback" varchar(16) not null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, primary key ("id"))`,
    );
    this.addSql(`alter table "coins" add constraint "coins_project_code_unique" unique ("project", "code")`);
    this.addSql(
      `create table "coin_accounts" ("id" uuid not null, "project" varchar(64) not null, "coin" varchar(64) not null, "user_id" varchar(64) not null, "balance" bigint not null, "held" bigint not null, "debt" bigint not null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, primary key ("id"))`,
    );
    this.addSql(
      `create index "coin_accounts_project_coin_created_at_id_index" on "coin_accounts" ("project", "coin", "created_at", "id")`,
    );
    this.addSql(`create index "coin_accounts_project_user_id_index" on "coin_accounts" ("project", "user_id")`);
    this.addSql(
      `alter table "coin_accounts" add constraint "coin_accounts_project_coin_user_id_unique" unique ("project", "coin", "user_id")`,
    );
    this.addSql(
      `alter table "coin_accounts" add constraint "coin_accounts_check" check (balance >= 0 and held >= 0 and debt >= 0 and held <= balance)`,
    );
    this.addSql(
      `create table "coin_clawbacks" ("refund_no" varchar(64) not null, "order_no" varchar(64) not null, "project" varchar(64) not null, "coin" varchar(64) not null, "user_id" varchar(64) not null, "state" varchar(16) not null, "due" bigint not null, "held" bigint not null, "taken" bigint not null, "debt" bigint not null, "waived" bigint not null, "turns" int not null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, primary key ("refund_no"))`,
    );
    this.addSql(`create index "coin_clawbacks_order_no_index" on "coin_clawbacks" ("order_no")`);
    this.addSql(
      `alter table "coin_clawbacks" add constraint "coin_clawbacks_check" check (held >= 0 and taken >= 0 and debt >= 0 and waived >= 0 and due >= 0)`,
    );
    this.addSql(
      `create table "coin_entries" ("id" bigserial primary key, "project" varchar(64) not null, "coin" varchar(64) not null, "user_id" varchar(64) not null, "delta" bigint not null, "balance_after" bigint not null, "kind" varchar(16) not null, "source" varchar(200) not null, "order_no" varchar(64) null, "biz_no" varchar(64) null, "memo" text null, "actor" varchar(128) not null, "created_at" timestamptz(6) not null)`,
    );
    this.addSql(
      `create index "coin_entries_project_coin_user_id_id_index" on "coin_entries" ("project", "coin", "user_id", "id")`,
    );
    this.addSql(`create index "coin_entries_project_coin_id_index" on "coin_entries" ("project", "coin", "id")`);
    this.addSql(`create index "coin_entries_order_no_index" on "coin_entries" ("order_no")`);
    this.addSql(
      `alter table "coin_entries" add constraint "coin_entries_project_coin_source_unique" unique ("project", "coin", "source")`,
    );
    this.addSql(
      `create table "deliveries" ("id" uuid not null, "event_id" varchar(64) not null, "client_id" varchar(64) not null, "target" varchar(16) not null, "url" text not null, "state" varchar(16) not null, "attempts" int not null, "next_attempt_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "last_status" int null, "last_error" text null, "created_at" timestamptz(6) not null, "finished_at" timestamptz(6) null, primary key ("id"))`,
    );
    this.addSql(
      `create index "deliveries_client_id_created_at_id_index" on "deliveries" ("client_id", "created_at", "id")`,
    );
    this.addSql(`create index "deliveries_event_id_index" on "deliveries" ("event_id")`);
    this.addSql(`create index "deliveries_open" on "deliveries" ("client_id") where state = 'pending'`);
    this.addSql(`create index "deliveries_due" on "deliveries" ("next_attempt_at") where state = 'pending'`);
    this.addSql(
      `create table "delivery_attempts" ("id" bigserial primary key, "delivery_id" uuid not null, "at" timestamptz(6) not null, "status" int null, "error" text null, "duration_ms" int not null)`,
    );
    this.addSql(`create index "delivery_attempts_delivery_id_index" on "delivery_attempts" ("delivery_id")`);
    this.addSql(
      `create table "events" ("sequence" bigserial primary key, "id" varchar(64) not null, "type" varchar(64) not null, "client_id" varchar(64) not null, "project" varchar(64) not null, "object_no" varchar(64) not null, "dedupe" varchar(128) not null, "payload" jsonb not null, "notify_url" text null, "created_at" timestamptz(6) not null)`,
    );
    this.addSql(`alter table "events" add constraint "events_id_unique" unique ("id")`);
    this.addSql(`create index "events_client_id_sequence_index" on "events" ("client_id", "sequence")`);
    this.addSql(`create index "events_project_sequence_index" on "events" ("project", "sequence")`);
    this.addSql(`create index "events_type_sequence_index" on "events" ("type", "sequence")`);
    this.addSql(`create index "events_created_at_sequence_index" on "events" ("created_at", "sequence")`);
    this.addSql(
      `alter table "events" add constraint "events_object_no_type_dedupe_unique" unique ("object_no", "type", "dedupe")`,
    );
    this.addSql(
      `create table "idempotency_keys" ("scope" varchar(128) not null, "route" varchar(128) not null, "key" varchar(255) not null, "fingerprint" varchar(64) not null, "intent_no" varchar(64) null, "state" varchar(16) not null, "leased_until" timestamptz(6) null, "status" int null, "body" text null, "created_at" timestamptz(6) not null, primary key ("scope", "route", "key"))`,
    );
    this.addSql(`create index "idempotency_keys_created_at_index" on "idempotency_keys" ("created_at")`);
    this.addSql(
      `create table "moves" ("id" bigserial primary key, "order_no" varchar(64) not null, "refund_no" varchar(64) null, "sequence" int not null, "from_state" varchar(16) null, "to_state" varchar(16) not null, "rule" varchar(8) not null, "cause" varchar(64) not null, "outcome" jsonb null, "actor" varchar(128) not null, "at" timestamptz(6) not null)`,
    );
    this.addSql(`alter table "moves" add constraint "moves_order_no_sequence_unique" unique ("order_no", "sequence")`);
    this.addSql(
      `create table "notices" ("pay_way" varchar(16) not null, "account" varchar(128) not null, "notice_id" varchar(128) not null, "order_no" varchar(64) not null, "copies" int not null, "received_at" timestamptz(6) not null, primary key ("pay_way", "account", "notice_id"))`,
    );
    this.addSql(
      `create table "orders" ("order_no" varchar(64) not null, "kind" varchar(16) not null, "client_id" varchar(64) not null, "project" varchar(64) not null, "merchant_order_no" varchar(64) null, "mode" varchar(16) not null, "pay_way" varchar(16) not null, "account" varchar(128) not null, "config_version" int not null, "scene" varchar(16) not null, "subject" text not null, "order_type" varchar(64) null, "user_id" varchar(64) null, "extra" text null, "amount" bigint not null, "currency" varchar(3) not null, "facts_hash" varchar(64) not null, "product" jsonb null, "product_code" varchar(64) null, "stock_held" boolean not null, "late_payment" jsonb not null, "state" varchar(16) not null, "close_reason" varchar(16) null, "close_asked" boolean not null, "close_answered" boolean not null, "failure_code" varchar(128) null, "failure_message" text null, "payer" varchar(256) null, "paid" bigint not null, "refunded" bigint not null, "refunding" bigint not null, "overrun" bigint not null, "channel_order_id" varchar(128) null, "channel_trade_no" varchar(128) null, "credential" jsonb null, "return_url" text null, "notify_url" text null, "client_ip" varchar(64) null, "open_id" varchar(128) null, "sequence" int not null, "place_tries" int not null, "absent_count" int not null, "absent_first_at" timestamptz(6) null, "captures" int not null, "capture_state" varchar(16) null, "capture_leased_until" timestamptz(6) null, "checks" int not null, "next_check_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "checked_at" timestamptz(6) null, "created_at" timestamptz(6) not null, "sent_at" timestamptz(6) not null, "expires_at" timestamptz(6) not null, "paid_at" timestamptz(6) null, "closed_at" timestamptz(6) null, primary key ("order_no"))`,
    );
    this.addSql(
      `create unique index "orders_live_merchant_no" on "orders" ("client_id", "merchant_order_no") where merchant_order_no is not null and state not in ('closing', 'closed', 'failed')`,
    );
    this.addSql(
      `create unique index "orders_channel_trade_no" on "orders" ("pay_way", "account", "channel_trade_no") where channel_trade_no is not null`,
    );
    this.addSql(`create index "orders_due" on "orders" ("next_check_at") where next_check_at is not null`);
    this.addSql(
      `create index "orders_open_offers" on "orders" ("client_id") where kind = 'skillpay' and state in ('created', 'pending')`,
    );
    this.addSql(
      `create index "orders_created" on "orders" ("created_at", "order_no") include ("mode", "project", "state")`,
    );
    this.addSql(
      `create index "orders_paid" on "orders" ("mode", "paid_at") include ("project", "pay_way", "currency", "paid") where paid_at is not null`,
    );
    this.addSql(
      `create index "orders_product_user" on "orders" ("project", "product_code", "user_id") where product_code is not null`,
    );
    this.addSql(`create index "orders_client_created" on "orders" ("client_id", "created_at", "order_no")`);
    this.addSql(`create index "orders_project_created" on "orders" ("project", "created_at", "order_no")`);
    this.addSql(`create index "orders_pay_way_created" on "orders" ("pay_way", "created_at", "order_no")`);
    this.addSql(`create index "orders_mode_created" on "orders" ("mode", "created_at", "order_no")`);
    this.addSql(`create index "orders_amount_created" on "orders" ("amount", "created_at", "order_no")`);
    this.addSql(
      `create index "orders_status" on "orders" ((case when paid > 0 and refunded >= paid then 'refunded' when state = 'paid' and refunded > 0 then 'partially_refunded' else state::text end), "created_at", "order_no")`,
    );
    this.addSql(
      `create index "orders_type_created" on "orders" ("order_type", "created_at", "order_no") where order_type is not null`,
    );
    this.addSql(
      `create index "orders_user_created" on "orders" ("user_id", "created_at", "order_no") where user_id is not null`,
    );
    this.addSql(`create index "orders_merchant_no" on "orders" ("merchant_order_no")`);
    this.addSql(`create index "orders_trade_no" on "orders" ("channel_trade_no")`);
    this.addSql(`create index "orders_channel_order" on "orders" ("channel_order_id")`);
    this.addSql(
      `alter table "orders" add constraint "orders_amount_check" check (amount > 0 and amount <= 10000000000)`,
    );
    this.addSql(
      `alter table "orders" add constraint "orders_refunds_check" check (refunded >= 0 and refunding >= 0 and overrun >= 0 and paid >= 0 and refunded + refunding <= paid + overrun)`,
    );
    this.addSql(
      `create table "order_exceptions" ("id" uuid not null, "order_no" varchar(64) not null, "refund_no" varchar(64) null, "client_id" varchar(64) not null, "project" varchar(64) not null, "kind" varchar(64) not null, "dedupe" varchar(128) not null, "detail" jsonb null, "received_minor" bigint null, "received_currency" varchar(3) null, "blocks_refunds" boolean not null, "state" varchar(16) not null, "resolution" varchar(64) null, "reason" text null, "resolved_by" varchar(128) null, "created_at" timestamptz(6) not null, "resolved_at" timestamptz(6) null, primary key ("id"))`,
    );
    this.addSql(
      `create index "order_exceptions_state_created_at_id_index" on "order_exceptions" ("state", "created_at", "id")`,
    );
    this.addSql(
      `alter table "order_exceptions" add constraint "order_exceptions_order_no_kind_dedupe_unique" unique ("order_no", "kind", "dedupe")`,
    );
    this.addSql(
      `create table "users" ("id" uuid not null, "project" varchar(64) not null, "user_id" varchar(64) not null, "nickname" varchar(128) null, "email" varchar(254) null, "phone" varchar(32) null, "status" varchar(16) not null, "metadata" jsonb null, "anonymised_at" timestamptz(6) null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, primary key ("id"))`,
    );
    this.addSql(`create index "users_project_created_at_id_index" on "users" ("project", "created_at", "id")`);
    this.addSql(
      `create index "users_project_status_created_at_id_index" on "users" ("project", "status", "created_at", "id")`,
    );
    this.addSql(
      `create index "users_email" on "users" ("project", "email", "created_at", "id") where email is not null`,
    );
    this.addSql(
      `create index "users_phone" on "users" ("project", "phone", "created_at", "id") where phone is not null`,
    );
    this.addSql(`alter table "users" add constraint "users_project_user_id_unique" unique ("project", "user_id")`);
    this.addSql(
      `create table "products" ("id" uuid not null, "project" varchar(64) not null, "code" varchar(64) not null, "version" int not null, "name" varchar(128) not null, "description" text null, "kind" varchar(16) not null, "enabled" boolean not null, "price_minor" bigint not null, "currency" varchar(3) not null, "pay_ways" text[] not null, "stock" int null, "per_user_limit" int null, "sale_from" timestamptz(6) null, "sale_to" timestamptz(6) null, "order_type" varchar(64) null, "coin" jsonb null, "resource" jsonb null, "offer_ttl_seconds" int null, "refund_after_fulfilment" boolean not null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, primary key ("id"))`,
    );
    this.addSql(`alter table "products" add constraint "products_project_code_unique" unique ("project", "code")`);
    this.addSql(`alter table "products" add constraint "products_price_check" check (price_minor > 0)`);
    this.addSql(`alter table "products" add constraint "products_stock_check" check (stock is null or stock >= 0)`);
    this.addSql(
      `create table "projects" ("code" varchar(64) not null, "name" varchar(128) not null, "enabled" boolean not null, "remark" text null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, primary key ("code"))`,
    );
    this.addSql(
      `create table "rate_limits" ("key" varchar(255) not null, "points" int not null default 0, "expire" bigint null, primary key ("key"))`,
    );
    this.addSql(
      `create table "refunds" ("refund_no" varchar(64) not null, "order_no" varchar(64) not null, "client_id" varchar(64) not null, "project" varchar(64) not null, "merchant_refund_no" varchar(64) null, "origin" varchar(16) not null, "amount" bigint not null, "currency" varchar(3) not null, "reason" text null, "state" varchar(16) not null, "accepted" boolean not null, "surplus" boolean not null, "elsewhere" boolean not null, "failure_code" varchar(128) null, "failure_message" text null, "channel_refund_no" varchar(128) null, "actor" varchar(128) not null, "tries" int not null, "refused_at" timestamptz(6) null, "absent_count" int not null, "absent_first_at" timestamptz(6) null, "unknown_at" timestamptz(6) null, "checks" int not null, "next_check_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "sent_at" timestamptz(6) null, "created_at" timestamptz(6) not null, "finished_at" timestamptz(6) null, primary key ("refund_no"))`,
    );
    this.addSql(`create index "refunds_order_no_index" on "refunds" ("order_no")`);
    this.addSql(
      `create unique index "refunds_merchant_no" on "refunds" ("client_id", "merchant_refund_no") where merchant_refund_no is not null`,
    );
    this.addSql(`create index "refunds_due" on "refunds" ("next_check_at") where next_check_at is not null`);
    this.addSql(`create index "refunds_created" on "refunds" ("created_at", "refund_no")`);
    this.addSql(`create index "refunds_client_created" on "refunds" ("client_id", "created_at", "refund_no")`);
    this.addSql(`create index "refunds_project_created" on "refunds" ("project", "created_at", "refund_no")`);
    this.addSql(`create index "refunds_state_created" on "refunds" ("state", "created_at", "refund_no")`);
    this.addSql(`create index "refunds_origin_created" on "refunds" ("origin", "created_at", "refund_no")`);
    this.addSql(
      `create index "refunds_merchant_no_alone" on "refunds" ("merchant_refund_no") where merchant_refund_no is not null`,
    );
    this.addSql(
      `create index "refunds_succeeded" on "refunds" ("finished_at") include ("order_no", "amount") where state = 'succeeded'`,
    );
    this.addSql(`alter table "refunds" add constraint "refunds_amount_check" check (amount > 0)`);
    this.addSql(
      `create table "revoked_tokens" ("jti" varchar(64) not null, "owner" varchar(64) not null, "expires_at" timestamptz(6) not null, "revoked_at" timestamptz(6) not null, primary key ("jti"))`,
    );
    this.addSql(`create index "revoked_tokens_expires_at_index" on "revoked_tokens" ("expires_at")`);
    this.addSql(
      `create table "signing_keys" ("kid" varchar(64) not null, "mode" varchar(16) not null, "public_jwk" jsonb not null, "sealed" text not null, "created_at" timestamptz(6) not null, primary key ("kid"))`,
    );
    this.addSql(
      `create table "skill_orders" ("order_no" varchar(64) not null, "client_id" varchar(64) not null, "project" varchar(64) not null, "resource" varchar(64) not null, "product_version" int not null, "body_digest" varchar(64) not null, "input" jsonb null, "handler" jsonb not null, "refund_after_fulfilment" boolean not null, "payment_code" text null, "fulfilment" varchar(16) not null, "fencing" int not null, "attempts" int not null, "first_attempt_at" timestamptz(6) null, "leased_until" timestamptz(6) null, "next_attempt_at" timestamptz(6) null, "content" text null, "content_type" varchar(128) null, "receipt" text null, "failure_code" varchar(64) null, "failure_message" text null, "refund_no" varchar(64) null, "offered_at" timestamptz(6) not null, "fulfilled_at" timestamptz(6) null, primary key ("order_no"))`,
    );
    this.addSql(
      `create index "skill_orders_client_id_resource_offered_at_index" on "skill_orders" ("client_id", "resource", "offered_at")`,
    );
    this.addSql(
      `create index "skill_orders_due" on "skill_orders" ("next_attempt_at") where next_attempt_at is not null`,
    );
    this.addSql(
      `create table "webhooks" ("client_id" varchar(64) not null, "url" text null, "types" text[] not null, "enabled" boolean not null, "sealed_secret" text not null, "previous_sealed_secret" text null, "previous_expires_at" timestamptz(6) null, "disabled_reason" text null, "created_at" timestamptz(6) not null, "updated_at" timestamptz(6) not null, primary key ("client_id"))`,
    );
  }
}
