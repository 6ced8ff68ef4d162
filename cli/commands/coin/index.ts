import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import { addCreate, addDelete, addGet, addList, addToggle, addUpdate } from '../../resource.ts';
import { addSubList } from '../../sub-list.ts';
import * as adjust from './adjust.ts';
import { ACCOUNT, ENTRY, coin } from './resource.ts';

/** Adds the verbs of `coin`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage virtual currencies and their append-only ledgers.');
  addList(noun, context, coin, ['payctl coin list', 'payctl coin list --project shop-eu --json']);
  addGet(noun, context, coin, ['payctl coin get gold', 'payctl coin get gold --json']);
  addCreate(noun, context, coin, [
    'payctl coin create --code gold --name Gold',
    'payctl coin create --code gold --name Gold --clawback debt',
  ]);
  addUpdate(noun, context, coin, [
    'payctl coin update gold --name "Gold coins"',
    'payctl coin update gold --clawback partial --dry-run',
  ]);
  addToggle(noun, context, coin, {
    enable: ['payctl coin enable gold', 'payctl coin enable gold --json'],
    disable: ['payctl coin disable gold', 'payctl coin disable gold -y'],
  });
  addSubList(noun, context, coin, {
    verb: 'accounts',
    words: 'List the balances of a coin.',
    view: ACCOUNT,
    lines: ['payctl coin accounts gold', 'payctl coin accounts gold --all --json'],
  });
  addSubList(noun, context, coin, {
    verb: 'entries',
    words: 'List the ledger of a coin, newest first.',
    view: ENTRY,
    filters: [{ name: 'userId', value: 'id', help: 'filter by user' }],
    lines: ['payctl coin entries gold', 'payctl coin entries gold --user-id user-20417 --json'],
  });
  adjust.define(noun, context);
  addDelete(noun, context, coin, ['payctl coin delete gold', 'payctl coin delete gold --confirm gold']);
}
