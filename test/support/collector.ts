import type { ExecutionContext } from 'ava';
import { createServer } from 'node:http';
import { listenOnFreePort } from './free-port.ts';

/** A span as a collector gets it. */
export interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  kind: number;
  attributes: Readonly<Record<string, string | number>>;
  /** Traces that it is linked to. */
  links: readonly string[];
  isError: boolean;
  /** Which process it comes from. */
  instance: string;
}

/** Stands for an OpenTelemetry collector: takes traces by OTLP over HTTP, as JSON. */
export interface Collector {
  url: string;
  spans: Span[];
  /** Paths that were posted to. */
  paths: Set<string>;
}

interface KeyValue {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number };
}

interface Payload {
  resourceSpans: {
    resource: { attributes: KeyValue[] };
    scopeSpans: {
      spans: {
        name: string;
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        kind: number;
        attributes: KeyValue[];
        links: { traceId: string }[];
        status: { code: number };
      }[];
    }[];
  }[];
}

/** Starts one on a free port. */
export async function startCollector(t: Pick<ExecutionContext, 'teardown'>): Promise<Collector> {
  const collector: Collector = { url: '', spans: [], paths: new Set() };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      collector.paths.add(request.url ?? '');
      collector.spans.push(...spansOf(JSON.parse(Buffer.concat(parts).toString()) as Payload));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  collector.url = `http://127.0.0.1:${port}`;
  return collector;
}

function spansOf({ resourceSpans }: Payload): Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, links, status, parentSpanId, ...span }) => ({
        ...span,
        parentSpanId: parentSpanId || undefined,
        attributes: valuesOf(attributes),
        links: links.map(({ traceId }) => traceId),
        isError: status.code === 2,
        instance: String(valuesOf(resource.attributes)['service.instance.id']),
      })),
    ),
  );
}

function valuesOf(attributes: readonly KeyValue[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]),
  );
}
