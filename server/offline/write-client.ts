// `node server/offline/write-client.ts` brings the types of the client up to date with the routes.
import { join } from 'node:path';
import { writeClientSource } from './client-source.ts';

await writeClientSource(join(import.meta.dirname, '..', 'client'));
