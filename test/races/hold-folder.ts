import { openDatabase } from '../../server/db/orm.ts';

/** Opens the embedded database in the folder of its first argument, prints `held` and keeps it until it is killed or receives `close`. */
const database = await openDatabase({ kind: 'pglite', url: '', folder: process.argv[2]! });
process.stdout.write('held\n');
process.stdin.on('data', () => void database.close().then(() => process.exit(0)));
