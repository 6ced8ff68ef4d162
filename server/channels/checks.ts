import type { ProbeCheck, ProbeNote } from '../payments/channel.ts';
import { inChannelCall, noteSupportId } from '../payments/numbers.ts';

/** Something that one call to a channel proves, and the fields that are wrong when it does not. */
export interface Subject {
  name: string;
  fields: readonly string[];
}

/** What a call said: nothing is wrong, or what is. */
export type Fault = ProbeNote | undefined;

const OK = { status: 'ok', field: null, code: null, message: null, supportId: null } as const;

/** Something that is as it should be. */
export function passed(about: ProbeCheck['about'], name: string, message: string | null = null): ProbeCheck {
  return { about, name, ...OK, message };
}

/** Something that is not. */
export function wanting(
  about: ProbeCheck['about'],
  name: string,
  status: Exclude<ProbeCheck['status'], 'ok'>,
  { message, field = null, code = null }: Pick<ProbeNote, 'message'> & Partial<ProbeNote>,
): ProbeCheck {
  return { about, name, status, field, code, message, supportId: null };
}

/** What a test did not come to. */
export function notReached(about: ProbeCheck['about'], name: string): ProbeCheck {
  return wanting(about, name, 'unproven', { message: 'Not tested: what is wrong above comes first.' });
}

/** One call proves all its subjects, or says which of them is at fault; what blames none of them is the channel's own. */
export function credentialChecks(channel: string, subjects: readonly Subject[], fault: Fault): ProbeCheck[] {
  if (!fault) return subjects.map(({ name }) => passed('credential', name));
  const { field } = fault;
  const isBlamed = ({ fields }: Subject) => field !== null && fields.includes(field);
  const checks = subjects.map((subject) =>
    isBlamed(subject) ? wanting('credential', subject.name, 'failed', fault) : notReached('credential', subject.name),
  );
  return subjects.some(isBlamed) ? checks : [wanting('credential', `Answer of ${channel}`, 'failed', fault), ...checks];
}

/** The checks that some calls led to; what is not as it should be has the support id of the last of these calls. */
export async function traced(work: () => Promise<readonly ProbeCheck[]>): Promise<ProbeCheck[]> {
  const { answer, supportId } = await inChannelCall(work);
  return answer.map((check) => (check.status === 'ok' || check.supportId ? check : { ...check, supportId }));
}

/** A question for several checks: it is asked when the first of them comes, and each of them has the support id of its last request. */
export function askedOnce<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: ReturnType<typeof inChannelCall<T>> | undefined;
  return async () => {
    asked ??= inChannelCall(ask);
    const { answer, supportId } = await asked;
    if (supportId) noteSupportId(supportId);
    return answer;
  };
}
