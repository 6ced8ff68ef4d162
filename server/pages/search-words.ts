// Divides a question into the words that a search of the documentation looks for.

/** A word of a question. */
export interface Term {
  /** The texts that it is found by: the word as asked, then other words for the same thing. */
  readonly forms: readonly [string, ...string[]];
  /** Two characters amid a longer run of Chinese, which need not be a word. */
  readonly isInner: boolean;
}

/** English words that say nothing about the subject of a question. */
const EMPTY_ENGLISH = new Set(
  (
    'a about after all also always am an and any are as at be been but by can could did do does doing for from had has have he how i if ' +
    "in into is isn't it its just keep keeps may me must my need no not of on or our please she should so some still than that the their " +
    'them then there these they this those to us use want was we were what when where which who why will with would you your'
  ).split(' '),
);

/** Chinese words that say nothing about the subject of a question. */
const EMPTY_CHINESE = alternatives(
  '为什么 为何 为啥 怎么样 怎么办 怎么 怎样 如何 什么是 是什么意思 是什么 什么 一直 总是 老是 仍然 还是 是否 能否 是不是 可不可以 可以 应该 需要 ' +
    '有哪些 哪些 哪个 哪里 在哪 我的 我们 我 请问 请 一下 怎 的 了 吗 呢 吧 啊',
);

/** Words that readers use, and the words that the pages use for the same thing. */
const SYNONYMS: readonly (readonly [asked: string, also: string])[] = [
  ['decline declined declines declining reject rejected rejects refuse refused', 'decline refuse channel_refused'],
  ['拒付', '拒绝 channel_refused 争议'],
  ['拒绝 被拒 支付失败 付款失败', '拒绝 channel_refused'],
  ['chargeback chargebacks', 'dispute'],
  ['关单中 关闭中', 'closing'],
  ['closing', '关单中'],
  ['cancel cancelled canceled cancelling', 'close'],
  ['取消 撤销', '关单'],
  ['关闭订单', '关单'],
  ['callback callbacks notify notification notifications', 'webhook'],
  ['回调 通知', 'webhook'],
  ['验证签名 校验签名 签名验证', '验签'],
  ['验证 校验', '验签'],
  ['field fields parameter parameters params attributes', 'field parameter'],
  ['字段 参数', '字段 参数'],
  ['timeout timeouts', 'time-out'],
  ['retry retries retrying', 'repeat retry'],
  ['duplicate duplicates twice', 'idempotency'],
  ['重复下单 重复请求 重复支付', '幂等'],
  ['arrives arrived arriving missing', 'arrive'],
  ['退钱 退货', '退款'],
  ['order orders', '订单'],
  ['payment payments', '支付'],
  ['refund refunds', '退款'],
];

/** The words that find each page about an operation or an event beside its title. */
export const FIELD_WORDS = 'fields, parameters, 字段、参数';

const FORMS = new Map(
  SYNONYMS.flatMap(([asked, also]) => asked.split(' ').map((word) => [word, also.split(' ')] as const)),
);
const CHINESE_KEYS = alternatives([...FORMS.keys()].filter((word) => /^\p{Script=Han}/u.test(word)).join(' '));

/** The alternatives of a regular expression; a longer word comes before its beginning. */
function alternatives(words: string): RegExp {
  const longestFirst = words.split(' ').toSorted((one, other) => other.length - one.length);
  return new RegExp(`(${longestFirst.join('|')})`, 'u');
}

/** Maximum number of words of a question, because the time of a search grows with it. */
export const MOST_TERMS = 12;

/** Returns the words of a question. Words without a meaning of their own count only in a question that has no others. */
export function termsOf(asked: string): Term[] {
  const pieces = piecesOf(asked.toLowerCase());
  const meant = pieces.flatMap((piece) => (isChinese(piece) ? chineseTerms(piece) : latinTerms(piece)));
  const terms = meant.length > 0 ? meant : pieces.map((piece) => termOf(piece));
  return [...new Map(terms.map((term) => [term.forms[0], term])).values()].slice(0, MOST_TERMS);
}

/** Returns the parts of a name such as `payment_declined`. */
export function partsOf({ forms: [name] }: Term): Term[] {
  return name.includes('_') ? termsOf(name.replaceAll('_', ' ')) : [];
}

function termOf(word: string, isInner = false): Term {
  const plural = /^[a-z]{3,}[^\Ws]s$/.test(word) ? [word.slice(0, -1)] : [];
  const others = [...plural, ...(FORMS.get(word) ?? [])].filter((other) => other !== word);
  return { forms: [word, ...others], isInner };
}

/** Divides a text at spaces, at Chinese punctuation, and between Chinese and other letters. */
function piecesOf(text: string): string[] {
  return text.split(/[\s，。！？、；：“”‘’（）《》]+/u).flatMap((word) => {
    if (!/[\p{L}\p{N}]/u.test(word)) return word === '' ? [] : [word];
    const parts = word.match(/\p{Script=Han}+|[^\p{Script=Han}]+/gu) ?? [];
    return parts.map(withoutPunctuation).filter((part) => parts.length === 1 || /[\p{L}\p{N}]/u.test(part));
  });
}

function withoutPunctuation(word: string): string {
  return word.replaceAll(/^["'(,;:!?]+(?=.)|(?<=[^"'),;:!?.])["'),;:!?.]+$/g, '');
}

function isChinese(piece: string): boolean {
  return /^\p{Script=Han}/u.test(piece);
}

function latinTerms(piece: string): Term[] {
  return EMPTY_ENGLISH.has(piece) ? [] : [termOf(piece)];
}

/** Chinese has no spaces, so a run of characters is searched by its known words and by its pieces of two characters. */
function chineseTerms(run: string): Term[] {
  const meant = run.split(EMPTY_CHINESE).filter((_, at) => at % 2 === 0);
  return meant.flatMap((part) =>
    part.split(CHINESE_KEYS).flatMap((word, at) => (at % 2 === 1 ? [termOf(word)] : piecesOfTwo(word))),
  );
}

function piecesOfTwo(word: string): Term[] {
  const letters = [...word];
  if (letters.length <= 2) return word === '' ? [] : [termOf(word)];
  const last = letters.length - 2;
  return letters.slice(1).map((letter, at) => termOf(`${letters[at]}${letter}`, at > 0 && at < last));
}
