import { chmodSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { runPayctl, type Result, type RunOptions, splitWords } from './payctl.ts';
import { temporaryFolder } from '../support/folder.ts';
import { bootstrapAdmin, type Service } from '../support/service.ts';

/** Runs payctl in this process against a real service, logged in as an administrator. */
export interface Operator {
  /** The working folder; payctl's own files are in its subfolder `payctl`. */
  folder: string;
  /** Runs a shell-quoted command line without the leading `payctl`. */
  payctl(line: string, options?: RunOptions): Promise<Result>;
  /** Runs a command line that must succeed; returns its output without the last line break. */
  done(line: string, options?: RunOptions): Promise<string>;
  /** Runs a command line with `-o json` that must succeed; returns the parsed output. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  json(line: string, options?: RunOptions): Promise<any>;
}

const PASSWORD = 'seven-quiet-otters-swim';

/** Creates the first administrator and logs in. */
export async function operatorAt(t: ExecutionContext, service: Service): Promise<Operator> {
  await bootstrapAdmin(service.app, { username: 'alice', password: PASSWORD });
  return logIn(t, service, 'alice', PASSWORD);
}

/** Logs in as an existing administrator, in a new folder. */
export async function logIn(
  t: ExecutionContext,
  service: Service,
  username: string,
  password: string,
): Promise<Operator> {
  const folder = temporaryFolder(t, { 'own.password': `${password}\n` });
  chmodSync(`${folder}/own.password`, 0o600);
  const operator: Operator = {
    folder,
    payctl: (line, options = {}) =>
      runPayctl(splitWords(line).words, {
        cwd: folder,
        now: service.clock.now,
        ...options,
        env: { PAYCTL_CONFIG_DIR: `${folder}/payctl`, PAYCTL_SIMULATOR: service.simulator.url, ...options.env },
      }),
    async done(line, options) {
      const { code, stdout, stderr } = await operator.payctl(line, options);
      t.is(code, 0, `${line}\n${stderr}`);
      return stdout.trimEnd();
    },
    async json(line, options) {
      const text = await operator.done(`${line} -o json`, options);
      return JSON.parse(text || 'null');
    },
  };
  await operator.done(`login --server ${service.url} -u ${username} --password-file own.password`);
  return operator;
}
