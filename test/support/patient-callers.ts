import type { Patience } from '../../server/payments/ports.ts';

/** A slow machine is neither a silent channel nor a silent upstream: nobody stops waiting before the test does. */
export const PATIENT_CALLERS: Patience = { query: 60_000, page: 60_000, agentCode: 60_000, work: 60_000 };
