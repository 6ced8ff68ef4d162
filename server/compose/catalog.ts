import { createCatalog } from '../catalog/catalog.ts';
import type { CatalogPorts } from '../catalog/ports.ts';
import { consoleAppRow } from '../identity/api-app-row.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import type { RouteGroup } from '../routes/index.ts';
import { coinLedgerRoutes, ownCoinRoutes } from '../routes/coin-ledgers.ts';
import { ownUserRoutes, userRoutes } from '../routes/users.ts';
import { coinRoutes } from '../routes/v1/coins.ts';
import { productRoutes } from '../routes/v1/products.ts';
import { projectRoutes } from '../routes/v1/projects.ts';
import { statsRoutes } from '../routes/v1/stats.ts';
import { consoleUserRoutes } from '../routes/v1/users.ts';
import type { Base } from './base.ts';

/** What the catalog needs of other parts. */
interface Needs extends Pick<CatalogPorts, 'audit' | 'recordEvent' | 'kindOf'> {
  payments: Pick<PaymentOperations, 'orders'>;
}

/** Assembles projects, payers, products, coins and statistics. */
export function composeCatalog({ store, now }: Base, { payments, ...needs }: Needs): { groups: RouteGroup[] } {
  const catalog = createCatalog({ ...needs, store, now, consoleApp: consoleAppRow });
  return {
    groups: [
      projectRoutes(catalog),
      userRoutes(catalog),
      consoleUserRoutes({ ...catalog, payments }),
      productRoutes(catalog),
      coinRoutes(catalog),
      coinLedgerRoutes(catalog),
      statsRoutes(catalog),
      ownUserRoutes(catalog),
      ownCoinRoutes(catalog),
    ],
  };
}
