import { p, type InferEntity } from '@mikro-orm/core';
import type { ColumnType, RawBuilder } from 'kysely';

/** A column for an identifier in text form, such as an order number or a project code: up to 64 characters. */
export const code = () => p.string().length(64);
/**
 * The key of a job queue. All rows of a queue depend on the same channel account, webhook receiver or project
 * (db/queries/due.ts).
 */
export const queueKey = () => p.string().length(192);
/** Free text; the schema of the route limits its length. */
export const text = () => p.text();
/** An instant in UTC, with microseconds. */
export const instant = () => p.datetime(6);
export const bytes = () => p.uint8array();
/** An amount in minor units of a currency, as a bigint, because a floating-point number could be inexact or NaN. */
export const minor = () => p.bigint();
export const words = () => p.array<string>();
/** A JSON document; `T` is its type. Kysely statements must bind the document with `asJson` (db/kysely.ts). */
export const json = <T>() => p.json<ColumnType<T, RawBuilder<T>, RawBuilder<T>>>();

type Selected<T> = T extends ColumnType<infer Document, RawBuilder<unknown>, RawBuilder<unknown>> ? Document : T;

/** A row as a plain object: it has every column, and none of MikroORM's type markers. */
export type RowOf<Entity> = {
  [Column in keyof InferEntity<Entity> as Column extends string ? Column : never]-?: Selected<
    Exclude<InferEntity<Entity>[Column], undefined>
  >;
};
