import type { ReadResourceResult, Resource, ResourceTemplate } from '@modelcontextprotocol/sdk/types.js';
import type { ApiClient } from '../api-client.ts';
import { segment } from '../resource.ts';
import { ToolRefusal } from './answers.ts';
import { NOTICE, sortAnswer } from './untrusted.ts';

/** The description of the API. */
const DOC = 'service://doc.json';
const PAID = 'service://paid-resources';
const LONGEST_DOC = 4 * 1024 * 1024;

/** How an order is addressed. */
export const TEMPLATES: ResourceTemplate[] = [
  {
    uriTemplate: 'order://{orderNo}',
    name: 'order',
    title: 'Order',
    description: 'An order of the application, with its refunds.',
    mimeType: 'application/json',
  },
];

/** The fixed resources and the newest orders of the application. */
export async function listResources(api: ApiClient, cursor: string | undefined) {
  const { rows, nextCursor } = await api.page('/api/v2/payment/orders', { limit: 50, cursor });
  const orders: Resource[] = rows
    .map((row) => String(row['orderNo']))
    .filter((orderNo) => /^[PX]\d{14}[0-9A-Z]{10}$/.test(orderNo))
    .map((orderNo) => ({ uri: `order://${orderNo}`, name: orderNo, mimeType: 'application/json' }));
  const fixed: Resource[] = [
    { uri: DOC, name: 'doc.json', title: 'OpenAPI document of the service', mimeType: 'application/json' },
    { uri: PAID, name: 'paid-resources', title: 'Paid resources and their prices', mimeType: 'application/json' },
  ];
  return { resources: [...(cursor === undefined ? fixed : []), ...orders], ...(nextCursor ? { nextCursor } : {}) };
}

/** Reads one resource; texts of others stand apart in it, as in the answers of tools. */
export async function readResource(api: ApiClient, uri: string): Promise<ReadResourceResult> {
  if (uri === DOC) return asResult(uri, await readDoc(api));
  if (uri === PAID) return sorted(uri, { resources: (await api.page('/api/v2/skillpay/resources')).rows });
  const [, orderNo] = /^order:\/\/([PX]\d{14}[0-9A-Z]{10})$/.exec(uri) ?? [];
  if (orderNo === undefined) throw new ToolRefusal('not_found', 'The resource does not exist.');
  return sorted(uri, await api.get(`/api/v2/payment/query/${segment(orderNo)}`));
}

async function readDoc(api: ApiClient): Promise<string> {
  const { text } = await api.call({ method: 'GET', path: '/swagger/doc.json', anonymous: true });
  if (text.length > LONGEST_DOC) throw new ToolRefusal('too_large', 'The document is too large to be passed on.');
  return text;
}

function sorted(uri: string, answer: unknown): ReadResourceResult {
  const { data, untrusted, truncated } = sortAnswer(answer);
  const marked = { data, untrusted: { notice: NOTICE, texts: untrusted }, ...(truncated ? { truncated } : {}) };
  return asResult(uri, JSON.stringify(marked));
}

function asResult(uri: string, text: string): ReadResourceResult {
  return { contents: [{ uri, mimeType: 'application/json', text }] };
}
