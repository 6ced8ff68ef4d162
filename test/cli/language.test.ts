import test, { type ExecutionContext } from 'ava';
import { displayWidth } from '../../cli/terminal-text.ts';
import { problem } from './fakes/api.ts';
import { billRow, differenceRow } from './fakes/bills.ts';
import { diagnosisRow } from './fakes/rows.ts';
import { makePlace, type Place, type RunOptions } from './payctl.ts';

const CHINESE = { LANG: 'zh_CN.UTF-8' };
const HAN = /\p{Script=Han}/u;
const B = String(billRow['billNo']);
const ORDER_NO = 'P202611210558007K2MQX9WBT';
const ID = '01935b31-2d5e-7c04-8b6a-e41f9a7d0c52';

async function open(t: ExecutionContext): Promise<Place> {
  const place = await makePlace();
  t.teardown(() => place.close());
  return place;
}

const list = (...data: object[]) => ({ body: { data, page: { nextCursor: null, hasMore: false } } });

/** The output of a command on a terminal with a Chinese locale. */
async function read(place: Place, argv: readonly string[], terminal = 200, options: RunOptions = {}): Promise<string> {
  const { stdout } = await place.payctl([...argv, '--color', 'never'], { terminal, env: CHINESE, ...options });
  return stdout;
}

const COMMANDS: readonly [argv: readonly string[], chinese: readonly string[]][] = [
  [
    ['exception', 'list'],
    ['编号', '类型', '订单号', '状态', '创建时间', '付款金额不符（长款）', '5 分钟前'],
  ],
  [
    ['exception', 'get', ID],
    ['编号', '类型', '付款金额不符（长款）  amount_mismatch'],
  ],
  [
    ['dispute', 'list'],
    ['争议单号', '状态', '待商户答复', '答复期限', '9 天后', '渠道', 'PayPal'],
  ],
  [
    ['dispute', 'get', 'D1'],
    ['争议单号', '待商户答复  needs_answer'],
  ],
  [
    ['bill', 'list'],
    ['账单号', '账单日', '渠道', '微信支付', '已对账', '明细数', '核实中', '待处理', '下次查询', '商户账户', '生产'],
  ],
  [
    ['bill', 'get', B],
    ['已对账  done', '来源', '渠道下载  channel', '合计口径', '账单所载', '明细合计，非本系统', '退款仅系统有（长款）'],
  ],
  [
    ['bill', 'differences', B],
    ['金额不符（短款）', '系统', '渠道', '待处理'],
  ],
  [
    ['bill', 'lines', B],
    ['行号', '付款', '手续费', '渠道业务类型'],
  ],
  [
    ['bill', 'settlement'],
    ['账单日', '净额', '交易总额', '商户优惠', '合计'],
  ],
  [
    ['explain', ORDER_NO],
    [
      '已支付',
      '来源',
      '应用',
      '原因',
      '后续',
      '1 小时后',
      '操作',
      '金额',
      '已付 100.00 = 已退 0.00 + 退款中 0.00 + 实收 100.00 CNY',
    ],
  ],
];

