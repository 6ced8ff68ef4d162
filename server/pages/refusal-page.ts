import type { ErrorCode } from '../error-codes/error-codes.ts';
import { htmlDocument, languageSwitch } from './document.ts';
import { errorWords } from './error-words.ts';
import { escapeHtml, proseHtml } from './html.ts';
import { inLanguage, type Language } from './language.ts';

/** A refusal as a person reads it. */
export interface RefusedPage {
  code: ErrorCode;
  status: number;
  requestId: string;
  language: Language;
  /** The page's own address, for the switch; undefined where loading it again would do something. */
  address?: string | undefined;
}

/** What a person may do about it, whatever the code says to programs. */
interface ReaderWords {
  title: string;
  text: string;
}

const WORDS = {
  en: {
    request: 'Request',
    about: 'About this error',
    guides: 'Guides',
    missing: { title: 'Page not found', text: 'There is nothing at this address. It may be incomplete.' },
    busy: { title: 'Too many requests', text: 'Please wait a moment, then load this page again.' },
    down: {
      title: 'This page is not available right now',
      text: 'The service cannot answer at the moment. Please load this page again in a minute. If you were paying, look whether you have paid before you pay again.',
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

/** The page that a browser gets where a program gets a problem document. */
export function refusalPage({ code, status, requestId, language, address }: RefusedPage): string {
  const words = WORDS[language];
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
  const words = WORDS[language];
  if (status === 404) return words.missing;
  if (status === 429) return words.busy;
  if (status >= 500) return words.down;
  const { title, meaning } = errorWords(code, language);
  return { title, text: meaning };
}
