import { isJson, type Json } from './openapi-schemas.ts';

/** The parts of the API by who uses them, in the order in which they are shown; each with its tags and what they are about. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Merchant: {
    OAuth: 'Access tokens of applications (OAuth 2.0 client credentials). Begin here.',
    Payments: 'Place, query, close, capture and refund payments of the own application; its disputes.',
    'Pay-per-call': 'Resources that are paid for by the call (HTTP 402): price list, call, query, refund.',
    'Event log': 'What happened, in order; the same events as the webhooks.',
    Payers: 'The paying users of the own project.',
    'Coin balances': 'Coins of the paying users: balance, debit, ledger.',
    Application: 'The application of the token, and its limits.',
    'Own channel configuration': 'Channels of the own project, for trusted applications.',
    'Own certificates': 'Certificates and keys of the own project, for trusted applications.',
  },
  Console: {
    Session: 'Log in and out; the own account, password, second factor and sessions.',
    Administrators: 'Accounts of the console and their sessions.',
    'API applications': 'Applications of merchants: secrets, scopes, limits.',
    Projects: 'Projects, each with channels, users, products and applications of its own.',
    'Channel configuration': 'Channels of every project.',
    Certificates: 'Certificates and keys of every project, and which are trusted to verify.',
    Orders: 'Orders of all applications: find, follow, explain, repair.',
    Refunds: 'Refunds of all orders, and those that wait for a second administrator.',
    Exceptions: 'What a person should look at.',
    Disputes: 'Disputes and complaints of payers: answer, accept, finish.',
    Bills: 'Bills of the channels, and where they differ from the orders.',
    Products: 'What is sold: goods, coin packages and pay-per-call resources.',
    Users: 'The paying users of every project.',
    Coins: 'Kinds of coins, accounts and ledgers.',
    'Console payments': 'Payments from the console, for demonstration.',
    'WeChat agent pay': "WeChat's own payment codes for agents.",
    Webhooks: 'Where events are sent, and what came of it.',
    Events: 'Events of all applications.',
    Statistics: 'Counts and sums.',
    Live: 'The service as it changes.',
    'Audit log': 'What administrators did.',
    Audit: 'Proof that the books agree.',
  },
  Service: {
    Service: 'Health, version, channels and this document.',
    'Payer pages': 'Pages that payers see.',
    'Channel notices': 'Where the channels send their notifications.',
  },
};

const ORDER = Object.values(GROUPS).flatMap((tags) => Object.keys(tags));

/** The tags that paths use with what they are about, and the groups that an explorer splits the document by. */
export function tagsOf(paths: Json): { tags: Json[]; 'x-tagGroups': Json[] } {
  const used = new Set(Object.values(paths).map(tagOf));
  const groups = Object.entries(GROUPS).map(([name, tags]) => ({
    name,
    tags: Object.keys(tags).filter((tag) => used.has(tag)),
  }));
  const words = Object.assign({}, ...Object.values(GROUPS)) as Record<string, string>;
  const tags = [...used].toSorted(byPlace).map((name) => ({ name, description: words[name] }));
  return { tags, 'x-tagGroups': groups.filter((group) => group.tags.length > 0) };
}

/** The paths of merchants first, then those of the console; within a tag as they were. */
export function inOrder(paths: Record<string, Record<string, Json>>): Record<string, Record<string, Json>> {
  return Object.fromEntries(Object.entries(paths).toSorted(([, one], [, other]) => byPlace(tagOf(one), tagOf(other))));
}

function byPlace(one: string, other: string): number {
  return ORDER.indexOf(one) - ORDER.indexOf(other);
}

/** All operations of a path have one tag. */
function tagOf(item: unknown): string {
  const [operation] = isJson(item) ? Object.values(item) : [];
  return String((isJson(operation) ? (operation['tags'] as string[] | undefined) : undefined)?.[0]);
}
