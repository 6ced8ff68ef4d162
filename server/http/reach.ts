/** Things that belong to projects, and the member of path or body that names one. */
export const NAMED_BY = {
  project: 'code',
  app: 'client_id',
  order: 'orderNo',
  refund: 'refundNo',
  approval: 'refundNo',
  dispute: 'disputeNo',
  exception: 'id',
  event: 'id',
  bill: 'billNo',
  cert: 'id',
} as const;

/** One of them. */
export type Thing = keyof typeof NAMED_BY;

/**
 * What a request of an administrator is about; whoever is limited to projects reaches nothing of others. A thing: what path or body
 * names. `query`, `body`: the project that is named there. `account`: the bills of a channel account, by project and channel
 * in query or body. `filter`: a list, which is narrowed. `service`: the service as a whole. `own`: the own account, or what belongs to no project.
 */
export type Reach = Thing | 'query' | 'body' | 'account' | 'filter' | 'service' | 'own';

/** Port: to which projects something belongs. */
export interface Belongings {
  /** The projects of a thing, several of a bill whose account they share; none when it is not there. */
  projectsOf(thing: Thing, id: string): Promise<readonly string[]>;
  /** The projects that share the accounts of a project at a channel. */
  sharersOf(account: { project: string; payWay: string; account?: string | undefined }): Promise<readonly string[]>;
}
