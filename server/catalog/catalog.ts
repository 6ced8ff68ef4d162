import { coins, spend } from './coins.ts';
import type { CatalogPorts } from './ports.ts';
import { products } from './products.ts';
import { projects } from './projects.ts';
import { stats } from './stats.ts';
import { users } from './users.ts';

/** Creates the operations on projects, payers, products, coins and statistics. */
export function createCatalog(ports: CatalogPorts) {
  return {
    projects: projects(ports),
    users: users(ports),
    products: products(ports),
    coins: { ...coins(ports), ...spend(ports) },
    stats: stats(ports),
  };
}

/** The operations of the catalog. */
export type Catalog = ReturnType<typeof createCatalog>;
