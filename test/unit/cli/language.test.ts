import test from 'ava';
import {
  type Language,
  chooseLanguage,
  coded,
  english,
  joined,
  say,
  served,
  speechOf,
  textIn,
} from '../../../cli/language.ts';
import { createTerminal } from '../../../cli/terminal.ts';
import { createPrint } from '../../../cli/output.ts';
import { displayWidth } from '../../../cli/terminal-text.ts';
import { relativeText } from '../../../cli/values.ts';
import { collector } from '../../cli/payctl.ts';

const LOCALES: readonly [env: Record<string, string>, language: Language, source: string][] = [
  [{}, 'en', 'default'],
  [{ LANG: 'zh_CN.UTF-8' }, 'zh', 'LANG'],
  [{ LANG: 'zh' }, 'zh', 'LANG'],
  [{ LANG: 'zh-Hans' }, 'zh', 'LANG'],
  [{ LANG: 'zh_TW' }, 'zh', 'LANG'],
  [{ LANG: 'zha_CN' }, 'en', 'LANG'],
  [{ LANG: 'en_US.UTF-8' }, 'en', 'LANG'],
  [{ LANG: 'de_DE' }, 'en', 'LANG'],
  [{ LANG: 'C' }, 'en', 'LANG'],
  [{ LC_ALL: 'POSIX', LANG: 'zh_CN' }, 'en', 'LC_ALL'],
  [{ LC_ALL: '', LANG: 'zh_CN' }, 'zh', 'LANG'],
  [{ LC_MESSAGES: 'zh_CN.UTF-8', LANG: 'en_US.UTF-8' }, 'zh', 'LC_MESSAGES'],
  [{ LC_MESSAGES: 'C', LANG: 'zh_CN.UTF-8' }, 'en', 'LC_MESSAGES'],
  [{ LC_ALL: 'zh_CN', LC_MESSAGES: 'C', LANG: 'C' }, 'zh', 'LC_ALL'],
  [{ LC_CTYPE: 'zh_CN', LANG: 'C' }, 'en', 'LANG'],
];

for (const [env, language, source] of LOCALES)
  test(`the locale ${JSON.stringify(env)} means ${language}`, (t) => {
    t.deepEqual(chooseLanguage(undefined, env), { language, source });
    for (const flag of ['en', 'zh'] as const)
      t.deepEqual(chooseLanguage(flag, env), { language: flag, source: 'flag' }, 'the flag decides');
  });

test('a text has its values in the order of each language, and values are not read as a template', async (t) => {
  const chinese = await speechOf('zh');
  const text = say`${3} of ${5} checks failed.`;
  t.is(english(text), '3 of 5 checks failed.');
  t.is(textIn(text, chinese), '5 项检查中有 3 项未通过。');
  t.is(textIn(say`${'{0} $& {1}'} has expired`, chinese), '{0} $& {1} 已过期');
  t.is(textIn(say`a text without a translation`, chinese), 'a text without a translation');
});

test('codes, lists and texts of the service have words only in Chinese', async (t) => {
  const chinese = await speechOf('zh');
  const state = coded('billState', 'done');
  t.deepEqual([english(state), textIn(state, chinese)], ['done', '已对账']);
  const unknown = coded('billState', 'constructor');
  t.is(textIn(unknown, chinese), 'constructor', 'a code without a word stays');
  const list = joined(['a', '', state]);
  t.deepEqual([english(list), textIn(list, chinese)], ['a, done', 'a，已对账']);
  const event = served('event x (1)', say`event ${'x'}`);
  t.deepEqual([english(event), textIn(event, chinese)], ['event x (1)', '事件 x']);
});

test('relative times are in Chinese, and a distant one is a date', async (t) => {
  const chinese = await speechOf('zh');
  const now = new Date('2026-11-21T06:05:00.000Z');
  const shown = ['2026-11-21T06:05:00Z', '2026-11-21T06:00:00Z', '2026-11-23T07:05:00Z', '2026-01-01T00:00:00Z'].map(
    (at) => textIn(relativeText(at, now), chinese),
  );
  t.deepEqual(shown, ['现在', '5 分钟前', '2 天后', '2026-01-01']);
});

/** The column of the terminal at which a text begins in a line. */
function columnOf(line: string, text: string): number {
  const at = line.indexOf(text);
  return at === -1 ? -1 : displayWidth(line.slice(0, at));
}

for (const columns of [40, 60, 80, 120])
  test(`a Chinese table of ${columns} columns is aligned, fits, and cuts no character`, async (t) => {
    const out = collector(columns);
    const env = { NO_COLOR: '1' };
    const terminal = createTerminal({
      stdin: process.stdin,
      stdout: out.stream,
      stderr: collector().stream,
      env,
      cwd: '/',
    });
    const print = createPrint(terminal, { language: 'zh' });
    const reasons = ['商品与描述不符，要求退款，已多次联系商户未果', '未收到货'];
    const rows = reasons.map((reason, index) => ({
      disputeNo: `D${index}`,
      payWay: index === 0 ? 'wechat' : 'paypal',
      reason,
      status: 'needs_answer',
    }));
    await print.list(rows, {
      noun: 'dispute',
      id: 'disputeNo',
      columns: [
        { field: 'disputeNo', kind: 'id' },
        { field: 'payWay', kind: 'id', words: 'payWay' },
        { field: 'reason' },
        { field: 'status', kind: 'status', words: 'disputeState' },
      ],
    });
    const [head = '', first = '', second = ''] = out.text().trimEnd().split('\n');
    for (const line of [head, first, second]) t.true(displayWidth(line) <= columns, line);
    t.true(columnOf(head, '渠道') > 0);
    t.is(columnOf(first, '微信支付'), columnOf(head, '渠道'));
    t.is(columnOf(second, 'PayPal'), columnOf(head, '渠道'));
    t.is(columnOf(first, '商品'), columnOf(head, '原因'));
    t.is(columnOf(first, '待商户答复'), columnOf(head, '状态'));
    t.is(columnOf(second, '待商户答复'), columnOf(head, '状态'));
    t.false(out.text().includes('\uFFFD'));
  });
