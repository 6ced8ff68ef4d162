import type { Effects } from './ports.ts';

/** Several effects as one: each runs in order, and any of them may refuse what may be refused. */
export function composeEffects(...parts: readonly Effects[]): Effects {
  return {
    async admit(tx, draft, asked) {
      for (const part of parts) await part.admit(tx, draft, asked);
    },
    async readmit(tx, order) {
      for (const part of parts) if (!(await part.readmit(tx, order))) return false;
      return true;
    },
    async paid(tx, order) {
      for (const part of parts) await part.paid(tx, order);
    },
    async ended(tx, order) {
      for (const part of parts) await part.ended(tx, order);
    },
    async refundReserved(tx, order, refund, forced) {
      for (const part of parts) await part.refundReserved(tx, order, refund, forced);
    },
    async refundSucceeded(tx, order, refund) {
      for (const part of parts) await part.refundSucceeded(tx, order, refund);
    },
    async refundFailed(tx, order, refund) {
      for (const part of parts) await part.refundFailed(tx, order, refund);
    },
  };
}
