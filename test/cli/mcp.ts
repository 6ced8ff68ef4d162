import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { bundled } from '../support/built.ts';
import type { Service } from '../support/service.ts';

const bin = await bundled(fileURLToPath(new URL('../../bin/payctl.ts', import.meta.url)));

/** What a tool answered, as a test looks at it. */
export interface ToolAnswer {
  isError: boolean;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  structured: any;
  /** Every byte of the answer. */
  text: string;
}

/** The stock client of the protocol with a `payctl mcp` of its own. */
export interface McpSeat {
  client: Client;
  pid: number;
  /** What the process wrote to stderr. */
  said(): string;
  /** Every byte that the process sent as a message. */
  heard(): string;
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** Starts `payctl mcp` as an application, with the client that the protocol's own package brings. */
export async function sitDown(
  t: Pick<ExecutionContext, 'teardown'>,
  service: Pick<Service, 'url'>,
  shop: { clientId: string; secret: string },
  ...flags: string[]
): Promise<McpSeat> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, 'mcp', '--server', service.url, '--interval', '0.05', ...flags],
    env: { PAYCTL_CLIENT_ID: shop.clientId, PAYCTL_CLIENT_SECRET: shop.secret, PAYCTL_CONFIG_DIR: '/nonexistent' },
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (part: Buffer) => (said += part.toString()));
  const client = new Client({ name: 'test', version: '1.0.0' });
  let heard = '';
  await client.connect(transport);
  t.teardown(() => client.close());
  const { onmessage } = transport;
  transport.onmessage = (message) => {
    heard += JSON.stringify(message);
    onmessage?.(message);
  };
  await client.listTools();
  return {
    client,
    pid: transport.pid ?? 0,
    said: () => said,
    heard: () => heard,
    async call(name, args = {}) {
      const answer = await client.callTool({ name, arguments: args });
      const { isError, structuredContent } = answer;
      return { isError: isError === true, structured: structuredContent, text: JSON.stringify(answer) };
    },
    close: () => client.close(),
  };
}
