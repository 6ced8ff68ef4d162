import test from 'ava';
import { paypalKind } from '../../../../server/channels/paypal/kind.ts';
import { type BillDesk, BillMalformed, TransportFailed, type WireAnswer } from '../../../../server/payments/channel.ts';
import { billFile, bytesOf, collect } from '../bill-trial.ts';
import { DAY, money, payment, refund, type Row } from './bill-file.ts';
import { json, MERCHANT, refusal, type Script, scripted } from './scripted.ts';

const LATER = new Date('2026-03-02T03:00:00Z');
const REFRESHED = '2026-03-02T02:59:59+0000';

/** The query of a report request. */
interface Asked {
  first: number;
  last: number;
  size: number;
  page: number;
  fields: string | null;
}

function readAsked(url: string): Asked {
  const { searchParams: query } = new URL(url);
  return {
    first: Date.parse(query.get('start_date') ?? ''),
    last: Date.parse(query.get('end_date') ?? ''),
    size: Number(query.get('page_size')),
    page: Number(query.get('page')),
    fields: query.get('fields'),
  };
}

/** PayPal returns no balances unless `balances` does. */
function deskWith(
  script: Script,
  now = LATER,
  balances: Script = () => refusal(403, 'NOT_AUTHORIZED'),
): { desk: BillDesk; asked: Asked[] } {
  const asked: Asked[] = [];
  const { channel } = scripted(
    (request) => {
      if (request.url.includes('/v1/reporting/balances?')) return balances(request);
      asked.push(readAsked(request.url));
      return script(request);
    },
    { now: () => now },
  );
  return { desk: channel.bills!, asked };
}

function page(rows: readonly Row[], total = rows.length, refreshed: unknown = REFRESHED, account?: string): WireAnswer {
  return json(200, {
    transaction_details: rows.map((transaction_info) => ({ transaction_info })),
    account_number: account,
    last_refreshed_datetime: refreshed,
    page: 1,
    total_items: total,
    total_pages: Math.ceil(total / 500),
    links: [],
  });
}

const tooLarge = (): WireAnswer =>
  json(400, { name: 'RESULTSET_TOO_LARGE', message: 'Too many.', debug_id: 'b1', details: [{ issue: 'ANY' }] });

const timeOf = (row: Row): number => Date.parse(String(row['transaction_initiation_date']).replace('+0000', 'Z'));

/** Returns rows by window and page as PayPal does: both window ends are inclusive, and a window has at most `most` rows. */
function reporting(rows: readonly Row[], most = 10_000): Script {
  return ({ url }) => {
    const { first, last, size, page: number } = readAsked(url);
    const found = rows.filter((row) => timeOf(row) >= first && timeOf(row) <= last);
    if (found.length > most) return tooLarge();
    return page(found.slice((number - 1) * size, number * size), found.length);
  };
}

const MIDNIGHT = Date.parse(`${DAY}T00:00:00Z`);

/** Payments every `spacing` seconds from an offset. */
function payments(count: number, spacing: number, offset = 0): Row[] {
  return Array.from({ length: count }, (_, at) => {
    const time = new Date(MIDNIGHT + (offset + at * spacing) * 1000).toISOString().slice(0, 19);
    return payment({ transaction_id: `T${at}`, transaction_initiation_date: `${time}+0000` });
  });
}

/** Returns the payment numbers in the bill of the day, as the reader reports them. */
async function numbersIn(t: Parameters<typeof billFile>[0], desk: BillDesk): Promise<(string | null)[]> {
  const file = await billFile(t, await bytesOf(await desk.fetch(DAY)));
  const { lines } = await collect(desk.read(file, DAY));
  t.deepEqual(
    lines.map(({ line }) => line),
    lines.map((_, at) => at + 1),
  );
  return lines.map(({ channelTradeNo }) => channelTradeNo);
}

const ids = (rows: readonly Row[]): unknown[] => rows.map((row) => row['transaction_id']);

