import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  isSpanContextValid,
  propagation,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorage } from 'node:async_hooks';
import { causes } from './errors.ts';

/** The context of the current work, as far as it is known; every log line carries it. */
export interface Work {
  /** The id of the HTTP request. */
  requestId?: string;
  /** The kind of the due row, or the name of the timetable task. */
  job?: string;
  clientId?: string;
  payWay?: string;
  orderNo?: string;
  refundNo?: string;
}

const current = new AsyncLocalStorage<Work>();

/** Runs work with a context of its own, without the caller's context. */
export function beginWork<T>(about: Work, work: () => T): T {
  return current.run(about, work);
}

/** Runs a part of the current work with additional context. */
export function withinWork<T>(about: Work, part: () => T): T {
  return current.run({ ...current.getStore(), ...about }, part);
}

/** Adds context to the current work; existing values stay. */
export function noteWork(found: Work): void {
  const work = current.getStore();
  if (work) Object.assign(work, { ...found, ...work });
}

/** Adds an order to the context of the current work; the first of several orders stays. */
export function noteOrder({
  clientId,
  payWay,
  orderNo,
}: Required<Pick<Work, 'clientId' | 'payWay' | 'orderNo'>>): void {
  noteWork({ clientId, payWay, orderNo });
}

/** The context of the current work. */
export function currentWork(): Readonly<Work> {
  return current.getStore() ?? {};
}

/** Undefined while tracing is off, so that a check is the only cost. */
let tracer: Tracer | undefined;

/** Turns the recording of spans on or off; a provider, a context manager and a propagator must be registered first. */
export function recordSpans(isOn: boolean): void {
  tracer = isOn ? trace.getTracer('unified-payment-service') : undefined;
}

/** The options of a span. */
export interface SpanAbout {
  kind?: keyof typeof KINDS;
  /** The service's own numbers and words: never secrets, third-party texts or payer data. */
  attributes?: Attributes;
  /** The stored W3C `traceparent` of the parent; the current span is linked. */
  parent?: string | null;
  /** Request headers with an optional `traceparent`; without one, a new trace begins. */
  headers?: object;
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, producer: SpanKind.PRODUCER } as const;

/**
 * Runs work in a span of the trace that parent or headers name, or else of the current trace. Only requests begin traces. The
 * work receives the span if one is recorded.
 */
export function inSpan<T>(name: string, about: SpanAbout, work: (span?: Span) => Promise<T>): Promise<T> {
  return tracer ? record(tracer, name, about, work) : work();
}

async function record<T>(
  activeTracer: Tracer,
  name: string,
  { kind, attributes = {}, parent, headers }: SpanAbout,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  const carrier = parent ? { traceparent: parent } : headers;
  const from = carrier ? propagation.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter) : context.active();
  if (!headers && !trace.getSpan(from)) return work();
  const cause = parent ? trace.getActiveSpan()?.spanContext() : undefined;
  const links = cause && isSpanContextValid(cause) ? [{ context: cause }] : [];
  const options = { attributes, links, ...(kind && { kind: KINDS[kind] }) };
  return activeTracer.startActiveSpan(name, options, from, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', wordOf(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

/** A stable type of the error: messages may contain values. */
function wordOf(error: unknown): string {
  const [{ why, code, name } = {}] = causes(error) as Iterable<{ why?: unknown; code?: unknown; name?: unknown }>;
  return String(why ?? code ?? name ?? typeof error);
}

/** The current span as W3C `traceparent`, to store or send; null while spans are not recorded. */
export function traceParent(): string | null {
  if (!tracer) return null;
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier, defaultTextMapSetter);
  return carrier.traceparent ?? null;
}

/** The id of the current trace. */
export function traceId(): string | undefined {
  return tracer && trace.getActiveSpan()?.spanContext().traceId;
}

/** Runs background work that a request starts, outside the request's trace. */
export function outsideTrace<T>(work: () => T): T {
  return tracer ? context.with(ROOT_CONTEXT, work) : work();
}
