// `npm run demo`: the tour through the service, on a temporary folder, with the simulator in the place of the channels.
import { begin, payPerCall, PAY_WAYS, revoke, tourChannel } from './tour/chapters.ts';
import { createGuide, Disappointment } from './tour/guide.ts';
import { createReport } from './tour/report.ts';
import { openStage } from './tour/stage.ts';

const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => reject(new Disappointment(`stopped by ${signal}`)));
});
// It may come before anyone waits for it.
interrupted.catch(() => {});

const report = createReport(process.stdout, process.env);
// Tests of the tour begin with a database that is made already.
const stage = await openStage('pay-demo-', {}, process.env['PAY_TEST_DEMO_BACKUP']);

/** The whole tour; throws at the first step that disappoints. */
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
  report.chapter('That was the tour. Nothing is left behind.');
} catch (error) {
  report.failed(error instanceof Disappointment ? error.message : String((error as Error)?.stack ?? error));
  process.exitCode = 1;
} finally {
  await stage.close();
}
