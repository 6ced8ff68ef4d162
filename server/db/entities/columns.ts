import { p, type InferEntity } from '@mikro-orm/core';
import type { ColumnType, RawBuilder } from 'kysely';

/** A text key or number of the API: up to 64 characters. */
export const code = () => p.string().length(64);
/** The job queue of a row: a channel, a mode and an account (db/queries/due.ts). */
export const queueKey = () => p.string().length(192);
/** Free text; the schema of the route limits its length. */
export const text = () => p.text();
/** An instant, to the microsecond, UTC. */
export const instant = () => p.datetime(6);
/** Bytes of any kind. */
export const bytes = () => p.uint8array();
/** Minor units of a currency; never a floating or NaN-capable type. */
export const minor = () => p.bigint();
/** A list of short texts. */
export const words = () => p.array<string>();
/** Any JSON document, typed by its user. Kysely statements must bind it with `asJson` (db/kysely.ts). */
export const json = <T>() => p.json<ColumnType<T, RawBuilder<T>, RawBuilder<T>>>();

type Selected<T> = T extends ColumnType<infer Document, RawBuilder<unknown>, RawBuilder<unknown>> ? Document : T;

/** A row as a plain record: every column present, no ORM marks. */
export type RowOf<Entity> = {
  [Column in keyof InferEntity<Entity> as Column extends string ? Column : never]-?: Selected<
    Exclude<InferEntity<Entity>[Column], undefined>
  >;
};
