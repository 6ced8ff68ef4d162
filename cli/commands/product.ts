import type { Command } from 'commander';
import { addCreate, addDelete, addToggle, addUpdate } from '../action.ts';
import type { ContextOf } from '../context.ts';
import { amount, instant, integer, json, list, truth } from '../options.ts';
import { type Editable, addGet, addList } from '../resource.ts';

const BIG = 2_147_483_647;

const product: Editable = {
  noun: 'product',
  plural: 'products',
  path: '/api/v1/products',
  idName: 'code',
  inProject: true,
  view: {
    noun: 'product',
    id: 'code',
    columns: [
      { field: 'code', kind: 'id' },
      { field: 'kind', kind: 'id' },
      { field: 'price', kind: 'money' },
      { field: 'enabled', kind: 'yesno' },
      { field: 'name' },
      { field: 'stock' },
      { field: 'payWays' },
      { field: 'version' },
      { field: 'project' },
    ],
  },
  filters: [
    { name: 'kind', value: 'kind', help: 'filter by kind', choices: ['goods', 'coin_package', 'skill'] },
    { name: 'enabled', value: 'true|false', help: 'filter by enabled or disabled', read: truth },
  ],
  createOnly: [
    { name: 'code', value: 'code', help: 'letters, digits, "_" and "-"', required: true },
    {
      name: 'kind',
      value: 'kind',
      help: 'kind of product',
      choices: ['goods', 'coin_package', 'skill'],
      required: true,
    },
  ],
  fields: [
    { name: 'name', value: 'name', help: 'display name', required: true },
    {
      name: 'price',
      value: 'amount',
      help: 'price in major units; a change creates a new version',
      read: amount,
      required: true,
    },
    { name: 'currency', value: 'code', help: 'currency code, e.g. CNY or USD', required: true },
    { name: 'payWays', value: 'a,b', help: 'channels that can be used to pay', read: list, required: true },
    { name: 'description', value: 'text', help: 'description' },
    { name: 'stock', value: 'n', help: 'number in stock', read: integer(0, BIG) },
    { name: 'perUserLimit', value: 'n', help: 'how many one user may buy', read: integer(1, BIG) },
    { name: 'saleFrom', value: 'time', help: 'start of the sale window', read: instant },
    { name: 'saleTo', value: 'time', help: 'end of the sale window', read: instant },
    {
      name: 'offerTtlSeconds',
      value: 'n',
      help: 'for skills: how long an offer stays valid',
      read: integer(60, 86_400),
    },
    { name: 'orderType', value: 'text', help: 'business category of its orders' },
    { name: 'coin', value: 'json', help: 'for coin packages: {"code","amount","bonus"}', read: json },
    { name: 'coinPrice', value: 'json', help: 'for skills: {"code","amount"} of a call', read: json },
    { name: 'resource', value: 'json', help: 'for skills: the handler and its settings', read: json },
    {
      name: 'refundAfterFulfilment',
      value: 'true|false',
      help: 'for skills: callers may refund delivered calls (default false)',
      read: truth,
    },
  ],
};

/** Adds the subcommands of `payctl product`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage products: goods, coin packages and skills, with price, stock and sale window.');
  addList(noun, context, product, [
    'payctl product list --kind skill',
    'payctl product list --all --fields code,price,currency',
  ]);
  addGet(noun, context, product, ['payctl product get tea', 'payctl product get tea --json']);
  addCreate(noun, context, product, [
    'payctl product create --code tea --kind goods --name Tea --price 12.50 --currency CNY --pay-ways alipay,wechat --stock 100',
    'payctl product create --code gold --kind coin_package --name Gold --price 6 --currency CNY --pay-ways alipay --coin \'{"code":"gold","amount":60,"bonus":6}\'',
  ]);
  addUpdate(noun, context, product, [
    'payctl product update tea --price 13.00',
    'payctl product update tea --clear stock --dry-run',
  ]);
  addToggle(noun, context, product, {
    enable: ['payctl product enable tea', 'payctl product enable tea --json'],
    disable: ['payctl product disable tea', 'payctl product disable tea -y'],
  });
  addDelete(noun, context, product, ['payctl product delete tea', 'payctl product delete tea --confirm tea']);
}
