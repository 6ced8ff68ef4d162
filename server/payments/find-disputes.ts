import { PAY_WAYS, type PayWay } from './channel.ts';
import { later } from './core/plan.ts';
import { type DisputeSource, hearDispute } from './hear-dispute.ts';
import type { Ports } from './ports.ts';

/** How far back each look reaches: longer than any channel repeats a message, so that none is needed. */
const BACK_SECONDS = 4 * 86_400;
/** Of one account in one look: pages of its list, and disputes that are read. The next look goes on with those that are left. */
const MOST_PAGES = 100;
const MOST_READ = 500;

/**
 * Asks every account for disputes that changed lately, so that a notification that never came loses nothing. What was read once
 * is read again when its list says something else, or a day later; what was listed and then not known, with the next looks, because
 * details may lag behind a list. An account that does not answer is asked again with the next look.
 */
export function findDisputes(ports: Ports) {
  const hear = hearDispute(ports);
  const read = rememberMarks(ports.now);
  return async (goesOn: () => boolean = () => true): Promise<void> => {
    const projects = await ports.store.read((tx) => tx.projects.list({}));
    for (const { code } of projects) for (const payWay of PAY_WAYS) if (goesOn()) await lookAt(code, payWay, goesOn);
  };

  async function lookAt(project: string, payWay: PayWay, goesOn: () => boolean): Promise<void> {
    for (const from of await ports.channels.forNotices(project, payWay)) {
      try {
        if (goesOn()) await lookInto({ project, payWay, from }, goesOn);
      } catch (error) {
        ports.log('error', 'the disputes of an account could not be read', { project, payWay, error });
      }
    }
  }

  async function lookInto(source: DisputeSource, goesOn: () => boolean): Promise<void> {
    const { project, payWay, from } = source;
    const { disputes, account } = from.channel;
    if (!disputes) return;
    const since = later(ports.now(), -BACK_SECONDS);
    let left = MOST_READ;
    let page: string | undefined;
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const said = await disputes.list(since, page);
      if (said.kind === 'unknown') {
        const { cause, detail } = said;
        ports.log('warn', 'the disputes of an account could not be listed', {
          project,
          payWay,
          account,
          cause,
          detail,
        });
        return;
      }
      for (const { channelDisputeNo, mark } of said.disputes) {
        const key = [project, payWay, from.mode, account, ...from.versions, channelDisputeNo].join(' ');
        if (read.has(key, mark)) continue;
        if (left === 0 || !goesOn()) return;
        left -= 1;
        const heard = await hear(source, channelDisputeNo);
        if (heard !== 'unconfirmed') read.add(key, mark, heard !== 'not_genuine');
      }
      page = said.next;
      if (page === undefined) return;
    }
    ports.log('warn', 'an account has more disputes than one look reads', { project, payWay, account });
  }
}

/** Marks that are remembered; those that were not seen for the longest time are forgotten first. */
const MOST_MARKS = 50_000;
const FRESH_SECONDS = 86_400;
/** Looks in which the same dispute was listed and not known, after which it is taken for another merchant's. */
const MOST_MISSES = 3;

/** What this process has read lately; another one, or the same one after a start, reads it once more. */
function rememberMarks(now: () => Date) {
  const marks = new Map<string, { mark: string; at: Date; misses: number }>();
  const known = (key: string, mark: string) => {
    const one = marks.get(key);
    return one !== undefined && one.mark === mark && later(one.at, FRESH_SECONDS) > now() ? one : undefined;
  };
  return {
    has(key: string, mark: string): boolean {
      const one = known(key, mark);
      return one !== undefined && (one.misses === 0 || one.misses >= MOST_MISSES);
    },
    add(key: string, mark: string, isFound: boolean): void {
      const misses = isFound ? 0 : (known(key, mark)?.misses ?? 0) + 1;
      marks.delete(key);
      marks.set(key, { mark, at: now(), misses });
      const [oldest] = marks.keys();
      if (marks.size > MOST_MARKS && oldest !== undefined) marks.delete(oldest);
    },
  };
}
