import type { Command } from 'commander';
import type { ContextOf } from '../context.ts';
import type { ServeFlags } from '../mcp/serve.ts';
import { examples, integer, seconds } from '../options.ts';

/** Defines `payctl mcp`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description(
      'Serve the Model Context Protocol on stdin and stdout, for agents, as one API application. Reads only, unless --allow-write is given. The application is PAYCTL_CLIENT_ID, its secret PAYCTL_CLIENT_SECRET or PAYCTL_CLIENT_SECRET_FILE.',
    )
    .option('--allow-write', 'offer the tools that place, close and refund payments and call resources')
    .option('--client-id <id>', 'application to act as; default PAYCTL_CLIENT_ID')
    .option('--client-secret-file <file>', 'file with the client_secret of the application')
    .option('--max-calls <n>', 'maximum number of different writes of this process', integer(1, 10_000))
    .option('--interval <seconds>', 'seconds between checks for a payment', seconds, 2);
  examples(
    command,
    'payctl mcp --server https://pay.example.com --client-id app_7Kd2mQxW9bTzR4vLp1Ns --client-secret-file shop.secret',
    'payctl mcp --server https://pay.example.com --client-id app_7Kd2mQxW9bTzR4vLp1Ns --client-secret-file shop.secret --allow-write --max-calls 20',
  ).action(async (flags: ServeFlags) => {
    const { serve } = await import('../mcp/serve.ts');
    return serve(context(), flags);
  });
}
