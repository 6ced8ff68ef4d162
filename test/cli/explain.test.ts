import test from 'ava';
import { makePlace, type Place } from './payctl.ts';
import { problem } from './fakes/api.ts';
import { orderRow } from './fakes/rows.ts';
import { displayWidth } from '../../cli/terminal-text.ts';

const at = '2026-11-21T05:58:00.000Z';
const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e';

const EXPLANATION = {
  orderNo: orderRow['orderNo'],
  status: 'partially_refunded',
  situation: 'refund_unexplained',
  reason: 'The channel says that money went back, and no refund of ours explains it.',
  next: { action: 'the channel is asked whether it is done', at: '2026-11-21T06:05:09.000Z' },
  fix: `payctl exception resolve ${UUID} --action acknowledge --reason …`,
  askedBy: 'app_7Kd2mQxW9bTzR4vLp1Ns',
  expiresAt: '2026-11-21T07:58:00.000Z',
  equation: { currency: 'CNY', paid: 10_000, refunded: 4000, refunding: 500, kept: 5500, refundable: 5500 },
  refunds: [
    {
      refundNo: 'R20261121060100D4N8ZR3VHC',
      amountMinor: 4000,
      status: 'failed',
      situation: 'refused',
      reason: 'The channel refused it: BALANCE.',
      next: null,
      fix: 'payctl refund retry R20261121060100D4N8ZR3VHC',
    },
  ],
  exceptions: [{ id: UUID, kind: 'refund_unexplained', fix: `payctl exception resolve ${UUID}` }],
};

const TIMELINE = [
  step('move', 'placed – → created (place)', {
    rule: 'placed',
    fromState: null,
    toState: 'created',
    cause: 'place',
    actor: 'app:a',
  }),
  step('message', '→ alipay query 200', {
    payWay: 'alipay',
    call: 'alipay.trade.query',
    direction: 'out',
    status: 200,
    durationMs: 12,
    key: 'alipay_public_cert 1f2e',
  }),
  step('message', '→ alipay query 200, 12 times until 2026-11-21T06:03:00.000Z', {
    payWay: 'alipay',
    call: 'alipay.trade.query',
    direction: 'out',
    status: 200,
    durationMs: 9,
    times: 12,
    lastAt: '2026-11-21T06:03:00.000Z',
  }),
  step('message', '3 messages are missing here until 2026-11-21T06:04:00.000Z', {
    payWay: 'alipay',
    call: 'missing',
    direction: 'in',
    times: 3,
    lastAt: '2026-11-21T06:04:00.000Z',
  }),
  step('move', 'paid pending → paid (notice)', {
    rule: 'paid',
    fromState: 'pending',
    toState: 'paid',
    cause: 'notice',
    actor: 'channel:alipay',
    outcome: { kind: 'paid', channelNo: '2026112122', amount: { minor: '10000', currency: 'CNY' } },
  }),
  step('exception', 'exception refund_unexplained (open)', { kind: 'refund_unexplained', state: 'open' }),
  step('event', 'event order.paid', { id: 'evt_1' }),
  step('delivery', 'delivery to https://shop.example/\u001b[2Jhook failed', {
    attempts: 3,
    lastStatus: 500,
    nextAttemptAt: '2026-11-21T06:06:00.000Z',
  }),
  step('comet', 'a kind that this payctl does not know', {}),
];

function step(kind: string, summary: string, detail: object): object {
  return { at, kind, summary, detail };
}

async function explained(place: Place, argv: string[], terminal?: number): Promise<string> {
  place.api.on(`GET /api/v1/orders/${EXPLANATION.orderNo}/explain`, () => ({ body: { data: EXPLANATION } }));
  place.api.on(`GET /api/v1/orders/${EXPLANATION.orderNo}/timeline`, () => ({ body: { data: TIMELINE } }));
  const options = terminal === undefined ? {} : { terminal, env: { NO_COLOR: '1' } };
  const { code, stdout } = await place.payctl(['explain', String(EXPLANATION.orderNo), ...argv], options);
  if (code !== 0) throw new Error(`exit ${code}`);
  return stdout;
}

for (const columns of [60, 200]) {
  test(`a page of ${columns} columns`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    const page = await explained(place, [], columns);
    const wide = page.split('\n').filter((line) => displayWidth(line) > columns && !/^do {5}|payctl/.test(line));
    t.deepEqual(wide, [], 'only a command may be longer than the terminal');
    t.false(page.includes('\u001b'), 'data cannot control the terminal');
    t.snapshot(page);
  });
}

