import test from 'ava';
import { chooseLanguage, inLanguage } from '../../../server/pages/language.ts';

const accepting = (accepted: string) => chooseLanguage({ accepted });

test('the Accept-Language header decides by its quality values', (t) => {
  for (const [header, language] of [
    ['zh-CN,zh;q=0.9,en;q=0.8', 'zh'],
    ['en-GB,en;q=0.9,zh-CN;q=0.8', 'en'],
    ['fr-FR,fr;q=0.9,zh;q=0.3,en;q=0.2', 'zh'],
    ['en;q=0.2, zh-Hant-TW;q=0.7', 'zh'],
    ['ZH', 'zh'],
    ['zh;q=0, en;q=0.1', 'en'],
    ['zh;q=0', 'en'],
    ['de', 'en'],
    ['*', 'en'],
    ['', 'en'],
    ['zha, enm', 'en'],
    [';q=1,,zh;q=x', 'en'],
  ] as const)
    t.is(accepting(header), language, header);
});

test('the requested language takes precedence over the stored one, then the header, and invalid values are ignored', (t) => {
  t.is(chooseLanguage({ requested: 'en', kept: 'zh', accepted: 'zh' }), 'en');
  t.is(chooseLanguage({ requested: 'xx', kept: 'zh', accepted: 'en' }), 'zh');
  t.is(chooseLanguage({ requested: '', kept: '<b>', accepted: 'zh' }), 'zh');
  t.is(chooseLanguage({}), 'en');
});

test('a link in a language keeps its parameters and its fragment', (t) => {
  t.is(inLanguage('/docs', 'zh'), '/docs?lang=zh');
  t.is(inLanguage('/pay/P1?payWay=alipay&lang=en', 'zh'), '/pay/P1?payWay=alipay&lang=zh');
  t.is(inLanguage('/docs/webhooks#headers', 'en'), '/docs/webhooks?lang=en#headers');
});
