import type { Page } from '../../http/contract.ts';
import type { PageOf } from '../../payments/read.ts';
import { writeCursor } from './fields.ts';

/** A page of the inside as the list that the wire shows. */
export function pageOf<Item>({ items, next }: PageOf<Item>): Page<Item> {
  return { data: items, page: { nextCursor: next ? writeCursor(next) : null, hasMore: next !== null } };
}
