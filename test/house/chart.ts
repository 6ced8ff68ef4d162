import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { root } from './sources.ts';

type Scope = Record<string, unknown>;

/**
 * Renders a chart as `helm template` would, for the few constructs that its templates use: values, `quote`, `toJson`, `required`, `if`,
 * `range` over a map. Throws on every other construct, so that templates cannot use constructs that are not checked here.
 */
function renderChart(chart: string, release: string, set: object): Map<string, string> {
  const values = merge(parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Scope, set as Scope);
  const names = globSync('templates/*.yaml', { cwd: chart }).toSorted();
  const scope = { Values: values, Release: { Name: release } };
  return new Map(names.map((name) => [name, render(readFileSync(join(chart, name), 'utf8'), scope)]));
}

function merge(base: Scope, over: Scope): Scope {
  const merged = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const isMap = typeof value === 'object' && value !== null && typeof base[name] === 'object';
    merged[name] = isMap ? merge(base[name] as Scope, value as Scope) : value;
  }
  return merged;
}

function render(template: string, scope: Scope): string {
  const parts = template.split(/(\s*\{\{-.*?\}\}|\{\{.*?\}\})/).map((text) => {
    const action = /^(\s*)\{\{(-?)\s*(.*?)\s*\}\}$/s.exec(text);
    return action ? { action: action[3]! } : { text };
  });
  const [text, left] = block(parts, scope);
  if (left.length > 0) throw new Error('an end without a block');
  return text;
}

type Part = { text: string; action?: undefined } | { action: string };

/** Renders up to the `end` of the block; returns the parts after it. */
function block(parts: readonly Part[], scope: Scope): [text: string, left: readonly Part[]] {
  let text = '';
  let left = parts;
  while (left.length > 0) {
    const [first, ...rest] = left;
    left = rest;
    if (first!.action === undefined) text += (first as { text: string }).text;
    else if (first!.action === 'end') return [text, left];
    else {
      const [made, after] = act(first!.action, left, scope);
      text += made;
      left = after;
    }
  }
  return [text, left];
}

function act(action: string, rest: readonly Part[], scope: Scope): [string, readonly Part[]] {
  const condition = /^if (\S+)$/.exec(action);
  if (condition) {
    return valueOf(condition[1]!, scope) ? block(rest, scope) : ['', behindEnd(rest)];
  }
  const range = /^range \$(\w+), \$(\w+) := (\S+)$/.exec(action);
  if (!range) return [String(expression(action, scope)), rest];
  const [, key, value, of] = range;
  const rows = Object.entries(valueOf(of!, scope) as object).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const texts = rows.map(([name, one]) => block(rest, { ...scope, [`$${key}`]: name, [`$${value}`]: one })[0]);
  return [texts.join(''), behindEnd(rest)];
}

/** Skips the block that begins here; returns the parts after it. */
function behindEnd(parts: readonly Part[]): readonly Part[] {
  let depth = 1;
  for (const [index, { action = '' }] of parts.entries()) {
    if (/^(if|range) /.test(action)) depth += 1;
    if (action === 'end') depth -= 1;
    if (depth === 0) return parts.slice(index + 1);
  }
  throw new Error('a block without an end');
}

function expression(text: string, scope: Scope): unknown {
  const [first = '', ...pipes] = text.split(/\s*\|\s*/);
  const required = /^required "([^"]+)" (\S+)$/.exec(first);
  const json = /^toJson (\S+)$/.exec(first);
  let value = json ? JSON.stringify(valueOf(json[1]!, scope)) : valueOf(required?.[2] ?? first, scope);
  if (required && (value === '' || value === undefined)) throw new Error(required[1]);
  for (const pipe of pipes) {
    if (pipe !== 'quote') throw new Error(`not checked here: ${pipe}`);
    value = JSON.stringify(String(value));
  }
  return value;
}

function valueOf(path: string, scope: Scope): unknown {
  if (path.startsWith('$')) return scope[path];
  if (!/^(\.\w+)+$/.test(path)) throw new Error(`not checked here: ${path}`);
  return path
    .slice(1)
    .split('.')
    .reduce<unknown>((at, name) => {
      if (typeof at !== 'object' || at === null || !(name in at)) throw new Error(`there is no ${path}`);
      return (at as Scope)[name];
    }, scope);
}

/** Values with which the chart renders every document. */
export const CHART_VALUES = {
  image: `registry.example/pay@sha256:${'0'.repeat(64)}`,
  publicUrl: 'https://pay.shop.example',
  existingSecret: 'pay-secrets',
  env: { PAY_SERVER_ADMIN_NETWORKS: '10.0.0.0/8' },
  networkPolicy: { databaseCidr: '10.1.0.0/16' },
};

/** The rendered documents of the chart by kind. */
export function chartDocuments(values: object): Map<string, Record<string, unknown>> {
  const texts = [...renderChart(join(root, 'config/deploy/helm'), 'pay', values).values()];
  const documents = texts.flatMap((text) =>
    parseAllDocuments(text).map((one) => one.toJS() as Record<string, unknown> | null),
  );
  return new Map(documents.filter((one) => one !== null).map((one) => [String(one['kind']), one]));
}
