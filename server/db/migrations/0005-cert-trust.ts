import { Migration } from '@mikro-orm/migrations';

/**
 * Who trusts a key or certificate that verifies. Trusted from their upload on are the defaults, which answers prove every day,
 * and what an administrator (or Debug's simulator) uploaded; the others, which any application may have brought, wait for an
 * administrator.
 */
export class CertTrust extends Migration {
  override up(): void {
    this.addSql(
      `alter table "certs" add column "trusted_at" timestamptz(6) null, add column "trusted_by" varchar(128) null`,
    );
    this.addSql(`alter table "channel_states" add column "trust_revision" int not null default 0`);
    this.addSql(
      `update "certs" c set "trusted_at" = c."created_at", "trusted_by" = case when c."created_by" = 'simulator' then 'simulator' else 'migration' end
        where c."deleted_at" is null
          and c."kind" in ('alipay_public_key', 'alipay_public_cert', 'alipay_root_cert', 'wechat_public_key',
            'wechat_platform_cert', 'paypal_webhook_intermediate', 'paypal_simulator_ca')
          and (c."is_default" or (not exists (select 1 from "api_apps" a where a."client_id" = c."created_by")
            and (c."created_by" = 'simulator' or exists (select 1 from "admins" p where p."username" = c."created_by"))))`,
    );
  }
}
