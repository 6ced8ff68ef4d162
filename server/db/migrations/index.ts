import { Initial } from './0001-initial.ts';

/** Every migration, in the sequence in which they run. A migration only adds tables, columns and indexes. */
export const MIGRATIONS = [{ name: '0001-initial', class: Initial }];
