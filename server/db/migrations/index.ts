import { Initial } from './0001-initial.ts';

/** Every migration in order; each one only adds. */
export const MIGRATIONS = [{ name: '0001-initial', class: Initial }];