test('explain in a pipe prints labelled lines with ISO times', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const lines = (await explained(place, []))
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  const find = (label: string): string[] | undefined => lines.find(([first]) => first === label);
  t.deepEqual(find('next'), ['next', EXPLANATION.next.action, EXPLANATION.next.at]);
  t.deepEqual(find('money'), [
    'money',
    'paid 100.00 = refunded 40.00 + refunding 5.00 + kept 55.00 CNY',
    'refundable 55.00',
  ]);
  t.deepEqual(find('refund-do'), ['refund-do', 'payctl refund retry R20261121060100D4N8ZR3VHC']);
  t.deepEqual(find('exception'), ['exception', 'refund_unexplained', UUID]);
  t.is(lines.filter(([label]) => label === 'step').length, TIMELINE.length);
  t.deepEqual(
    lines.filter(([, , mark]) => mark === '→').map((line) => line.slice(1)),
    [
      [at, '→', 'alipay alipay.trade.query', '200, 12 ms, verified by alipay_public_cert 1f2e'],
      [at, '→', 'alipay alipay.trade.query', '200, 9 ms, 12 times until 2026-11-21T06:03:00.000Z'],
    ],
  );
});

test('explain --json prints the object of the server and the timeline', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.deepEqual(JSON.parse(await explained(place, ['--json'])), { ...EXPLANATION, timeline: TIMELINE });
  t.is(await explained(place, ['--fields', 'situation']), 'refund_unexplained\n');
  t.is(await explained(place, ['-q']), `${EXPLANATION.orderNo}\n`);
});

test('the equation shows an overrun, and is absent for an unpaid order', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const equation = { currency: 'CNY', paid: 100, refunded: 150, refunding: 0, kept: 0, refundable: 0 };
  const money = async (sums: object): Promise<string> => {
    place.api.on('GET /api/v1/orders/P1/explain', () => ({ body: { data: { ...EXPLANATION, equation: sums } } }));
    const { stdout } = await place.payctl(['explain', 'P1']);
    return /^money\t(.*)$/m.exec(stdout)?.[1] ?? '';
  };
  t.regex(await money(equation), /^paid 1.00 \+ overrun 0.50 = refunded 1.50 /);
  t.is(await money({ ...equation, paid: 0, refunded: 0 }), 'nothing paid');
  t.regex(await money({ ...equation, currency: 'JPY', paid: 150 }), /^paid 150 = .* JPY\t/);
});

test('explain of an unknown order is exit 3', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/orders/P0/explain', () => problem(404, 'not_found', 'There is nothing here.'));
  t.is((await place.payctl(['explain', 'P0'])).code, 3);
});

test('explain shows refused notifications of the channel with their fix', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const refusedNotices = {
    why: 'unsigned',
    detail: 'The Wechatpay signature headers are incomplete.',
    change: 'Check that every proxy on the way passes on the headers.',
    count: 2,
    since: at,
    at,
    isOpen: true,
  };
  place.api.on('GET /api/v1/orders/P1/explain', () => ({ body: { data: { ...EXPLANATION, refusedNotices } } }));
  const { stdout } = await place.payctl(['explain', 'P1']);
  t.true(stdout.includes('2 notifications of the channel were refused (unsigned)'), stdout);
  t.true(stdout.includes(refusedNotices.change));
});

test('explain prints each of two possible commands in a line of its own', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const [retry, resolve] = ['payctl refund retry R1', 'payctl refund resolve R1'];
  for (const between of [', or ', '，或 ']) {
    const body = { data: { ...EXPLANATION, fix: `${retry}${between}${resolve}` } };
    place.api.on(`GET /api/v1/orders/${EXPLANATION.orderNo}/explain`, () => ({ body }));
    place.api.on(`GET /api/v1/orders/${EXPLANATION.orderNo}/timeline`, () => ({ body: { data: TIMELINE } }));
    const { stdout } = await place.payctl(['explain', String(EXPLANATION.orderNo)]);
    const advised = stdout.split('\n').filter((line) => line.startsWith('do\t'));
    t.deepEqual(advised, [`do\t${retry}`, `do\t${resolve}`]);
  }
});

test('an unknown order is explained by the list of orders', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  for (const path of ['', '/explain', '/timeline'])
    place.api.on(`GET /api/v1/orders/P00000${path}`, () => problem(404, 'not_found', 'The resource was not found.'));
  const { code, stderr } = await place.payctl(['explain', 'P00000']);
  t.is(code, 3);
  t.regex(stderr, /^ {2}next: payctl order list$/m);
});
