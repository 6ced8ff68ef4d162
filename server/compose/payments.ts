import { Counter } from 'prom-client';
import type { RaiseException } from '../catalog/ports.ts';
import { projectName } from '../catalog/projects.ts';
import { outsideRequestTime } from '../db/pool.ts';
import {
  dueBills,
  dueDifferences,
  dueDisputes,
  dueEffectRows,
  dueOrders,
  dueLookups,
  dueRefunds,
} from '../db/queries/due.ts';
import { createReadShown } from '../db/queries/orders.ts';
import { deleteOldKeys } from '../db/queries/retention.ts';
import { createStore } from '../db/store.ts';
import { consoleClientId } from '../identity/api-app-rows.ts';
import { concurrencyOfChannels } from '../jobs/queues.ts';
import { healDifference } from '../payments/bills/differences.ts';
import { type BillPorts, planBills } from '../payments/bills/payees.ts';
import { billOperations } from '../payments/bills/read.ts';
import { workBill } from '../payments/bills/work.ts';
import { type AuditChain, checkLedger } from '../payments/ledger-check.ts';
import { PAY_WAYS } from '../payments/channel.ts';
import { checkDispute, findDisputes } from '../payments/disputes/sync.ts';
import { dueEffects } from '../payments/due-effects.ts';
import { explainOrder } from '../payments/explain/explain.ts';
import { exportOrders } from '../payments/export.ts';
import { composeEffects, raiseException } from '../payments/side-effects.ts';
import { readLimits } from '../payments/limits.ts';
import { type PaymentOperations, paymentOperations } from '../payments/operations.ts';
import { checkOrder } from '../payments/orders/order.ts';
import { type PayerOrders, payerOrders } from '../payments/orders/payer.ts';
import type { Effects, Ports } from '../payments/ports.ts';
import { checkRefund, refundLookups } from '../payments/refunds/lookups.ts';
import { limitRoutes } from '../routes/api-apps.ts';
import { approvalRoutes } from '../routes/approvals.ts';
import { billRoutes } from '../routes/bills.ts';
import { ledgerCheckRoutes } from '../routes/ledger-check.ts';
import { disputeRoutes, ownDisputeRoutes } from '../routes/disputes.ts';
import { exceptionRoutes } from '../routes/exceptions.ts';
import { explainRoutes, ownExplainRoutes } from '../routes/explain.ts';
import { notifyRoutes } from '../routes/notify.ts';
import { consolePaymentRoutes, orderExportRoutes, orderRoutes, paymentRoutes } from '../routes/orders.ts';
import { ownRefundRoutes, refundRoutes } from '../routes/refunds.ts';
import type { Base, Part } from './base.ts';

interface Needs extends Pick<
  Ports,
  'channels' | 'recordEvent' | 'audit' | 'onReceived' | 'onNotification' | 'onChannelCall' | 'count' | 'urlFault'
> {
  /** Creates the functions that run at each state change of an order. They run in the sequence of this list. */
  effects: (raise: RaiseException) => Effects[];
  auditChain: AuditChain;
}

export interface ComposedPayments extends Part {
  ports: Ports;
  operations: PaymentOperations;
  raise: RaiseException;
  /**
   * Queries the channel about a refund. The caller must hold the refund's lease (a lock with an expiry), so that no
   * other replica processes the refund.
   */
  checkRefund(refundNo: string): Promise<void>;
  /** Queries every channel account for disputes that changed recently. */
  findDisputes(goesOn?: () => boolean): Promise<void>;
  /** Stores which bills will be downloaded. */
  planBills(goesOn?: () => boolean): Promise<void>;
  payerOrders: PayerOrders;
}

