import type { ProbeCheck, ProbeNote } from '../payments/channel.ts';
import { inChannelCall, noteSupportId } from '../payments/numbers.ts';

/**
 * A part of a configuration (an id, a key, a certificate) that one call to a channel proves. `fields` are at fault if
 * the call fails.
 */
export interface Subject {
  name: string;
  fields: readonly string[];
}

/** The fault that a call found; undefined = none. */
export type Fault = ProbeNote | undefined;

const OK = { status: 'ok', field: null, code: null, message: null, supportId: null } as const;

/** A check that succeeded. */
export function passed(about: ProbeCheck['about'], name: string, message: string | null = null): ProbeCheck {
  return { about, name, ...OK, message };
}

/** A check that failed, or that proved nothing; `status` says which. */
export function wanting(
  about: ProbeCheck['about'],
  name: string,
  status: Exclude<ProbeCheck['status'], 'ok'>,
  { message, field = null, code = null }: Pick<ProbeNote, 'message'> & Partial<ProbeNote>,
): ProbeCheck {
  return { about, name, status, field, code, message, supportId: null };
}

/** A check that was not made, because an earlier one failed. */
export function notReached(about: ProbeCheck['about'], name: string): ProbeCheck {
  return wanting(about, name, 'unproven', { message: 'Not tested: correct the failed checks above first.' });
}

/**
 * The checks of one call. Without a fault every subject passes; otherwise the subject with the named field fails. If
 * the fault names no subject, the check `Answer of …` fails.
 */
export function credentialChecks(channel: string, subjects: readonly Subject[], fault: Fault): ProbeCheck[] {
  if (!fault) return subjects.map(({ name }) => passed('credential', name));
  const { field } = fault;
  const isBlamed = ({ fields }: Subject) => field !== null && fields.includes(field);
  const checks = subjects.map((subject) =>
    isBlamed(subject) ? wanting('credential', subject.name, 'failed', fault) : notReached('credential', subject.name),
  );
  return subjects.some(isBlamed) ? checks : [wanting('credential', `Answer of ${channel}`, 'failed', fault), ...checks];
}

/**
 * Runs calls to a channel. Checks that did not succeed get the last call's support id, by which the channel's support
 * finds it.
 */
export async function traced(work: () => Promise<readonly ProbeCheck[]>): Promise<ProbeCheck[]> {
  const { answer, supportId } = await inChannelCall(work);
  return answer.map((check) => (check.status === 'ok' || check.supportId ? check : { ...check, supportId }));
}

/** Shares one call among several checks: the first check sends it, and each check gets the support id of its last request. */
export function askedOnce<T>(ask: () => Promise<T>): () => Promise<T> {
  let pending: ReturnType<typeof inChannelCall<T>> | undefined;
  return async () => {
    pending ??= inChannelCall(ask);
    const { answer, supportId } = await pending;
    if (supportId) noteSupportId(supportId);
    return answer;
  };
}
