import { z } from 'zod';
import type { ProjectRow } from '../../catalog/records.ts';
import { Code, Flag, Paging, SafeText, Timestamp } from './fields.ts';

/** A project in an answer. */
export const Project = z
  .object({
    code: Code,
    name: z.string(),
    enabled: z.boolean(),
    remark: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Project' });

const settings = { name: SafeText(1, 128), remark: SafeText(0, 1000).nullable().optional() };

/** A new project. */
export const NewProject = z.object({ code: Code, ...settings }).meta({ id: 'NewProject' });

/** A change of a project; what is left out stays. */
export const ProjectChange = z.object(settings).partial().meta({ id: 'ProjectChange' });

/** Filters of the project list. */
export const ProjectsQuery = z.object({ ...Paging, enabled: Flag.optional() });

/** The path parameter of one thing by its code. */
export const ByCode = z.object({ code: Code });

/** The project that a console request is about. */
export const InProject = z.object({ project: Code.default('default') });

/** How a project is shown. */
export function presentProject(row: ProjectRow): z.input<typeof Project> {
  const { code, name, enabled, remark, createdAt, updatedAt } = row;
  return { code, name, enabled, remark, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

/** The place of a row that is listed by `(createdAt, id)`. */
export function placeOf({ createdAt, id }: { createdAt: Date; id: string }): { createdAt: Date; id: string } {
  return { createdAt, id };
}
