import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { plain, type Row } from '../../values.ts';
import { APPROVALS } from '../approval/view.ts';
import { EXCEPTIONS } from '../exception/view.ts';
import { ORDERS } from '../order/view.ts';
import { REFUNDS } from '../refund/view.ts';
import { attempt, degraded, failed, ok, unreadable, type Finding } from './finding.ts';

const OPEN = ['created', 'pending', 'closing'] as const;
/** An order that expired this long ago is stuck. */
const OVERDUE_MS = 3_600_000;

/** Exceptions about orders that are not here. */
const WITHOUT_ORDER: ReadonlySet<unknown> = new Set(['unmatched_notice', 'order_unknown_here', 'line_unreadable']);

/** No exception is open. */
export async function checkExceptions({ api }: Context): Promise<Finding[]> {
  const answer = await attempt(() => api.page(EXCEPTIONS, { state: 'open' }));
  if (answer instanceof CliError) return unreadable('exceptions', answer);
  const [first] = answer.rows;
  if (!first) return [ok('exceptions', 'none open')];
  // `payctl explain` needs an order.
  const isExplained = answer.rows.length === 1 && !WITHOUT_ORDER.has(first['kind']);
  const fix = isExplained ? `payctl explain ${plain(first['orderNo'])}` : 'payctl exception list --state open';
  return [degraded('exceptions', `${count(answer.rows, answer.nextCursor)} open`, fix)];
}

/** No refund is abnormal. */
export async function checkRefunds({ api }: Context): Promise<Finding[]> {
  const answer = await attempt(() => api.page(REFUNDS, { status: 'abnormal' }));
  if (answer instanceof CliError) return unreadable('refunds', answer);
  const [first] = answer.rows;
  if (!first) return [ok('refunds', 'none abnormal')];
  const fix =
    answer.rows.length === 1
      ? `payctl refund retry ${plain(first['refundNo'])}`
      : 'payctl refund list --status abnormal';
  return [degraded('refunds', `${count(answer.rows, answer.nextCursor)} abnormal`, fix)];
}

/** A refund that waits for longer has been forgotten. */
const FORGOTTEN_MS = 3 * 86_400_000;

/** Nothing waits for a second administrator. */
export async function checkApprovals({ api, terminal }: Context): Promise<Finding[]> {
  const answer = await attempt(() => api.page(APPROVALS, { state: 'waiting' }));
  if (answer instanceof CliError) return unreadable('approvals', answer);
  if (answer.rows.length === 0) return [ok('approvals', 'none waiting')];
  const before = terminal.now().getTime() - FORGOTTEN_MS;
  const old = answer.rows.filter((row) => new Date(plain(row['createdAt'])).getTime() < before);
  const waiting = `${count(answer.rows, answer.nextCursor)} waiting`;
  const fix = 'payctl approval list --state waiting';
  if (old.length === 0) return [degraded('approvals', waiting, fix)];
  return [failed('approvals', `${waiting}, ${old.length} of them for more than 3 days`, fix)];
}

/** No order is open long after its expiry: otherwise the jobs do not run. Simulator orders are frozen without Debug. */
export async function checkOrders({ api, terminal }: Context): Promise<Finding[]> {
  const before = new Date(terminal.now().getTime() - OVERDUE_MS);
  const stuck = await attempt(async () => {
    const { debug, environment } = await api.get('/api/v1/info');
    const modes = debug === true || environment === 'staging' ? [undefined] : ['sandbox', 'live'];
    const questions = OPEN.flatMap((status) => modes.map((mode) => ({ status, mode })));
    const pages = await Promise.all(
      questions.map((query) => api.page(ORDERS, { ...query, createdTo: before.toISOString(), limit: 200 })),
    );
    return pages.flatMap(({ rows }) => rows).filter((row) => new Date(plain(row['expiresAt'])) < before);
  });
  if (stuck instanceof CliError) return unreadable('orders', stuck);
  const [first] = stuck;
  if (!first) return [ok('orders', 'none overdue')];
  return [
    failed(
      'orders',
      `${stuck.length} overdue by more than an hour`,
      `payctl explain ${plain(first['orderNo'])}, then payctl order sync ${plain(first['orderNo'])}`,
    ),
  ];
}

function count(rows: readonly Row[], nextCursor: string | null): string {
  return `${rows.length}${nextCursor === null ? '' : ' or more'}`;
}
