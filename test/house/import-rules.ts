import { PAY_WAYS } from '../../server/domain.ts';
import type { Import, Source } from './sources.ts';

/** The folders with operations and records that are independent of HTTP, the database and channels. */
export const inside = ['payments', 'skillpay', 'identity', 'catalog', 'credentials', 'events', 'live'] as const;

interface Rule {
  /** The files to which the rule applies. */
  files: RegExp;
  /** Own files from which they may import values and types. */
  ours: readonly RegExp[];
  /** Own files from which they may import only types. */
  types?: readonly RegExp[];
  /** Own files from which they may import classes, schemas and constants, but no functions. */
  nouns?: readonly RegExp[];
  /** Packages that they must not import. */
  never?: readonly RegExp[];
}

const anInside = new RegExp(`^server/(${inside.join('|')})/`);
const errorCodes = /^server\/error-codes\//;
/** Channels, states, kinds and currencies, for the service and payctl alike. */
const domain = /^server\/domain\.ts$/;
/** Files that every folder may import; they import only each other and the error codes. */
const errors =
  /^(server\/((errors|domain|money|folder-lock|addresses|csv|heap|issue-words|safe-text|work)\.ts$|error-codes\/)|config\/nearest\.ts$)/;
/** The channel interface and the reasons of refused notifications. */
const port = /^server\/payments\/(channel|notification-refusal)\.ts$/;
/** Formats and parses refund numbers. */
const numbers = /^server\/payments\/numbers\.ts$/;
/** Folders that a folder may use: skillpay and catalog create orders, and live reads the event log. */
const below: Readonly<Record<string, RegExp>> = {
  skillpay: /^server\/payments\//,
  catalog: /^server\/payments\//,
  live: /^server\/events\//,
};
const belowPayments = /^server\/(payments|identity|credentials|events)\//;
/** The Idempotency-Key, which routes read from the header and operations claim. */
const idempotency = /^server\/payments\/idempotency\.ts$/;
const encryption = /^server\/db\/encryption\.ts$/;
/** Plain functions over `tx.sql`, the only database code that the inside may call. */
const queries = /^server\/db\/queries\//;
const pages = /^server\/pages\//;
/** The document frame and language shared by the pages of the service and the simulator. */
const looks = /^server\/pages\/(document|language)\.ts$/;
const configTypes = /^config\//;
const koa = /^(@?koa|koa-|koa2-)/;
const database = /^(@mikro-orm|pg$|@electric-sql|kysely$)/;

/** The import rules shown in server/README.md; the first rule that matches a file applies. */
const rules: readonly Rule[] = [
  { files: /^config\//, ours: [/^config\//], never: [koa, database] },
  { files: errors, ours: [errors, errorCodes] },
  ...inside.map((folder) => ({
    files: new RegExp(`^server/${folder}/`),
    ours: [
      errors,
      new RegExp(`^server/${folder}/`),
      port,
      ...(below[folder] ? [below[folder]] : []),
      idempotency,
      queries,
      encryption,
    ],
    types: [folder === 'payments' ? belowPayments : anInside, /^server\/(db|outgoing)\//],
    never: [koa, database],
  })),
  ...PAY_WAYS.map((folder) => ({
    files: new RegExp(`^server/channels/${folder}/`),
    ours: [errors, port, new RegExp(`^server/channels/${folder}/`), /^server\/channels\/(?!registry)[\w-]+\.ts$/],
    never: [koa, database],
  })),
  { files: /^server\/channels\//, ours: [errors, port, numbers, /^server\/channels\//], never: [koa, database] },
  {
    files: /^server\/db\//,
    ours: [errors, /^server\/db\//],
    never: [koa],
  },
  {
    files: /^server\/http\//,
    ours: [errors, /^server\/http\//],
    types: [configTypes, idempotency],
    never: [database],
  },
  {
    files: /^server\/routes\//,
    ours: [errors, port, /^server\/http\//, /^server\/routes\//, pages],
    types: [anInside, configTypes],
    nouns: [anInside],
    never: [database],
  },
  { files: pages, ours: [errors, port, pages], types: [anInside], never: [koa, database] },
  {
    files: /^server\/simulator\//,
    ours: [errors, port, /^server\/simulator\//, looks, /^server\/channels\/\w+\/signature\.ts$/],
    types: [configTypes],
    never: [database],
  },
  {
    files: /^server\/jobs\//,
    ours: [errors, /^server\/jobs\//],
    types: [anInside, /^server\/db\//, configTypes],
    never: [koa, /^@mikro-orm/],
  },
  { files: /^server\/send-traces\.ts$/, ours: [errors] },
  { files: /^server\/(app|main|compose\/[\w-]+)\.ts$/, ours: [/^server\//, /^config\//] },
  {
    files: /^server\/workers\//,
    ours: [errors, /^server\/http\//, /^server\/workers\//],
    types: [configTypes],
    never: [database],
  },
  { files: /^server\/offline\//, ours: [/^server\//, /^config\//] },
  { files: /^server\/outgoing\//, ours: [errors, /^server\/outgoing\//], never: [koa, database] },
  { files: /^cli\//, ours: [/^cli\//, domain], types: [/^(server|config)\//], never: [koa, database] },
  // The client runs at merchants without the rest of the package.
  { files: /^server\/client\//, ours: [/^server\/client\//], never: [/./] },
  { files: /^bin\//, ours: [/^(cli|bin)\//] },
];

/** Describes a forbidden import, or returns undefined; `import()` in payctl is unrestricted, and a new folder needs a rule. */
export function complaint(source: Source, found: Import): string | undefined {
  const rule = rules.find(({ files }) => files.test(source.path));
  if (rule === undefined) return `${source.path} has no rule`;
  if (found.dynamic && /^(cli|bin)\//.test(source.path)) return undefined;
  const allowed = found.ours ? allows(rule, found) : !rule.never?.some((name) => name.test(found.target));
  const what = `${found.typeOnly ? 'types of ' : ''}${found.target}`;
  return allowed ? undefined : `${source.path} imports ${what}`;
}

function allows(rule: Rule, { target, typeOnly, names }: Import): boolean {
  const among = (list: readonly RegExp[] = []) => list.some((pattern) => pattern.test(target));
  const allNouns = names.length > 0 && names.every((name) => /^[A-Z]/.test(name));
  return among(rule.ours) || (typeOnly && among(rule.types)) || (allNouns && among(rule.nouns));
}
