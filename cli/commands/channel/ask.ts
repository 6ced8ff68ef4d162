import { resolve } from 'node:path';
import type { Query } from '../../api-client.ts';
import type { Context } from '../../context.ts';
import { credentialFiles, formOf, type CredentialFiles } from '../../credential-files.ts';
import { FlagRequired } from '../../errors.ts';
import { type Row, visible } from '../../values.ts';
import { wrap } from '../../width.ts';
import { fieldFault, readSchema, type SchemaCert, type SchemaField } from './schema.ts';

/** What stands behind the questions: what is stored, and the mode that is asked for. */
interface Asked {
  mode: string;
  stored: Row;
}

/** Asks for a configuration field by field: each with its help, each answer checked at once; an empty one keeps what is stored. */
export async function askFields(context: Context, path: string, query: Query): Promise<Row> {
  const { api, prompts } = context;
  if (!prompts.possible) throw new FlagRequired('--file');
  const [{ modes, fields, certKinds }, info, current] = await Promise.all([
    readSchema(api, path, query),
    api.get('/api/v1/info'),
    api.get(path, query),
  ]);
  const refused = info['debug'] === true || info['environment'] === 'staging' ? 'live' : 'simulator';
  const offered = modes.filter((mode) => mode !== refused);
  const mode = await prompts.choose(
    { message: 'Mode', flag: '--file' },
    offered.map((value) => ({ value })),
  );
  const stored = (current['fields'] ?? {}) as Row;
  const body: Row = { mode };
  for (const field of fields) {
    const answer = await askField(context, field, { mode, stored });
    if (answer !== '') body[field.name] = answer.trim();
  }
  const files = await credentialFiles(context.terminal.now());
  for (const cert of certKinds) {
    const file = await askCert(context, cert, files);
    if (file !== '') body[cert.kind] = files.text(resolve(context.terminal.cwd, file), file);
  }
  return body;
}

async function askField(context: Context, field: SchemaField, { mode, stored }: Asked): Promise<string> {
  const { prompts } = context;
  const { name, label = name, secret, help } = field;
  const before = stored[name];
  const isNeeded = field.requiredIn?.includes(mode) === true && before === undefined;
  await explain(context, help);
  const question = {
    message: `${label} (${before === undefined ? (isNeeded ? 'required' : 'optional') : `leave empty to keep ${secret ? 'it' : visible(String(before))}`})`,
    flag: '--file',
    validate(answer: string): true | string {
      if (answer === '') return !isNeeded || `${label} is required in mode ${mode}.`;
      const fault = fieldFault(field, answer);
      return fault === undefined || `${label} ${fault}.`;
    },
  };
  return secret ? prompts.secret(question) : prompts.text(question);
}

async function askCert(context: Context, cert: SchemaCert, files: CredentialFiles): Promise<string> {
  const { kind, label = kind, form = formOf(kind), help } = cert;
  await explain(context, help);
  return context.prompts.text({
    message: `File with ${label} (leave empty to keep what is there)`,
    flag: '--file',
    validate(file) {
      if (file === '') return true;
      try {
        files.read(resolve(context.terminal.cwd, file), file, { kind, form });
        return true;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
  });
}

async function explain({ terminal: { err } }: Context, help: string | undefined): Promise<void> {
  if (!help) return;
  const lines = wrap(visible(help), Math.max(20, err.columns - 2));
  await err.write(lines.map((line) => `${err.style('dim', `  ${line}`)}\n`).join(''));
}
