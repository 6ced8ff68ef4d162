// `npm run demo`: the tour through the service, in a temporary folder, with the simulator instead of the channels.
import { begin, payPerCall, PAY_WAYS, revoke, tourChannel } from './tour/chapters.ts';
import { createGuide, Disappointment } from './tour/guide.ts';
import { createReport } from './tour/report.ts';
import { openStage } from './tour/stage.ts';

const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => reject(new Disappointment(`stopped by ${signal}`)));
});
// The signal may arrive before the race below starts.
interrupted.catch(() => {});

const report = createReport(process.stdout, process.env);
// Tests of the tour start with a migrated database.
const stage = await openStage('pay-demo-', {}, process.env['PAY_TEST_DEMO_BACKUP']);

/** Runs the whole tour; throws at the first failed step. */
async function tour(): Promise<void> {
  const guide = createGuide(stage, report);
  const app = await begin(guide);
  let chapter = 2;
  for (const payWay of PAY_WAYS) await tourChannel(guide, payWay, chapter++);
  await payPerCall(guide, chapter++);
  await revoke(guide, app, chapter);
}

try {
  await Promise.race([tour(), interrupted]);
  report.chapter('The tour is complete. All temporary files are removed.');
} catch (error) {
  report.failed(error instanceof Disappointment ? error.message : String((error as Error)?.stack ?? error));
  process.exitCode = 1;
} finally {
  await stage.close();
}
