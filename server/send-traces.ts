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

/** Where traces go, and what they say of the service. */
interface TraceTarget {
  /** Of a collector: `/v1/traces` is added. */
  url: string;
  /** How many of the requests that bring no trace of their own begin one. */
  percent: number;
  version: string;
  /** Hears that traces are lost. */
  lost: (reason: string) => void;
  /** How long spans are gathered before they are sent (ms). */
  everyMs?: number;
}

/** The service goes on without its traces: what is not sent in this time is lost (ms). */
const SENDING_MS = 5_000;
/** A collector that is away is told of once in this time (ms). */
const TOLD_EVERY_MS = 60_000;

/** Records spans from now on and sends them by OTLP over HTTP; this module is only loaded when that is wanted. */
export function sendTraces({ url, percent, version, lost, everyMs = 5_000 }: TraceTarget): { close(): Promise<void> } {
  diag.setLogger(tellSeldom(lost), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
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

function tellSeldom(lost: (reason: string) => void) {
  let toldAt = Number.NEGATIVE_INFINITY;
  const tell = (...words: unknown[]) => {
    if (performance.now() - toldAt < TOLD_EVERY_MS) return;
    toldAt = performance.now();
    lost(words.map(String).join(' ').slice(0, 300));
  };
  const nothing = () => {};
  return { error: tell, warn: tell, info: nothing, debug: nothing, verbose: nothing };
}