test('the transactions of a UTC day are requested and become a readable file', async (t) => {
  t.deepEqual(paypalKind.bills, {
    utcOffsetMinutes: 0,
    readyAfterMinutes: 180,
    backDays: 1095,
    heldDays: 35,
    hasBalances: true,
    refundsByOwnNumber: true,
  });
  const { desk, asked } = deskWith(reporting([payment(), refund()]));
  const bytes = await bytesOf(await desk.fetch(DAY));
  t.deepEqual(asked, [
    {
      first: MIDNIGHT,
      last: Date.parse('2026-03-01T23:59:59Z'),
      size: 500,
      page: 1,
      fields: 'transaction_info',
    },
  ]);
  const { lines } = await collect(desk.read(await billFile(t, bytes), DAY));
  t.deepEqual(
    lines.map(({ kind, amount }) => [kind, amount]),
    [
      ['payment', 1230n],
      ['refund', 230n],
    ],
  );
  // The same day gives the same file.
  t.true(bytes.equals(await bytesOf(await desk.fetch(DAY))));
});

test('pages are read one after another until complete', async (t) => {
  const rows = payments(1234, 60);
  const { desk, asked } = deskWith(reporting(rows));
  t.deepEqual(await numbersIn(t, desk), ids(rows));
  t.deepEqual(
    asked.map(({ page: number }) => number),
    [1, 2, 3],
  );
});

test('a window with too many transactions is halved without gaps, and each transaction is read once', async (t) => {
  const rows = payments(3000, 20);
  const twice = rows.flatMap((row, at) => (at % 100 === 0 ? [row, row] : [row]));
  for (const all of [rows, twice]) {
    const { desk, asked } = deskWith(reporting(all, 700));
    t.deepEqual(await numbersIn(t, desk), ids(rows));
    const windows = asked.filter(({ page: number }) => number === 1);
    for (const { first, last } of windows) t.true(last >= first && last % 1000 === 0);
    // Every second of the day is in exactly one of the smallest windows.
    const leaves = windows.filter((one) =>
      windows.every((other) => other.first < one.first || other.last > one.last || sameWindow(one, other)),
    );
    const spans = new Map(leaves.map(({ first, last }) => [first, last]));
    let next = MIDNIGHT;
    while (spans.has(next)) next = spans.get(next)! + 1000;
    t.is(next, Date.parse('2026-03-02T00:00:00Z'));
  }
});

const sameWindow = (one: Asked, other: Asked): boolean => one.first === other.first && one.last === other.last;

test('a transaction in two windows counts once, but another event or amount of the same number counts separately', async (t) => {
  const noon = `${DAY}T11:59:59+0000`;
  const same = payment({ transaction_initiation_date: noon });
  const other = payment({ transaction_initiation_date: noon, transaction_event_code: 'T1106' });
  const leg = payment({
    transaction_initiation_date: noon,
    transaction_amount: { currency_code: 'EUR', value: '11.00' },
    fee_amount: undefined,
  });
  const { desk } = deskWith(({ url }) => {
    const { first, last } = readAsked(url);
    if (first === MIDNIGHT && last > Date.parse(`${DAY}T12:00:00Z`)) return tooLarge();
    return page(first === MIDNIGHT ? [same] : [same, other, leg]);
  });
  const { lines } = await collect(desk.read(await billFile(t, await bytesOf(await desk.fetch(DAY))), DAY));
  t.deepEqual(
    lines.map(({ event, currency }) => [event, currency]),
    [
      ['T0006 S', 'USD'],
      ['T1106 S', 'USD'],
      ['T0006 S', 'EUR'],
    ],
  );
});

test('a total above ten thousand and a page that is too large also halve the window', async (t) => {
  const rows = payments(20, 3600);
  for (const tooMany of [
    () => page([], 10_001),
    () => {
      throw new TransportFailed('too_large', 'more than a megabyte');
    },
  ]) {
    const { desk, asked } = deskWith((request) => {
      const { first, last } = readAsked(request.url);
      return last - first > 7 * 3_600_000 ? tooMany() : reporting(rows)(request);
    });
    t.deepEqual(await numbersIn(t, desk), ids(rows));
    t.is(asked.length, 7);
  }
  const { desk } = deskWith(tooLarge);
  t.like(await desk.fetch(DAY), { kind: 'unknown', cause: 'too_large' });
});

