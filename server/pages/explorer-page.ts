import { guidePath } from './guides.ts';
import { inLanguage, LANGUAGE_TAGS } from './language.ts';

/** The two halves of the API, each with a page of its own. */
export const EXPLORER_VIEWS = ['merchant', 'console'] as const;

/** One of them. */
export type ExplorerView = (typeof EXPLORER_VIEWS)[number];

/** What each view is called, and where its page is. */
export const EXPLORER_PAGES = {
  merchant: { title: 'Merchant API', path: '/swagger/index.html' },
  console: { title: 'Console API', path: '/swagger/console.html' },
} as const satisfies Readonly<Record<ExplorerView, { title: string; path: string }>>;

/** The title of a view's page. */
export function explorerTitle(view: ExplorerView): string {
  return `${EXPLORER_PAGES[view].title} – Unified payment service`;
}

/** What stands above the operations of a view: HTML. */
export function explorerHeader(view: ExplorerView): string {
  const views = EXPLORER_VIEWS.map((one) => {
    const { title, path } = EXPLORER_PAGES[one];
    return `<a${one === view ? ' aria-current="page"' : ''} href="${path}">${title}</a>`;
  });
  const chinese = LANGUAGE_TAGS.zh;
  return `<header class="top"><a class="brand" href="${guides('en')}">Unified payment service</a>
<nav class="views" aria-label="Views of the API">${views.join('')}</nav>
<nav class="guides" aria-label="Guides"><a href="${guides('en')}">Guides</a><a href="${guides('zh')}" lang="${chinese}" hreflang="${chinese}">中文文档</a></nav></header>
<noscript><p class="unscripted">The explorer needs JavaScript. Without it, read the definition: <a href="/swagger/${view}.json">${view}.json</a>.</p></noscript>`;
}

function guides(language: 'en' | 'zh'): string {
  return inLanguage(guidePath('index'), language);
}
