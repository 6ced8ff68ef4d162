import type { Context } from 'koa';
import { z } from 'zod';
import { issueWords } from '../issue-words.ts';
import { rawBodyOf } from './body.ts';
import { SimulatorRefusal } from './refusal.ts';

/** The JSON body of a call of the control API; throws SimulatorRefusal when it is not what the schema says. */
export function bodyOf<T>(ctx: Context, schema: z.ZodType<T>): T {
  const text = rawBodyOf(ctx).toString('utf8');
  let input: unknown;
  try {
    input = JSON.parse(text === '' ? '{}' : text);
  } catch {
    throw new SimulatorRefusal(400, 'invalid_json', 'The body is not valid JSON.');
  }
  const result = schema.safeParse(input, { error: issueWords });
  if (!result.success) throw new SimulatorRefusal(400, 'invalid_request', z.prettifyError(result.error));
  return result.data;
}

/** A parameter of the query; undefined when it is missing or empty. */
export function queryText(ctx: Context, name: string): string | undefined {
  const value = ctx.query[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
