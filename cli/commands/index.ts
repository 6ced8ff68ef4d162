import type { Command } from 'commander';
import { PAY_WAYS, inEnglish } from '../../server/domain.ts';
import type { ContextOf, DescribedTree } from '../context.ts';

/**
 * The module of a noun: its verbs and flags, added to the command that carries its name. `tree` is for those that describe
 * the others, which they cannot import: the tree imports them.
 */
interface NounModule {
  define(noun: Command, context: ContextOf, tree: DescribedTree): void;
}

/** A noun in the order of help; its commands are loaded only when it stands on the command line. */
export interface Noun {
  group: string;
  name: string;
  plural?: string;
  summary: string;
  load(): Promise<NounModule>;
}

/** The tree, in the order of help. */
export const nouns: readonly Noun[] = [
  {
    group: 'Getting started',
    name: 'bootstrap',
    summary: 'create the first administrator and application, offline',
    load: () => import('./bootstrap.ts'),
  },
  { group: 'Getting started', name: 'login', summary: 'log in as an administrator', load: () => import('./login.ts') },
  {
    group: 'Getting started',
    name: 'logout',
    summary: 'end the session',
    load: () => import('./logout.ts'),
  },
  {
    group: 'Getting started',
    name: 'whoami',
    summary: 'show the current login and server',
    load: () => import('./whoami.ts'),
  },
  {
    group: 'Getting started',
    name: 'context',
    plural: 'contexts',
    summary: 'manage named servers',
    load: () => import('./context.ts'),
  },

  {
    group: 'Manage',
    name: 'app',
    plural: 'apps',
    summary: 'API applications and their secrets',
    load: () => import('./app.ts'),
  },
  {
    group: 'Manage',
    name: 'channel',
    plural: 'channels',
    summary: `channel configurations of ${inEnglish(PAY_WAYS, 'and')}`,
    load: () => import('./channel.ts'),
  },
  {
    group: 'Manage',
    name: 'cert',
    plural: 'certs',
    summary: 'channel certificates and keys',
    load: () => import('./cert.ts'),
  },
  {
    group: 'Manage',
    name: 'user',
    plural: 'users',
    summary: 'users: the people who pay',
    load: () => import('./user.ts'),
  },
  {
    group: 'Manage',
    name: 'product',
    plural: 'products',
    summary: 'goods, coin packages and skills',
    load: () => import('./product.ts'),
  },
  {
    group: 'Manage',
    name: 'project',
    plural: 'projects',
    summary: 'tenants',
    load: () => import('./project.ts'),
  },
  {
    group: 'Manage',
    name: 'coin',
    plural: 'coins',
    summary: 'virtual currencies and their ledgers',
    load: () => import('./coin.ts'),
  },
  {
    group: 'Manage',
    name: 'admin',
    plural: 'admins',
    summary: 'console accounts',
    load: () => import('./admin.ts'),
  },
  {
    group: 'Manage',
    name: 'session',
    plural: 'sessions',
    summary: 'sessions of administrators',
    load: () => import('./session.ts'),
  },
  {
    group: 'Manage',
    name: 'second-factor',
    summary: 'one-time codes for your own login',
    load: () => import('./second-factor.ts'),
  },

  {
    group: 'Payments',
    name: 'pay',
    summary: 'place a payment and show its QR code',
    load: () => import('./pay.ts'),
  },
  {
    group: 'Payments',
    name: 'order',
    plural: 'orders',
    summary: 'find, track, capture, close and export orders',
    load: () => import('./order.ts'),
  },
  {
    group: 'Payments',
    name: 'refund',
    plural: 'refunds',
    summary: 'create, track and resolve refunds',
    load: () => import('./refund.ts'),
  },
  {
    group: 'Payments',
    name: 'dispute',
    plural: 'disputes',
    summary: 'disputes and chargebacks of payers',
    load: () => import('./dispute.ts'),
  },
  {
    group: 'Payments',
    name: 'approval',
    plural: 'approvals',
    summary: 'refunds that wait for a second administrator',
    load: () => import('./approval.ts'),
  },
  {
    group: 'Payments',
    name: 'exception',
    plural: 'exceptions',
    summary: 'cases that need manual review',
    load: () => import('./exception.ts'),
  },
  {
    group: 'Payments',
    name: 'bill',
    plural: 'bills',
    summary: 'bills of the channels: compare, settle',
    load: () => import('./bill.ts'),
  },

  {
    group: 'Payments',
    name: 'skillpay',
    summary: 'pay-per-call (HTTP 402)',
    load: () => import('./skillpay.ts'),
  },

  { group: 'Develop', name: 'api', summary: 'call any API endpoint', load: () => import('./api.ts') },
  {
    group: 'Develop',
    name: 'event',
    plural: 'events',
    summary: 'event log and webhooks',
    load: () => import('./event.ts'),
  },
  {
    group: 'Develop',
    name: 'simulator',
    summary: 'simulate payers and channels',
    load: () => import('./simulator.ts'),
  },
  {
    group: 'Develop',
    name: 'mcp',
    summary: 'serve agents over the Model Context Protocol',
    load: () => import('./mcp.ts'),
  },
  { group: 'Develop', name: 'open', summary: 'open the API explorer in a browser', load: () => import('./open.ts') },

  {
    group: 'Health',
    name: 'status',
    summary: 'show whether the service is healthy',
    load: () => import('./status.ts'),
  },
  { group: 'Health', name: 'top', summary: 'follow the service live', load: () => import('./top/index.ts') },
  { group: 'Health', name: 'audit', summary: 'verify ledger consistency', load: () => import('./audit.ts') },
  {
    group: 'Health',
    name: 'audit-log',
    summary: 'who changed what',
    load: () => import('./audit-log.ts'),
  },
  {
    group: 'Health',
    name: 'explain',
    summary: 'explain the state of an order and what happens next',
    load: () => import('./explain/index.ts'),
  },
  {
    group: 'Health',
    name: 'doctor',
    summary: 'diagnose problems and suggest fixes',
    load: () => import('./doctor/index.ts'),
  },

  {
    group: 'Server',
    name: 'server',
    summary: 'start, migrate and back up the service, prove backups',
    load: () => import('./server.ts'),
  },
  { group: 'Server', name: 'keys', summary: 'rotate the master key', load: () => import('./keys.ts') },

  {
    group: 'Other',
    name: 'completion',
    summary: 'shell completion for bash, zsh, fish and powershell',
    load: () => import('./completion.ts'),
  },
  {
    group: 'Other',
    name: 'config',
    summary: 'payctl settings and their sources',
    load: () => import('./config.ts'),
  },
  { group: 'Other', name: 'help', summary: 'help for a command or a topic', load: () => import('./help.ts') },
  {
    group: 'Other',
    name: 'version',
    summary: 'show the versions of payctl and Node.js',
    load: () => import('./version.ts'),
  },
];
