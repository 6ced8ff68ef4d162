import test, { type ExecutionContext } from 'ava';
import { chartDocuments, CHART_VALUES } from '../../house/chart.ts';

type Validate = ((document: object) => boolean) & { errors?: unknown };

/** Validates a document with Kubernetes' schema from a package; the schema ignores unknown members, so unread members are reported. */
async function isKnown(t: ExecutionContext, document: Record<string, unknown>): Promise<void> {
  const { apiVersion, kind } = document as { apiVersion: string; kind: string };
  const [version = '', group = 'core'] = apiVersion.split('/').toReversed();
  const parts = [group.split('.')[0]!, version].map((word) => word[0]!.toUpperCase() + word.slice(1));
  const { validate } = (await import(`kubernetes-models/_schemas/IoK8sApi${parts.join('')}${kind}`)) as {
    validate: Validate;
  };
  const unread = new Set<string>();
  t.true(validate(watched(document, '', unread)), `${kind}: ${JSON.stringify(validate.errors)}`);
  t.deepEqual([...unread], [], kind);
  t.false(validate({ ...document, spec: 'nonsense' }), 'the schema is applied');
  validate(watched({ ...document, spec: { ...(document['spec'] as object), misspelt: 1 } }, '', unread));
  t.deepEqual([...unread], ['/spec/misspelt'], kind);
}

/** Wraps a value so that `unread` holds the paths of members not read yet. */
function watched<T>(value: T, path: string, unread: Set<string>): T {
  if (typeof value !== 'object' || value === null) return value;
  const inside = Object.entries(value).map(([name, one]) => [name, watched(one, `${path}/${name}`, unread)] as const);
  for (const [name] of inside) unread.add(`${path}/${name}`);
  const copy = (Array.isArray(value) ? inside.map(([, one]) => one) : Object.fromEntries(inside)) as T & object;
  return new Proxy(copy, {
    get(target, name, receiver) {
      unread.delete(`${path}/${String(name)}`);
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
}

test('the chart renders to documents that Kubernetes accepts', async (t) => {
  const documents = chartDocuments(CHART_VALUES);
  t.is(documents.size, 5);
  for (const document of documents.values()) await isKnown(t, document);
});
