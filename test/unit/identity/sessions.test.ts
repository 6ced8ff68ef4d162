import test from 'ava';
import type { Store } from '../../../server/db/store.ts';
import type { LoginState } from '../../../server/identity/ports.ts';
import { createSessions } from '../../../server/identity/sessions.ts';
import { testSealing } from '../../support/audit-keys.ts';

const admin = {
  id: 'a',
  username: 'alice',
  role: 'admin',
  projects: null,
  hasFactor: false,
  enabled: true,
  generation: 1,
  passwordHash: 'real',
} as const;
const nothing = async (): Promise<void> => {};

/** Runs a login and records its steps. */
async function steps(state: LoginState, right: boolean): Promise<{ done: string[]; error: unknown }> {
  const done: string[] = [];
  const note =
    <T>(step: string, value: T) =>
    async (): Promise<T> => {
      done.push(step);
      return value;
    };
  const wrote = () => Promise.reject(new Error('wrote'));
  const sessions = createSessions({
    store: { read: (work) => work({} as never), transaction: wrote, autocommit: wrote } as Store,
    queries: { loginState: note('read', state) },
    passwords: {
      hash: note('hash', ''),
      verify: note('verify', right),
      isOutdated: () => false,
      decoy: note('decoy', 'decoy'),
    },
    limits: {
      check: nothing,
      admit: () => Promise.resolve(undefined),
      failed: note('count', undefined),
      mayRecord: note('record?', false),
      clientFailed: nothing,
      admitCode: nothing,
      codeFailed: nothing,
      tryFirstCode: nothing,
      mayRecordUnconfirmed: note('record?', false),
    },
    addresses: { keyOf: () => '', remember: nothing },
    adminTokens: { ttlSeconds: 1, issue: () => Promise.reject(new Error('issued')), verify: () => Promise.reject() },
    csrfKey: new Uint8Array(32),
    hide: (name) => name,
    requireSecondFactor: false,
    encryption: testSealing,
    audit: nothing,
    now: () => new Date(0),
  });
  const login = sessions.login({ username: 'alice', password: 'x', ip: '', requestId: '' });
  const error: unknown = await login.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { done, error };
}

test('an unknown user, a wrong password and a disabled account take the same steps and get the same refusal', async (t) => {
  const wrong = await steps({ bootstrapped: true, known: false, admin }, false);
  t.deepEqual(wrong.done, ['read', 'decoy', 'verify', 'record?', 'count']);
  const others = [
    await steps({ bootstrapped: true, known: false }, false),
    await steps({ bootstrapped: true, known: false }, true),
    await steps({ bootstrapped: true, known: false, admin: { ...admin, enabled: false } }, true),
  ];
  for (const other of others) {
    t.deepEqual(other.done, wrong.done);
    t.like(other.error, { status: 401, code: 'login_failed', message: (wrong.error as Error).message });
  }
});

test('a login without any administrator checks no password', async (t) => {
  const { done, error } = await steps({ bootstrapped: false, known: false }, true);
  t.deepEqual(done, ['read']);
  t.like(error, { status: 503, code: 'not_bootstrapped' });
});
