import { createCatalog } from '../catalog/catalog.ts';
import { forgetting } from '../catalog/users.ts';
import type { CatalogPorts } from '../catalog/ports.ts';
import { consoleAppRow } from '../identity/api-app-rows.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import { coinLedgerRoutes, coinRoutes, ownCoinRoutes } from '../routes/coins.ts';
import { consoleUserRoutes, ownUserRoutes, userRoutes } from '../routes/users.ts';
import { productRoutes } from '../routes/products.ts';
import { projectRoutes, statsRoutes } from '../routes/projects.ts';
import type { Base, Part } from './base.ts';

interface Needs extends Pick<CatalogPorts, 'audit' | 'recordEvent' | 'kindOf' | 'urlFault'> {
  payments: Pick<PaymentOperations, 'orders'>;
}

/** Builds the part of the service for projects, payers, products, coins and statistics. */
export function composeCatalog({ config, store, reports, now, log }: Base, { payments, ...needs }: Needs): Part {
  const catalog = createCatalog({
    ...needs,
    store,
    reports,
    now,
    log,
    consoleApp: consoleAppRow,
    coinsAbove: config.approval.coinsAbove,
  });
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
    tasks: [{ name: 'forget-payers', everySeconds: 60, run: forgetting({ store, now, log }).forgetDue }],
  };
}