for (const [argv, chinese] of COMMANDS) {
  test(`${argv.slice(0, 2).join(' ')} is in Chinese on a terminal with a Chinese locale`, async (t) => {
    const place = await open(t);
    const shown = await read(place, argv);
    for (const words of chinese) t.true(shown.includes(words), `${words}\n${shown}`);
    t.notRegex(shown, /\b(ORDER|STATE|STATUS|KIND|CHANNEL|AMOUNT|CREATED|LINES|CUR|PROJECT|ago|in \d)\b/);
    t.is(await read(place, [...argv, '--lang', 'zh'], 200, { env: {} }), shown, 'the flag is the same as the locale');
    const english = await read(place, argv, 200, { env: {} });
    t.is(await read(place, [...argv, '--lang', 'en']), english, 'the flag decides before the locale');
    t.is(await read(place, argv, 200, { env: { ...CHINESE, LC_ALL: 'C' } }), english);
  });

  test(`${argv.slice(0, 2).join(' ')} in Chinese fits a narrow terminal`, async (t) => {
    const place = await open(t);
    for (const columns of [80, 120]) {
      const shown = await read(place, argv, columns);
      const wide = shown.split('\n').filter((line) => displayWidth(line) > columns && !/payctl|\w{30}/.test(line));
      t.deepEqual(wide, []);
    }
  });

  test(`${argv.slice(0, 2).join(' ')} for a program is the same in every locale`, async (t) => {
    const place = await open(t);
    const formats = ['json', 'jsonl', 'tsv', 'name', ...(argv[1] === 'get' ? ['env'] : [])];
    for (const more of [[], ['--headers'], ['-q'], ...formats.map((format) => ['-o', format])]) {
      const [english, chinese, flagged] = await Promise.all([
        place.payctl([...argv, ...more]),
        place.payctl([...argv, ...more], { env: { ...CHINESE, LC_ALL: 'zh_CN.UTF-8' } }),
        place.payctl([...argv, ...more, '--lang', 'zh']),
      ]);
      t.is(english.code, 0, english.stderr);
      t.deepEqual(chinese, english, more.join(' '));
      t.deepEqual(flagged, english, more.join(' '));
    }
    for (const format of formats) {
      const argvOf = [...argv, '-o', format, '--color', 'never'];
      const onTerminal = await place.payctl(argvOf, { terminal: 200, env: CHINESE });
      t.deepEqual(onTerminal, await place.payctl(argvOf, { terminal: 200 }), `-o ${format} on a terminal`);
    }
    t.true(place.api.seen.every(({ headers }) => headers['accept-language'] === undefined));
  });
}

test('the columns of a Chinese table are below their headings', async (t) => {
  const place = await open(t);
  const at = (line: string, text: string): number => displayWidth(line.slice(0, line.indexOf(text)));
  const [head = '', row = ''] = (await read(place, ['bill', 'list'])).split('\n');
  for (const [heading, cell] of [
    ['账单日', '2026-11-20'],
    ['渠道', '微信支付'],
    ['状态', '已对账'],
    ['明细数', '1200'],
    ['商户账户', '1900000109'],
    ['项目', 'default'],
    ['环境', '生产'],
  ] as const)
    t.is(at(row, cell), at(head, heading), heading);
});

test('differences are surplus or shortage by the amounts of both sides', async (t) => {
  const place = await open(t);
  const side = (amountMinor: number, more: object = {}) => ({ amountMinor, currency: 'CNY', ...more });
  const rows: [row: object, words: string][] = [
    [{ kind: 'paid_unknown_to_us', ours: null, theirs: side(100) }, '渠道有、系统无（长款）'],
    [{ kind: 'paid_missing_at_channel', ours: side(100), theirs: null }, '系统有、渠道无（短款）'],
    [{ kind: 'refund_unknown_to_us', ours: null, theirs: side(100) }, '退款仅渠道有（短款）'],
    [{ kind: 'refund_missing_at_channel', ours: side(100), theirs: null }, '退款仅系统有（长款）'],
    [{ kind: 'amount_differs', ours: side(100), theirs: side(101) }, '金额不符（长款）'],
    [{ kind: 'amount_differs', ours: side(100), theirs: side(99) }, '金额不符（短款）'],
    [{ kind: 'amount_differs', ours: side(100), theirs: { ...side(99), currency: 'USD' } }, '金额不符（长款或短款）'],
    [{ kind: 'refund_amount_differs', ours: side(100), theirs: side(101) }, '退款金额不符（短款）'],
    [{ kind: 'refund_amount_differs', ours: side(100), theirs: side(99) }, '退款金额不符（长款）'],
    [{ kind: 'fee_differs', ours: side(1, { feeMinor: 6 }), theirs: side(1, { feeMinor: 7 }) }, '手续费不符（短款）'],
    [{ kind: 'fee_differs', ours: side(1), theirs: side(1, { feeMinor: 7 }) }, '手续费不符（长款或短款）'],
    [{ kind: 'order_unknown_here', ours: null, theirs: side(100) }, '系统无此订单（长款）'],
    [{ kind: 'order_unknown_here', ours: null, refundNo: 'R1', theirs: side(100) }, '系统无此订单（短款）'],
    [{ kind: 'order_unknown_here', payWay: 'paypal', ours: null, theirs: side(100) }, '系统无此订单（长款或短款）'],
    [{ kind: 'dispute_unknown_to_us', ours: null, theirs: side(-100) }, '争议扣款仅渠道有（短款）'],
    [{ kind: 'dispute_unknown_to_us', ours: null, theirs: side(100) }, '争议退还仅渠道有（长款）'],
    [{ kind: 'order_not_ours', ours: null, theirs: side(100), state: 'counted' }, '非本系统交易'],
  ];
  for (const [row, words] of rows) {
    place.api.on(`GET /api/v1/bills/${B}/differences`, () => list({ ...differenceRow, ...row }));
    const shown = await read(place, ['bill', 'differences', B]);
    t.true(shown.includes(`  ${words}  `), `${words}\n${shown}`);
  }
});

