// Builds pages about errors: the article of each error code, the index of all codes, and the error page for browsers.
import {
  type ErrorCode,
  type ErrorWords,
  type PublishedError,
  errorCodes,
  errorGroups,
} from '../error-codes/error-codes.ts';
import { chineseErrorWords } from '../error-codes/zh/error-words.ts';
import { escapeHtml, htmlDocument, languageSwitch, linkedHtml, proseHtml } from './document.ts';
import { type Language, inLanguage } from './language.ts';

type Labels =
  | 'meaning'
  | 'remedy'
  | 'retryable'
  | 'final'
  | 'index'
  | 'code'
  | 'retry'
  | 'yes'
  | 'operations'
  | 'anyOperation';
type Words = Readonly<Record<Labels, string>> & { groups: Readonly<Record<keyof typeof errorGroups, string>> };

const WORDS = {
  en: {
    meaning: 'What it means',
    remedy: 'What to do',
    retryable: 'The same request can be retried.',
    final: 'Do not retry the same request unchanged.',
    index: 'All error codes',
    code: 'Code',
    retry: 'Retry',
    yes: 'yes',
    operations: 'Operations that return it',
    anyOperation: 'Any operation may return it.',
    groups: {
      request: 'Any request',
      access: 'Access and limits',
      payments: 'Orders, refunds, disputes and bills',
      credentials: 'Channel configurations and certificates',
      catalog: 'Projects, payers, products and coins',
      skillpay: 'Pay-per-call',
    },
  },
  zh: {
    meaning: '含义',
    remedy: '处理方法',
    retryable: '可以原样重试该请求。',
    final: '请勿原样重试该请求。',
    index: '全部错误码',
    code: '错误码',
    retry: '可重试',
    yes: '是',
    operations: '返回此错误码的接口',
    anyOperation: '所有接口都可能返回此错误码。',
    groups: {
      request: '通用',
      access: '认证、权限与限额',
      payments: '订单、退款、争议与账单',
      credentials: '渠道配置与证书',
      catalog: '项目、付款人、商品与虚拟币',
      skillpay: '按次付费',
    },
  },
} as const satisfies Readonly<Record<Language, Words>>;

/** The mark in the guide about errors that is replaced by the index of codes. */
export const ERROR_INDEX_MARK = '<!-- error codes -->';

/** The operations of merchants that may return an error code. */
export type Answering = 'any' | readonly { readonly title: string; readonly href: string }[];

/** Builds the article about an error code, to which the `type` of a problem document links. */
export function errorArticle(code: ErrorCode, language: Language, answering: Answering = []): string {
  const { title, meaning, remedy } = errorWords(code, language);
  const { retryable }: PublishedError = errorCodes[code];
  const words = WORDS[language];
  return `<div class="text"><p class="kind"><a href="${inLanguage('/docs/errors', language)}">${words.index}</a></p><h1>${escapeHtml(title)}</h1>
<p><code>${code}</code></p>
<h2>${words.meaning}</h2>
<p>${proseHtml(meaning)}</p>
<h2>${words.remedy}</h2>
<p>${linkedHtml(remedy, language)}</p>
<p>${retryable ? words.retryable : words.final}</p>
${operationsHtml(answering, language)}</div>`;
}

function operationsHtml(answering: Answering, language: Language): string {
  const { operations, anyOperation } = WORDS[language];
  if (answering.length === 0) return '';
  const links =
    answering === 'any'
      ? `<p>${anyOperation}</p>`
      : `<ul>${answering.map(({ title, href }) => `<li><a href="${href}">${escapeHtml(title)}</a></li>`).join('')}</ul>`;
  return `<h2>${operations}</h2>\n${links}`;
}

/** Builds the index of all error codes, with a table for each group. The result is HTML for the guide about errors. */
export function errorIndex(language: Language): string {
  const words = WORDS[language];
  return Object.entries(errorGroups)
    .map(([group, codes]) => {
      const title = words.groups[group as keyof typeof errorGroups];
      return `<h3 id="${group}">${title}</h3>\n${errorTable(Object.keys(codes) as ErrorCode[], language)}`;
    })
    .join('\n');
}

