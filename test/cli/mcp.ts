import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { bundled } from '../support/built.ts';
import type { Service } from '../support/service.ts';

const bin = await bundled(fileURLToPath(new URL('../../bin/payctl.ts', import.meta.url)));

/** The answer of a tool. */
export interface ToolAnswer {
  isError: boolean;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  structured: any;
  /** The complete answer as JSON text. */
  text: string;
}

/** The stock MCP client connected to its own `payctl mcp` process. */
export interface McpSeat {
  client: Client;
  pid: number;
  /** Stderr of the process. */
  stderr(): string;
  /** All messages from the process as JSON text. */
  received(): string;
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** Starts `payctl mcp` as an application and connects the client of the MCP SDK. */
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
  let stderr = '';
  transport.stderr?.on('data', (part: Buffer) => (stderr += part.toString()));
  const client = new Client({ name: 'test', version: '1.0.0' });
  let received = '';
  await client.connect(transport);
  t.teardown(() => client.close());
  const { onmessage } = transport;
  transport.onmessage = (message) => {
    received += JSON.stringify(message);
    onmessage?.(message);
  };
  await client.listTools();
  return {
    client,
    pid: transport.pid ?? 0,
    stderr: () => stderr,
    received: () => received,
    async call(name, args = {}) {
      const answer = await client.callTool({ name, arguments: args });
      const { isError, structuredContent } = answer;
      return { isError: isError === true, structured: structuredContent, text: JSON.stringify(answer) };
    },
    close: () => client.close(),
  };
}
