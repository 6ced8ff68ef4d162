import test from 'ava';
import { errorCodes } from '../../server/error-codes/error-codes.ts';
import { isMerchantEvent } from '../../server/events/record.ts';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { type ApiDocument, eventPath, merchantOperations, operationPath } from '../../server/pages/api-pages.ts';
import { digestOf } from '../../server/pages/document.ts';
import { GUIDES, LONGEST_SEARCH, SEARCH_PATH, guidePath } from '../../server/pages/guides.ts';
import { LANGUAGES, type Language, inLanguage } from '../../server/pages/language.ts';
import { guideRoutes } from '../../server/routes/docs.ts';
import { startEdge } from '../support/edge.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes } from '../support/route-file.ts';
import { allRoutes } from '../support/routes.ts';
import { request } from '../support/service.ts';

const file = await serviceOfFile(import.meta.filename);
const { service } = file;
coverRoutes(test, file);

/** Parts that no page has: a script except the one file, inline styles and handlers, resources of other origins. */
const FORBIDDEN =
  /<script(?! src="\/docs\/assets\/guide\.js\?v=[0-9a-f]{12}" defer><\/script>)|<style|\sstyle=|\son\w+=|(src|<link[^>]*href)="https?:/;
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

async function read(path: string, headers: Record<string, string> = {}) {
  const { status, body, headers: said } = await request(service.url, 'GET', path, undefined, headers);
  return { status, html: String(body), headers: said };
}

test.serial(
  'each guide is served in each language with its frame, without inline script and without external resources',
  async (t) => {
    for (const { slug, titles } of GUIDES)
      for (const language of LANGUAGES) {
        const { status, html, headers } = await read(`${guidePath(slug)}?lang=${language}`);
        t.is(status, 200, slug);
        t.is(headers.get('content-type'), 'text/html; charset=utf-8');
        t.is(headers.get('content-language'), language === 'zh' ? 'zh-CN' : 'en');
        t.true(html.includes(`<h1>${titles[language]}</h1>`), slug);
        t.true(html.includes(`aria-current="page" href="${guidePath(slug)}?lang=${language}"`));
        t.notRegex(html, FORBIDDEN, slug);
        t.notRegex(html, /<!-- (samples|error codes|after)/, slug);
        t.is(headers.get('content-security-policy'), POLICY);
      }
  },
);

test.serial('the language of a guide is that of the browser, unless the address sets one', async (t) => {
  const chinese = { 'accept-language': 'zh-CN' };
  t.regex((await read('/docs/webhooks', chinese)).html, /<h1>接收 Webhook<\/h1>/);
  t.is((await read('/docs/webhooks', chinese)).headers.get('vary'), 'Accept-Language');
  t.regex((await read('/docs/webhooks?lang=en', chinese)).html, /<h1>Receive webhooks<\/h1>/);
  t.regex((await read('/docs/webhooks', { 'accept-language': 'de' })).html, /<h1>Receive webhooks<\/h1>/);
});

test.serial('a page has a tag for each language, and is not sent again to a reader with that tag', async (t) => {
  const reference = ['/docs/api', operationPath('refundPayment'), eventPath('order.paid')];
  const others = ['/docs/webhooks', '/docs/errors', '/docs/errors/channel_disabled', `${SEARCH_PATH}?q=refund`];
  for (const path of [...others, ...reference]) {
    const tags = [];
    for (const language of LANGUAGES) {
      const { headers } = await read(inLanguage(path, language));
      const tag = headers.get('etag') ?? '';
      tags.push(tag);
      const again = await read(inLanguage(path, language), { 'if-none-match': tag });
      t.deepEqual([again.status, again.headers.get('content-type')], [304, null], path);
    }
    t.is(new Set(tags).size, LANGUAGES.length, path);
    t.is((await read(inLanguage(path, 'zh'), { 'if-none-match': tags[0]! })).status, 200, path);
  }
});

test.serial('samples contain the address of this service, except for those of its own machine', async (t) => {
  const { html } = await read('/docs/simulator');
  t.true(html.includes(`${service.url}/api/v2/payment/pay`));
  t.notRegex(html, /127\.0\.0\.1:8080/);
  t.true((await read('/docs/install')).html.includes('proxy_pass http://127.0.0.1:8080;'));
});

