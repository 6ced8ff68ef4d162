import { type Channel, NoticeNotGenuine, type PayWay, type UnknownCause } from '../payments/channel.ts';

/** How a call of a channel ended: the `kind` of what it said, of an unknown outcome with the cause behind it. */
export type Called = (call: { payWay: PayWay; call: string; outcome: string; seconds: number }) => void;

/** Causes that speak of the order or of our own timing, not of the channel's health. */
const HARMLESS: ReadonlySet<UnknownCause> = new Set(['mismatch', 'busy', 'in_progress']);

type Said = { kind: string; cause?: UnknownCause };

/** The same channel; `tell` hears whether each call about orders and refunds got an answer that can be used, `called` how each ended. */
export function watched(
  channel: Channel,
  tell: (failure: UnknownCause | null) => void,
  called: Called = () => {},
): Channel {
  const { payWay, account, capture, retryAbnormalRefund, appIds, disputes, agents, bills } = channel;

  const count =
    <Asked extends readonly unknown[], Answer extends Said>(call: string, ask: (...asked: Asked) => Promise<Answer>) =>
    async (...asked: Asked): Promise<Answer> => {
      const began = performance.now();
      const told = (outcome: string) => called({ payWay, call, outcome, seconds: (performance.now() - began) / 1000 });
      try {
        const said = await ask(...asked);
        told(said.kind === 'unknown' ? `unknown_${said.cause}` : said.kind);
        return said;
      } catch (error) {
        told('thrown');
        throw error;
      }
    };
  const watch = <Asked extends readonly unknown[], Answer extends Said>(
    call: string,
    ask: (...asked: Asked) => Promise<Answer>,
  ) => {
    const counted = count(call, ask);
    return async (...asked: Asked): Promise<Answer> => {
      const said = await counted(...asked);
      if (said.kind !== 'unknown') tell(null);
      else if (said.cause !== undefined && !HARMLESS.has(said.cause)) tell(said.cause);
      return said;
    };
  };
  return {
    payWay,
    account,
    ...(appIds && { appIds: appIds.bind(channel) }),
    place: watch('place', channel.place.bind(channel)),
    query: watch('query', channel.query.bind(channel)),
    close: watch('close', channel.close.bind(channel)),
    ...(capture && { capture: watch('capture', capture.bind(channel)) }),
    refund: watch('refund', channel.refund.bind(channel)),
    queryRefund: watch('query_refund', channel.queryRefund.bind(channel)),
    lookUpRefund: watch('look_up_refund', channel.lookUpRefund.bind(channel)),
    ...(retryAbnormalRefund && {
      retryAbnormalRefund: watch('retry_abnormal_refund', retryAbnormalRefund.bind(channel)),
    }),
    // A merchant whose account may not read disputes has a channel that works: these are counted and not told of.
    ...(disputes && {
      disputes: {
        read: count('dispute_read', disputes.read.bind(disputes)),
        list: count('dispute_list', disputes.list.bind(disputes)),
        ...(disputes.listOf && { listOf: count('dispute_list', disputes.listOf.bind(disputes)) }),
        answer: count('dispute_answer', disputes.answer.bind(disputes)),
        ...(disputes.finish && { finish: count('dispute_finish', disputes.finish.bind(disputes)) }),
        ...(disputes.accept && { accept: count('dispute_accept', disputes.accept.bind(disputes)) }),
      },
    }),
    // Nor does one that is not signed up for agents.
    ...(agents && {
      agents: {
        bill: agents.bill.bind(agents),
        verify: count('agent_verify', agents.verify.bind(agents)),
        confirm: count('agent_confirm', agents.confirm.bind(agents)),
      },
    }),
    // Nor does a bill that cannot be had say anything about payments.
    ...(bills && {
      bills: {
        ...(bills.rate && { rate: bills.rate }),
        fetch: count('bill_fetch', bills.fetch.bind(bills)),
        payeeIn: bills.payeeIn.bind(bills),
        read: bills.read.bind(bills),
      },
    }),
    async readNotice(...notice) {
      try {
        const read = await channel.readNotice(...notice);
        if (read.amiss) tell(read.amiss);
        return read;
      } catch (error) {
        if (error instanceof NoticeNotGenuine && error.why === 'chain_incomplete') tell(error.why);
        throw error;
      }
    },
    ackNotice: (verdict) => channel.ackNotice(verdict),
    probe: (wish) => channel.probe(wish),
  };
}
