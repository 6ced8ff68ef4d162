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

/**
 * The request or job that is running, and the application, channel, order and refund that it handles, as far as they
 * are known. Every log line contains these values.
 */
export interface Work {
  requestId?: string;
  /** The name of the job; absent for a request. */
  job?: string;
  clientId?: string;
  payWay?: string;
  orderNo?: string;
  refundNo?: string;
}

const current = new AsyncLocalStorage<Work>();

/** Runs a request or job with its own log context, without the context of the code that started it. */
export function beginWork<T>(about: Work, work: () => T): T {
  return current.run(about, work);
}

/** Runs a part of the current request or job with additional log context. */
export function withinWork<T>(about: Work, part: () => T): T {
  return current.run({ ...current.getStore(), ...about }, part);
}

/** Adds values to the log context of the current request or job. A value that is already set is not replaced. */
export function noteWork(found: Work): void {
  const work = current.getStore();
  if (work) Object.assign(work, { ...found, ...work });
}

/** Adds an order to the log context of the current request or job. If there are several orders, the first one stays. */
export function noteOrder({
  clientId,
  payWay,
  orderNo,
}: Required<Pick<Work, 'clientId' | 'payWay' | 'orderNo'>>): void {
  noteWork({ clientId, payWay, orderNo });
}

/** Returns the log context of the current request or job. */
export function currentWork(): Readonly<Work> {
  return current.getStore() ?? {};
}

/** The OpenTelemetry tracer. It is undefined while tracing is off. */
let tracer: Tracer | undefined;

/**
 * Turns the recording of OpenTelemetry spans on or off. An OpenTelemetry provider, context manager and propagator must
 * be registered first.
 */
export function recordSpans(isOn: boolean): void {
  tracer = isOn ? trace.getTracer('unified-payment-service') : undefined;
}

export interface SpanAbout {
  kind?: keyof typeof KINDS;
  /**
   * Attributes of the span. They must be numbers or fixed words that the service itself defines. Secrets, texts of
   * third parties and data of payers are not allowed.
   */
  attributes?: Attributes;
  /** The stored W3C `traceparent` of the parent span. The new span also gets a link to the span that is current now. */
  parent?: string | null;
  /** Request headers. If they have no `traceparent`, a new trace begins. */
  headers?: object;
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, producer: SpanKind.PRODUCER } as const;

/**
 * Runs `work` in a new span. The span belongs to the trace given by `parent` or `headers`, otherwise to the current
 * trace. Only HTTP requests (`headers`) begin a new trace. `work` receives the span if spans are recorded.
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

/** A fixed word for the kind of error, because error messages may contain secret values. */
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
