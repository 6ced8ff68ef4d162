// Searches the documentation: divides its pages into sections, finds words in them, and builds the page of results.
import { escapeHtml, merchantHtml } from './document.ts';
import { guidePath } from './guides.ts';
import { type Language, inLanguage } from './language.ts';
import { MOST_TERMS, type Term, partsOf, termsOf } from './search-words.ts';

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
  readonly names: readonly Text[];
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
  const page = { title: textOf(title), names: names.map(textOf) };
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

/** Where a word is found. A word counts in a heading's page, too, and more so if the heading has another word. */
const WEIGHTS = { name: 5, title: 3, heading: 2, text: 1, page: 1, pageOfHeading: 2 } as const;
/** The part of a weight that another word for the same thing has. */
const OTHER_FORM = 0.7;
const EXACT = 1000;
const MOST_SHOWN = 30;
const MOST_OF_PAGE = 3;

interface Found {
  /** The number of all sections that have the words. */
  count: number;
  /** The best of them, the best first, and few of the same page. */
  best: readonly Section[];
  /** Whether the sections have only most of the words, because none has all. */
  isPartial: boolean;
  /** The texts that are marked in the results. */
  marks: readonly string[];
}

/** Finds the sections that contain every word of a question; if none does, those with most of the words. */
export function findSections(sections: readonly Section[], asked: string): Found {
  const known = termsOf(asked).map((term) => searchedIn(sections, term));
  const left = MOST_TERMS - known.filter(({ rarity }) => rarity > 0).length;
  const parts = known.flatMap(({ term, rarity }) => (rarity > 0 || term.isInner ? [] : partsOf(term))).slice(0, left);
  const words = [
    ...known.filter(({ term, rarity }) => rarity > 0 || (!term.isInner && partsOf(term).length === 0)),
    ...parts.map((part) => searchedIn(sections, part)),
  ];
  const marks = words.flatMap(({ term }) => term.forms);
  if (words.length === 0) return { count: 0, best: [], isPartial: false, marks };
  const whole = asked.toLowerCase().split(/\s+/).filter(Boolean).join(' ');
  const counted = sections.map((section, at) => {
    const places = words.map(({ places: all }) => all[at]!);
    const isFound = places.some(({ own }) => own > 0);
    return { section, found: isFound ? places.filter(({ own, page }) => own + page > 0).length : 0, places };
  });
  const complete = counted.filter(({ found }) => found === words.length);
  const isPartial = complete.length === 0;
  const ranked = (isPartial ? counted.filter(({ found }) => found > words.length / 2) : complete)
    .map(({ section, places }) => ({ section, weight: weigh(section, words, places, whole) }))
    .toSorted((one, other) => other.weight - one.weight);
  const ofPage = new Map<string, number>();
  const best = ranked.filter(({ section: { address } }) => {
    const [path = ''] = address.split('#');
    const times = (ofPage.get(path) ?? 0) + 1;
    ofPage.set(path, times);
    return times <= MOST_OF_PAGE;
  });
  return { count: ranked.length, best: best.slice(0, MOST_SHOWN).map(({ section }) => section), isPartial, marks };
}

/** A word, where each section has it, and its rarity, which is 0 if no section has it. */
interface Searched {
  readonly term: Term;
  readonly places: readonly Place[];
  readonly rarity: number;
}

/** The weight of a word in a section, and in the title of the page if the section has a heading of its own. */
interface Place {
  readonly own: number;
  readonly page: number;
}

const NOWHERE: Place = { own: 0, page: 0 };

function searchedIn(sections: readonly Section[], term: Term): Searched {
  const places = sections.map((section) => placeOf(section, term));
  const times = places.filter(({ own, page }) => own + page > 0).length;
  return { term, places, rarity: times === 0 ? 0 : Math.log(1 + sections.length / times) };
}

function placeOf({ title, names, heading, text }: Section, { forms }: Term): Place {
  let best = NOWHERE;
  for (const [at, form] of forms.entries()) {
    const share = at === 0 ? 1 : OTHER_FORM;
    const isInTitle = has(title, form) || names.some((name) => has(name, form));
    let own = 0;
    if (heading === undefined && names.some(({ folded }) => folded === form)) own = WEIGHTS.name;
    else if (heading === undefined && isInTitle) own = WEIGHTS.title;
    else if (heading !== undefined && has(heading, form)) own = WEIGHTS.heading;
    else if (has(text, form)) own = WEIGHTS.text;
    const page = heading !== undefined && isInTitle ? WEIGHTS.page : 0;
    best = { own: Math.max(best.own, own * share), page: Math.max(best.page, page * share) };
  }
  return best;
}

