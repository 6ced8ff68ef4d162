import test from 'ava';
import type { AgentPayRow } from '../../../../server/db/entities/skillpay.ts';
import type { OrderRow } from '../../../../server/db/entities/orders.ts';
import type { Store } from '../../../../server/db/store.ts';
import { PATIENCE } from '../../../../server/payments/ports.ts';
import { type CodeAnswer, withAgentCode } from '../../../../server/skillpay/schemes/wechat.ts';
import type { SkillPair } from '../../../../server/skillpay/schemes/scheme.ts';

const NOW = new Date('2026-11-24T08:00:00Z');

/** An offer payable by WeChat agents, and its store. */
function offered() {
  const row = {
    project: 'default',
    mode: 'live',
    skills: { weather: { id: 'w', version: '1' } },
  } as unknown as AgentPayRow;
  const order = {
    orderNo: 'X1',
    project: 'default',
    mode: 'live',
    payWay: 'wechat',
    state: 'pending',
    credential: { type: 'qr', qrCode: 'weixin://x' },
    expiresAt: new Date(NOW.getTime() + 600_000),
  } as OrderRow;
  const kept: { agentCode: string | null } = { agentCode: null };
  const skill = { orderNo: 'X1', resource: 'weather', agentCode: null, agentCodeUntil: null };
  const skillOrders = {
    lock: async () => skill,
    update: async (_: unknown, patch: { agentCode: string }) => void (kept.agentCode = patch.agentCode),
  };
  const tx = { agentPays: { find: async () => row, update: async () => 1 }, skillOrders };
  const run = (work: (given: unknown) => Promise<unknown>) => work(tx);
  const store = { read: run, transaction: run, autocommit: run } as unknown as Store;
  return { store, pair: { order, skill } as unknown as SkillPair, kept };
}

test('a silent operator does not delay the offer, which goes out without a code, and a late code is stored', async (t) => {
  const { store, pair, kept } = offered();
  let now = NOW;
  const answers: ((answer: CodeAnswer) => void)[] = [];
  const withCode = withAgentCode({
    store,
    now: () => now,
    log: () => {},
    open: () => '',
    readKey: () => undefined as never,
    requestCode: () => new Promise((resolve) => void answers.push(resolve)),
    count: () => {},
    patience: { ...PATIENCE, agentCode: 1 },
  });
  t.is((await withCode(pair)).skill.agentCode, null);
  t.is(answers.length, 1);
  t.is((await withCode(pair)).skill.agentCode, null);
  t.is(answers.length, 1, 'for a while it is not asked');
  answers[0]!({ code: 'PAYCODE_late' });
  while (kept.agentCode === null) await new Promise((resolve) => setImmediate(resolve));
  t.is(kept.agentCode, 'PAYCODE_late');
  now = new Date(NOW.getTime() + 31_000);
  await withCode(pair);
  t.is(answers.length, 2, 'then it is asked again');
});
