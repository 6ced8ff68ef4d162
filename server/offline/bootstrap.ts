import type { BootstrapPlan, BootstrapResult } from '../../cli/offline-port.ts';

/** The plan as identity reads it. */
export function documentOf({ admin, apps }: BootstrapPlan): object {
  return { admins: admin ? [admin] : [], apps };
}

/** What was done, in the order of the plan; only what is new carries its secret. */
export function resultOf(
  plan: BootstrapPlan,
  changed: boolean,
  applied: readonly { kind: string; name: string; done: string; clientId?: string; secret?: string }[],
  known: readonly { client_id: string; name: string; project: string }[],
): BootstrapResult {
  const admin = applied.find(({ kind }) => kind === 'admin');
  const apps = applied.filter(({ kind }) => kind === 'app');
  return {
    changed,
    admin: admin ? { username: admin.name, created: admin.done === 'created' } : null,
    apps: plan.apps.map((wanted, index) => {
      const done = apps[index];
      const project = wanted.project ?? 'default';
      if (done?.secret && done.clientId)
        return {
          created: true as const,
          client_id: done.clientId,
          client_secret: done.secret,
          name: wanted.name,
          project,
          scopes: wanted.scopes,
        };
      const found = known.find((app) => app.name === wanted.name && app.project === project);
      return { created: false as const, client_id: done?.clientId ?? found?.client_id ?? '', name: wanted.name };
    }),
  };
}
