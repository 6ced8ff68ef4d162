import type { Command } from 'commander';

/** The noun of each argument, by its name in help, beside the noun of its own command: `-o name` puts that noun before the slash. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  orderNo: ['order', 'skillpay', 'trade'],
  outTradeNo: ['order', 'skillpay'],
  refundNo: ['refund', 'dispute', 'exception'],
  billNo: ['bill'],
  disputeNo: ['dispute'],
  client_id: ['app'],
  username: ['admin'],
  userId: ['user'],
  payWay: ['channel'],
  id: ['plant'],
  code: [],
  name: [],
};

/** Takes the noun off arguments that are as `-o name` prints them (`order/P…`), so that one command's output is another's input. */
export function takeNouns(command: Command): void {
  const own = namesUp(command);
  command.registeredArguments.forEach((argument, at) => {
    const nouns = NAMED[argument.name()];
    const value: unknown = command.processedArgs[at];
    if (nouns === undefined || typeof value !== 'string') return;
    const noun = value.slice(0, value.indexOf('/'));
    if (nouns.includes(noun) || own.includes(noun)) command.processedArgs[at] = value.slice(noun.length + 1);
  });
}

function namesUp({ parent }: Command): string[] {
  return parent === null ? [] : [parent.name(), ...namesUp(parent)];
}