test('a day with empty first hours is not empty', async (t) => {
  const rows = payments(30, 60, 20 * 3600);
  t.deepEqual(await numbersIn(t, deskWith(reporting(rows, 20)).desk), ids(rows));
  t.deepEqual(await deskWith(reporting([])).desk.fetch(DAY), {
    kind: 'empty',
    code: 'NO_TRANSACTIONS',
    payee: 'SIMMERCHANT01',
  });
});

test('a window that changes during reading is read again, up to a limit', async (t) => {
  const rows = payments(600, 60);
  let calls = 0;
  const { desk, asked } = deskWith((request) => {
    calls += 1;
    // The second page of the first attempt states one row more.
    return calls === 2 ? page(rows.slice(500), 601) : reporting(rows)(request);
  });
  t.deepEqual(await numbersIn(t, desk), ids(rows));
  t.deepEqual(
    asked.map(({ page: number }) => number),
    [1, 2, 1, 2],
  );
  const changing: readonly [Script, number][] = [
    [({ url }) => page(rows.slice(0, 500), 600 + readAsked(url).page), 6],
    // Fewer rows than stated, and more.
    [({ url }) => page(readAsked(url).page === 1 ? rows.slice(0, 500) : [], 600), 6],
    [() => page(rows.slice(0, 500), 600), 6],
    [() => page(rows.slice(0, 3), 2), 3],
  ];
  for (const [script, most] of changing) {
    const one = deskWith(script);
    t.like(await one.desk.fetch(DAY), { kind: 'unknown', cause: 'in_progress' });
    t.is(one.asked.length, most);
  }
});

test('a transaction on two pages may hide a missed one, so the window is read again', async (t) => {
  const rows = payments(600, 60);
  const slipped = [...rows.slice(0, 500), rows[499]!, ...rows.slice(501)];
  let calls = 0;
  const { desk } = deskWith((request) => {
    calls += 1;
    return reporting(calls <= 2 ? slipped : rows)(request);
  });
  t.deepEqual(await numbersIn(t, desk), ids(rows));
  // A duplicate that PayPal returns every time is accepted.
  const { desk: always } = deskWith(reporting(slipped));
  t.deepEqual(
    await numbersIn(t, always),
    ids(rows).filter((_, at) => at !== 500),
  );
});

test("a day is not ready until PayPal's refresh time covers it", async (t) => {
  const answer = async (refreshed: unknown) => deskWith(() => page([payment()], 1, refreshed)).desk.fetch(DAY);
  for (const early of ['2026-03-01T23:59:58Z', '2026-03-01T20:00:00+0000', '2026-03-02T07:00:00+0800', 'soon'])
    t.deepEqual(await answer(early), { kind: 'not_ready', code: `REFRESHED_${early}` });
  t.deepEqual(await answer(null), { kind: 'not_ready', code: 'REFRESHED_NEVER' });
  for (const late of ['2026-03-01T23:59:59Z', '2026-03-02T02:59:59+0000', '2026-03-02T08:00:00+0800'])
    t.is((await answer(late)).kind, 'bill', late);
  // An empty day is also empty only then.
  const none = async (refreshed: string) => deskWith(() => page([], 0, refreshed)).desk.fetch(DAY);
  t.is((await none('2026-03-01T20:00:00Z')).kind, 'not_ready');
  t.is((await none('2026-03-02T00:00:00Z')).kind, 'empty');
});

test("a window after the end of PayPal's data is not ready", async (t) => {
  const words = 'Data for the given start date is not available.';
  for (const detail of [{ issue: words }, { issue: 'INVALID', description: words }]) {
    const { desk } = deskWith(() => json(400, { name: 'INVALID_REQUEST', message: 'x', details: [detail] }));
    t.deepEqual(await desk.fetch(DAY), { kind: 'not_ready', code: 'DATA_NOT_AVAILABLE' });
  }
});

test('a report of another account than the configured one is refused', async (t) => {
  const fetched = async (account: string) =>
    bytesOf(await deskWith(() => page([payment()], 1, REFRESHED, account)).desk.fetch(DAY));
  t.true((await fetched(MERCHANT)).length > 0);
  const error = await t.throwsAsync(fetched('SOMEBODYELSE1'), { instanceOf: BillMalformed });
  t.like(error, {
    fault: 'wrong_account',
    message: 'The transactions are of the account SOMEBODYELSE1, not of the configured merchantId.',
  });
});

