import { TOTP } from 'otpauth';
import type { Call } from './admin.ts';

/** The code of an authenticator with this secret at an instant. */
export function codeAt(secret: string, at: Date | number): string {
  return new TOTP({ secret }).generate({ timestamp: Number(at) });
}

/** A code that an authenticator with this secret does not show within minutes. */
export function wrongCode(secret: string, at: Date | number): string {
  const near = new Set([-3, -2, -1, 0, 1, 2, 3].map((steps) => codeAt(secret, Number(at) + steps * 30_000)));
  return ['000000', '111111', '222222', '333333', '444444', '555555', '666666', '777777'].find(
    (code) => !near.has(code),
  )!;
}

/** Enrols the caller's second factor soon after a login; returns the authenticator's secret and the recovery codes. */
export async function enrol(call: Call, now: () => Date): Promise<{ secret: string; recoveryCodes: string[] }> {
  const started = await call('POST', '/api/v1/me/second-factor/start');
  if (started.status !== 201) throw new Error(JSON.stringify(started.body));
  const { secret } = started.body.data;
  const done = await call('POST', '/api/v1/me/second-factor/confirm', { code: codeAt(secret, now()) });
  if (done.status !== 200) throw new Error(JSON.stringify(done.body));
  return { secret, recoveryCodes: done.body.data.recoveryCodes };
}
