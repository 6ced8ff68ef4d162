import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import { addDelete, addGet, addList, addToggle, addUpdate } from '../../resource.ts';
import { addSubList } from '../../sub-list.ts';
import * as create from './create.ts';
import { LIMITS } from './limits.ts';
import { app } from './resource.ts';
import * as revokeTokens from './revoke-tokens.ts';
import * as rotateSecret from './rotate-secret.ts';
import * as webhook from './webhook/index.ts';

/** Adds the verbs of `app`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage API applications, the OAuth clients of /api/v2.');
  addList(noun, context, app, [
    'payctl app list',
    'payctl app list --fields client_id,name,lastUsedAt',
    'payctl app list --all -q',
  ]);
  addGet(noun, context, app, [
    'payctl app get app_7Kd2mQxW9bTzR4vLp1Ns',
    'payctl app get app_7Kd2mQxW9bTzR4vLp1Ns --json',
  ]);
  addSubList(noun, context, app, LIMITS);
  create.define(noun, context);
  addUpdate(noun, context, app, [
    'payctl app update app_7Kd2mQxW9bTzR4vLp1Ns --name shop-eu',
    'payctl app update app_7Kd2mQxW9bTzR4vLp1Ns --scope payment:read --dry-run',
    'payctl app update app_7Kd2mQxW9bTzR4vLp1Ns --clear allowed-ips',
    'payctl app update app_7Kd2mQxW9bTzR4vLp1Ns --limit CNY.perDay=1000 --limit CNY.ordersPerHour=60',
  ]);
  addToggle(noun, context, app, {
    enable: ['payctl app enable app_7Kd2mQxW9bTzR4vLp1Ns', 'payctl app enable app_7Kd2mQxW9bTzR4vLp1Ns --json'],
    disable: ['payctl app disable app_7Kd2mQxW9bTzR4vLp1Ns', 'payctl app disable app_7Kd2mQxW9bTzR4vLp1Ns -y'],
  });
  rotateSecret.define(noun, context);
  revokeTokens.define(noun, context);
  webhook.define(noun, context);
  addDelete(noun, context, app, [
    'payctl app delete app_7Kd2mQxW9bTzR4vLp1Ns',
    'payctl app delete app_7Kd2mQxW9bTzR4vLp1Ns --confirm app_7Kd2mQxW9bTzR4vLp1Ns',
  ]);
}