/** A rare word counts more than one that many sections have. */
function weigh(
  { title, names, heading }: Section,
  words: readonly Searched[],
  places: readonly Place[],
  whole: string,
): number {
  const isHeaded = places.some(({ own }) => heading !== undefined && own > WEIGHTS.text);
  const factor = isHeaded ? WEIGHTS.pageOfHeading : 1;
  const sum = places.reduce((so, { own, page }, at) => so + words[at]!.rarity * Math.max(own, page * factor), 0);
  const isExact = heading === undefined && [title, ...names].some(({ folded }) => folded === whole);
  return sum + (isExact ? EXACT : 0);
}

function has(text: Text, form: string): boolean {
  return placeIn(text, form, 0) >= 0;
}

/** The next place of a word. A Latin word begins there; a Chinese one may be a part of a longer one. */
function placeIn({ shown, folded }: Text, form: string, from: number): number {
  const isLatin = /^[a-z0-9]/.test(form);
  let at = folded.indexOf(form, from);
  while (isLatin && at > 0 && !isWordStart(shown, at)) at = folded.indexOf(form, at + 1);
  return at;
}

/** Whether a word begins at a place; `Order` in `merchantOrderNo` is one. */
function isWordStart(shown: string, at: number): boolean {
  const [before, first] = [shown[at - 1] ?? '', shown[at] ?? ''];
  return !/[a-z0-9]/i.test(before) || (/[A-Z]/.test(first) && /[a-z0-9]/.test(before));
}

const WORDS = {
  en: {
    search: 'Search',
    nothingAsked: 'Enter words to search the guides, the API reference and the error codes.',
    found: (asked: string, count: number, shown: number): string =>
      `Sections with ${asked}: ${count}${shown < count ? `, of which the best ${shown} are shown` : ''}.`,
    partial: (asked: string, count: number, shown: number): string =>
      `No section has all words of ${asked}. Sections with most of them: ${count}${shown < count ? `, of which the best ${shown} are shown` : ''}.`,
    nothing: (asked: string): string => `No section contains ${asked}.`,
    advice: 'A section must contain most of the words. Use fewer or other words, or begin here:',
    places: { index: 'All guides', api: 'API reference', errors: 'Errors' },
  },
  zh: {
    search: '搜索',
    nothingAsked: '输入关键词，搜索指南、API 参考和错误码。',
    found: (asked: string, count: number, shown: number): string =>
      `包含 ${asked} 的章节共 ${count} 处${shown < count ? `，显示其中最相关的 ${shown} 处` : ''}。`,
    partial: (asked: string, count: number, shown: number): string =>
      `没有章节包含 ${asked} 的全部关键词；包含大部分关键词的章节共 ${count} 处${shown < count ? `，显示其中最相关的 ${shown} 处` : ''}。`,
    nothing: (asked: string): string => `没有包含 ${asked} 的章节。`,
    advice: '章节须包含大部分关键词。请减少或更换关键词，也可以从这里开始：',
    places: { index: '全部指南', api: 'API 参考', errors: '错误码' },
  },
} as const;

/** Builds the article with the results of a search. */
export function searchArticle(
  asked: string,
  { count, best, isPartial, marks }: Found,
  language: Language,
): { title: string; article: string } {
  const words = WORDS[language];
  const title = asked === '' ? words.search : `${asked} – ${words.search}`;
  const quoted = `<b>${merchantHtml(asked)}</b>`;
  const places = Object.entries(words.places).map(
    ([slug, name]) => `<li><a href="${inLanguage(guidePath(slug), language)}">${name}</a></li>`,
  );
  const begin = `<p>${words.advice}</p><ul>${places.join('')}</ul>`;
  const summary = (isPartial ? words.partial : words.found)(quoted, count, best.length);
  const results =
    count === 0
      ? `<p>${words.nothing(quoted)}</p>${begin}`
      : `<p>${summary}</p><ol class="hits">${best.map((section) => hit(section, marks, language)).join('\n')}</ol>`;
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
function excerptOf(text: Text, words: readonly string[], language: Language): Text {
  const { shown } = text;
  const { before, length } = EXCERPT[language];
  const starts = words.map((word) => placeIn(text, word, 0)).filter((at) => at >= 0);
  const wordsFrom = (at: number): number => {
    const from = Math.max(0, at - before);
    const window = textOf(shown.slice(from, at - before + length));
    return words.filter((word) => has(window, word)).length;
  };
  const counted = [...new Set(starts)].map((at) => ({ at, found: wordsFrom(at) }));
  const best = counted.toSorted((one, other) => other.found - one.found || one.at - other.at)[0]?.at ?? 0;
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
function marked(text: Text, words: readonly string[]): string {
  const { shown } = text;
  const isMarked = Array.from({ length: shown.length }, () => false);
  for (const word of words)
    for (let at = placeIn(text, word, 0); at >= 0; at = placeIn(text, word, at + word.length))
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
