import { catalogWords } from './catalog.ts';
import type { Entry, Glossary } from './glossary.ts';
import { identityWords } from './identity.ts';
import { operationsWords } from './operations.ts';
import { paymentWords } from './payments.ts';

/** Every entry by its owner and its member (`Order.status`). */
export const entries = entriesOf([catalogWords, identityWords, operationsWords, paymentWords]);

/** What is said of a member of an owner; undefined where nobody has described it there. */
export function entryOf(owner: string, member: string): Entry | undefined {
  return entries.get(`${owner}.${member}`);
}

function entriesOf(glossaries: readonly Glossary[]): ReadonlyMap<string, Entry> {
  const found = new Map<string, Entry>();
  for (const glossary of glossaries)
    for (const [owners, members] of Object.entries(glossary))
      for (const owner of owners.split(' '))
        for (const [member, entry] of Object.entries(members)) {
          const name = `${owner}.${member}`;
          if (found.has(name)) throw new Error(`the glossary describes ${name} twice`);
          found.set(name, entry);
        }
  return found;
}
