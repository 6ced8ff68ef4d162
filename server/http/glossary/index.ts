import { catalogWords } from './catalog.ts';
import type { Entry, Glossary } from './glossary.ts';
import { identityWords } from './identity.ts';
import { operationsWords } from './operations.ts';
import { paymentWords } from './payments.ts';

const words: Glossary = { ...catalogWords, ...identityWords, ...operationsWords, ...paymentWords };

/** What is said of a member of something; undefined where nobody has described it. */
export function entryOf(owner: string | undefined, member: string): Entry | undefined {
  const own = owner === undefined ? undefined : `${owner}.${member}`;
  if (own !== undefined && Object.hasOwn(words, own)) return words[own];
  return Object.hasOwn(words, member) ? words[member] : undefined;
}