/** Builds the part of the service for orders, refunds, exceptions, disputes and bills. */
export function composePayments(base: Base, { effects, auditChain, ...needs }: Needs): ComposedPayments {
  const { config, store, reports, now, log, checkpoint, patience } = base;
  const { simulated } = config;
  const raise: RaiseException = (tx, order, raised) => raiseException(ports, tx, order, raised);
  const ports: Ports = {
    ...needs,
    store,
    reports,
    readShown: createReadShown(store),
    now,
    log,
    checkpoint,
    patience,
    publicUrl: config.server.publicUrl,
    confirmAbove: config.channels.confirmAbove,
    refundAbove: config.approval.refundAbove,
    effects: composeEffects(...effects(raise)),
  };
  const billPorts: BillPorts = { ...ports, openPatient: () => reopened(base) };
  const operations = paymentOperations(ports);
  const refunds = checkRefund(ports);
  const checkOne = (refundNo: string) => refunds(refundNo);
  const find = findDisputes(ports);
  const explain = explainOrder({ store, now, channels: needs.channels, simulated });
  const plan = planBills(ports);
  const { asking, asksLittle, readsFiles } = concurrencyOfChannels(config.jobs);
  return {
    ports,
    operations,
    raise,
    checkRefund: checkOne,
    payerOrders: payerOrders(ports, { ...operations, projectName: projectName(store) }),
    groups: [
      consolePaymentRoutes({ ...operations, consoleClientId }),
      orderRoutes(operations),
      refundRoutes(operations),
      disputeRoutes(operations),
      approvalRoutes(operations),
      exceptionRoutes(operations),
      billRoutes(billOperations({ ...billPorts, patiently: outsideRequestTime })),
      explainRoutes({ explain }),
      ledgerCheckRoutes({ prove: checkLedger(ports, auditChain) }),
      orderExportRoutes({ exportOrders: exportOrders(ports) }),
      paymentRoutes({ ...operations, consoleClientId }),
      ownExplainRoutes({ explain }),
      ownRefundRoutes(operations),
      ownDisputeRoutes(operations),
      notifyRoutes(operations),
      limitRoutes({ limitsOf: readLimits(ports) }),
    ],
    kinds: [
      {
        name: 'order',
        about: 'orderNo',
        wokenBy: 'capture',
        rows: dueOrders(simulated),
        run: checkOrder(ports),
        ...asking,
      },
      {
        name: 'refund',
        about: 'refundNo',
        wokenBy: 'refund-check',
        rows: dueRefunds(simulated),
        run: checkOne,
        ...asking,
      },
      { name: 'refund-question', rows: dueLookups(simulated), run: refundLookups(ports), ...asksLittle },
      { name: 'dispute', rows: dueDisputes(simulated), run: checkDispute(ports), ...asksLittle },
      { name: 'bill', wokenBy: 'bill', rows: dueBills(simulated), run: workBill(billPorts), ...readsFiles },
      { name: 'bill-difference', rows: dueDifferences(simulated), run: healDifference(billPorts), ...asksLittle },
      { name: 'effect', rows: dueEffectRows(), run: dueEffects(ports).run, concurrency: 8, queueConcurrency: 4 },
    ],
    tasks: [
      { name: 'old-keys', everySeconds: 3600, run: (goesOn) => deleteOldKeys(store, now(), goesOn) },
      { name: 'disputes', everySeconds: 3600, run: find },
      { name: 'bills', everySeconds: 600, run: plan },
    ],
    findDisputes: find,
    planBills: plan,
  };
}

/** Opens a database connection without statement timeouts; the embedded database, which has none, is reused. */
export async function reopened({
  database,
  store,
}: Pick<Base, 'database' | 'store'>): ReturnType<BillPorts['openPatient']> {
  const own = await database.reopen?.();
  if (!own) return { store, close: async () => {} };
  return { store: createStore(own, () => {}), close: () => own.close() };
}

/** Registers the counters of notifications and exceptions, and returns the function that increments them. */
export function composeCounters({ metrics: { registry } }: Base): Ports['count'] {
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const counters = {
    notification: counter(
      'channel_notices_total',
      'Received channel notifications, by channel and result.',
      'pay_way',
      'result',
    ),
    notification_refused: counter(
      'channel_notices_refused_total',
      'Channel notifications that were refused because they failed verification, by channel and reason.',
      'pay_way',
      'why',
    ),
    order_exception: counter(
      'order_exceptions_total',
      'Exceptions (cases that an operator must review) that were opened, by kind.',
      'kind',
    ),
  };
  // Every counter begins at 0, because Prometheus sees an increase only if the counter existed before.
  for (const payWay of PAY_WAYS)
    for (const result of ['settled', 'duplicate', 'hint']) counters.notification.inc({ pay_way: payWay, result }, 0);
  return (name, { payWay, ...labels } = {}) =>
    counters[name].inc(payWay === undefined ? labels : { pay_way: payWay, ...labels });
}
