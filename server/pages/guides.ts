// The list of guides, and the page layout and the script of all pages below `/docs`.
import { CHANNELS } from '../domain.ts';
import { digestOf, escapeHtml, htmlDocument, languageSwitch } from './document.ts';
import { type Language, inLanguage } from './language.ts';

type GuideGroup = 'start' | 'build' | 'live' | 'run';

/** A guide. Its text is one Markdown file per language in `guides/`. The file is named after `slug`. */
export interface Guide {
  slug: string;
  group: GuideGroup;
  titles: Readonly<Record<Language, string>>;
}

const guide = (group: GuideGroup, slug: string, en: string, zh: string): Guide => ({ slug, group, titles: { en, zh } });

/** All guides, in the sequence of the menu. */
export const GUIDES: readonly Guide[] = [
  guide('start', 'index', 'Unified payment service', '统一支付服务'),
  guide('start', 'integrate', 'Integrate in ten minutes', '十分钟接入'),
  guide('start', 'simulator', 'Test with the simulator', '使用模拟器测试'),
  guide('build', 'webhooks', 'Receive webhooks', '接收 Webhook'),
  guide('build', 'idempotency', 'Idempotency', '幂等'),
  guide('build', 'errors', 'Errors', '错误码'),
  guide('build', 'rate-limits', 'Rate limits', '频率限制'),
  guide('build', 'pay-per-call', 'Pay-per-call for agents', '面向智能体的按次付费'),
  ...Object.values(CHANNELS).map(({ name: { en, zh } }) =>
    guide(
      'live',
      `go-live-${en.toLowerCase().replaceAll(' ', '-')}`,
      `Go live with ${en}`,
      `${zh}${/\w$/.test(zh) ? ' ' : ''}上线`,
    ),
  ),
  guide('run', 'install', 'Install', '安装'),
  guide('run', 'operate', 'Operate', '运维手册'),
  guide('run', 'scale', 'Scale', '扩容'),
];

/** The API reference, which `api-pages.ts` builds from the OpenAPI document, in the menu of the guides. */
const REFERENCE = guide('build', 'api', 'API reference', 'API 参考');

/** Returns the URL path of a guide. */
export function guidePath(slug: string): string {
  return slug === 'index' ? '/docs' : `/docs/${slug}`;
}

interface GuidePageParts {
  language: Language;
  /** The URL of the page without the language parameter. */
  address: string;
  title: string;
  /** The guide that is highlighted in the menu. */
  slug: string;
  /** The HTML of the article, including its heading. */
  article: string;
  explorer: boolean;
  /** The words in the search field. */
  asked?: string;
}

type Labels =
  | 'service'
  | 'explorer'
  | 'menu'
  | 'next'
  | 'search'
  | 'searchField'
  | 'copy'
  | 'copySample'
  | 'copied'
  | 'notCopied';
type Words = Readonly<Record<Labels, string>> & { groups: Readonly<Record<GuideGroup, string>> };

const WORDS = {
  en: {
    service: 'Unified payment service',
    explorer: 'API explorer',
    menu: 'All guides',
    next: 'Next: ',
    search: 'Search',
    searchField: 'Search the documentation',
    copy: 'Copy',
    copySample: 'Copy this sample',
    copied: 'Copied',
    notCopied: 'Not copied',
    groups: { start: 'Start', build: 'Build', live: 'Go live', run: 'Run' },
  },
  zh: {
    service: '统一支付服务',
    explorer: 'API 浏览器',
    menu: '目录',
    next: '下一篇：',
    search: '搜索',
    searchField: '搜索文档',
    copy: '复制',
    copySample: '复制此示例',
    copied: '已复制',
    notCopied: '复制失败',
    groups: { start: '入门', build: '开发', live: '上线', run: '运维' },
  },
} as const satisfies Readonly<Record<Language, Words>>;

/**
 * Builds the page of a guide or another article. It loads no files from other origins, and its script only adds the
 * buttons that copy samples.
 */
export function guidePage(parts: GuidePageParts): string {
  const { language, address, title, slug, article, explorer, asked = '' } = parts;
  const words = WORDS[language];
  const home = inLanguage(guidePath('index'), language);
  const data = [
    `data-copy="${words.copy}"`,
    `data-copy-sample="${words.copySample}"`,
    `data-copied="${words.copied}"`,
    `data-not-copied="${words.notCopied}"`,
  ];
  const body = `<header class="top"><a class="brand" href="${home}">${words.service}</a>${languageSwitch(language, address)}<a class="to-menu" href="#menu">${words.menu}</a>${
    explorer ? `<a class="to-explorer" href="/swagger/index.html">${words.explorer}</a>` : ''
  }${searchForm(language, asked)}</header>
<main class="article" ${data.join(' ')}>${article}
${nextGuide(slug, language)}</main>
<nav class="menu" id="menu" aria-label="${words.menu}">${menu(slug, language)}</nav>`;
  const name = title === words.service ? title : `${title} – ${words.service}`;
  const head = `<script src="${GUIDE_SCRIPT_ADDRESS}" defer></script>`;
  return htmlDocument({ language, title: name, look: 'guide', body, head });
}

