import { hostname } from 'node:os';
import { context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { recordSpans } from './work.ts';

interface TraceTarget {
  /** Base URL of the collector; `/v1/traces` is appended. */
  url: string;
  /** The percentage of the requests without a `traceparent` header that are traced. */
  percent: number;
  version: string;
  lost: (reason: string) => void;
  /** How long spans are collected before they are sent (ms). */
  everyMs?: number;
}

/** Timeout of an export (ms); traces that are not sent in time are dropped. */
const SENDING_MS = 5_000;
/** Minimum interval between two reports of an unreachable collector (ms). */
const REPORT_EVERY_MS = 60_000;

/** Starts recording spans and sends them by OTLP over HTTP. */
export function sendTraces({ url, percent, version, lost, everyMs = 5_000 }: TraceTarget): { close(): Promise<void> } {
  diag.setLogger(reportSeldom(lost), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const exporter = new OTLPTraceExporter({ url: `${url.replace(/\/$/, '')}/v1/traces`, timeoutMillis: SENDING_MS });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'unified-payment-service',
      'service.version': version,
      'service.instance.id': `${hostname()}:${process.pid}`,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(percent / 100) }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter, scheduledDelayMillis: everyMs, exportTimeoutMillis: SENDING_MS }),
    ],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  recordSpans(true);
  return {
    async close() {
      recordSpans(false);
      await provider.shutdown().catch((error: unknown) => lost(String(error)));
      trace.disable();
      context.disable();
      propagation.disable();
      diag.disable();
    },
  };
}

function reportSeldom(lost: (reason: string) => void) {
  let reportedAt = Number.NEGATIVE_INFINITY;
  const report = (...words: unknown[]) => {
    if (performance.now() - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = performance.now();
    lost(words.map(String).join(' ').slice(0, 300));
  };
  const ignore = () => {};
  return { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore };
}
