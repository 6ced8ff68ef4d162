// Searches the documentation: divides its pages into sections, finds words in them, and builds the page of results.
import { escapeHtml, merchantHtml } from './document.ts';
import { guidePath } from './guides.ts';
import { type Language, inLanguage } from './language.ts';

/** A page that a search can find. */
export interface SearchedPage {
  title: string;
  /** The URL path without the language parameter. */
  path: string;
  /** Other names that find the page like its title, for example an error code. */
  names: readonly string[];
  /** The HTML of the article. */
  article: string;
}

/** A text, and the same text in lower case, in which words are found. */
interface Text {
  readonly shown: string;
  readonly folded: string;
}

/** A part of a page that begins with a heading. The first part begins with the title and has no other heading. */
export interface Section {
  readonly title: Text;
  readonly names: readonly string[];
  /** The path with the anchor of the heading. */
  readonly address: string;
  readonly heading: Text | undefined;
  readonly text: Text;
}

/** Navigation, choices, and headings and lists that are the same on many pages. */
const UNSEARCHED =
  /<(nav|fieldset)\b[^]*?<\/\1>|<details class="(?:toc-small|general)">[^]*?<\/details>|<div class="tabs">[^]*?<\/div>|<a class="anchor"[^]*?<\/a>|<p class="kind">[^]*?<\/p>|<h2>[^]*?<\/h2>/g;
const HEADING = /<h([23]) id="([^"]+)">([^]*?)<\/h\1>/g;

/** Divides the article of a page into its sections. */
export function sectionsOf({ title, path, names, article }: SearchedPage): Section[] {
  const html = article.replaceAll(UNSEARCHED, '').replace(/<h1>[^]*?<\/h1>/, '');
  const headings = [...html.matchAll(HEADING)];
  const page = { title: textOf(title), names: names.map((name) => name.toLowerCase()) };
  const lead = { ...page, address: path, heading: undefined, text: plain(html.slice(0, headings[0]?.index)) };
  const rest = headings.map(([whole, , id = '', words = ''], at) => ({
    ...page,
    address: `${path}#${id}`,
    heading: plain(words),
    text: plain(html.slice(headings[at]!.index + whole.length, headings[at + 1]?.index)),
  }));
  return [lead, ...rest];
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

/** The text of HTML that this service has made. */
function plain(html: string): Text {
  const text = html
    .replaceAll(/<span class="flag">([^<]*)<\/span>/g, '$1')
    .replaceAll(/<\/?(?:a|code|strong|em)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code?: string, name?: string) =>
      code === undefined ? (ENTITIES[name ?? ''] ?? whole) : String.fromCodePoint(Number(code)),
    );
  return textOf(text.replaceAll(/\s+/g, ' ').trim());
}

/** Places in `folded` must be places in `shown`, so a text that changes its length in lower case is shown so. */
function textOf(text: string): Text {
  const folded = text.toLowerCase();
  return { shown: folded.length === text.length ? text : folded, folded };
}

/** Where a word is found; the part with the least of all words decides, and then the average. */
const WEIGHTS = { title: 3, heading: 2, text: 1, exact: 10 } as const;
const MOST_SHOWN = 30;
const MOST_OF_PAGE = 3;

interface Found {
  /** The number of all sections that have every word. */
  count: number;
  /** The best of them, the best first, and few of the same page. */
  best: readonly Section[];
}

/** Finds the sections that contain every word. A word may be a part of a longer one, because Chinese has no spaces. */
export function findSections(sections: readonly Section[], asked: string): Found {
  const words = wordsOf(asked);
  if (words.length === 0) return { count: 0, best: [] };
  const whole = words.join(' ');
  const ranked = sections
    .map((section) => ({ section, weight: weigh(section, words, whole) }))
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight);
  const ofPage = new Map<string, number>();
  const best = ranked.filter(({ section: { address } }) => {
    const [path = ''] = address.split('#');
    const times = (ofPage.get(path) ?? 0) + 1;
    ofPage.set(path, times);
    return times <= MOST_OF_PAGE;
  });
  return { count: ranked.length, best: best.slice(0, MOST_SHOWN).map(({ section }) => section) };
}

function wordsOf(asked: string): string[] {
  return [...new Set(asked.toLowerCase().split(/\s+/))].filter((word) => word !== '');
}

/** 0 if a word is missing, or if only the title of the page has the words: then its first section has them, too. */
function weigh({ title, names, heading, text }: Section, words: readonly string[], whole: string): number {
  const weights: number[] = [];
  for (const word of words) {
    const isInTitle = title.folded.includes(word) || names.some((name) => name.includes(word));
    if (heading === undefined && isInTitle) weights.push(WEIGHTS.title);
    else if (heading?.folded.includes(word)) weights.push(WEIGHTS.heading);
    else if (text.folded.includes(word)) weights.push(WEIGHTS.text);
    else if (!isInTitle) return 0;
  }
  if (weights.length === 0) return 0;
  const average = weights.reduce((sum, weight) => sum + weight) / weights.length;
  const isExact = heading === undefined && [title.folded, ...names].includes(whole);
  return Math.min(...weights) + average / 10 + (isExact ? WEIGHTS.exact : 0);
}

