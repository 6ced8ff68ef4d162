import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { loadConfig } from '../../config/load.ts';
import { keyNames, keys } from '../../config/schema.ts';
import { CHANNEL_KINDS } from '../../server/channels/registry.ts';
import { errorCodes, errorGroups, isErrorCode } from '../../server/error-codes/error-codes.ts';
import { nextAttempt } from '../../server/events/deliver.ts';
import { EVENT_TYPES, isMerchantEvent } from '../../server/events/record.ts';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { headingIds, makeGuideFiles } from '../../server/offline/guide-files.ts';
import { allRoutes } from '../../server/offline/route-groups.ts';
import { type ApiDocument, eventPage, merchantOperations, operationPage } from '../../server/pages/api-pages.ts';
import { PAYMENT_DESCRIPTIONS } from '../../server/pages/descriptions-payments.ts';
import { PLATFORM_DESCRIPTIONS } from '../../server/pages/descriptions-platform.ts';
import { proseHtml } from '../../server/pages/document.ts';
import { guidePath, GUIDES } from '../../server/pages/guides.ts';
import { type Language, LANGUAGES } from '../../server/pages/language.ts';
import type { ChannelKind, PayWay } from '../../server/payments/channel.ts';
import { EXCEPTION_KINDS } from '../../server/domain.ts';
import { FAULTS } from '../../server/simulator/faults.ts';
import { fixedOutcome } from '../../server/simulator/trades.ts';
import { program } from '../cli/examples.ts';
import { guides, guideText, payctlLines } from './guide-text.ts';
import { splitWords } from '../cli/payctl.ts';
import { root, sourcesIn } from './sources.ts';

/** The least that production demands. */
const PRODUCTION = {
  NODE_ENV: 'production',
  PAY_SERVER_PUBLIC_URL: 'https://pay.shop.example',
  PAY_DATABASE_URL: 'postgres://pay@%2Frun%2Fpostgresql/pay',
  PAY_JWT_SECRET_KEY: randomBytes(32).toString('base64'),
  PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64'),
};

const slugs = GUIDES.map(({ slug }) => slug);
const all = slugs.flatMap((slug) => LANGUAGES.map((language) => ({ slug, language, ...guideText(slug, language) })));
const nameOf = ({ slug, language }: (typeof all)[number]) => `${language}/${slug}.md`;

test('every guide exists in every language with the heading that the menu names', (t) => {
  for (const language of LANGUAGES) {
    t.deepEqual(readdirSync(join(guides, language)).toSorted(), slugs.map((slug) => `${slug}.md`).toSorted());
    for (const { slug, titles } of GUIDES)
      t.deepEqual(guideText(slug, language).headings[0], { depth: 1, text: titles[language] }, slug);
  }
});

test('the translations have the same headings, tables, code, samples and links', (t) => {
  for (const slug of slugs) {
    const [english, chinese] = [guideText(slug, 'en'), guideText(slug, 'zh')];
    const depths = ({ headings }: typeof english) => headings.map(({ depth }) => depth);
    t.deepEqual(depths(chinese), depths(english), slug);
    t.deepEqual(chinese.blocks, english.blocks, slug);
    t.deepEqual(chinese.samples, english.samples, slug);
    t.deepEqual(chinese.tables, english.tables, slug);
    t.deepEqual(chinese.links.toSorted(), english.links.toSorted(), slug);
    const spans = ({ spans: found }: typeof english) => [...new Set(found)].toSorted();
    t.deepEqual(spans(chinese), spans(english), slug);
  }
});

test('samples have no prompts, because the button copies them as they are', (t) => {
  for (const guide of all)
    for (const { text } of guide.blocks) t.notRegex(text, /^\s*(\$|>|%) /m, `${nameOf(guide)}: ${text}`);
});

