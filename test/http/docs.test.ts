import test from 'ava';
import { GUIDES, guidePath } from '../../server/pages/guides.ts';
import { LANGUAGES } from '../../server/pages/language.ts';
import { guideRoutes } from '../../server/routes/docs.ts';
import { startEdge } from '../support/edge.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes } from '../support/route-file.ts';
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
  for (const path of ['/docs/webhooks', '/docs/errors', '/docs/errors/channel_disabled']) {
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
