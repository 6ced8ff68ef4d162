import type { Style } from '../../style.ts';
import type { ReadyFacts } from '../../../server/workers/life.ts';

/** What a terminal shows when the service is ready: where everything is, and what to do next. */
export function bannerOf(facts: ReadyFacts, style: Style): string {
  const { version, debug, explorer, simulator, metrics, workers } = facts;
  const rows: [string, string | null][] = [
    ['API', apiOf(facts)],
    ['Explorer', explorer],
    ['Simulator', simulator],
    ['Metrics', metrics],
    ['Database', databaseOf(facts)],
    ['Workers', workers === undefined ? null : String(workers)],
    ['Debug', debug ? style('yellow', 'on: everybody knows the secrets of the test applications') : null],
    ['Next', style('cyan', NEXT[facts.lacks ?? 'nothing']) + (mustStop(facts) ? ' (stop the service first)' : '')],
    ['Stop', 'Ctrl-C'],
  ];
  const lines = rows.flatMap(([name, value]) =>
    value === null ? [] : [`  ${style('dim', name.padEnd(9))}  ${value}`],
  );
  return ['', `  ${style('bold', 'Unified payment service')} ${version}`, '', ...lines, '', ''].join('\n');
}

const NEXT = {
  administrator: 'payctl bootstrap admin -u admin',
  channel: 'payctl channel set alipay (or wechat, paypal)',
  nothing: 'payctl status, payctl doctor',
} as const;

/** One process at a time has the embedded database. */
function mustStop(facts: ReadyFacts): boolean {
  return facts.lacks === 'administrator' && isFolder(facts);
}

function apiOf({ address, publicUrl }: ReadyFacts): string {
  return publicUrl === address ? address : `${publicUrl} (listens on ${new URL(address).host})`;
}

function databaseOf(facts: ReadyFacts): string {
  return isFolder(facts) ? `${facts.database} (embedded)` : `${facts.database} (PostgreSQL)`;
}

function isFolder({ database }: ReadyFacts): boolean {
  return /[\\/]/.test(database);
}
