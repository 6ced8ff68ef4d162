import type { DisputeDeed } from './dispute-deed.ts';
import type { Core } from './half.ts';
import { SimulatorRefusal } from './refusal.ts';
import type { Trade } from './trade.ts';

/** Does it at the channel of the trade. */
export function actOnDispute(core: Core, trade: Trade, deed: DisputeDeed): object {
  const { dispute } = core.half(trade.payWay);
  if (!dispute) throw new SimulatorRefusal(400, 'no_disputes', 'This channel has no disputes here.');
  return dispute(core, trade, deed);
}