const WORDS = {
  en: {
    search: 'Search',
    nothingAsked: 'Enter words to search the guides, the API reference and the error codes.',
    found: (asked: string, count: number, shown: number): string =>
      `Sections with ${asked}: ${count}${shown < count ? `, of which the best ${shown} are shown` : ''}.`,
    nothing: (asked: string): string => `No section contains ${asked}.`,
    advice: 'A section must contain every word. Use fewer or other words, or begin here:',
    places: { index: 'All guides', api: 'API reference', errors: 'Errors' },
  },
  zh: {
    search: '搜索',
    nothingAsked: '输入关键词，搜索指南、API 参考和错误码。',
    found: (asked: string, count: number, shown: number): string =>
      `包含 ${asked} 的章节共 ${count} 处${shown < count ? `，显示其中最相关的 ${shown} 处` : ''}。`,
    nothing: (asked: string): string => `没有包含 ${asked} 的章节。`,
    advice: '章节须包含全部关键词。请减少或更换关键词，也可以从这里开始：',
    places: { index: '全部指南', api: 'API 参考', errors: '错误码' },
  },
} as const;

/** Builds the article with the results of a search. */
export function searchArticle(
  asked: string,
  { count, best }: Found,
  language: Language,
): { title: string; article: string } {
  const words = WORDS[language];
  const title = asked === '' ? words.search : `${asked} – ${words.search}`;
  const quoted = `<b>${merchantHtml(asked)}</b>`;
  const places = Object.entries(words.places).map(
    ([slug, name]) => `<li><a href="${inLanguage(guidePath(slug), language)}">${name}</a></li>`,
  );
  const begin = `<p>${words.advice}</p><ul>${places.join('')}</ul>`;
  const results =
    count === 0
      ? `<p>${words.nothing(quoted)}</p>${begin}`
      : `<p>${words.found(quoted, count, best.length)}</p><ol class="hits">${best.map((section) => hit(section, wordsOf(asked), language)).join('\n')}</ol>`;
  const shown = asked === '' ? `<p>${words.nothingAsked}</p>` : results;
  return { title, article: `<div class="text"><h1>${words.search}</h1>\n${shown}</div>` };
}

function hit({ title, heading, text, address }: Section, words: readonly string[], language: Language): string {
  const names = [title, ...(heading === undefined ? [] : [heading])].map((name) => marked(name, words));
  const snippet = marked(excerptOf(text, words, language), words);
  return `<li><a href="${inLanguage(address, language)}">${names.join(' › ')}</a>${snippet && `<p>${snippet}</p>`}</li>`;
}

/** Characters of an excerpt before its first word, and in all. Chinese ones are twice as wide. */
const EXCERPT = { en: { before: 60, length: 200 }, zh: { before: 30, length: 110 } } as const;

/** The part of a text that contains the most words; the beginning of a text that contains none. */
function excerptOf({ shown, folded }: Text, words: readonly string[], language: Language): Text {
  const { before, length } = EXCERPT[language];
  const starts = words.map((word) => folded.indexOf(word)).filter((at) => at >= 0);
  const wordsFrom = (at: number): number => {
    const window = folded.slice(Math.max(0, at - before), at - before + length);
    return words.filter((word) => window.includes(word)).length;
  };
  const best = starts.toSorted((one, other) => wordsFrom(other) - wordsFrom(one) || one - other)[0] ?? 0;
  const from = wordStart(shown, Math.max(0, best - before), best);
  const to = wordEnd(shown, Math.min(shown.length, from + length));
  const cut = shown.slice(from, to);
  return textOf(`${from > 0 ? '… ' : ''}${cut}${to < shown.length ? ' …' : ''}`);
}

/** The next beginning of a word; at most `last`. */
function wordStart(text: string, from: number, last: number): number {
  if (from === 0) return 0;
  const space = text.indexOf(' ', from);
  return space < 0 || space >= last ? from : space + 1;
}

/** The last end of a word that is near; Chinese has no spaces and ends anywhere. */
function wordEnd(text: string, to: number): number {
  if (to === text.length) return to;
  const space = text.lastIndexOf(' ', to);
  return to - space < 20 ? space : to;
}

/** Escapes a text and marks the words in it. */
function marked({ shown, folded }: Text, words: readonly string[]): string {
  const isMarked = Array.from({ length: shown.length }, () => false);
  for (const word of words)
    for (let at = folded.indexOf(word); at >= 0; at = folded.indexOf(word, at + word.length))
      isMarked.fill(true, at, at + word.length);
  let html = '';
  for (let at = 0; at < shown.length;) {
    const next = isMarked.indexOf(!isMarked[at], at);
    const to = next < 0 ? shown.length : next;
    const part = escapeHtml(shown.slice(at, to));
    html += isMarked[at] ? `<mark>${part}</mark>` : part;
    at = to;
  }
  return html;
}