test.serial('the index of errors has every code, and each code has a page in each language', async (t) => {
  const { html } = await read('/docs/errors');
  t.regex(html, /<tr id="channel_disabled">.*<a href="\/docs\/errors\/channel_disabled\?lang=en">/);
  const page = await read('/docs/errors/channel_disabled');
  for (const words of ['<h1>Channel disabled</h1>', '<code>channel_disabled</code>', 'Use another payWay'])
    t.true(page.html.includes(words), words);
  t.regex((await read('/docs/errors/channel_disabled?lang=zh')).html, /<h1>渠道已停用<\/h1>[^]*换用其他 payWay/);
});

test.serial('the page of an error code links to the operations of merchants that return it, at its line', async (t) => {
  const see = await startReference(t);
  const ids = merchantOperations(described)
    .filter(({ operation }) => operation['x-error-codes']?.includes('order_not_paid'))
    .map(({ operation }) => operation.operationId);
  t.true(ids.includes('refundPayment'));
  for (const language of LANGUAGES) {
    const { html } = await see(`/docs/errors/order_not_paid?lang=${language}`);
    t.deepEqual(
      [...html.matchAll(/href="(\/docs\/api\/[^"]+)"/g)].map(([, address]) => address),
      ids.map((id) => inLanguage(`${operationPath(id)}#order_not_paid`, language)),
    );
    const operation = (await see(`${operationPath('refundPayment')}?lang=${language}`)).html;
    t.true(operation.includes('<tr id="order_not_paid">'));
  }
  t.regex((await see('/docs/errors/database_busy?lang=en')).html, /Any operation may return it\./);
  t.regex((await see('/docs/errors/database_busy?lang=zh')).html, /所有接口都可能返回此错误码。/);
  t.notRegex((await see('/docs/errors/bill_malformed')).html, /Operations that return it/, 'a code of the console');
});

test.serial('an unknown code has no page, for browsers and for programs', async (t) => {
  for (const code of ['no_such_code', '%3Cscript%3E', 'constructor']) {
    t.is((await read(`/docs/errors/${code}`)).status, 404);
    const seen = await read(`/docs/errors/${code}`, { accept: 'text/html', 'accept-language': 'zh' });
    t.is(seen.status, 404);
    t.regex(seen.html, /<html lang="zh-CN">[^]*<h1>找不到该页面<\/h1>/);
  }
  t.is((await read('/docs/no-such-guide')).status, 404);
});

test.serial('a guide links to the explorer if it is enabled', async (t) => {
  t.regex((await read('/docs')).html, /href="\/swagger\/index\.html">API explorer/);
  const { url } = await startEdge(t, {
    groups: [guideRoutes({ publicUrl: 'https://pay.example.com', explorer: false })],
  });
  t.notRegex(await (await fetch(`${url}/docs`)).text(), /to-explorer/);
});

test.serial('an address that would lead to another site gets no language switch', async (t) => {
  const seen = await read('//evil.example/x', { accept: 'text/html' });
  t.is(seen.status, 404);
  t.notRegex(seen.html, /evil/);
});

const described = mergeDocument(await allRoutes(), await readWords(), { version: '0.0.0' }) as unknown as ApiDocument;
const { schemas } = described.components as unknown as { schemas: Record<string, Node> };

interface Node {
  $ref?: string;
  properties?: Record<string, Node>;
  items?: Node;
  anyOf?: Node[];
  oneOf?: Node[];
  allOf?: Node[];
}

/** The names of all fields of a schema, such as `data.refunds[].refundNo`. */
function fieldsOf(node: Node, above = ''): string[] {
  if (node.$ref) return fieldsOf(schemas[node.$ref.split('/').at(-1)!]!, above);
  const own = Object.entries(node.properties ?? {}).flatMap(([name, member]) => [
    above + name,
    ...fieldsOf(member, `${above}${name}.`),
  ]);
  const parts = [node.anyOf, node.oneOf, node.allOf].flatMap((list) => list ?? []);
  const inList = node.items ? fieldsOf(node.items, above && `${above.slice(0, -1)}[].`) : [];
  return [...own, ...inList, ...parts.flatMap((part) => fieldsOf(part, above))];
}

