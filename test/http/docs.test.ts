import test from 'ava';
import { errorCodes } from '../../server/error-codes/error-codes.ts';
import { isMerchantEvent } from '../../server/events/record.ts';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { type ApiDocument, eventPath, merchantOperations, operationPath } from '../../server/pages/api-pages.ts';
import { GUIDES, guidePath } from '../../server/pages/guides.ts';
import { LANGUAGES } from '../../server/pages/language.ts';
import { guideRoutes } from '../../server/routes/docs.ts';
import { startEdge } from '../support/edge.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes } from '../support/route-file.ts';
import { allRoutes } from '../support/routes.ts';
import { request } from '../support/service.ts';

const file = await serviceOfFile(import.meta.filename);
const { service } = file;
coverRoutes(test, file);

async function read(path: string, headers: Record<string, string> = {}) {
  const { status, body, headers: said } = await request(service.url, 'GET', path, undefined, headers);
  return { status, html: String(body), headers: said };
}

test.serial(
  'each guide is served in each language with its frame, without script and without external resources',
  async (t) => {
    for (const { slug, titles } of GUIDES)
      for (const language of LANGUAGES) {
        const { status, html, headers } = await read(`${guidePath(slug)}?lang=${language}`);
        t.is(status, 200, slug);
        t.is(headers.get('content-type'), 'text/html; charset=utf-8');
        t.is(headers.get('content-language'), language === 'zh' ? 'zh-CN' : 'en');
        t.true(html.includes(`<h1>${titles[language]}</h1>`), slug);
        t.true(html.includes(`aria-current="page" href="${guidePath(slug)}?lang=${language}"`));
        t.notRegex(
          html,
          /<script|<style|\sstyle=|\son\w+=|(src|<link[^>]*href)="https?:|<!-- (samples|error codes|after)/,
          slug,
        );
        t.notRegex(headers.get('content-security-policy') ?? '', /script-src|unsafe/);
      }
  },
);

test.serial('the language of a guide is that of the browser, unless the address sets one', async (t) => {
  const chinese = { 'accept-language': 'zh-CN' };
  t.regex((await read('/docs/webhooks', chinese)).html, /<h1>接收异步通知<\/h1>/);
  t.is((await read('/docs/webhooks', chinese)).headers.get('vary'), 'Accept-Language');
  t.regex((await read('/docs/webhooks?lang=en', chinese)).html, /<h1>Receive webhooks<\/h1>/);
  t.regex((await read('/docs/webhooks', { 'accept-language': 'de' })).html, /<h1>Receive webhooks<\/h1>/);
});

test.serial('a page has a tag for each language, and is not sent again to a reader with that tag', async (t) => {
  const reference = ['/docs/api', operationPath('refundPayment'), eventPath('order.paid')];
  for (const path of ['/docs/webhooks', '/docs/errors', '/docs/errors/channel_disabled', ...reference]) {
    const tags = [];
    for (const language of LANGUAGES) {
      const { headers } = await read(`${path}?lang=${language}`);
      const tag = headers.get('etag') ?? '';
      tags.push(tag);
      const again = await read(`${path}?lang=${language}`, { 'if-none-match': tag });
      t.deepEqual([again.status, again.headers.get('content-type')], [304, null], path);
    }
    t.is(new Set(tags).size, LANGUAGES.length, path);
    t.is((await read(`${path}?lang=zh`, { 'if-none-match': tags[0]! })).status, 200, path);
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
      t.notRegex(html, /<script|<style|\sstyle=|\son\w+=|(src|<link[^>]*href)="https?:|undefined|\[object/, address);
      t.notRegex(policy ?? '', /script-src|unsafe/);
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
      t.notRegex(html, /<script|<style|\sstyle=|undefined|\[object/, address);
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
