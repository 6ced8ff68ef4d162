import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where Linux configures processor quotas (cgroup v1 and v2). */
const ROOTS = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup'];
const PERIOD_US = 20_000;

/**
 * Limits a process to a share of a processor, as a container's limit does; returns a function that ends the limit, or undefined
 * where the system or the user cannot set one.
 */
export function limitProcessor(pid: number, share: number): (() => void) | undefined {
  for (const root of ROOTS) {
    const group = join(root, `pay-bench-${pid}`);
    try {
      mkdirSync(group);
      const quota = Math.round(share * PERIOD_US);
      if (root.endsWith('/cpu')) {
        writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US));
        writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota));
      } else writeFileSync(join(group, 'cpu.max'), `${quota} ${PERIOD_US}`);
      writeFileSync(join(group, 'cgroup.procs'), String(pid));
      return () => {
        writeFileSync(join(root, 'cgroup.procs'), String(pid));
        rmdirSync(group);
      };
    } catch {
      try {
        rmdirSync(group);
      } catch {
        // The group was not created.
      }
    }
  }
  return undefined;
}

/** The child processes of a process. */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}
