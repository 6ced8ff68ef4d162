import { readFileSync } from 'node:fs';
import type { CertKindSpec } from '../server/payments/channel.ts';
import { CliError, EXIT } from './errors.ts';

export interface ReadCredential {
  /** The text that is sent to the service. A DER certificate is converted to PEM. */
  content: string;
  /** PEM of the private key without its passphrase; null if the file has no private key. */
  privatePem: string | null;
  /** PEM of the certificates or of the public key. */
  publicPem: string;
}

interface CredentialSpec extends Pick<CertKindSpec, 'kind' | 'form'> {
  passphrase?: string | undefined;
}

/** Reads certificate and key files with the parser and the error messages of the service. */
export interface CredentialFiles {
  /** Reads the text of a file of any kind. Throws UsageError for an unreadable file. */
  text(path: string, shown: string): string;
  /** Reads a file and checks that its content is of the expected kind, e.g. a private key. Throws UsageError if not. */
  read(path: string, shown: string, as: CredentialSpec): ReadCredential;
}

/** Loads the service's parser, and returns the functions that read certificate and key files with this parser. */
export async function credentialFiles(now: Date): Promise<CredentialFiles> {
  const [pem, { AppError }] = await Promise.all([
    import('../server/credentials/pem.ts'),
    import('../server/errors.ts'),
  ]);
  const withUsageError = <Result>(shown: string, work: () => Result): Result => {
    try {
      return work();
    } catch (error) {
      if (error instanceof pem.PemRefused) throw unusable(`${shown} ${error.message}.`, error.code);
      if (error instanceof AppError) throw unusable(`${shown}: ${error.message}`);
      throw error;
    }
  };
  return {
    text: (path, shown) => withUsageError(shown, () => pem.readText(readFileSync(path))),
    read: (path, shown, { passphrase, ...spec }) =>
      withUsageError(shown, () => {
        const bytes = readFileSync(path);
        const parsed = pem.parseCert(spec, { bytes, passphrase }, { now, serialOf: () => '' });
        return { content: pem.readText(bytes), privatePem: parsed.privatePem, publicPem: parsed.publicPem ?? '' };
      }),
  };
}

/** The expected file form (certificate, private key or public key) for a kind. */
export function formOf(kind: string): CertKindSpec['form'] {
  if (kind.endsWith('_public_key')) return 'public-key';
  return kind.endsWith('_key') ? 'private-key' : 'certificate';
}

function unusable(message: string, code?: string): CliError {
  const hint = code === 'passphrase_required' ? { hint: 'add --passphrase-file FILE' } : {};
  return new CliError('cert_unusable', EXIT.usage, message, hint);
}
