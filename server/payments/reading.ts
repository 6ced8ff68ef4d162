export type { OrderFilter, Position, RefundFilter } from '../db/queries/orders.ts';
