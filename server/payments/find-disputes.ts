import { PAY_WAYS, type PayWay } from './channel.ts';
import { later } from './core/plan.ts';
import { hearDispute } from './hear-dispute.ts';
import type { NoticeChannel, Ports } from './ports.ts';

/** How far back each look reaches: longer than any channel repeats a message, so that none is needed. */
const BACK_SECONDS = 4 * 86_400;

/**
 * Asks every account for disputes that changed lately, so that a notification that never came loses nothing. An account that
 * does not answer is asked again with the next look.
 */
export function findDisputes(ports: Ports) {
  const hear = hearDispute(ports);
  return async (goesOn: () => boolean = () => true): Promise<void> => {
    const projects = await ports.store.read((tx) => tx.projects.list({}));
    for (const { code } of projects) for (const payWay of PAY_WAYS) if (goesOn()) await lookAt(code, payWay);
  };

  async function lookAt(project: string, payWay: PayWay): Promise<void> {
    for (const from of await ports.channels.forNotices(project, payWay)) {
      try {
        await lookInto(project, payWay, from);
      } catch (error) {
        ports.log('error', 'the disputes of an account could not be read', { project, payWay, error });
      }
    }
  }

  async function lookInto(project: string, payWay: PayWay, from: NoticeChannel): Promise<void> {
    const { disputes, account } = from.channel;
    const said = await disputes?.changedSince(later(ports.now(), -BACK_SECONDS));
    if (!said) return;
    if (said.kind === 'unknown') {
      const { cause, detail } = said;
      ports.log('warn', 'the disputes of an account could not be listed', { project, payWay, account, cause, detail });
      return;
    }
    if (said.more) ports.log('warn', 'an account has more disputes than one look reads', { project, payWay, account });
    for (const channelDisputeNo of said.disputeNos) await hear({ project, payWay, from }, channelDisputeNo);
  }
}
