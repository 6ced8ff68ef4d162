import type Koa from 'koa';
import type { Config } from '../config/config.ts';
import { createEffects } from './catalog/effects.ts';
import { composeAgentPay, composeSkillpay } from './compose/skillpay.ts';
import { type Base, composeBase, type Overrides } from './compose/base.ts';
import { composeCatalog } from './compose/catalog.ts';
import { composeCounters, composePayments } from './compose/payments.ts';
import { composeCredentials, composeMessages } from './compose/credentials.ts';
import { composeDiagnosis, composeHttp } from './compose/http.ts';
import { composeEvents, composeLive } from './compose/events.ts';
import { composeIdentity } from './compose/identity.ts';
import { composeJobs } from './compose/jobs.ts';
import { refuseBesideLive } from './credentials/live-guard.ts';
import { MasterKeyWrong, missingMasterKeys } from './db/encryption.ts';
import type { MessageLog } from './db/message-log.ts';
import { openDatabase } from './db/orm.ts';
import type { Identity } from './identity/identity.ts';
import type { Sweep } from './jobs/scheduler.ts';
import { createSender } from './outgoing/sender.ts';
import { createUrlRule } from './outgoing/url-rule.ts';
import type { PaymentOperations } from './payments/operations.ts';
import type { Ports } from './payments/ports.ts';
import { readAuditPlace } from './identity/audit-proof.ts';
import { skillEffects } from './skillpay/effects.ts';
import type { SkillOperations } from './skillpay/operations.ts';

export type { Overrides };

export interface App extends Pick<Base, 'store' | 'database' | 'schema' | 'logger' | 'metrics'> {
  koa: Koa;
  identity: Identity;
  payments: PaymentOperations;
  skillpay: SkillOperations;
  ports: Ports;
  /**
   * Processes the orders, refunds, disputes and pay-per-call orders that are due. Works without the background jobs.
   */
  sweep: Sweep;
  /** Sends the webhook deliveries that are due. The call works without the background jobs. */
  deliveries: Sweep;
  /**
   * A bill is a channel's list of the transactions of a day. `plan` creates the records of the bills to fetch; `sweep`
   * processes the due bills. Both work without the background jobs.
   */
  bills: { plan(): Promise<void>; sweep: Sweep };
  /** Queries every channel account for recently changed disputes. */
  findDisputes(): Promise<void>;
  messages: MessageLog;
  /** Stores the channel configurations of the simulator before the first payment, if the simulator is used. */
  prepare(): Promise<void>;
  /** Called after the start: logs each enabled channel whose secrets cannot be decrypted. */
  reportUnusableChannels(): Promise<void>;
  startJobs(): void;
  close(): Promise<void>;
}

/** The composition root: opens the database and assembles every part with its dependencies. */
export async function buildApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const database = await openDatabase({
    ...config.database,
    ...(overrides.databaseTimeouts && { timeouts: overrides.databaseTimeouts }),
  });
  try {
    return await assemble(await composeBase(config, database, overrides));
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function assemble(base: Base): Promise<App> {
  const { config, database, store, now, log } = base;
  const { allowedNetworks } = config.webhook;
  const senderRules = { allowedNetworks, httpsOnly: config.production };
  const send = createSender(senderRules);
  const urlFault = createUrlRule(senderRules);

  const messages = composeMessages(base);
  const identity = composeIdentity(base);
  const { audit } = identity;
  const credentials = composeCredentials(base, { ...messages, audit });
  const { channels, noticed, encryption } = credentials;
  const isDraining = () => koa.context.draining === true;
  const events = composeEvents(base, { identity, encryption, send, urlFault, isDraining });
  const recordEvent = events.record;
  const live = composeLive(base, { identity, isDraining });
  const payments = composePayments(base, {
    channels,
    recordEvent,
    audit,
    urlFault,
    onReceived: messages.onReceived,
    onNotification: noticed,
    onChannelCall: live.onChannelCall,
    count: live.counting(composeCounters(base)),
    effects: (raise) => [createEffects({ now, recordEvent, raise }), skillEffects({ now, raise })],
    auditChain: { verify: identity.verifyAudit, readPlace: readAuditPlace },
  });
  const { kindOf } = channels;
  const catalog = composeCatalog(base, { audit, recordEvent, kindOf, urlFault, payments: payments.operations });
  const agentPay = composeAgentPay(base, { encryption, audit, send: messages.transportTo('wechat') });
  const skillpay = composeSkillpay(base, { payments, encryption, send, agentPay });
  const parts = [identity, payments, credentials, events, live, catalog, skillpay];
  const jobs = composeJobs(base, parts, live);

  await refuseBesideLive(store, config);
  await requireMasterKeys();
  await credentials.leaveModes();
  await identity.seed();
  await skillpay.seed();

  const koa = composeHttp(base, {
    groups: [...parts.flatMap(({ groups }) => groups), composeDiagnosis(base, jobs.kinds)],
    isDraining,
    authenticators: identity.authenticators,
    exposedHeaders: skillpay.exposedHeaders,
  });
  return {
    ...base,
    koa,
    identity,
    payments: payments.operations,
    skillpay: skillpay.operations,
    ports: payments.ports,
    sweep: jobs.sweep(
      'order',
      'refund',
      'refund-question',
      'dispute',
      'fulfilment',
      'coin-call',
      'confirmation',
      'effect',
    ),
    deliveries: jobs.sweep('delivery'),
    bills: { plan: payments.planBills, sweep: jobs.sweep('bill', 'bill-difference') },
    findDisputes: payments.findDisputes,
    messages: messages.log,
    prepare,
    reportUnusableChannels,
    startJobs: jobs.start,
    close,
  };

  /** With the simulator the service starts nevertheless, because it writes the secrets of the simulator again. */
  async function requireMasterKeys(): Promise<void> {
    const { security, simulated } = config;
    const missing = await missingMasterKeys(store, security).catch((error: unknown) => {
      if (!simulated || !(error instanceof MasterKeyWrong)) throw error;
      return error.needed;
    });
    if (missing.length === 0) return;
    const configured = security.masterKeys.map(({ id }) => id);
    const facts = { needed: missing, configured, hint: 'Security.MasterKey' };
    log('error', 'stored secrets need master keys that are not configured', facts);
  }

  async function prepare(): Promise<void> {
    const logFailure = (error: unknown) =>
      log('warn', 'the simulator did not respond', {
        error,
        hint: 'Run payctl simulator start. The first order then stores the channel configurations of the simulator.',
      });
    if (config.simulated) await credentials.seedSimulator().catch(logFailure);
  }

  async function reportUnusableChannels(): Promise<void> {
    for (const channel of await credentials.undecryptableChannels())
      log('error', 'a channel is down: its secrets cannot be decrypted', { ...channel, hint: 'Security.MasterKey' });
  }

  async function close(): Promise<void> {
    events.close();
    await live.close();
    await jobs.stop(config.server.shutdownSeconds * 1000);
    await skillpay.operations.idle();
    await credentials.channels.idle();
    await messages.log.close();
    await base.reports.close();
    await database.close();
  }
}