test('a day before the retention period is not requested', async (t) => {
  const { desk, asked } = deskWith(reporting([]));
  t.deepEqual(await desk.fetch('2023-03-01'), { kind: 'gone', code: 'OLDER_THAN_1095_DAYS' });
  t.is(asked.length, 0);
  t.is((await desk.fetch('2023-03-04')).kind, 'empty');
});

test("a refusal keeps PayPal's code and reason, and an unclear response is unknown", async (t) => {
  const answer = async (script: Script) => deskWith(script).desk.fetch(DAY);
  t.like(await answer(() => refusal(400, 'INVALID_REQUEST')), { kind: 'refused', code: 'INVALID_REQUEST' });
  const denied = await answer(() => refusal(403, 'NOT_AUTHORIZED'));
  t.like(denied, { kind: 'refused', code: 'NOT_AUTHORIZED' });
  t.true(denied.kind === 'refused' && denied.reason.includes('Transaction search'));
  const cause = async (script: Script) => {
    const said = await answer(script);
    return said.kind === 'unknown' ? said.cause : said.kind;
  };
  t.is(await cause(() => json(429, {})), 'busy');
  t.is(await cause(() => json(503, {})), 'http_status');
  t.is(await cause(() => json(401, {})), 'misconfigured');
  const failing = (why: 'timeout' | 'network'): Script => {
    return () => {
      throw new TransportFailed(why, 'silence');
    };
  };
  t.is(await cause(failing('timeout')), 'timeout');
  t.is(await cause(failing('network')), 'network');
  for (const body of [{}, [], { total_items: '1' }, { total_items: 1, transaction_details: [{}] }])
    t.is(await cause(() => json(200, body)), 'unparsable', JSON.stringify(body));
});

test('a bill that fails in the middle of the day is a failed download, and its part is not a bill', async (t) => {
  const rows = payments(30, 2400);
  for (const [stop, why] of [
    [() => json(503, {}), 'network'],
    [() => refusal(400, 'INVALID_REQUEST'), 'network'],
    [
      () => {
        throw new TransportFailed('timeout', 'silence');
      },
      'timeout',
    ],
  ] as const) {
    const { desk } = deskWith((request) =>
      readAsked(request.url).first === MIDNIGHT ? reporting(rows, 20)(request) : stop(),
    );
    const answer = await desk.fetch(DAY);
    const pieces: Uint8Array[] = [];
    const reading = (async () => {
      if (answer.kind === 'bill') for await (const piece of answer.bytes) pieces.push(piece);
    })();
    const error = await t.throwsAsync(reading, { instanceOf: TransportFailed });
    t.is(error?.why, why);
    t.true(pieces.length > 0);
    await t.throwsAsync(collect(desk.read(await billFile(t, Buffer.concat(pieces)), DAY)), { message: /is truncated/ });
  }
});

const usd = (value: string) => ({ currency: 'USD', total_balance: money(value) });

/** Balances as of the requested time; `more` overwrites members. */
function balancesOf(balances: unknown, more: Row = {}): (asOf: string) => WireAnswer {
  return (asOf) =>
    json(200, { balances, account_id: MERCHANT, as_of_time: asOf, last_refresh_time: '2026-03-02T02:00:00Z', ...more });
}

/** The balances of the day before and of the day, with the recorded queries. */
function saying(...answers: ((asOf: string) => WireAnswer)[]) {
  const asked: (string | null)[][] = [];
  const script: Script = ({ url }) => {
    const { searchParams: query } = new URL(url);
    asked.push([query.get('as_of_time'), query.get('currency_code')]);
    return answers[asked.length - 1]!(query.get('as_of_time') ?? '');
  };
  return { script, asked };
}

