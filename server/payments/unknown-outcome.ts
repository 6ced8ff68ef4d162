/** Filled in by whoever asked: how the channel's support finds the request again. */
export interface Traced {
  supportId?: string;
}

/** Silence, or an answer that says nothing. `refusal`: it was genuine, and these are the words of the channel. */
export type UnknownOutcome = {
  kind: 'unknown';
  cause: UnknownCause;
  detail?: string;
  refusal?: { code: string; reason: string };
} & Traced;

/** Why an answer says nothing: stable words, distinct for each fault. */
export type UnknownCause =
  | 'timeout'
  | 'network'
  | 'http_status'
  | 'redirected'
  | 'too_large'
  | 'unparsable'
  | 'duplicate_key'
  | 'unsigned'
  | 'signature_invalid'
  | 'serial_unknown'
  | 'clock_skew'
  | 'mismatch'
  | 'busy'
  | 'in_progress'
  | 'rejected'
  | 'chain_incomplete'
  | 'misconfigured';