test('the exception of a difference has the same words as the difference', async (t) => {
  const place = await open(t);
  const detail = { billNo: B, ours: { amount: '100', currency: 'CNY' }, theirs: { amount: '99', currency: 'CNY' } };
  place.api.on('GET /api/v1/exceptions', () => list({ id: ID, kind: 'amount_differs', state: 'open', detail }));
  const shown = await read(place, ['exception', 'list']);
  t.true(shown.includes('金额不符（短款）'), shown);
  t.true(shown.includes('未处理'));
});

test('notes, empty lists and next steps are in Chinese', async (t) => {
  const place = await open(t);
  const note = async (...argv: string[]) => (await place.payctl(argv, { terminal: 200, env: CHINESE })).stderr;
  t.true((await note('bill', 'differences', B)).includes(`下一步：${String(differenceRow['fix'])}`));
  place.api.on('GET /api/v1/bills', () => ({ body: { data: [billRow], page: { nextCursor: 'c2', hasMore: true } } }));
  t.is(await note('bill', 'list'), '还有更多记录：加 --all 显示全部，或加 --cursor c2 继续\n');
  place.api.on('GET /api/v1/exceptions', () => list());
  t.is(await note('exception', 'list'), '没有符合条件的异常。\n');
  const settlement = await note('bill', 'settlement');
  t.regex(settlement, /缺少 微信支付 1900000109 2026-11-19 的账单。下一步：payctl bill fetch --pay-way wechat/);
  t.regex(settlement, /所载为手续费 738\.34 CNY，明细合计为手续费 735\.60 CNY。/);
  t.notRegex(settlement.replaceAll(/payctl .*|the bill says.*/g, ''), /[a-z]{3,} [a-z]{3,}/);
});

test('other commands stay in English in every locale', async (t) => {
  const place = await open(t);
  for (const argv of [['order', 'list'], ['refund', 'list'], ['audit'], ['exception', '--help']])
    t.notRegex((await read(place, argv)).replaceAll('红茶', ''), HAN, argv.join(' '));
});

test('config explain names the language and where it comes from', async (t) => {
  const place = await open(t);
  const explained = async (argv: string[], env: Record<string, string>) => {
    const { stdout } = await place.payctl(['config', 'explain', ...argv, '--json'], { env });
    const rows = JSON.parse(stdout) as { setting: string }[];
    return rows.find(({ setting }) => setting === 'language');
  };
  t.deepEqual(await explained([], CHINESE), { setting: 'language', value: 'zh', source: 'LANG' } as object);
  t.deepEqual(await explained(['--lang', 'en'], CHINESE), {
    setting: 'language',
    value: 'en',
    source: 'flag',
  } as object);
  t.deepEqual(await explained([], {}), { setting: 'language', value: 'en', source: 'default' } as object);
});

