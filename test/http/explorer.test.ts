import test from 'ava';
import { isMerchantEvent } from '../../server/events/record.ts';
import { publicRoutes } from '../../server/routes/public.ts';
import { checkAnswersOf } from '../support/documented.ts';
import { startEdge } from '../support/edge.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes } from '../support/route-file.ts';
import { allRoutes } from '../support/routes.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

const groups = [publicRoutes({ info: () => Promise.reject(new Error('unused')), pingDatabase: async () => {} })];

test.serial('the pages have no inline script or style and reference no other host', async (t) => {
  const { url } = await startEdge(t, { groups, explorer: true });
  checkAnswersOf(url);
  for (const view of ['index', 'console']) {
    const response = await fetch(`${url}/swagger/${view}.html`, { headers: { host: 'evil.example' } });
    t.is(response.status, 200);
    const html = await response.text();
    t.notRegex(html, /<script>|<style|\sstyle=|\son\w+=|evil\.example/);
    const targets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target = '']) => target);
    t.deepEqual(
      [...new Set(targets.filter((target) => !target.startsWith('/swagger/')))],
      ['/docs?lang=en', '/docs?lang=zh'],
      'the guides, and nothing elsewhere',
    );
    t.true(['/swagger/index.html', '/swagger/console.html'].every((page) => targets.includes(page)));
    const policy = response.headers.get('content-security-policy') ?? '';
    t.regex(policy, /script-src 'self';/);
    t.notRegex(policy, /unsafe/);
  }
});

test.serial('every file that a page requests is served by this service with its media type', async (t) => {
  const { url } = await startEdge(t, { groups, explorer: true });
  checkAnswersOf(url);
  for (const view of ['index', 'console']) {
    const html = await (await fetch(`${url}/swagger/${view}.html`)).text();
    const loaded = [...html.matchAll(/<(?:script|link)\b[^>]*(?:src|href)="([^"]+)"/g)].map(
      ([, target = '']) => target,
    );
    t.is(loaded.length, 6);
    for (const target of loaded) {
      const { status, headers } = await fetch(url + target);
      t.is(status, 200, target);
      t.regex(headers.get('content-type') ?? '', /^(text\/(javascript|css)|image\/png)/, target);
    }
  }
});

test.serial('a file of the explorer has a tag, and is not sent again to a client with that tag', async (t) => {
  const { url } = await startEdge(t, { groups, explorer: true });
  checkAnswersOf(url);
  for (const name of ['doc.json', 'index.html', 'merchant.json', 'merchant.js', 'swagger-ui-bundle.js']) {
    const first = await fetch(`${url}/swagger/${name}`);
    const tag = first.headers.get('etag') ?? '';
    t.regex(tag, /^"[\w-]{22}"$/, name);
    const again = await fetch(`${url}/swagger/${name}`, { headers: { 'if-none-match': tag } });
    const { length } = await again.text();
    t.deepEqual([again.status, length, again.headers.get('etag')], [304, 0, tag], name);
    const other = await fetch(`${url}/swagger/${name}`, { headers: { 'if-none-match': '"another"' } });
    t.is(other.status, 200);
    const text = await first.text();
    t.true((await other.text()) === text, name);
    const head = await fetch(`${url}/swagger/${name}`, { method: 'HEAD' });
    t.deepEqual([head.status, head.headers.get('etag'), await head.text()], [200, tag, ''], name);
    t.is(head.headers.get('content-length'), String(Buffer.byteLength(text)), name);
  }
});

test.serial('the short address leads to the page', async (t) => {
  const { url } = await startEdge(t, { groups, explorer: true });
  checkAnswersOf(url);
  const response = await fetch(`${url}/swagger`, { redirect: 'manual', headers: { host: 'evil.example' } });
  t.is(response.status, 302);
  t.is(response.headers.get('location'), '/swagger/index.html');
});

test.serial('the address of a page cannot change its configuration', async (t) => {
  const { url } = await startEdge(t, { groups, explorer: true });
  checkAnswersOf(url);
  for (const view of ['merchant', 'console']) {
    const script = await (await fetch(`${url}/swagger/${view}.js`)).text();
    t.regex(script, /"queryConfigEnabled":false/);
    t.true(script.includes(`"url":"/swagger/${view}.json"`));
    const { openapi } = (await (await fetch(`${url}/swagger/${view}.json`)).json()) as { openapi: string };
    t.is(openapi, '3.1.0');
    t.notRegex(script, /https?:\/\//);
  }
});

test.serial('the document is OpenAPI 3.1 and describes the served routes', async (t) => {
  const { url } = await startEdge(t, { groups, explorer: true });
  checkAnswersOf(url);
  const response = await fetch(`${url}/swagger/doc.json`);
  t.is(response.headers.get('content-type'), 'application/json; charset=utf-8');
  const document = (await response.json()) as {
    openapi: string;
    paths: Record<string, { get: { security: unknown } }>;
  };
  t.is(document.openapi, '3.1.0');
  const served = (await allRoutes()).filter(({ contract }) => !contract.hidden).map(({ path }) => path);
  t.deepEqual(Object.keys(document.paths).toSorted(), [...new Set(served)].toSorted());
  t.deepEqual(document.paths['/api/v1/info']?.get.security, [{ adminBearer: [] }, { adminCookie: [] }]);
  t.deepEqual(document.paths['/health']?.get.security, []);
});

test.serial('the view for merchants has no event that only administrators see', async (t) => {
  const { url } = await startEdge(t, { groups, explorer: true });
  const read = async (name: string) =>
    Object.keys(((await (await fetch(`${url}/swagger/${name}`)).json()) as { webhooks: object }).webhooks);
  t.deepEqual(
    await read('merchant.json'),
    (await read('doc.json')).filter((type) => isMerchantEvent(type)),
  );
});

test.serial('without Explorer.Enabled the explorer is not served', async (t) => {
  const { url } = await startEdge(t, { groups, explorer: false });
  for (const path of [
    '/swagger/index.html',
    '/swagger/console.html',
    '/swagger/doc.json',
    '/swagger/merchant.json',
    '/swagger/swagger-ui-bundle.js',
  ]) {
    t.is((await fetch(url + path)).status, 404, path);
  }
});