/** The characters that a search may have; the rest is ignored. */
export const LONGEST_SEARCH = 100;

export const SEARCH_PATH = '/docs/search';

function searchForm(language: Language, asked: string): string {
  const { search, searchField } = WORDS[language];
  return `<form class="search" role="search" action="${SEARCH_PATH}"><input type="search" name="q" maxlength="${LONGEST_SEARCH}" aria-label="${searchField}" placeholder="${searchField}" value="${escapeHtml(asked)}"><input type="hidden" name="lang" value="${language}"><button>${search}</button></form>`;
}

function menu(slug: string, language: Language): string {
  return [...Map.groupBy([...GUIDES, REFERENCE], ({ group }) => group)]
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
  const at = GUIDES.findIndex((guide) => guide.slug === slug);
  const next = at < 0 ? undefined : GUIDES[at + 1];
  return next === undefined
    ? ''
    : `<p class="next">${WORDS[language].next}<a href="${inLanguage(guidePath(next.slug), language)}">${escapeHtml(next.titles[language])}</a></p>`;
}

/** A heading of an article. */
export interface Heading {
  depth: number;
  text: string;
  /** The anchor of the heading. It is the same in every language, so that links work in all languages. */
  id: string;
}

const CONTENTS: Readonly<Record<Language, string>> = { en: 'On this page', zh: '本页内容' };
/** An article with fewer headings gets no list of headings. */
const FEWEST_LISTED = 3;

/** Builds the list of an article's headings: beside the article (`toc`), or above it where there is no room. */
export function contents(headings: readonly Heading[], language: Language, look: 'toc' | 'toc-small'): string {
  const listed = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (listed.length < FEWEST_LISTED) return '';
  const items = listed.map(
    ({ id, text, depth }) => `<li class="at-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  const list = `<ul>${items.join('')}</ul>`;
  return look === 'toc'
    ? `<nav class="toc" aria-label="${CONTENTS[language]}"><p>${CONTENTS[language]}</p>${list}</nav>`
    : `<details class="toc-small"><summary>${CONTENTS[language]}</summary>${list}</details>`;
}

/** Adds a button to each code sample that copies it. The pages also work without scripts. */
export const GUIDE_SCRIPT = `'use strict';
(() => {
  const { copy, copySample, copied, notCopied } = document.querySelector('main').dataset;
  const status = document.createElement('p');
  status.className = 'unseen';
  status.setAttribute('role', 'status');

  // Over plain http there is no navigator.clipboard, and a browser may refuse its use.
  async function write(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return writeSelected(text);
    }
  }

  function writeSelected(text) {
    const focused = document.activeElement;
    const area = document.createElement('textarea');
    area.className = 'unseen';
    area.readOnly = true;
    area.value = text;
    document.body.append(area);
    area.select();
    let done = false;
    try {
      done = document.execCommand('copy');
    } catch {}
    area.remove();
    focused?.focus({ preventScroll: true });
    return done;
  }

  function addButton(sample) {
    const button = document.createElement('button');
    let timer;
    button.type = 'button';
    button.className = 'copy';
    button.textContent = copy;
    button.setAttribute('aria-label', copySample);
    button.addEventListener('click', async () => {
      clearTimeout(timer);
      status.textContent = '';
      const result = (await write(sample.querySelector('code').textContent.trimEnd())) ? copied : notCopied;
      button.textContent = result;
      // A screen reader announces a text that changes, so a second copy needs an empty text in between.
      requestAnimationFrame(() => (status.textContent = result));
      timer = setTimeout(() => (button.textContent = copy), 2000);
    });
    sample.append(button);
  }

  document.body.append(status);
  for (const sample of document.querySelectorAll('.sample')) addButton(sample);
})();
`;

export const GUIDE_SCRIPT_PATH = '/docs/assets/guide.js';

const GUIDE_SCRIPT_ADDRESS = `${GUIDE_SCRIPT_PATH}?v=${digestOf(GUIDE_SCRIPT)}`;
