import { Counter } from 'prom-client';
import type { RaiseException } from '../catalog/ports.ts';
import { projectName } from '../catalog/projects.ts';
import { outsideRequestTime } from '../db/pool.ts';
import { createStore } from '../db/store.ts';
import type { RouteGroup } from '../http/router.ts';
import { consoleClientId } from '../identity/api-app-rows.ts';
import { healDifference } from '../payments/bills/differences.ts';
import { type BillPorts, planBills } from '../payments/bills/payees.ts';
import { billOperations } from '../payments/bills/read.ts';
import { workBill } from '../payments/bills/work.ts';
import { type AuditChain, checkBooks } from '../payments/books.ts';
import { PAY_WAYS } from '../payments/channel.ts';
import { checkDispute, findDisputes } from '../payments/disputes/hear.ts';
import { dueEffects } from '../payments/due-effects.ts';
import { explainOrder } from '../payments/explain/explain.ts';
import { exportOrders } from '../payments/export.ts';
import { composeEffects, raiseException } from '../payments/follow-ups.ts';
import { readLimits } from '../payments/limits.ts';
import { type PaymentOperations, paymentOperations } from '../payments/operations.ts';
import { checkOrder } from '../payments/orders/order.ts';
import { type PayerOrders, payerOrders } from '../payments/orders/payer.ts';
import type { Effects, Ports } from '../payments/ports.ts';
import { checkRefund, refundQuestions } from '../payments/refunds/lookups.ts';
import { limitRoutes } from '../routes/api-apps.ts';
import { approvalRoutes } from '../routes/approvals.ts';
import { billRoutes } from '../routes/bills.ts';
import { bookRoutes } from '../routes/books.ts';
import { disputeRoutes, ownDisputeRoutes } from '../routes/disputes.ts';
import { exceptionRoutes } from '../routes/exceptions.ts';
import { explainRoutes } from '../routes/explain.ts';
import { notifyRoutes } from '../routes/notify.ts';
import { consolePaymentRoutes, orderExportRoutes, orderRoutes, paymentRoutes } from '../routes/orders.ts';
import { refundRoutes } from '../routes/refunds.ts';
import type { Base } from './base.ts';

/** What payments need of other parts. */
interface Needs extends Pick<
  Ports,
  'channels' | 'recordEvent' | 'audit' | 'heard' | 'noticed' | 'asked' | 'count' | 'urlFault'
> {
  /** What else happens when orders move, in this order; it may raise exceptions of them. */
  effects: (raise: RaiseException) => Effects[];
  auditChain: AuditChain;
}

/** Orders, refunds and exceptions. */
export interface ComposedPayments {
  ports: Ports;
  operations: PaymentOperations;
  raise: RaiseException;
  /** Does what is due for an order; the caller has claimed it. */
  checkOrder(orderNo: string): Promise<void>;
  /** Does what is due for a refund; the caller has claimed it. */
  checkRefund(refundNo: string): Promise<void>;
  /** Asks what became of a refund that a channel named; the caller has claimed the row. */
  askAboutRefund(id: string): Promise<void>;
  /** Asks what became of a dispute; the caller has claimed the row. */
  checkDispute(disputeNo: string): Promise<void>;
  /** Asks every account for disputes that changed lately. */
  findDisputes(goesOn?: () => boolean): Promise<void>;
  /** Writes down which bills will be asked for. */
  planBills(goesOn?: () => boolean): Promise<void>;
  /** Asks for, reads and compares a bill; the caller has claimed the row. */
  workBill(billNo: string): Promise<void>;
  /** Asks the channel about a difference between a bill and an order; the caller has claimed the row. */
  healDifference(id: string): Promise<void>;
  /** Does what is due because an order moved; the caller has claimed the row. */
  doEffect(id: string): Promise<void>;
  /** What the payer's pages show and do. */
  payerOrders: PayerOrders;
  groups: RouteGroup[];
}

/** Assembles payments. */
export function composePayments(base: Base, { effects, auditChain, ...needs }: Needs): ComposedPayments {
  const { config, store, reports, now, log, checkpoint, patience } = base;
  const { simulated } = config;
  const raise: RaiseException = (tx, order, raised) => raiseException(ports, tx, order, raised);
  const ports: Ports = {
    ...needs,
    store,
    reports,
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
      explainRoutes({ explain: explainOrder({ store, now, channels: needs.channels, simulated }) }),
      bookRoutes({ prove: checkBooks(ports, auditChain) }),
      orderExportRoutes({ exportOrders: exportOrders(ports) }),
      paymentRoutes({ ...operations, consoleClientId }),
      ownDisputeRoutes(operations),
      notifyRoutes(operations),
      limitRoutes({ limitsOf: readLimits(ports) }),
    ],
    checkOrder: checkOrder(ports),
    askAboutRefund: refundQuestions(ports),
    checkDispute: checkDispute(ports),
    findDisputes: findDisputes(ports),
    planBills: planBills(ports),
    workBill: workBill(billPorts),
    healDifference: healDifference(billPorts),
    doEffect: dueEffects(ports).run,
  };
}

/** A door for statements that may take their time; the embedded database has no bounds, and one connection. */
export async function reopened({
  database,
  store,
}: Pick<Base, 'database' | 'store'>): ReturnType<BillPorts['openPatient']> {
  const own = await database.reopen?.();
  if (!own) return { store, close: async () => {} };
  return { store: createStore(own, () => {}), close: () => own.close() };
}

/** Assembles the figures about money beside those of HTTP. */
export function composeCounters({ metrics: { registry } }: Base): Ports['count'] {
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const counters: Record<string, Counter> = {
    notice: counter('channel_notices_total', 'Channel notifications by channel and result.', 'pay_way', 'result'),
    notice_refused: counter(
      'channel_notices_refused_total',
      'Channel notifications that failed verification, by reason.',
      'pay_way',
      'why',
    ),
    order_exception: counter('order_exceptions_total', 'Exceptions by kind.', 'kind'),
  };
  // An increase is only seen from a number that was there before.
  for (const payWay of PAY_WAYS)
    for (const result of ['settled', 'duplicate', 'hint']) counters['notice']?.inc({ pay_way: payWay, result }, 0);
  return (name, { payWay, ...labels } = {}) =>
    counters[name]?.inc(payWay === undefined ? labels : { pay_way: payWay, ...labels });
}
