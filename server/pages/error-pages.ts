import { type ErrorCode, errorCodes, errorGroups, type PublishedError } from '../error-codes/error-codes.ts';
import { errorWords } from './error-words.ts';
import { escapeHtml, proseHtml } from './html.ts';
import { inLanguage, type Language } from './language.ts';

type Labels = 'meaning' | 'remedy' | 'retryable' | 'final' | 'index' | 'code' | 'retry' | 'yes';
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

/** Where the index of the codes stands in the guide about errors. */
export const ERROR_INDEX_MARK = '<!-- error codes -->';

/** What the `type` of a problem document leads to: HTML for the frame of the guides. */
export function errorArticle(code: ErrorCode, language: Language): string {
  const { title, meaning, remedy } = errorWords(code, language);
  const { retryable }: PublishedError = errorCodes[code];
  const words = WORDS[language];
  return `<h1>${escapeHtml(title)}</h1>
<p><code>${code}</code></p>
<h2>${words.meaning}</h2>
<p>${proseHtml(meaning)}</p>
<h2>${words.remedy}</h2>
<p>${proseHtml(remedy)}</p>
<p>${retryable ? words.retryable : words.final}</p>
<p><a href="${inLanguage('/docs/errors', language)}">${words.index}</a></p>`;
}

/** Every code with its meaning, a table for each group: HTML for the guide about errors. */
export function errorIndex(language: Language): string {
  const words = WORDS[language];
  return Object.entries(errorGroups)
    .map(([group, codes]) => {
      const rows = (Object.keys(codes) as ErrorCode[]).map((code) => row(code, language)).join('\n');
      return `<h3 id="${group}">${words.groups[group as keyof typeof errorGroups]}</h3>
<div class="wide" tabindex="0"><table class="codes"><thead><tr><th>${words.code}</th><th>${words.meaning}</th><th>${words.retry}</th></tr></thead><tbody>
${rows}
</tbody></table></div>`;
    })
    .join('\n');
}

function row(code: ErrorCode, language: Language): string {
  const { retryable }: PublishedError = errorCodes[code];
  const page = inLanguage(`/docs/errors/${code}`, language);
  const { retry, yes } = WORDS[language];
  const again = retryable ? `<td data-label="${retry}">${yes}</td>` : '<td></td>';
  return `<tr id="${code}"><td><a href="${page}"><code>${code}</code></a></td><td>${proseHtml(errorWords(code, language).meaning)}</td>${again}</tr>`;
}
