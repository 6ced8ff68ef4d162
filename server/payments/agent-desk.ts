import type { UnknownCause } from './unknown-outcome.ts';
import type { Money } from './money.ts';

/** What an agent is asked to pay. */
export interface AgentBill {
  orderNo: string;
  amount: Money;
  /** What is paid for, as the proof will name it. */
  resourceId: string;
  goodsName: string;
  expiresAt: Date;
}

/** What an agent brings when it has paid. */
export interface AgentProof {
  paymentProof: string;
  tradeNo: string;
  clientSession?: string | undefined;
}

/** What the channel says of a proof. */
export type AgentVerdict =
  | { kind: 'paid'; orderNo: string; resourceId: string; channelNo: string; amount: Money; at: Date }
  | { kind: 'refused'; code: string; reason: string };

/** The channel said nothing that could be used. */
interface Unsaid {
  kind: 'unknown';
  cause: UnknownCause;
  detail: string;
}

/** Payments by the channel's own agents. No method throws for anything the channel does. */
export interface AgentDesk {
  /** What agents read: one line that fits into a header. Of the same bill and key always the same. */
  bill(bill: AgentBill): Promise<string>;
  verify(proof: AgentProof): Promise<AgentVerdict | Unsaid>;
  /** Tells the channel that the payer has what was paid for; may be told again. */
  confirm(
    tradeNo: string,
    about: { orderNo: string },
  ): Promise<{ kind: 'done' } | { kind: 'refused'; code: string; reason: string } | Unsaid>;
}