type Bodies = { content?: Record<string, { schema: Node }> } | undefined;
const fieldsIn = (bodies: Bodies): string[] =>
  Object.entries(bodies?.content ?? {}).flatMap(([type, { schema }]) =>
    type === 'application/problem+json' ? [] : fieldsOf(schema),
  );

/** The reference as production serves it: without the explorer. */
async function startReference(t: Parameters<typeof startEdge>[0]) {
  const publicUrl = 'https://pay.example.com';
  const { url } = await startEdge(t, { groups: [guideRoutes({ publicUrl, explorer: false })], explorer: false });
  return async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(url + path, { headers });
    return { status: answer.status, html: await answer.text(), policy: answer.headers.get('content-security-policy') };
  };
}

test.serial('each operation of merchants has a page with all its parameters, fields and error codes', async (t) => {
  const see = await startReference(t);
  const operations = merchantOperations(described);
  t.true(operations.length > 35);
  for (const language of LANGUAGES) {
    const index = (await see(`/docs/api?lang=${language}`)).html;
    for (const { path, operation } of operations) {
      const address = `${operationPath(operation.operationId)}?lang=${language}`;
      t.true(index.includes(`href="${address}"`), address);
      const { status, html, policy } = await see(address);
      t.is(status, 200, address);
      t.true(html.includes(`<html lang="${language === 'zh' ? 'zh-CN' : 'en'}">`) && html.includes(path), address);
      t.notRegex(html, FORBIDDEN, address);
      t.notRegex(html, /undefined|\[object/, address);
      t.is(policy, POLICY);
      t.true(html.includes(`curl `) && html.includes('https://pay.example.com'), address);
      t.notRegex(html, /pay\.example\.com\/[^<]*%7B/, `${address}: a parameter of the path has no example`);
      t.notRegex(html, /client_secret=pays_/, 'a secret in a command line stays in the history of the shell');
      const parameters = operation.parameters.map((one) => ('name' in one ? one.name : 'Idempotency-Key'));
      const successes = Object.entries(operation.responses).filter(([given]) => !/^[45]/.test(given));
      const fields = [operation.requestBody, ...successes.map(([, one]) => one)].flatMap((one) =>
        fieldsIn(one as Bodies),
      );
      for (const name of [...parameters, ...fields])
        t.true(html.includes(`<code>${name}</code>`), `${address} ${name}`);
      const problem = JSON.stringify(
        schemas[`${operation.operationId.replace(/^./, (one) => one.toUpperCase())}Problem`],
      );
      const general = JSON.stringify(schemas['GeneralErrorCode']);
      const codes = Object.keys(errorCodes).filter(
        (code) =>
          [problem, general].some((text) => text?.includes(`"${code}"`)) ||
          new RegExp(`[:,] ${code}[,.]`).test(operation.responses['4XX']?.description ?? ''),
      );
      t.true(codes.length >= 21, address);
      for (const code of codes)
        t.true(html.includes(`href="/docs/errors/${code}?lang=${language}"`), `${address} ${code}`);
    }
  }
});

test.serial('each webhook event has a page with its headers, fields and example', async (t) => {
  const see = await startReference(t);
  for (const language of LANGUAGES) {
    const index = (await see(`/docs/api?lang=${language}`)).html;
    for (const [type, { post }] of Object.entries(described.webhooks)) {
      const address = `${eventPath(type)}?lang=${language}`;
      if (!isMerchantEvent(type)) {
        t.deepEqual([index.includes(type), (await see(address)).status], [false, 404], type);
        continue;
      }
      t.true(index.includes(`href="${address}"`), address);
      const { status, html } = await see(address);
      t.is(status, 200, address);
      t.notRegex(html, FORBIDDEN, address);
      t.notRegex(html, /undefined|\[object/, address);
      for (const name of [
        'webhook-id',
        'webhook-timestamp',
        'webhook-signature',
        ...fieldsIn(post.requestBody as Bodies),
      ])
        t.true(html.includes(`<code>${name}</code>`), `${address} ${name}`);
      t.true(html.includes(`href="/docs/webhooks?lang=${language}#verify-the-signature"`), address);
    }
  }
});

test.serial('the reference has no page of another operation, and an unknown page is a 404', async (t) => {
  const see = await startReference(t);
  const shown = new Set(merchantOperations(described).map(({ operation }) => operation.operationId));
  const others = Object.entries(described.paths).flatMap(([path, verbs]) =>
    Object.values(verbs).flatMap(({ operationId }) => (shown.has(operationId) ? [] : [{ path, operationId }])),
  );
  t.true(others.some(({ path }) => path.startsWith('/api/v1/')));
  t.false(merchantOperations(described).some(({ path }) => path.startsWith('/api/v1/')));
  const names = [...others.map(({ operationId }) => operationId), 'constructor', 'noSuchOperation', '%3Cscript%3E'];
  for (const address of [...names.map(operationPath), eventPath('order.lost'), eventPath('constructor')])
    t.is((await see(address)).status, 404, address);
  for (const language of LANGUAGES) t.notRegex((await see(`/docs/api?lang=${language}`)).html, /\/api\/v1/);
  const page = await read(eventPath('order.lost'), { accept: 'text/html', 'accept-language': 'zh' });
  t.is(page.status, 404);
  t.regex(page.html, /<h1>找不到该页面<\/h1>/);
});

test.serial('the reference names the explorer only where it is served', async (t) => {
  const see = await startReference(t);
  t.notRegex((await see('/docs/api')).html, /\/swagger/);
  t.regex((await read('/docs/api')).html, /href="\/swagger\/index\.html"/);
});

/** Questions of merchants, each with the page that answers it and words of the answer in each language. */
const QUESTIONS = [
  {
    question: 'What does this error mean?',
    page: '/docs/errors/order_not_paid',
    en: /nothing to refund/,
    zh: /没有可退的款项/,
  },
  {
    question: 'Which fields has a refund?',
    page: operationPath('getRefund'),
    en: /data\.refundNo/,
    zh: /data\.refundNo/,
  },
  {
    question: 'How do I verify a webhook?',
    page: '/docs/webhooks',
    en: /verify-the-signature[^]*verifyWebhook/,
    zh: /验签/,
  },
  {
    question: 'Why is my order closing?',
    page: '/docs/integrate',
    en: /the channel has not confirmed/,
    zh: /渠道尚未确认/,
  },
  {
    question: 'How do I test a decline?',
    page: '/docs/simulator',
    en: /0\.02[^]*declines the order/,
    zh: /0\.02[^]*渠道拒绝/,
  },
] as const;

test.serial('five questions of a merchant are answered at most two links away from /docs', async (t) => {
  const see = await startReference(t);
  for (const language of LANGUAGES) {
    const start = `/docs?lang=${language}`;
    const seen = new Map<string, string>();
    let next = [start];
    for (const _ of ['start', 'one link', 'two links']) {
      for (const address of next) seen.set(address, (await see(address)).html);
      const links = next.flatMap((address) =>
        [...seen.get(address)!.matchAll(/href="(\/docs[^"#]*)/g)].map(([, href = '']) => href),
      );
      next = [...new Set(links)].filter((href) => href.endsWith(`lang=${language}`) && !seen.has(href));
    }
    for (const { question, page, ...answers } of QUESTIONS)
      t.regex(seen.get(`${page}?lang=${language}`) ?? '', answers[language], question);
  }
});

/** The addresses, names and excerpts of the results of a search. */
function hitsIn(html: string) {
  const list = /<ol class="hits">([^]*?)<\/ol>/.exec(html)?.[1] ?? '';
  return [...list.matchAll(/<li><a href="([^"]+)">(.*?)<\/a>(.*?)<\/li>/g)].map(
    ([, address = '', name = '', excerpt = '']) => ({ address: address.replaceAll('&#38;', '&'), name, excerpt }),
  );
}

const searchFor = (q: string, lang: Language = 'en') => `${SEARCH_PATH}?${new URLSearchParams({ q, lang })}`;

/** Words, and the section that a search for them lists first. */
const SEARCHES: readonly (readonly [words: string, language: Language, first: string])[] = [
  ['VERIFY the signature', 'en', '/docs/webhooks?lang=en#verify-the-signature'],
  ['Webhook 验签', 'zh', '/docs/webhooks?lang=zh#verify-the-signature'],
  ['Idempotency', 'en', '/docs/idempotency?lang=en'],
  ['refundPayment', 'zh', '/docs/api/refundPayment?lang=zh'],
  ['POST /api/v2/payment/pay', 'en', '/docs/api/placePayment?lang=en'],
  ['order.paid', 'en', '/docs/api/webhooks/order.paid?lang=en'],
  ['channel_disabled', 'zh', '/docs/errors/channel_disabled?lang=zh'],
  ['渠道已停用', 'zh', '/docs/errors/channel_disabled?lang=zh'],
];

test.serial('a search finds guides, operations, events and error codes in both languages, titles first', async (t) => {
  const see = await startReference(t);
  for (const [words, language, first] of SEARCHES) {
    const { status, html, policy } = await see(searchFor(words, language));
    t.deepEqual([status, policy], [200, POLICY], words);
    t.is(hitsIn(html)[0]?.address, first, words);
    t.notRegex(html, FORBIDDEN, words);
  }
  const seen = new Map<string, string>();
  for (const language of LANGUAGES)
    for (const words of ['refund', 'curl', 'signature', '/api/v2', 'channel'])
      for (const { address } of hitsIn((await see(searchFor(words, language))).html)) {
        const [path = '', anchor] = address.split('#');
        if (!seen.has(path)) seen.set(path, (await see(path)).html);
        t.true(path.endsWith(`?lang=${language}`) && seen.get(path)!.includes('<h1>'), address);
        if (anchor !== undefined) t.true(seen.get(path)!.includes(` id="${anchor}"`), address);
      }
  t.true(seen.size > 20, String(seen.size));
});

/** Questions of readers, and a page that is one of the first three results. */
const ASKED: readonly (readonly [question: string, language: Language, page: string])[] = [
  ['how do I verify a webhook', 'en', '/docs/webhooks'],
  ['How do I verify webhooks?', 'en', '/docs/webhooks'],
  ['怎么验证webhook', 'zh', '/docs/webhooks'],
  ['why is my order closing', 'en', '/docs/integrate'],
  ['为什么订单一直关单中', 'zh', '/docs/integrate'],
  ['payment_declined', 'en', '/docs/errors/channel_refused'],
  ['payment_declined', 'zh', '/docs/errors/channel_refused'],
  ['支付被拒绝', 'zh', '/docs/errors/channel_refused'],
  ['test a decline', 'en', '/docs/simulator'],
  ['测试拒付', 'zh', '/docs/simulator'],
  ['refund fields', 'en', '/docs/api/refundPayment'],
  ['退款字段', 'zh', '/docs/api/refundPayment'],
];

test.serial('a question finds the page with its answer, in both languages', async (t) => {
  const see = await startReference(t);
  for (const [question, language, page] of ASKED) {
    const pages = hitsIn((await see(searchFor(question, language))).html).map(({ address }) => address.split('?')[0]);
    t.true(pages.slice(0, 3).includes(page), `${question}: ${pages.slice(0, 6).join(' ')}`);
  }
});

test.serial('a search without a section that has every word lists those with most of them', async (t) => {
  const see = await startReference(t);
  const { html } = await see(searchFor('zebra refund webhook'));
  t.regex(html, /No section has all words of <b><bdi>zebra refund webhook<\/bdi><\/b>\. Sections with most of them: /);
  t.regex(
    (await see(searchFor('斑马退款通知', 'zh'))).html,
    /没有章节包含 [^。]+ 的全部关键词；包含大部分关键词的章节共 \d/,
  );
  t.deepEqual(hitsIn((await see(searchFor('zebra refund'))).html), [], 'half of the words');
});

test.serial('a search finds a Latin word where it begins, and marks nothing within a word', async (t) => {
  const see = await startReference(t);
  const [first] = hitsIn((await see(searchFor('test a decline'))).html);
  t.regex(first!.name + first!.excerpt, /<mark>/);
  for (const { name, excerpt } of hitsIn((await see(searchFor('test a decline'))).html))
    t.notRegex(name + excerpt, /<mark>a<\/mark>|[a-z]<mark>[a-z]/);
  t.true(
    hitsIn((await see(searchFor('RefundNo'))).html).some(({ excerpt }) => excerpt.includes('merchant<mark>RefundNo')),
  );
});

test.serial('a search marks its words and contains them as text, never as HTML or as an expression', async (t) => {
  const see = await startReference(t);
  const { html } = await see(searchFor('<base64url>'));
  t.true(hitsIn(html).some(({ excerpt }) => excerpt.includes('<mark>&#60;base64url&#62;</mark>')));
  t.true(html.includes('value="&#60;base64url&#62;"'));
  const attack = `"><script>alert('x')</script>&`;
  const attacked = await see(searchFor(attack));
  t.is(attacked.status, 200);
  t.notRegex(attacked.html, FORBIDDEN);
  t.false(attacked.html.includes("alert('x')"));
  for (const words of ['.*', '(((', '[a-z]+', '^', '\\'])
    for (const { name, excerpt } of hitsIn((await see(searchFor(words))).html))
      t.true((name + excerpt).replaceAll(/<[^>]*>/g, '').includes(words), words);
});

test.serial('a search without results gives advice, and one without words asks for some', async (t) => {
  const see = await startReference(t);
  for (const words of ['no-such-word', 'refund no-such-word']) {
    const { status, html } = await see(searchFor(words));
    t.is(status, 200);
    t.deepEqual(hitsIn(html), []);
    t.regex(html, /No section contains <b><bdi>[^<]+<\/bdi><\/b>\.[^]*href="\/docs\/errors\?lang=en"/);
  }
  t.regex((await see(searchFor('没有这个词', 'zh'))).html, /没有包含 <b><bdi>没有这个词<\/bdi><\/b> 的章节。/);
  for (const path of [SEARCH_PATH, searchFor(' \u3000 ')]) {
    const { status, html } = await see(path);
    t.is(status, 200);
    t.regex(html, /Enter words to search/);
    t.deepEqual(hitsIn(html), []);
  }
});

test.serial('the words and the results of a search are bounded', async (t) => {
  const see = await startReference(t);
  const { status, html } = await see(searchFor('x'.repeat(5000)));
  t.is(status, 200);
  t.true(html.includes(`value="${'x'.repeat(LONGEST_SEARCH)}"`) && !html.includes('x'.repeat(LONGEST_SEARCH + 1)));
  t.is((await see(searchFor(`x${'😀'.repeat(LONGEST_SEARCH)}`))).status, 200, 'cut between two surrogates');
  const common = hitsIn((await see(searchFor('e'))).html);
  t.is(common.length, 30);
  const pages = Map.groupBy(common, ({ address }) => address.split('#')[0]);
  t.true([...pages.values()].every((hits) => hits.length <= 3));
});

test.serial('a search finds no operation of the console', async (t) => {
  const see = await startReference(t);
  const shown = merchantOperations(described).map(({ operation }) => operation.operationId);
  const others = Object.values(described.paths).flatMap((verbs) =>
    Object.values(verbs).flatMap(({ operationId: id }) => (shown.includes(id) ? [] : [id])),
  );
  t.true(others.length > 100);
  for (const id of others)
    for (const { address } of hitsIn((await see(searchFor(id))).html))
      t.not(address, inLanguage(operationPath(id), 'en'));
  const paths = hitsIn((await see(searchFor('/api/v1/'))).html);
  t.deepEqual(
    paths.filter(({ address }) => address.startsWith('/docs/api')),
    [],
  );
});

test.serial('the script of the pages is a file whose address has its digest', async (t) => {
  const see = await startReference(t);
  const [, address = '', digest = ''] =
    /<script src="(\/docs\/assets\/guide\.js\?v=(\w+))" defer>/.exec((await see('/docs')).html) ?? [];
  const { status, html, headers } = await read(address);
  t.is(status, 200);
  t.is(digestOf(html), digest);
  t.is(headers.get('content-type'), 'text/javascript; charset=utf-8');
  t.is(headers.get('cache-control'), 'public, max-age=31536000, immutable');
});

test.serial('every guide and page of the reference with three headings or more lists them', async (t) => {
  const see = await startReference(t);
  const reference = merchantOperations(described).map(({ operation }) => operationPath(operation.operationId));
  for (const path of [
    ...GUIDES.map(({ slug }) => guidePath(slug)),
    '/docs/api',
    eventPath('order.paid'),
    ...reference,
  ]) {
    const { html } = await see(path);
    const article = /<main[^]*<\/main>/.exec(html)![0];
    const isListed = (article.match(/<h[23] id="/g) ?? []).length >= 3;
    t.is(article.includes('<nav class="toc"'), isListed, path);
    t.is(article.includes('<details class="toc-small"'), isListed, path);
  }
});
