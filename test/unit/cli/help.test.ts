import test from 'ava';
import { Command } from 'commander';
import { helpText } from '../../../cli/help.ts';
import { helpPage } from '../../../cli/program.ts';
import { examples } from '../../../cli/options.ts';
import { createStyle } from '../../../cli/terminal-text.ts';

test('a wide example is broken before its flags, so that it can be copied', (t) => {
  const command = new Command('payctl').command('pay').description('Place a payment.');
  examples(command, 'payctl pay --subject "Two coffees" --amount 12.50 --pay-way alipay --wait', 'payctl pay');
  const lines = helpText(helpPage(command), createStyle(false), 44).split('\n');
  t.deepEqual(lines.slice(lines.indexOf('Examples') + 1, lines.indexOf('Usage') - 1), [
    '  $ payctl pay --subject "Two coffees" \\',
    '      --amount 12.50 --pay-way alipay --wait',
    '  $ payctl pay',
  ]);
});
