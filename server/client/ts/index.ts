export * from './client.ts';
export type * from './operations.ts';
export * from './webhook.ts';
