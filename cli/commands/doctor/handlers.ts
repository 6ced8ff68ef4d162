import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { plain } from '../../values.ts';
import { ofEveryProject } from './channels.ts';
import { handlerFinding, ok, unreadable, type Finding } from './finding.ts';

/** The handler of every skill on sale can be called: otherwise its payers pay and are refunded. */
export async function checkHandlers({ api }: Context): Promise<Finding[]> {
  const skills = await ofEveryProject(api, async (project) => {
    const rows = [];
    for await (const page of api.pages('/api/v1/products', { project, kind: 'skill', enabled: 'true', limit: 200 }))
      rows.push(...page.rows);
    return rows;
  });
  if (skills instanceof CliError) return unreadable('skills', skills);
  const broken = skills.filter((row) => typeof row['handlerFault'] === 'string');
  if (broken.length === 0) return [ok('skills', `${skills.length}, every handler can be called`)];
  return broken.map((row) =>
    handlerFinding(plain(row['code']), plain(row['handlerFault']), plain(row['project']) || 'default'),
  );
}
