import { once } from 'node:events';
import { Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Context } from '../context.ts';
import { DEFAULT_TIMEOUT_SECONDS } from '../context.ts';
import { createTrace } from '../trace.ts';
import { cleanText } from './untrusted.ts';
import { createApplicationClient, readCredentials, type CredentialFlags } from './credentials.ts';
import { createToolServer } from './tool-server.ts';

/** The flags of `mcp`. */
export interface ServeFlags extends CredentialFlags {
  allowWrite?: boolean;
  maxCalls?: number;
  interval?: number;
}

/** Serves the Model Context Protocol on stdin and stdout until stdin ends or a signal comes; finishes what is under way. */
export async function serve(
  { terminal, target, allowsHttp, authorities, flags: { debug, timeout } }: Context,
  flags: ServeFlags,
): Promise<void> {
  const { server: address } = await target();
  const client = createApplicationClient(
    {
      server: async () => address,
      allowsHttp,
      authorities,
      trace: createTrace(terminal.err, debug === true),
      timeoutMs: (timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
      // What was sent is finished, also when the process is told to end.
      signal: new AbortController().signal,
      userAgent: `payctl mcp (node ${process.versions.node})`,
    },
    await readCredentials(terminal, flags),
    () => terminal.now().getTime(),
  );
  const me = await client.api.get('/api/v2/me');
  const note = (line: string): Promise<void> => terminal.err.write(`${cleanText(line)}\n`);
  await note(`Serving MCP as ${String(me['name'])} on ${address}${flags.allowWrite ? '' : ', read-only'}.`);

  const ending = new AbortController();
  const allowed = { write: flags.allowWrite === true, maxCalls: flags.maxCalls, interval: flags.interval ?? 2 };
  const { server, idle } = createToolServer(client, allowed, ending.signal);
  server.onerror = (error) => void note(`A message was not understood: ${error.name}.`);
  const out = new Writable({
    write: (chunk: Buffer, _encoding, done) => void terminal.out.write(chunk).then(() => done(), done),
  });
  const closed = new Promise<void>((resolve) => (server.onclose = resolve));
  // Without a reader of the answers nothing is left to serve; `main` tells why.
  const lost = new Promise<void>((resolve) => out.once('error', () => resolve()));
  const end = endOf(terminal.stdin, terminal.signal);
  await server.connect(new StdioServerTransport(terminal.stdin, out));
  try {
    await Promise.race([end.come, closed, lost]);
    ending.abort();
    await idle();
  } finally {
    end.forget();
    // The answers of what was under way are written in the turn after it.
    await new Promise((resolve) => setImmediate(resolve));
    await server.close();
    if (!out.destroyed) await once(out.end(), 'finish').catch(() => {});
  }
}

/** The end of stdin, Ctrl-C, or SIGTERM, whichever comes first. */
function endOf(stdin: Context['terminal']['stdin'], signal: AbortSignal): { come: Promise<void>; forget(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const come = (): void => resolve();
  stdin.once('end', come).once('close', come).once('error', come);
  signal.addEventListener('abort', come, { once: true });
  process.once('SIGTERM', come);
  if (signal.aborted || stdin.readableEnded || stdin.destroyed) come();
  return { come: promise, forget: () => void process.off('SIGTERM', come) };
}
