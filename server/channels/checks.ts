import type { ProbeCheck, ProbeNote } from '../payments/channel.ts';
import { inChannelCall, noteSupportId } from '../payments/numbers.ts';

/** A part of the configuration. It is wrong if a test call fails with a fault in one of its `fields`. */
export interface Subject {
  name: string;
  fields: readonly string[];
}

/** The fault that a test call found; undefined = no fault. */
export type Fault = ProbeNote | undefined;

const OK = { status: 'ok', field: null, code: null, message: null, supportId: null } as const;

/** Builds the result of a check that succeeded. */
export function passed(about: ProbeCheck['about'], name: string, message: string | null = null): ProbeCheck {
  return { about, name, ...OK, message };
}

/** Builds a result other than `ok`: `lacking` = missing, but optional; `unproven` = the check gave no result. */
export function wanting(
  about: ProbeCheck['about'],
  name: string,
  status: Exclude<ProbeCheck['status'], 'ok'>,
  { message, field = null, code = null }: Pick<ProbeNote, 'message'> & Partial<ProbeNote>,
): ProbeCheck {
  return { about, name, status, field, code, message, supportId: null };
}

/** Builds the result of a check that did not run, because an earlier check failed. */
export function notReached(about: ProbeCheck['about'], name: string): ProbeCheck {
  return wanting(about, name, 'unproven', {
    message: 'Not tested, because an earlier check failed. Correct the cause of that failure first.',
  });
}

/**
 * Builds the checks of one test call, one check per subject (a part of the configuration). Without a fault every check
 * passes. With a fault, the check of the subject that contains the faulty field fails, and the other subjects are not
 * tested. If no subject contains the field, an additional check `Answer of <channel>` fails.
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
 * Runs the calls of checks. A check that did not succeed gets the support id, by which the channel's support staff
 * finds the call.
 */
export async function traced(work: () => Promise<readonly ProbeCheck[]>): Promise<ProbeCheck[]> {
  const { answer, supportId } = await inChannelCall(work);
  return answer.map((check) => (check.status === 'ok' || check.supportId ? check : { ...check, supportId }));
}

/** Lets several checks share one call, which the first check sends. All of them get its result and its support id. */
export function sharedCall<T>(ask: () => Promise<T>): () => Promise<T> {
  let pending: ReturnType<typeof inChannelCall<T>> | undefined;
  return async () => {
    pending ??= inChannelCall(ask);
    const { answer, supportId } = await pending;
    if (supportId) noteSupportId(supportId);
    return answer;
  };
}