test('every description on the pages of the reference has a Chinese one, and there are no others', async (t) => {
  const document = mergeDocument(await allRoutes(), await readWords(), { version: '0.0.0' }) as unknown as ApiDocument;
  const operations = merchantOperations(document).map(({ operation }) => operation.operationId);
  const events = Object.keys(document.webhooks).filter(isMerchantEvent);
  const articlesIn = (language: Language) => {
    const settings = { language, publicUrl: 'https://pay.example.com', explorer: false };
    return [
      ...operations.map((id) => operationPage(document, id, settings)!.article),
      ...events.map((type) => eventPage(document, type, settings)!.article),
    ].join('\n');
  };
  const missing = [...articlesIn('zh').matchAll(/<span lang="en">(.*?)<\/span>/g)].map(([, text = '']) => text);
  t.deepEqual([...new Set(missing)], []);
  const english = articlesIn('en');
  const entries = [PAYMENT_DESCRIPTIONS, PLATFORM_DESCRIPTIONS].flatMap((table) => Object.entries(table));
  t.is(new Set(entries.map(([text]) => text)).size, entries.length);
  t.deepEqual(
    entries.map(([text]) => text).filter((text) => !english.includes(`>${proseHtml(text)}<`)),
    [],
  );
  const inCode = (text: string) => [...new Set(text.match(/`[^`]+`/g))].toSorted();
  for (const [text, chinese] of entries) {
    t.regex(chinese, /\p{Script=Han}[^]*。$/u, text);
    t.deepEqual(inCode(chinese), inCode(text), text);
  }
});

/** The sentence about the limits in each channel's guide. */
const FIGURES: Record<PayWay, (kind: ChannelKind) => Record<Language, string>> = {
  alipay: ({ limits: { refundWindowDays: days } }) => ({
    en: `Refunds are possible for ${days} days.`,
    zh: `${days} 天内可以退款。`,
  }),
  wechat: ({ limits: { refundWindowDays: days, maxRefundsPerOrder: most } }) => ({
    en: `A WeChat Pay order can be refunded ${most} times, a minute apart, within ${days} days.`,
    zh: `同一笔微信支付订单 ${days} 天内最多可退款 ${most} 次，每次间隔一分钟。`,
  }),
  paypal: ({ limits: { refundWindowDays: days } }) => ({
    en: `Orders live three hours at most, and can be refunded for ${days} days.`,
    zh: `订单有效期最长三小时，${days} 天内可以退款。`,
  }),
};

test('the guide of a channel states the limits that the adapter enforces', (t) => {
  for (const kind of CHANNEL_KINDS.values())
    for (const language of LANGUAGES) {
      const slug = all.find((one) => one.slug.startsWith(`go-live-${kind.payWay}`))!.slug;
      const figures = FIGURES[kind.payWay](kind)[language];
      t.true(guideText(slug, language).markdown.includes(`- ${figures}`), `${language}/${slug}: ${figures}`);
    }
  const days = (payWay: PayWay) => CHANNEL_KINDS.get(payWay)!.limits.refundWindowDays;
  // The sentence of the guide names both with one number; it must be reworded if they differ.
  t.is(days('alipay'), days('wechat'));
  const windows = {
    en: `${days('alipay')} days at Alipay and WeChat Pay, ${days('paypal')} days at PayPal`,
    zh: `支付宝和微信支付 ${days('alipay')} 天，PayPal ${days('paypal')} 天`,
  };
  for (const language of LANGUAGES)
    t.true(guideText('rate-limits', language).markdown.includes(windows[language]), language);
  const [wechat, paypal] = (['wechat', 'paypal'] as const).map((payWay) => CHANNEL_KINDS.get(payWay));
  t.is(wechat!.limits.refundSpacingSeconds, 60);
  t.deepEqual([...new Set(Object.values(paypal!.scenes).map((scene) => scene?.maxSeconds))], [3 * 3600]);
});

test('every link of a guide leads to an existing page and heading', async (t) => {
  const anchors = new Map(slugs.map((slug) => [slug, anchorsOf(slug)]));
  for (const guide of all)
    for (const link of guide.links) {
      const [, target = guide.slug, anchor] = /^(?:([\w-]+)\.md)?(?:#(.+))?$/.exec(link) ?? [];
      if (link.startsWith('https:') || link === '/swagger/index.html') continue;
      if (link.startsWith('../samples/')) t.true(existsSync(join(guides, guide.language, link)), link);
      else
        t.true(
          anchor === undefined ? anchors.has(target) : anchors.get(target)?.has(anchor),
          `${nameOf(guide)}: ${link}`,
        );
    }
  for (const [name, bytes] of Object.entries(await makeGuideFiles(guides))) {
    const html = Buffer.from(bytes).toString();
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    t.deepEqual(ids, [...new Set(ids)], name);
    for (const [, href = ''] of html.matchAll(/ href="(\/docs[^"]*)"/g)) {
      const [path = '', anchor] = href.replace(/\?lang=(en|zh)/, '').split('#');
      const code = /^\/docs\/errors\/(\w+)$/.exec(path)?.[1];
      const slug = slugs.find((one) => guidePath(one) === path);
      const isServed = slug !== undefined || path === '/docs/api';
      t.true(code === undefined ? isServed : isErrorCode(code), `${name}: ${href}`);
      if (anchor !== undefined) t.true(anchors.get(slug ?? '')?.has(anchor), `${name}: ${href}`);
    }
  }
});

/** The ids of headings, of explicit anchors and of the error index. */
function anchorsOf(slug: string): Set<string> {
  const { markdown } = guideText(slug, 'en');
  const byHand = [...markdown.matchAll(/<a id="([\w-]+)">/g)].map(([, id = '']) => id);
  const index = slug === 'errors' ? [...Object.keys(errorGroups), ...Object.keys(errorCodes)] : [];
  return new Set([...headingIds(markdown), ...byHand, ...index]);
}

test('every command and flag in the guides exists', (t) => {
  let count = 0;
  for (const guide of all)
    for (const line of payctlLines(guide)) {
      const { words } = splitWords(line.replace(/ …/g, '').replace(/ > \S+$/, ''));
      let command = program;
      let rest = words.slice(1);
      for (let next = command; rest.length > 0; command = next, rest = rest.slice(1)) {
        const found = command.commands.find((one) => one.name() === rest[0]);
        if (!found) break;
        next = found;
      }
      t.not(command, program, `${nameOf(guide)}: ${line}`);
      const [first] = rest;
      if (command.commands.length > 0) t.is(first, undefined, `${nameOf(guide)}: ${line}`);
      const known = [...command.options, ...program.options].flatMap(({ short, long }) => [short, long]);
      for (const flag of rest.filter((word) => /^--?[a-zA-Z]/.test(word)))
        t.true(known.includes(flag), `${nameOf(guide)}: ${line}: ${flag}`);
      count++;
    }
  t.true(count > 150, String(count));
});

/** Words in the format of a code that are member values, columns or settings. */
const OTHER_WORDS = new Set([
  'client_id',
  'client_secret',
  'expires_in',
  'error_description',
  'partially_refunded',
  'waiting_for_approval',
  'needs_answer',
  'paid_elsewhere',
  'failed_at_channel',
  'capture_held',
  'database_full',
  'max_connections',
  'max_prepared_statements',
  'max_slot_wal_keep_size',
  'pg_dump',
  'pg_replication_slots',
  'pg_stat_activity',
  'synchronous_standby_names',
  'resource_id',
  'trade_no',
  'out_trade_no',
  'client_session',
  'verify_webhook',
]);

test('every code, kind, metric, event, key and path in the guides exists', async (t) => {
  const metrics = sourcesIn('server').flatMap(({ text }) =>
    [...text.matchAll(/'([a-z]+(?:_[a-z]+)+_(?:total|seconds|days|full))'/g)].map(([, name = '']) => name),
  );
  const certs = [...CHANNEL_KINDS.values()].flatMap(({ certKinds }) => certKinds.map(({ kind }) => kind));
  const known = new Set<string>([...Object.keys(errorCodes), ...EXCEPTION_KINDS, ...metrics, ...certs, ...OTHER_WORDS]);
  const routes = (await allRoutes()).map(({ method, path }) => `${method} ${path}`);
  for (const guide of all) {
    for (const span of guide.spans) {
      const where = `${nameOf(guide)}: ${span}`;
      if (/^[a-z]+(_[a-z]+)+$/.test(span)) t.true(known.has(span), where);
      if (/^(order|refund|dispute|skillpay|coin)\.\w+$/.test(span))
        t.true((EVENT_TYPES as readonly string[]).includes(span), where);
      if (/^[A-Z]\w+\.[A-Z]\w+$/.test(span) && !span.startsWith('P2'))
        t.true((keyNames as string[]).includes(span), where);
      if (/^(GET|POST|PUT|DELETE) \//.test(span)) t.true(routes.includes(span), where);
    }
    // A status followed by a code names an error code.
    for (const [where, code = ''] of guide.markdown.matchAll(/\b[45]\d\d `([a-z_]+)`/g))
      t.true(isErrorCode(code), where);
  }
});

test('the guides about running the service state defaults as the schema has them, and every retention', (t) => {
  const { server } = loadConfig({ env: PRODUCTION, cwd: '/' });
  let stated = 0;
  for (const guide of all.filter(({ slug }) => ['install', 'operate', 'scale'].includes(slug))) {
    const where = (key: string) => `${nameOf(guide)}: ${key}`;
    // `Section.Key` (default 10), `Section.Key`（默认 10）, or a table row | `Section.Key` | 10 |.
    const inText = guide.markdown.matchAll(/`(\w+\.\w+)` ?[(（](?:default|默认) ([^)）]+)[)）]/g);
    const inTables = guide.markdown.matchAll(/^\| `([A-Z]\w+\.[A-Z]\w+)` \| (\S+) \|/gm);
    for (const [, key = '', value = ''] of [...inText, ...inTables]) {
      t.is(value, String(keys[key as keyof typeof keys]?.fallback), where(key));
      stated++;
    }
    for (const [, value = ''] of guide.markdown.matchAll(/`Server\.DrainSeconds` ?[(（]\D*(\d+)/g))
      t.is(Number(value), server.drainSeconds, where('Server.DrainSeconds'));
    if (guide.slug !== 'scale') continue;
    const days = [...guide.markdown.matchAll(/^\| `(Retention\.\w+)` \| \d+ \|/gm)].map(([, key]) => key);
    t.deepEqual(
      days,
      keyNames.filter((key) => key.startsWith('Retention.')),
      nameOf(guide),
    );
  }
  t.true(stated >= 26, String(stated));
});

test('the guides name the release of the package, and Install the Node.js that it is tested with', (t) => {
  const { version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
    devDependencies: Record<string, string>;
  };
  const { markdown } = guideText('install', 'en');
  t.true(markdown.includes(`node-linux-$ARCH@${devDependencies['node']}"`));
  const texts = markdown + guideText('integrate', 'en').markdown;
  const releases = [...texts.matchAll(/unified-payment-service-([\d.]+\d)/g)].map(([, release]) => release);
  t.deepEqual([...new Set(releases)], [version]);
});

test('the configurations in the guides have known keys and valid values', (t) => {
  for (const guide of all)
    for (const { language, text } of guide.blocks) {
      if (language !== 'toml') continue;
      const payWay = /^# (\w+)\.toml$/m.exec(text)?.[1];
      const assigned = [...text.matchAll(/^(\w+) = (.+)$/gm)];
      const section = /^\[(\w+)\]$/m.exec(text)?.[1];
      for (const [line, name = '', value = ''] of assigned) {
        if (section !== undefined) t.true((keyNames as string[]).includes(`${section}.${name}`), line);
        const fields = [...CHANNEL_KINDS].find(([key]) => key === payWay)?.[1].fields ?? [];
        const field = fields.find((one) => one.name === name);
        if (section === undefined && name !== 'mode') t.truthy(field, `${nameOf(guide)}: ${line}`);
        if (field?.pattern && value.startsWith('"')) t.regex(value.slice(1, -1), field.pattern, line);
      }
    }
});

test('every exception kind and alert has an anchor in the operations guide', (t) => {
  const anchors = anchorsOf('operate');
  for (const kind of EXCEPTION_KINDS) t.true(anchors.has(kind), kind);
  const rules = join(root, 'config/deploy/alert-rules.yml');
  if (!existsSync(rules)) return t.log('There are no alert rules yet.');
  const alerts = [...readFileSync(rules, 'utf8').matchAll(/^\s*-?\s*alert:\s*["']?(\w+)/gm)].map(
    ([, name = '']) => name,
  );
  t.true(alerts.length > 0);
  const kebab = (name: string) => name.replaceAll(/([a-z\d])([A-Z])/g, '$1-$2').toLowerCase();
  t.deepEqual(
    alerts.filter((name) => !anchors.has(kebab(name))),
    [],
  );
});

test('the webhook guide names every event type', (t) => {
  const { spans } = guideText('webhooks', 'en');
  for (const type of EVENT_TYPES) t.true(spans.includes(type), type);
});

test('the webhook guide states the retry pauses of the service', (t) => {
  const began = new Date('2030-01-01T00:00:00Z');
  const pauses = Array.from({ length: 10 }, (_, at) => nextAttempt(at + 1, began, began)!.getTime() - began.getTime());
  const words = pauses.map((ms) =>
    ms < 60_000 ? `${ms / 1000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`,
  );
  const told = `${words.slice(0, -1).join(', ')}, and then ${words.at(-1)}`;
  t.true(guideText('webhooks', 'en').markdown.replaceAll('\n', ' ').includes(told), told);
});

test('the simulator guide names the amounts and faults that the simulator knows', (t) => {
  const { markdown } = guideText('simulator', 'en');
  const amounts = [...markdown.matchAll(/^\| (0\.\d\d) \|/gm)].map(([, amount = '']) => amount);
  t.deepEqual(amounts, ['0.01', '0.02', '0.03', '0.04', '0.05', '0.06']);
  for (const amount of amounts) t.truthy(fixedOutcome(Number(amount) * 100, 'CNY'), amount);
  t.is(fixedOutcome(7, 'CNY'), null);
  const table = markdown.slice(markdown.indexOf('| fault |'), markdown.indexOf('Calls are'));
  for (const [, names = ''] of table.matchAll(/^\| (`[^|]+) \|/gm))
    for (const [, name = ''] of names.matchAll(/`([^`]+)`/g))
      t.true((FAULTS as readonly string[]).includes(name), name);
});
