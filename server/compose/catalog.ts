import { createCatalog } from '../catalog/catalog.ts';
import type { Audit } from '../identity/audit.ts';
import { consoleAppRow } from '../identity/api-app-row.ts';
import { claimKey } from '../payments/idempotency.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import type { Ports } from '../payments/ports.ts';
import type { RouteGroup } from '../routes/index.ts';
import { coinRoutes } from '../routes/v1/coins.ts';
import { productRoutes } from '../routes/v1/products.ts';
import { projectRoutes } from '../routes/v1/projects.ts';
import { statsRoutes } from '../routes/v1/stats.ts';
import { userRoutes } from '../routes/v1/users.ts';
import { ownCoinRoutes } from '../routes/v2/coins.ts';
import { ownUserRoutes } from '../routes/v2/users.ts';

/** Assembles projects, payers, products, coins and statistics; gives their routes. */
export function composeCatalog(ports: Ports, payments: PaymentOperations, audit: Audit): RouteGroup[] {
  const { store, now, recordEvent, channels } = ports;
  const kindOf = channels.kindOf.bind(channels);
  const catalog = createCatalog({ store, now, audit, recordEvent, claimKey, consoleApp: consoleAppRow, kindOf });
  return [
    projectRoutes(catalog),
    userRoutes({ ...catalog, payments }),
    productRoutes(catalog),
    coinRoutes(catalog),
    statsRoutes(catalog),
    ownUserRoutes(catalog),
    ownCoinRoutes(catalog),
  ];
}
