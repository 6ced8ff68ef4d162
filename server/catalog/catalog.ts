import { coins, spend } from './coins.ts';
import type { CatalogPorts } from './ports.ts';
import { products } from './products.ts';
import { projects } from './projects.ts';
import { stats } from './stats.ts';
import { users } from './users.ts';

/** Returns the functions that read and change projects, payers, products and coins, and that read statistics. */
export function createCatalog(ports: CatalogPorts) {
  return {
    projects: projects(ports),
    users: users(ports),
    products: products(ports),
    coins: { ...coins(ports), ...spend(ports) },
    stats: stats(ports),
  };
}

export type Catalog = ReturnType<typeof createCatalog>;
