import type { ProjectRow } from '../db/entities/catalog.ts';
import { type ProjectFilter, contentsOfProject, listProjects } from '../db/queries/catalog.ts';
import type { Store, Tx } from '../db/store.ts';
import { FIRST_PROJECT } from '../domain.ts';
import { NotFound } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import { type CatalogPorts, given, note } from './ports.ts';
import { CodeTaken, InUse } from './errors.ts';

interface ProjectSettings {
  name: string;
  remark: string | null;
}

/**
 * The operations on projects. A change and its audit entry are one transaction, under the lock of the project's row.
 */
export function projects({ store, now, audit, consoleApp }: CatalogPorts) {
  const log = note(audit);
  return {
    list: (filter: ProjectFilter) => store.read((tx) => listProjects(tx, filter)),
    get: (code: string) => store.read((tx) => required(tx.projects.find({ code }))),
    /** Creates the project and its console application, which owns the orders that administrators create. */
    create: (actor: Actor, { code, name, remark }: ProjectSettings & { code: string }) =>
      store.transaction(async (tx) => {
        const at = now();
        const row: ProjectRow = { code, name, remark, enabled: true, createdAt: at, updatedAt: at };
        if (!(await tx.projects.insertIfNew(row))) throw new CodeTaken('project');
        await tx.apps.insertIfNew(consoleApp(code, at));
        await log(tx, actor, 'project.create', code, null, row);
        return row;
      }),
    update: (actor: Actor, code: string, patch: { name?: string | undefined; remark?: string | null | undefined }) =>
      change(actor, code, 'project.update', () => given(patch)),
    toggle: (actor: Actor, code: string, enabled: boolean | undefined) =>
      change(actor, code, 'project.toggle', (project) => ({ enabled: enabled ?? !project.enabled })),
    remove: (actor: Actor, code: string) =>
      store.transaction(async (tx) => {
        const project = await required(tx.projects.lock({ code }));
        if (code === 'default') throw new InUse('The project "default" cannot be deleted.');
        const contents = await contentsOfProject(tx, code);
        if (contents.length > 0) throw new InUse(`The project has ${contents.join(', ')}.`);
        await tx.apps.delete({ project: code, kind: 'console' });
        await tx.projects.delete({ code });
        await log(tx, actor, 'project.delete', code, project, null);
      }),
  };

  function change(actor: Actor, code: string, action: string, decide: (row: ProjectRow) => Partial<ProjectRow>) {
    return store.transaction(async (tx: Tx) => {
      const before = await required(tx.projects.lock({ code }));
      const patch = { ...decide(before), updatedAt: now() };
      await tx.projects.update({ code }, patch);
      const after: ProjectRow = { ...before, ...patch };
      await log(tx, actor, action, code, before, after);
      return after;
    });
  }
}

export type Projects = ReturnType<typeof projects>;

async function required(found: Promise<ProjectRow | undefined>): Promise<ProjectRow> {
  const project = await found;
  if (!project) throw new NotFound('project');
  return project;
}

/**
 * Returns a function that looks up the name of a project. Payers see this name as the merchant's name. null = the
 * project does not exist or still has its initial name.
 */
export function projectName(store: Pick<Store, 'read'>): (code: string) => Promise<string | null> {
  return async (code) => {
    const project = await store.read((tx) => tx.projects.find({ code }));
    if (!project || (code === FIRST_PROJECT.code && project.name === FIRST_PROJECT.name)) return null;
    return project.name;
  };
}
