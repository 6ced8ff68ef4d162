import { htmlDocument, languageSwitch } from './document.ts';
import { escapeHtml } from './html.ts';
import { type Guide, type GuideGroup, guidePath, GUIDES } from './guides.ts';
import { inLanguage, type Language } from './language.ts';

/** What a page in the frame of the guides is made of. */
export interface GuidePageParts {
  language: Language;
  /** Its own address without a language. */
  address: string;
  title: string;
  /** The guide that the menu marks. */
  slug: string;
  /** HTML with its own heading. */
  article: string;
  /** Whether the API explorer is served. */
  explorer: boolean;
}

type Labels = 'service' | 'explorer' | 'menu' | 'next';
type Words = Readonly<Record<Labels, string>> & { groups: Readonly<Record<GuideGroup, string>> };

const WORDS = {
  en: {
    service: 'Unified payment service',
    explorer: 'API explorer',
    menu: 'All guides',
    next: 'Next: ',
    groups: { start: 'Start', build: 'Build', live: 'Go live', run: 'Run' },
  },
  zh: {
    service: '统一支付服务',
    explorer: 'API 浏览器',
    menu: '目录',
    next: '下一篇：',
    groups: { start: '入门', build: '开发', live: '上线', run: '运维' },
  },
} as const satisfies Readonly<Record<Language, Words>>;

/** A guide, or a page that stands among the guides, whole: without script, and with everything from here. */
export function guidePage({ language, address, title, slug, article, explorer }: GuidePageParts): string {
  const words = WORDS[language];
  const home = inLanguage(guidePath('index'), language);
  const body = `<header class="top"><a class="brand" href="${home}">${words.service}</a>${languageSwitch(language, address)}<a class="to-menu" href="#menu">${words.menu}</a>${
    explorer ? `<a class="to-explorer" href="/swagger/index.html">${words.explorer}</a>` : ''
  }</header>
<main class="article">${article}
${nextGuide(slug, language)}</main>
<nav class="menu" id="menu" aria-label="${words.menu}">${menu(slug, language)}</nav>`;
  const name = title === words.service ? title : `${title} – ${words.service}`;
  return htmlDocument({ language, title: name, look: 'guide', body });
}

function menu(slug: string, language: Language): string {
  return [...Map.groupBy(GUIDES, ({ group }) => group)]
    .map(
      ([group, guides]) =>
        `<p>${WORDS[language].groups[group]}</p><ul>${guides.map((one) => `<li>${link(one, slug, language)}</li>`).join('')}</ul>`,
    )
    .join('');
}

function link(guide: Guide, current: string, language: Language): string {
  const mark = guide.slug === current ? ' aria-current="page"' : '';
  return `<a${mark} href="${inLanguage(guidePath(guide.slug), language)}">${escapeHtml(guide.titles[language])}</a>`;
}

function nextGuide(slug: string, language: Language): string {
  const next = GUIDES[GUIDES.findIndex((guide) => guide.slug === slug) + 1];
  return next === undefined
    ? ''
    : `<p class="next">${WORDS[language].next}<a href="${inLanguage(guidePath(next.slug), language)}">${escapeHtml(next.titles[language])}</a></p>`;
}
