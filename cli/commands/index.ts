import type { Command } from 'commander';
import { PAY_WAYS, inEnglish } from '../../server/domain.ts';
import type { ContextOf, DescribedTree } from '../context.ts';
import type { Login } from '../options.ts';

/** `tree` describes the commands of all other nouns, because importing their modules would be an import cycle. */
interface NounModule {
  define(noun: Command, context: ContextOf, tree: DescribedTree): void;
}

/** A noun (first word of a command, e.g. `order`). Its module is loaded only if it is on the command line. */
export interface Noun {
  group: string;
  name: string;
  plural?: string;
  summary: string;
  /** The login that the command needs; an administrator's by default. */
  login?: Login;
  /** Whether what people read of its results is also in Chinese. */
  translated?: true;
  load(): Promise<NounModule>;
}

const GROUPS: Readonly<Record<string, readonly Omit<Noun, 'group'>[]>> = {
  'Getting started': [
    {
      name: 'bootstrap',
      summary: 'create the first administrator and application, offline',
      login: 'none',
      load: () => import('./bootstrap.ts'),
    },
    {
      name: 'login',
      summary: 'log in as an administrator or as an application',
      login: 'none',
      load: () => import('./login.ts'),
    },
    { name: 'logout', summary: 'end the session', login: 'any', load: () => import('./logout.ts') },
    { name: 'whoami', summary: 'show the current login and server', login: 'any', load: () => import('./whoami.ts') },
    {
      name: 'context',
      plural: 'contexts',
      summary: 'manage named servers',
      login: 'none',
      load: () => import('./context.ts'),
    },
  ],
  Manage: [
    {
      name: 'app',
      plural: 'apps',
      summary: 'API applications, their secrets and webhooks',
      login: 'any',
      load: () => import('./app.ts'),
    },
    {
      name: 'channel',
      plural: 'channels',
      summary: `channel configurations of ${inEnglish(PAY_WAYS, 'and')}`,
      load: () => import('./channel.ts'),
    },
    { name: 'cert', plural: 'certs', summary: 'channel certificates and keys', load: () => import('./cert.ts') },
    { name: 'user', plural: 'users', summary: 'users: the payers of a project', load: () => import('./user.ts') },
    {
      name: 'product',
      plural: 'products',
      summary: 'goods, coin packages and skills',
      load: () => import('./product.ts'),
    },
    { name: 'project', plural: 'projects', summary: 'tenants', load: () => import('./project.ts') },
    { name: 'coin', plural: 'coins', summary: 'virtual currencies and their ledgers', load: () => import('./coin.ts') },
    { name: 'admin', plural: 'admins', summary: 'console accounts', load: () => import('./admin.ts') },
    { name: 'session', plural: 'sessions', summary: 'sessions of administrators', load: () => import('./session.ts') },
    { name: 'second-factor', summary: 'one-time codes for your own login', load: () => import('./second-factor.ts') },
  ],
  Payments: [
    { name: 'pay', summary: 'place a payment and show its QR code', login: 'any', load: () => import('./pay.ts') },
    {
      name: 'order',
      plural: 'orders',
      summary: 'find, track, capture, close and export orders',
      login: 'any',
      load: () => import('./order.ts'),
    },
    {
      name: 'refund',
      plural: 'refunds',
      summary: 'create, track and resolve refunds',
      login: 'any',
      load: () => import('./refund.ts'),
    },
    {
      name: 'dispute',
      plural: 'disputes',
      summary: 'disputes and chargebacks of payers',
      translated: true,
      login: 'any',
      load: () => import('./dispute.ts'),
    },
    {
      name: 'approval',
      plural: 'approvals',
      summary: 'requests that wait for a second administrator',
      load: () => import('./approval.ts'),
    },
    {
      name: 'exception',
      plural: 'exceptions',
      summary: 'cases that need manual review',
      translated: true,
      load: () => import('./exception.ts'),
    },
    {
      name: 'bill',
      plural: 'bills',
      summary: 'bills of the channels: compare, settle',
      translated: true,
      load: () => import('./bill.ts'),
    },
    { name: 'skillpay', summary: 'pay-per-call (HTTP 402)', login: 'any', load: () => import('./skillpay.ts') },
  ],
  Develop: [
    { name: 'api', summary: 'call any API endpoint', login: 'any', load: () => import('./api.ts') },
    {
      name: 'event',
      plural: 'events',
      summary: 'event log and webhooks',
      login: 'any',
      load: () => import('./event.ts'),
    },
    { name: 'simulator', summary: 'simulate payers and channels', login: 'none', load: () => import('./simulator.ts') },
    {
      name: 'mcp',
      summary: 'serve agents over the Model Context Protocol',
      login: 'application',
      load: () => import('./mcp.ts'),
    },
    { name: 'open', summary: 'open the API explorer in a browser', login: 'none', load: () => import('./open.ts') },
  ],
  Health: [
    {
      name: 'status',
      summary: 'show whether the service is healthy',
      login: 'none',
      load: () => import('./status.ts'),
    },
    { name: 'top', summary: 'follow the service live', load: () => import('./top/index.ts') },
    { name: 'audit', summary: 'verify ledger consistency', load: () => import('./audit.ts') },
    { name: 'audit-log', summary: 'log of administrative changes', load: () => import('./audit-log.ts') },
    {
      name: 'explain',
      summary: 'explain the state of an order and what happens next',
      login: 'any',
      translated: true,
      load: () => import('./explain/index.ts'),
    },
    {
      name: 'doctor',
      summary: 'diagnose problems and suggest fixes',
      translated: true,
      load: () => import('./doctor/index.ts'),
    },
  ],
  Server: [
    {
      name: 'server',
      summary: 'start, migrate and back up the service, verify backups',
      login: 'none',
      load: () => import('./server.ts'),
    },
    { name: 'keys', summary: 'identify and rotate the master key', login: 'none', load: () => import('./keys.ts') },
  ],
  Other: [
    {
      name: 'completion',
      summary: 'shell completion for bash, zsh and fish',
      login: 'none',
      load: () => import('./completion.ts'),
    },
    { name: 'config', summary: 'payctl settings and their sources', login: 'none', load: () => import('./config.ts') },
    { name: 'help', summary: 'help for a command or a topic', login: 'none', load: () => import('./help.ts') },
    {
      name: 'version',
      summary: 'show the versions of payctl and Node.js',
      login: 'none',
      load: () => import('./version.ts'),
    },
  ],
};

/** All nouns, in the order in which `payctl help` lists them. */
export const nouns: readonly Noun[] = Object.entries(GROUPS).flatMap(([group, members]) =>
  members.map((noun) => ({ group, ...noun })),
);
