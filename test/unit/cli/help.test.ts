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

test('a command with a redirection or a pipe is not broken in a description', (t) => {
  const words =
    'Print the completion script for a shell. Without a file: source <(payctl completion bash), the same for zsh, or payctl completion fish | source.';
  for (const columns of [40, 60, 80]) {
    const text = helpText(
      helpPage(new Command('payctl').command('completion').description(words)),
      createStyle(false),
      columns,
    );
    t.true(text.includes('source <(payctl completion bash),'), text);
    t.true(text.includes('payctl completion fish | source.'), text);
    t.false(text.includes('\u00a0'));
  }
});
