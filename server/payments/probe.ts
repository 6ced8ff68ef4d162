/** What a test found wanting: the field or certificate kind at fault, if it is one of ours. */
export interface ProbeNote {
  field: string | null;
  code: string | null;
  message: string;
}

/** One thing that a test looked at. */
export interface ProbeCheck {
  about: 'credential' | 'product' | 'notifications';
  name: string;
  /** `lacking`: not everybody needs it. `unproven`: nothing harmless proves it, or the test did not come so far. */
  status: 'ok' | 'failed' | 'lacking' | 'unproven';
  /** The field or certificate kind to change. */
  field: string | null;
  /** The channel's own code, or a stable word of ours. */
  code: string | null;
  message: string | null;
  /** How the channel's support finds the request again. */
  supportId: string | null;
}

/** The result of signed calls with a configuration; one that works may still lack something that not everybody needs. */
export type ProbeResult = ({ ok: true; note?: ProbeNote } | ({ ok: false } & ProbeNote)) & {
  /** Each thing that was looked at, in the order in which they depend on each other. */
  checks?: readonly ProbeCheck[];
};

/** The result of everything that was looked at: the first thing that is wrong, else the first that is lacking. */
export function verdictOf(checks: readonly ProbeCheck[]): ProbeResult {
  const failed = checks.find(({ status }) => status === 'failed');
  if (failed) return { ok: false, ...noteOf(failed), checks };
  const lacking = checks.find(({ status }) => status === 'lacking');
  return { ok: true, ...(lacking && { note: noteOf(lacking) }), checks };
}

function noteOf({ field, code, message, name }: ProbeCheck): ProbeNote {
  return { field, code, message: message ?? name };
}
