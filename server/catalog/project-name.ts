import type { Store } from '../db/store.ts';

/** The project that every service begins with, and the name that it has until somebody gives it another (`db/seed.ts`). */
const NAMELESS = { code: 'default', name: 'Default' } as const;

/** The name that payers are shown as the merchant's; null for a project that is not there, or that nobody has named yet. */
export function projectName(store: Pick<Store, 'read'>): (code: string) => Promise<string | null> {
  return async (code) => {
    const project = await store.read((tx) => tx.projects.find({ code }));
    if (!project || (code === NAMELESS.code && project.name === NAMELESS.name)) return null;
    return project.name;
  };
}
