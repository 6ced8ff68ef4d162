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

/** What the work in hand is about, as far as it is known: every line of the log carries it. */
export interface Work {
  /** Of the request that it answers. */
  requestId?: string;
  /** The kind of due row that is worked, or the task of the timetable. */
  job?: string;
  clientId?: string;
  payWay?: string;
  orderNo?: string;
  refundNo?: string;
}

const current = new AsyncLocalStorage<Work>();

/** Runs a piece of work of its own, whatever it was set going by. */
export function beginWork<T>(about: Work, work: () => T): T {
  return current.run(about, work);
}

/** Runs a part of the work in hand that is about something more; the rest of it is not. */
export function withinWork<T>(about: Work, part: () => T): T {
  return current.run({ ...current.getStore(), ...about }, part);
}

/** Adds what was found out about the work in hand; what is known already stays. */
export function noteWork(found: Work): void {
  const work = current.getStore();
  if (work) Object.assign(work, { ...found, ...work });
}

/** Notes which order it is about, of several the first. */
export function noteOrder({
  clientId,
  payWay,
  orderNo,
}: Required<Pick<Work, 'clientId' | 'payWay' | 'orderNo'>>): void {
  noteWork({ clientId, payWay, orderNo });
}

/** What is known of the work in hand. */
export function currentWork(): Readonly<Work> {
  return current.getStore() ?? {};
}

/** Undefined as long as nobody wants traces: then nothing here costs more than looking. */
let tracer: Tracer | undefined;

/** Whether spans are recorded from now on; whoever wants them has registered a provider, a context manager and a propagator. */
export function recordSpans(areWanted: boolean): void {
  tracer = areWanted ? trace.getTracer('unified-payment-service') : undefined;
}

/** What a span begins with. */
export interface SpanAbout {
  kind?: keyof typeof KINDS;
  /** Numbers and words of ours: never secrets, texts of others, or what is known of a payer. */
  attributes?: Attributes;
  /** W3C's `traceparent` of what it comes of, kept until now; what sets it going is linked. */
  parent?: string | null;
  /** Those of a request, which may bring a `traceparent` of its own; without one it begins a trace. */
  headers?: object;
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, producer: SpanKind.PRODUCER } as const;

/**
 * Does work as a span: of the trace that its parent or headers name, or else of the one that is under way. Only requests begin
 * traces. The work gets the span, if it is one.
 */
export function inSpan<T>(name: string, about: SpanAbout, work: (span?: Span) => Promise<T>): Promise<T> {
  return tracer ? record(tracer, name, about, work) : work();
}

async function record<T>(
  of: Tracer,
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
  return of.startActiveSpan(name, options, from, async (span) => {
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

/** A stable word for it: messages may have values in them. */
function wordOf(error: unknown): string {
  const [{ why, code, name } = {}] = causes(error) as Iterable<{ why?: unknown; code?: unknown; name?: unknown }>;
  return String(why ?? code ?? name ?? typeof error);
}

/** The span that is under way as W3C's `traceparent`, to be kept or sent along; null while spans are not recorded. */
export function traceParent(): string | null {
  if (!tracer) return null;
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier, defaultTextMapSetter);
  return carrier.traceparent ?? null;
}

/** The id of the trace that is under way. */
export function traceId(): string | undefined {
  return tracer && trace.getActiveSpan()?.spanContext().traceId;
}

/** Runs what a request only sets going, outside of its trace. */
export function outsideTrace<T>(work: () => T): T {
  return tracer ? context.with(ROOT_CONTEXT, work) : work();
}