/** Builds a table of error codes: the link to the page of each, its meaning, and whether a retry makes sense. */
export function errorTable(codes: readonly ErrorCode[], language: Language): string {
  const words = WORDS[language];
  const rows = codes.map((code) => row(code, language)).join('\n');
  return `<div class="wide" tabindex="0"><table class="codes"><thead><tr><th>${words.code}</th><th>${words.meaning}</th><th>${words.retry}</th></tr></thead><tbody>
${rows}
</tbody></table></div>`;
}

/** Builds the link to the page of an error code. */
export function errorLink(code: ErrorCode, language: Language): string {
  return `<a href="${inLanguage(`/docs/errors/${code}`, language)}"><code>${code}</code></a>`;
}

function row(code: ErrorCode, language: Language): string {
  const { retryable }: PublishedError = errorCodes[code];
  const { retry, yes } = WORDS[language];
  const again = retryable ? `<td data-label="${retry}">${yes}</td>` : '<td></td>';
  return `<tr id="${code}"><td>${errorLink(code, language)}</td><td>${proseHtml(errorWords(code, language).meaning)}</td>${again}</tr>`;
}

/** Returns the texts of an error code in a language. */
export function errorWords(code: ErrorCode, language: Language): ErrorWords {
  return language === 'zh' ? chineseErrorWords[code] : errorCodes[code];
}

interface RefusedPage {
  code: ErrorCode;
  status: number;
  requestId: string;
  language: Language;
  /** The URL of the page, for the language switch. Undefined if reloading the page would repeat a change. */
  address?: string | undefined;
}

interface ReaderWords {
  title: string;
  text: string;
}

const REFUSAL_WORDS = {
  en: {
    request: 'Request',
    about: 'About this error',
    guides: 'Guides',
    missing: { title: 'Page not found', text: 'There is nothing at this address. It may be incomplete.' },
    busy: { title: 'Too many requests', text: 'Please wait a moment, then load this page again.' },
    down: {
      title: 'This page is not available right now',
      text: 'The service cannot answer at the moment. Please load this page again in a minute. If you were paying, check whether you have already paid before you pay again.',
    },
  },
  zh: {
    request: '请求编号',
    about: '关于此错误',
    guides: '文档',
    missing: { title: '找不到该页面', text: '此地址没有内容，可能不完整。' },
    busy: { title: '请求过于频繁', text: '请稍候再刷新页面。' },
    down: {
      title: '页面暂时无法显示',
      text: '服务暂时无法响应，请一分钟后刷新页面。如果您正在付款，重新付款之前请先确认是否已经支付。',
    },
  },
} as const;

/** Builds the error page for a browser. Programs get a problem document instead. */
export function refusalPage({ code, status, requestId, language, address }: RefusedPage): string {
  const words = REFUSAL_WORDS[language];
  const { title, text } = readerWords({ code, status, language });
  const body = `<main class="card bad">
<div class="status" role="status"><h1>${escapeHtml(title)}</h1><p>${proseHtml(text)}</p></div>
<dl><dt>${status}</dt><dd><code>${code}</code></dd><dt>${words.request}</dt><dd>${escapeHtml(requestId)}</dd></dl>
<p class="note"><a href="${inLanguage(`/docs/errors/${code}`, language)}">${words.about}</a> · <a href="${inLanguage('/docs', language)}">${words.guides}</a></p>
</main>`;
  return htmlDocument({
    language,
    title,
    look: 'carded',
    body: body + (address === undefined ? '' : languageSwitch(language, address)),
  });
}

function readerWords({ code, status, language }: Pick<RefusedPage, 'code' | 'status' | 'language'>): ReaderWords {
  const words = REFUSAL_WORDS[language];
  if (status === 404) return words.missing;
  if (status === 429) return words.busy;
  if (status >= 500) return words.down;
  const { title, meaning } = errorWords(code, language);
  return { title, text: meaning };
}