test('an unknown language is a usage error', async (t) => {
  const place = await open(t);
  const { code, stderr } = await place.payctl(['bill', 'list', '--lang', 'fr']);
  t.is(code, 2);
  t.regex(stderr, /--lang <language>.* 'fr' is invalid\. Allowed choices are en, zh\./);
  t.deepEqual(place.api.seen, []);
});

test('explain asks the service for Chinese texts only if people read them', async (t) => {
  const place = await open(t);
  const asked = async (argv: string[], options: RunOptions) => {
    place.api.seen.length = 0;
    await place.payctl(['explain', ORDER_NO, ...argv], options);
    return place.api.seen.find(({ path }) => path.endsWith('/explain'))?.headers['accept-language'];
  };
  t.is(await asked([], { terminal: 80, env: CHINESE }), 'zh');
  t.is(await asked(['-o', 'table'], { env: CHINESE }), 'zh');
  t.is(await asked([], { env: CHINESE }), undefined, 'a pipe');
  t.is(await asked(['--json'], { terminal: 80, env: CHINESE }), undefined);
  t.is(await asked([], { terminal: 80 }), undefined);
});

test('the history of an order is in Chinese', async (t) => {
  const place = await open(t);
  const at = '2026-11-21T05:58:00.000Z';
  place.api.on(`GET /api/v1/orders/${ORDER_NO}/timeline`, () =>
    list(
      {
        at,
        kind: 'move',
        summary: 'x',
        detail: { fromState: null, toState: 'created', cause: 'place', actor: 'app:a' },
      },
      {
        at,
        kind: 'move',
        summary: 'x',
        detail: { refundNo: 'R1', fromState: 'pending', toState: 'abnormal', cause: 'query' },
      },
      {
        at,
        kind: 'message',
        summary: 'x',
        detail: {
          payWay: 'alipay',
          call: 'alipay.trade.query',
          direction: 'out',
          status: 200,
          durationMs: 12,
          times: 3,
          lastAt: at,
        },
      },
      {
        at,
        kind: 'message',
        summary: '3 messages are missing here',
        detail: { call: 'missing', times: 3, lastAt: null },
      },
      {
        at,
        kind: 'exception',
        summary: 'x',
        detail: { kind: 'late_paid', state: 'resolved', resolution: 'acknowledge' },
      },
      { at, kind: 'event', summary: 'event order.paid', detail: { id: 'evt_1', type: 'order.paid' } },
      {
        at,
        kind: 'delivery',
        summary: 'delivery to https://shop.example/hook failed',
        detail: { state: 'failed', attempts: 3, lastStatus: 500, nextAttemptAt: null },
      },
    ),
  );
  const shown = await read(place, ['explain', ORDER_NO]);
  for (const words of [
    '7 分钟前  ●    – → 已创建  下单（app:a）',
    '退款 R1 待处理 → 异常  查单',
    '支付宝 alipay.trade.query  200，12 毫秒，共 3 次，最近一次 7 分钟前',
    '此处缺失 3 条消息',
    '异常：订单结束后到账，已处理  确认',
    '事件 order.paid  evt_1',
    '投递到 https://shop.example/hook：投递失败  500，已尝试 3 次',
  ])
    t.true(shown.includes(words), `${words}\n${shown}`);
});