test('the bill has the balances of the last second before the day and of its own last second', async (t) => {
  const others = [
    { currency: 'JPY', total_balance: money('500', 'JPY') },
    { currency: 'BTC', total_balance: money('0.00000001', 'BTC') },
  ];
  const { script, asked } = saying(balancesOf([usd('-1.00')]), balancesOf([usd('9.50'), ...others]));
  const hold = payment({ transaction_id: 'H1', transaction_event_code: 'T1110', transaction_amount: money('-3.00') });
  const reserve = payment({
    transaction_id: 'H2',
    transaction_event_code: 'T2104',
    transaction_amount: money('2.00', 'EUR'),
    fee_amount: undefined,
  });
  const { desk } = deskWith(reporting([payment(), hold, reserve]), LATER, script);
  const { totals } = await collect(desk.read(await billFile(t, await bytesOf(await desk.fetch(DAY))), DAY));
  t.deepEqual(asked, [
    ['2026-02-28T23:59:59Z', 'ALL'],
    ['2026-03-01T23:59:59Z', 'ALL'],
  ]);
  const unsaid = { payments: null, paid: null, refunds: null, refunded: null, fees: null, net: null };
  t.deepEqual(totals, [
    { ...unsaid, currency: 'USD', balance: { opening: -100n, closing: 950n, holds: -300n } },
    { ...unsaid, currency: 'JPY', balance: { opening: 0n, closing: 500n, holds: 0n } },
    { ...unsaid, currency: 'EUR', balance: { opening: 0n, closing: 0n, holds: 200n } },
  ]);
});

test('a day with balances but no transactions is a bill without lines', async (t) => {
  const { script } = saying(balancesOf([usd('1.00')]), balancesOf([usd('1.00')]));
  const { desk } = deskWith(reporting([]), LATER, script);
  const { lines, totals } = await collect(desk.read(await billFile(t, await bytesOf(await desk.fetch(DAY))), DAY));
  t.deepEqual(lines, []);
  t.like(totals?.[0], { currency: 'USD', balance: { opening: 100n, closing: 100n } });
});

const UNUSABLE: Readonly<Record<string, (asOf: string) => WireAnswer>> = {
  '403': () => refusal(403, 'NOT_AUTHORIZED'),
  '401': () => json(401, {}),
  '400': () => refusal(400, 'INVALID_REQUEST'),
  '503': () => json(503, {}),
  '429': () => json(429, {}),
  'no JSON': () => ({ status: 200, headers: {}, body: Buffer.from('{"balances": [') }),
  'no object': () => json(200, []),
  'no balances': balancesOf(undefined),
  'no instant': balancesOf([usd('1.00')], { as_of_time: undefined }),
  'another instant': balancesOf([usd('1.00')], { as_of_time: '2026-02-28T20:00:00Z' }),
  'not refreshed': balancesOf([usd('1.00')], { last_refresh_time: '2026-02-28T20:00:00Z' }),
  'no total': balancesOf([{ currency: 'USD', available_balance: money('1.00') }]),
  'another currency': balancesOf([{ currency: 'USD', total_balance: money('1.00', 'EUR') }]),
  'twice one currency': balancesOf([usd('1.00'), usd('2.00')]),
  'more decimals': balancesOf([usd('1.005')]),
  'no number': balancesOf([usd('1,00')]),
};

test('missing or unreadable balances omit the comparison, but not the bill', async (t) => {
  for (const [name, answer] of Object.entries(UNUSABLE))
    for (const answers of [
      [answer, answer],
      [balancesOf([usd('1.00')]), answer],
    ]) {
      // A refused token is renewed once.
      const { script } = saying(...answers, answer);
      const { desk } = deskWith(reporting([payment()]), LATER, script);
      const read = await collect(desk.read(await billFile(t, await bytesOf(await desk.fetch(DAY))), DAY));
      t.deepEqual([read.lines.length, read.totals], [1, undefined], name);
    }
});

test('a balance timeout repeats the bill for a day, then the bill counts without balances', async (t) => {
  const silence: Script = () => {
    throw new TransportFailed('timeout', 'silence');
  };
  const answer = async (now: string) => deskWith(reporting([payment()]), new Date(now), silence).desk.fetch(DAY);
  t.like(await answer('2026-03-02T03:00:00Z'), { kind: 'unknown', cause: 'timeout' });
  t.like(await answer('2026-03-03T00:00:00Z'), { kind: 'unknown', cause: 'timeout' });
  t.is((await answer('2026-03-03T00:00:01Z')).kind, 'bill');
});
