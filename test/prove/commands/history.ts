import { checkHistory } from '../check-history.ts';
import { describeVerdict, readLines } from '../verdict.ts';
import type { Command } from './command.ts';

/** `--history FILE`: checks a recorded history. */
export const historyCommand: Command = {
  name: 'history',
  usage: '--history FILE    checks a recorded history',
  options: { history: { type: 'string' } },
  async run({ history: file = '' }) {
    const lines = readLines(file);
    const violations = checkHistory(lines);
    console.log(describeVerdict(lines, violations));
    return violations.length === 0;
  },
};
