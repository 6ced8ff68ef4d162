import type { ApiAppRow, AppLimits } from '../db/entities/identity.ts';
import { defaultLatePayment, type SettingColumns } from './api-app-rules.ts';
import { hash } from 'node:crypto';
import { hashSecret, newClientId, newClientSecret, secretHint } from './secrets.ts';

/** An application that just got a secret, which nobody can read again. */
export interface WithSecret {
  app: ApiAppRow;
  secret: string;
}

/** What decides about a new row besides its settings. */
export interface NewApp {
  project: string;
  at: Date;
  kind?: ApiAppRow['kind'];
  clientId?: string;
  secret?: string;
  limits?: AppLimits | null;
}

/** A new row and its secret. */
export function newAppRow(columns: SettingColumns, { project, at, ...given }: NewApp): WithSecret {
  const secret = given.secret ?? newClientSecret();
  const app = {
    clientId: given.clientId ?? newClientId(),
    project,
    kind: given.kind ?? 'merchant',
    ...columns,
    limits: given.limits ?? null,
    enabled: true,
    ...secretColumns(secret, at),
    generation: 1,
    lastUsedAt: null,
    createdAt: at,
    updatedAt: at,
  } as ApiAppRow;
  return { app, secret };
}

/** The columns of a new secret; the one before it is forgotten. */
export function secretColumns(secret: string, at: Date) {
  return {
    secretHash: hashSecret(secret),
    secretHint: secretHint(secret),
    secretCreatedAt: at,
    previousSecretHash: null as string | null,
    previousSecretExpiresAt: null as Date | null,
  };
}

/** The client id of a project's console application, which owns what administrators pay in it. */
export function consoleClientId(project: string): string {
  if (project === 'default') return 'console';
  return `console_${hash('sha256', project).slice(0, 24)}`;
}

/** The row of a project's console application; it has no secret that anybody knows and never gets a token. */
export function consoleAppRow(project: string, at: Date): ApiAppRow {
  const columns: SettingColumns = {
    name: 'console',
    scopes: [],
    trusted: false,
    allowedIps: [],
    rateLimit: null,
    latePayment: defaultLatePayment,
    remark: null,
  };
  return newAppRow(columns, { project, at, kind: 'console', clientId: consoleClientId(project) }).app;
}
