import { parentPort } from 'node:worker_threads';
import { runOrder, type WorkOrder } from './work-order.ts';

// Each thread has time, random numbers and signatures of its own.
parentPort?.on('message', (order: WorkOrder) => {
  runOrder(order, (result) => parentPort?.postMessage(result)).then(
    () => process.exit(),
    (error: unknown) => {
      throw error;
    },
  );
});