test('doctor reports in Chinese, with the same exit code and the same JSON', async (t) => {
  const place = await open(t);
  place.api.on('GET /health/db', () => problem(503, 'database_down', 'Down.'));
  place.api.on('GET /api/v1/diagnosis', () => ({
    body: { data: { ...diagnosisRow, due: [{ kind: 'order', rows: 7, lagSeconds: 400 }], clockAheadSeconds: 7 } },
  }));
  const { code, stdout, stderr } = await place.payctl(['doctor', '--color', 'never'], { terminal: 200, env: CHINESE });
  t.is(code, 1);
  t.regex(stdout, /^正常 {2}文件 +.* 仅本人可访问$/m);
  t.regex(stdout, /^失败 {2}到期任务 +order 类任务积压 7 个，最早的已等待 400 秒；原因可能见渠道的检查结果$/m);
  t.regex(stdout, /^警告 {2}时钟 +服务器与其数据库的时钟相差 7 秒$/m);
  t.regex(stdout, /^警告 {2}异常 +1 个未处理$/m);
  t.regex(stderr, /错误：\d+ 项检查中有 2 项未通过。$/m);
  t.regex(stderr, /^ {2}下一步：payctl doctor --offline\n {10}在服务所在机器上运行。$/m);
  const unmarked = stdout
    .trimEnd()
    .split('\n')
    .filter((line) => !/^(正常|警告|失败| {4,})/.test(line));
  t.deepEqual(unmarked, []);
  const english = await place.payctl(['doctor', '--json']);
  t.deepEqual(await place.payctl(['doctor', '--json'], { env: CHINESE }), english);
  t.is(english.code, 1);
  t.regex(english.stderr, /"message":"2 of \d+ checks failed\."/);
});

test('a bill that is refused ends with a Chinese error, and the code and exit code stay', async (t) => {
  const place = await open(t);
  const fault = { code: 'wrong_cell', detail: 'So it is.', line: 17, column: 13 };
  const refused = { ...billRow, state: 'refused', fault };
  place.api.on(`GET /api/v1/bills/${B}`, () => ({ body: { data: refused } }));
  const fetch = [
    'bill',
    'fetch',
    '--pay-way',
    'wechat',
    '--date',
    '2026-11-20',
    '--interval',
    '0.01',
    '--color',
    'never',
  ];
  const { code, stdout, stderr } = await place.payctl([...fetch, '-y'], { terminal: 200, env: CHINESE });
  t.is(code, 1);
  t.true(stdout.includes('wrong_cell，第 17 行，第 13 列：So it is.'), stdout);
  t.true(
    stderr.includes(`错误：账单 ${B}（微信支付，2026-11-20）被拒绝。 So it is（第 17 行，第 13 列；wrong_cell）。`),
    stderr,
  );
  t.regex(stderr, /bill_refused/);
  t.regex(
    stderr,
    /下一步：服务将于 2026-11-22T02:30:00\.000Z 再次向渠道查询\n +或者从渠道下载账单，然后运行：payctl bill import/,
  );
});

test('an exception that is resolved, and one that waits for approval, are reported in Chinese', async (t) => {
  const place = await open(t);
  const resolve = async () => {
    const argv = [
      'exception',
      'resolve',
      ID,
      '--action',
      'refund',
      '--reason',
      'r',
      '--confirm',
      ID,
      '--color',
      'never',
    ];
    return place.payctl(argv, { terminal: 200, env: CHINESE });
  };
  const path = `POST /api/v1/exceptions/${ID}/resolve`;
  place.api.on(path, () => ({
    body: { data: { id: ID, kind: 'double_paid', state: 'resolved', resolution: 'refund' } },
  }));
  const done = await resolve();
  t.is(done.code, 0, done.stderr);
  t.regex(done.stdout, /处理结果 +退款 {2}refund/);
  t.true(done.stderr.includes(`异常 ${ID} 已处理。`), done.stderr);
  place.api.on(path, () => ({
    body: { data: { refundNo: 'R1', kind: 'exception', state: 'waiting', askedBy: 'admin:a' } },
  }));
  const waiting = await resolve();
  t.regex(waiting.stdout, /状态 +待审批 {2}waiting/);
  t.true(waiting.stderr.includes('尚未执行：须由另一名管理员审批。下一步：payctl approval approve R1'));
});
