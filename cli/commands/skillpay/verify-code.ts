import { createPublicKey, verify, type JsonWebKey } from 'node:crypto';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT, UsageError } from '../../errors.ts';
import { examples } from '../../options.ts';
import { readSecretFile, readSecretStdin } from '../../secrets.ts';
import type { Row } from '../../values.ts';

const TYPES = new Set(['pay-code+jws', 'pay-receipt+jws']);

/** Adds `skillpay verify-code`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('verify-code')
    .description(
      'Verify the signature of a payment code or receipt with the public keys of the service, and show its claims. Exits with 1 if it is invalid.',
    )
    .option('--file <file>', 'read the code from a file instead of stdin');
  examples(
    command,
    'payctl skillpay verify-code < code.txt',
    'payctl skillpay verify-code --file receipt.txt --json',
  ).action((flags: { file?: string }) => run(context(), flags));
}

/** Verifies a code with the key that it names. */
export async function run({ api, print, terminal }: Context, flags: { file?: string }): Promise<void> {
  const code = (
    flags.file ? await readSecretFile(terminal, flags.file) : await readSecretStdin(terminal, 'verify-code')
  ).trim();
  const { body } = await api.call({ method: 'GET', path: '/.well-known/jwks.json', anonymous: true });
  const keys = (body as { keys?: Row[] } | undefined)?.keys ?? [];
  const { header, claims } = verifyCode(code, keys);
  const expired = typeof claims['exp'] === 'number' && claims['exp'] * 1000 < terminal.now().getTime();
  await print.item(
    { valid: true, expired, type: header['typ'], keyId: header['kid'], ...claims },
    {
      noun: 'code',
      id: 'outTradeNo',
      columns: [
        { field: 'valid', kind: 'yesno' },
        { field: 'expired', kind: 'yesno' },
        { field: 'outTradeNo', kind: 'id' },
      ],
    },
  );
}

/** The header and claims of a compact JWS that one of the keys signed (EdDSA only); throws CliError 1 otherwise. */
export function verifyCode(code: string, keys: readonly Row[]): { header: Row; claims: Row } {
  const [head = '', payload = '', signature = '', ...rest] = code.split('.');
  if (rest.length > 0 || signature === '')
    throw new UsageError('Not a payment code: expected a compact JWS of three parts.');
  const header = readPart(head);
  const key = keys.find((known) => known['kid'] === header['kid']);
  if (header['alg'] !== 'EdDSA' || !TYPES.has(String(header['typ'])) || !key)
    throw falseCode('it was not signed with a key of this service');
  const publicKey = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
  if (!verify(null, Buffer.from(`${head}.${payload}`), publicKey, Buffer.from(signature, 'base64url')))
    throw falseCode('the signature does not match');
  return { header, claims: readPart(payload) };
}

function readPart(part: string): Row {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Row;
  } catch {
    throw falseCode('the claims are not valid JSON');
  }
}

function falseCode(why: string): CliError {
  return new CliError('code_false', EXIT.failed, `The code is invalid: ${why}.`);
}
