import { CHANNEL_KINDS } from '../../server/channels/registry.ts';
import type { ChannelKind, Mode, PayWay, Transport } from '../../server/payments/channel.ts';
import type { ActiveChannel, Channels } from '../../server/payments/ports.ts';

/** Channels straight from a simulator's account: for tests of the money path that do not want stored configurations. */
export async function simulatorChannels(simulatorUrl: string, send: Transport, now: () => Date): Promise<Channels> {
  const answer = await fetch(`${simulatorUrl}/sim/config?account=default`);
  const config = (await answer.json()) as { data: Config } & Config;
  const accounts = config.data ?? config;
  const active = new Map<PayWay, ActiveChannel>();
  for (const [payWay, kind] of CHANNEL_KINDS) {
    const { fields, pems } = accounts[payWay];
    const mode: Mode = 'simulator';
    const channel = kind.create({ mode, fields, pems, simulatorUrl, send, now });
    active.set(payWay, { channel, kind, mode, account: kind.accountOf(fields), configVersion: 1 });
  }
  const of = (payWay: PayWay): ActiveChannel => active.get(payWay)!;
  return {
    forNew: async (_project, payWay) => of(payWay),
    forOrder: async ({ payWay }) => of(payWay).channel,
    forNotices: async (_project, payWay) => [of(payWay)],
    kindOf: (payWay): ChannelKind => of(payWay).kind,
  };
}

type Config = Record<PayWay, { fields: Record<string, string>; pems: Record<string, string[]> }>;
